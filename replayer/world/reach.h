/*
 * reach.h: which versions a replay will still reach. A client may have one from another run, from another
 * cluster, or from before the replay went back. Waiting is worthwhile for some of these.
 */
#ifndef REPLAYER_REACH_H
#define REPLAYER_REACH_H

#include "replayer/world/world.h"

/* Whether the collection, which has not reached the version, does so by the event last_seq if the replay just
 * continues. False for a version that was shown before the replay went back: a client with that version has
 * an obsolete state. */
bool world_will_reach(struct world *w, const struct collection *c, uint64_t rv, uint64_t last_seq);

/* Call before the world is moved: remembers the versions shown so far. */
void world_note_shown(struct world *w);

#endif
