/*
 * follow_tape.h: later events of the tape for objects that programs changed. The tape's changes are merged
 * under the fields that programs wrote. A deletion on the tape deletes the object, unless a finalizer of a
 * program holds it; an object that the tape makes after that is shown again. What programs made or deleted
 * themselves is theirs: the tape's events of that name are hidden, unless the tape makes the same object (awaited.h),
 * or another one when programs have deleted theirs.
 *
 *     world_apply_change hides an event --follow_tape--> an own write (own_write.h), or nothing
 */
#ifndef REPLAYER_FOLLOW_TAPE_H
#define REPLAYER_FOLLOW_TAPE_H

#include "replayer/serve/call.h"

/* Whether an event that has been applied was hidden because a program wrote an object of its name. */
bool follow_tape_is_due(const struct collection *in, const struct change *c);

/* Returns whether the event is hidden for now: a finalizer holds the object that has its name (held_names.h). */
bool follow_tape(struct api *api, const struct collection *in, const struct change *c);

/* Of an object, where the tape is. */
struct followed_state {
	struct slice namespace, name;
	uint64_t seq; /* of its last event */
	bool is_over; /* which was its deletion */
};

/* Brings an object that a program has just made, or asked to end, to where the tape has it (awaited.h). */
void follow_tape_to(struct api *api, struct collection *in, const struct followed_state *to);

#endif
