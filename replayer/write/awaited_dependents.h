/*
 * awaited_dependents.h: objects of the tape whose owner is still to be made by a program of this replay (--await). In the
 * cluster they came of that owner, so they are hidden until it is made. Then they are where the tape has them.
 *
 *                     its owner is made
 *     tape: ADDED ---> hidden ----------> shown, and follows the tape (follow_tape.h)
 *                         | tape: DELETED
 *                         +-------------> gone
 */
#ifndef REPLAYER_AWAITED_DEPENDENTS_H
#define REPLAYER_AWAITED_DEPENDENTS_H

#include "replayer/write/hidden_objects.h"
#include "schema/base/text_map.h"

/* All zero: there are none. */
struct awaited_dependents {
	struct hidden_objects objects; /* with UID and owner */
	struct text_map hidden;        /* the UIDs of these, and of the owners that are to come */
};
void awaited_dependents_release(struct awaited_dependents *d);

/* Nobody sees the object of that UID yet; the text is borrowed. And it has been made. */
void awaited_dependents_await(struct awaited_dependents *d, const char *uid);
void awaited_dependents_made(struct awaited_dependents *d, const char *uid);

/* An event is about to be applied: it is hidden if it is of such an object. */
void awaited_dependents_before(struct awaited_dependents *d, struct world *world, const struct collection *in,
	const struct change *c);

/* Whether that object is hidden. */
bool awaited_dependents_has(
	const struct awaited_dependents *d, const struct collection *in, const struct change *c);

/* Whether there are any whose owners have been made; and shows these. */
bool awaited_dependents_is_busy(const struct awaited_dependents *d);
void awaited_dependents_work(struct awaited_dependents *d, struct api *api);

#endif
