/*
 * settle.h: knows when the clients of a replay have become quiet: for this long no watch was opened or ended,
 * no event was sent and nothing was written (except leases and Events, which programs write without end).
 *
 *     before the clock runs   quiet, with a watch open: everybody is there, the clock starts
 *     at the end of the tape  quiet: what there was to do is done, `quiet` is called, once
 *
 * In both places it waits for clients that are never quiet only up to the limit. A command that has threads
 * at work, or waiting for a processor, is not quiet either, for a while: on a busy machine it may just not
 * have sent its requests yet. For a command that is always at work only its requests count.
 *
 * In lock-step the clock stands still before the first event, after each one that was sent to a watch, after a watch
 * was opened again, and after a fault that kept events back. It waits until the clients, which may have to react, have
 * been quiet and have sent no request either, for 30 s at most, and for less and less at the next events if they were not;
 * from a client that limits its own rate (pace.h) another may be about to come, and one that was started has to be quiet for
 * 150 ms once, one that was started again for a quarter of a second. Reads that a fault answers do not count, nor does the work of
 * a client that sends them. So they find the same state at each event in every replay, however fast they are. After a write that failed, and
 * after discovery, a further request is expected: the clock waits for it, for up to 1.5 s. After a write that a fault
 * refused or left unanswered it waits until that object is asked for again, for up to 1.5 s or the time that counts as quiet.
 * An object of the tape may be hidden until a program lets go of its name. Then faults that keep events from clients end, and
 * the clock waits until the name is free, or until the clients have been quiet for that time.
 */
#ifndef REPLAYER_SETTLE_H
#define REPLAYER_SETTLE_H

#include "replayer/serve/watch.h"
#include "replayer/world/player.h"
#include "schema/base/clock.h"

struct settle;

#define SETTLE_MOMENT_NS (200 * NS_PER_MS)
#define SETTLE_AGAIN_NS  NS_PER_S /* how often it is called while they stay quiet */

/* Borrows everything. */
struct settle_options {
	int64_t quiet_ns; /* 0: neither begins nor ends anything */
	int64_t limit_ns; /* 0: none */
	int64_t step_ns;  /* of lock-step; 0: none */
	struct player *player;
	const struct watches *watches;
	struct run *run;
	bool (*is_awake)(void *context); /* whether the command has threads at work; NULL: nobody knows */
	void (*quiet)(void *context, bool in_time); /* in_time: they are; else the limit was reached */
	/* The clients are quiet on the way: in lock-step after each event, else for SETTLE_MOMENT_NS. May be
	 * NULL. In lock-step the clock continues when `is_asking` says no. */
	void (*moment)(void *context);
	bool (*is_asking)(void *context);
	/* In lock-step: whether a program is to do something before the tape can go on; nothing is to be kept from it; it
	 * does not do it. */
	bool (*is_owed)(void *context);
	void (*show_all)(void *context);
	void (*give_up)(void *context);
	/* In lock-step: whether clients' own writes are kept from them until the tape goes on. They may ask in vain until
	 * then, and are not waited for as long. */
	bool (*is_late)(void *context);
	/* In lock-step: a client that has just been started again will open no further watch. */
	void (*stop_awaiting)(void *context);
	/* While clients are at work, at least a few times in pause_ns (0: nobody wants to know). */
	int64_t pause_ns;
	void (*busy)(void *context);
	void *context;
};
struct settle *settle_open(uv_loop_t *loop, const struct settle_options *options);

/* An event went to watches. */
void settle_sent(struct settle *s);

/* Freed when libuv has released its timer. Accepts NULL. */
void settle_close(struct settle *s);

#endif
