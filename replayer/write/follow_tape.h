/*
 * follow_tape.h: the tape goes on with objects that programs changed. What it says of them, other than what programs
 * wrote, is laid under what they wrote; what it deletes is deleted, unless a finalizer of a program holds it; what it
 * makes anew after that is shown again. What programs made or deleted themselves is theirs: of that name the tape
 * has no more to say.
 *
 *     world_apply_change hides an event --follow_tape--> an own write (own_write.h), or nothing
 */
#ifndef REPLAYER_FOLLOW_TAPE_H
#define REPLAYER_FOLLOW_TAPE_H

#include "replayer/serve/call.h"

/* Whether an event that has been applied was hidden because a program wrote an object of its name. */
bool follow_tape_is_due(const struct collection *in, const struct change *c);

void follow_tape(struct api *api, const struct collection *in, const struct change *c);

#endif
