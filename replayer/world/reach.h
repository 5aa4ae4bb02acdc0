/*
 * reach.h: which versions a replay still comes to. A client may have one from another run, from another
 * cluster, or from before the replay went back: for some of them it is worth waiting, for the others it is
 * not.
 */
#ifndef REPLAYER_REACH_H
#define REPLAYER_REACH_H

#include "replayer/world/world.h"

/* Whether the collection, which has not reached the version, does so by the event last_seq if the replay just
 * goes on. False for a version that it has shown before it went back: a client that has that one has what is no
 * longer so. */
bool world_will_reach(struct world *w, const struct collection *c, uint64_t rv, uint64_t last_seq);

/* Before the world is moved: what was shown so far. */
void world_note_shown(struct world *w);

#endif
