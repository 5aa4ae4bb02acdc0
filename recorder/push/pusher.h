/*
 * pusher.h: pushes a tape while it is recorded, on a thread of its own that waits for the store as long as it takes. The tape
 * on the disk is the queue: nothing is held in memory, and a recorder that ends leaves the rest to the next one.
 */
#ifndef RECORDER_PUSH_PUSHER_H
#define RECORDER_PUSH_PUSHER_H

#include "recorder/push/push.h"

struct pusher;

/* The options' texts are borrowed for the life of the pusher; progress and the store's callbacks are its own.
 * ERR_USAGE, and ERR_DENIED if there are no credentials at all. The thread begins with the first wake. */
int pusher_new(const struct push_options *options, struct pusher **ret, struct err *err) MUST_CHECK;

/* There may be another sealed segment. Accepts NULL. */
void pusher_wake(struct pusher *p);

/* Whether the store has that segment; until it was asked it has none. Any thread may ask. */
bool pusher_has(const struct pusher *p, uint32_t number);

struct pusher_figures {
	struct push_figures push; /* segments and bytes are those of all pushes */
	bool failing;             /* the last attempt did not succeed */
	char trouble[256];        /* ... and why */
};
struct pusher_figures pusher_figures(struct pusher *p);

/* For how long the rest is pushed once the tape is closed. */
struct pusher_limits {
	int64_t push_ns;    /* altogether */
	int64_t away_ns;    /* while the store does not answer, or refuses */
	bool (*stop)(void); /* true ends it at once; asked by the pusher's thread. May be NULL */
};

/* After the tape is closed: begins to push the rest. */
void pusher_end(struct pusher *p, const struct pusher_limits *limits);

/* After pusher_end: whether it was done within that time. */
bool pusher_wait(struct pusher *p, int64_t limit_ns);

/* Waits until it is done, and frees; without pusher_end before, running transfers are given up. ERR_STOPPED
 * or another code if something is left, with its sentence; 0 if the store has all. *ret_figures may be NULL.
 * Accepts NULL. */
int pusher_finish(struct pusher *p, struct pusher_figures *ret_figures, struct err *err) MUST_CHECK;

#endif
