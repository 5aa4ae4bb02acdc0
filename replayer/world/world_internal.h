/* world_internal.h: shared by world.c and written.c, which handles programs' writes. */
#ifndef REPLAYER_WORLD_INTERNAL_H
#define REPLAYER_WORLD_INTERNAL_H

#include "replayer/world/world.h"

/* Whether a program wrote an object of the change's name: the tape's events are then hidden, but may be
 * merged later (follow_tape.h). */
bool world_hides(const struct collection *in, const struct change *c);

/* The tape has an event of an object for which a result of an absorbed write is kept. */
void world_forget(struct world *w, struct collection *in, struct slice namespace, struct slice name);

/* Gives the change a version above those that writes took, if it has none. Returns what is then in *c. */
struct change *world_move_up(struct world *w, struct collection *in, struct change **c);

/* After a seek: lays the written objects over the state of the tape. Versions continue above all that were
 * ever shown, and no watch can start from before. */
void world_lay_over(struct world *w);

/* The state at rv of a collection that was written to: the present one with the changes since taken back. */
int world_undo(
	struct world *w, struct collection *c, uint64_t rv, struct live_set *to, struct err *err) MUST_CHECK;

int world_written_object(struct world *w, uint64_t seq, struct slice *ret, struct err *err) MUST_CHECK;

void world_free_added(struct world *w);

#endif
