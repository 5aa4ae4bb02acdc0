/*
 * awaited_dependents.h: objects of the tape that name an owner which a program of this replay has not made yet (--await).
 * In the cluster they came of it, so nobody sees them before: then they are where the tape has them.
 *
 *                     its owner is made
 *     tape: ADDED ---> hidden ----------> shown, and follows the tape (follow_tape.h)
 *                         | tape: DELETED
 *                         +-------------> gone
 */
#ifndef REPLAYER_AWAITED_DEPENDENTS_H
#define REPLAYER_AWAITED_DEPENDENTS_H

#include "replayer/serve/call.h"
#include "schema/base/text_map.h"

struct dependent;

/* All zero: there are none. */
struct awaited_dependents {
	struct dependent *items; /* in the order in which the tape made them */
	size_t count;
	struct text_map hidden; /* the UIDs of objects that nobody sees yet */
	size_t due_count;
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

/* Shows those whose owners have been made. */
void awaited_dependents_work(struct awaited_dependents *d, struct api *api);

#endif
