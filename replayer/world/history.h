/*
 * history.h: which events of one resource can still be watched from: a window of (resourceVersion, seq)
 * pairs, oldest first. Entries are numbered from 0 for ever; the window moves up.
 *
 * A watch from N gets the entries whose version is above N. Versions never go down here: an event that
 * arrived with a lower one than its predecessor (another stream of the same resource) counts as having its
 * predecessor's, so that a client that resumes after either gets both.
 */
#ifndef REPLAYER_HISTORY_H
#define REPLAYER_HISTORY_H

#include <stddef.h>
#include <stdint.h>

struct history_entry {
	uint64_t rv, seq;
};

struct history {
	struct history_entry *entries; /* a ring */
	size_t first, count, cap, max;
	uint64_t base;      /* number of the oldest entry in the window */
	uint64_t floor_rv;  /* the oldest version a watch may start from */
	uint64_t floor_seq; /* a position at which the state was that of floor_rv */
};

/* max: entries kept. */
void history_init(struct history *h, size_t max, uint64_t floor_rv, uint64_t floor_seq);
void history_release(struct history *h);

void history_add(struct history *h, uint64_t rv, uint64_t seq);

/* Drops everything: a watch may start from rv only. */
void history_reset(struct history *h, uint64_t rv, uint64_t seq);

/* Drops the entry of that seq, if it is still there, and those before it. */
void history_drop(struct history *h, uint64_t seq);

/* Number of the first entry above rv; history_end if there is none. */
uint64_t history_after(const struct history *h, uint64_t rv);
static inline uint64_t history_end(const struct history *h)
{
	return h->base + h->count;
}

/* NULL if the entry has left the window or does not exist yet. Borrowed until the next add. */
const struct history_entry *history_at(const struct history *h, uint64_t number);

/* The version at a position: the floor's when it lies before the window. */
uint64_t history_rv_of(const struct history *h, uint64_t seq);

/* Like it, for a client that has seen everything that programs wrote (overlay.h) up to `written`, and nothing
 * from the first event or version after either on. */
uint64_t history_rv_seen(const struct history *h, uint64_t seq, uint64_t written);

/* The position at which the state was that of rv (floor_rv or above). */
uint64_t history_seq_of(const struct history *h, uint64_t rv);

#endif
