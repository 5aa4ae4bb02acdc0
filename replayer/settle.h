/*
 * settle.h: knows when the clients of a replay have become quiet: for this long no watch came or went, no event
 * was sent and nothing was written (but leases and Events, which programs write without end).
 *
 *     before the clock runs   quiet, with a watch open: everybody is there, the clock starts
 *     at the end of the tape  quiet: what there was to do is done, `quiet` is called, once
 *
 * Clients that are never quiet are waited for no longer than the limit, in both places. A command that has threads at
 * work, or waiting for a processor, is not quiet either, for a while: on a busy machine it may just not have come to
 * ask. One that is always at work is taken at its requests.
 *
 * In lock-step the clock stands still after each event that went to a watch, until the clients, whom it may
 * have given something to do, have been quiet: they have not asked for anything, either. So they find the
 * same state at each event whenever they are played to, however fast they are.
 */
#ifndef REPLAYER_SETTLE_H
#define REPLAYER_SETTLE_H

#include "replayer/serve/watch.h"
#include "replayer/world/player.h"
#include "schema/base/clock.h"

struct settle;

#define SETTLE_MOMENT_NS (200 * NS_PER_MS)
#define SETTLE_AGAIN_NS  NS_PER_S /* how often it is told while they stay quiet */

/* Borrows everything. */
struct settle_options {
	int64_t quiet_ns; /* 0: neither begins nor ends anything */
	int64_t limit_ns; /* 0: none */
	int64_t step_ns;  /* of lock-step; 0: none */
	struct player *player;
	const struct watches *watches;
	const struct run *run;
	bool (*is_awake)(void *context); /* whether the command has threads at work; NULL: nobody knows */
	void (*quiet)(void *context, bool in_time); /* in_time: they are; else the limit was reached */
	/* The clients are quiet on the way: in lock-step after each event, else for SETTLE_MOMENT_NS. NULL: nobody
	 * wants to know. In lock-step the clock goes on when `is_asking` says no. */
	void (*moment)(void *context);
	bool (*is_asking)(void *context);
	void *context;
};
struct settle *settle_open(uv_loop_t *loop, const struct settle_options *options);

/* An event went to watches. */
void settle_sent(struct settle *s);

/* Freed when libuv has let go of its timer. Accepts NULL. */
void settle_close(struct settle *s);

#endif
