/*
 * delivery.h: changes on their way from the player to the watches: handed to them one by one, written to the
 * sockets in batches, and then recorded in the run with their lateness.
 */
#ifndef REPLAYER_DELIVERY_H
#define REPLAYER_DELIVERY_H

#include "replayer/run/run.h"
#include "replayer/settle.h"
#include "replayer/wire/server.h"

#define DELIVERY_BATCH_MAX 1024 /* changes delivered before they count as written */

/* All borrowed. */
struct delivery {
	struct run *run;
	struct player *player;
	struct watches *watches;
	struct server *server;
	struct settle *settle; /* NULL: nobody waits for quiet */
	int64_t due_ns[DELIVERY_BATCH_MAX];
	uint64_t reached[DELIVERY_BATCH_MAX]; /* watches */
	size_t count;
};

/* As struct player_listener has them. */
void delivery_change(
	struct delivery *d, struct collection *in, struct change *c, uint64_t number, int64_t due_ns);
void delivery_flush(struct delivery *d);

#endif
