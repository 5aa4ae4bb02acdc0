/*
 * flusher.h: makes the tape durable at each tick. A separate thread does long work, while the loop keeps
 * emptying the sockets. A real API server cuts a watcher that is only a little slow, so data that arrive
 * during a flush are copied aside (http_shut_gate) and processed when the flush is over.
 *
 * The writer belongs to one thread at a time: to the flushing one while a flush runs, else to the loop. Code
 * on the loop gets it from flusher_tape, which waits for a running flush.
 *
 * A full disk may get room again: a failed flush is tried again, and when too much is waiting the loop stops
 * reading the sockets.
 */
#ifndef RECORDER_FLUSHER_H
#define RECORDER_FLUSHER_H

#include "recorder/http.h"
#include "schema/tape/writer.h"

struct flusher;

struct flusher_options {
	int64_t interval_ns; /* how long something may wait */
	/* The tape cannot be written any more. */
	void (*fatal)(void *owner, const struct err *err);
	void *owner;
};

/* Everything is borrowed. The writer comes later. */
struct flusher *flusher_new(
	uv_loop_t *loop, const struct clock *clock, struct http *http, const struct flusher_options *options);
void flusher_set_tape(struct flusher *f, struct tape_writer *tape);

/* No flush is begun after that, and none runs. The loop must run once more before it is closed. */
void flusher_free(struct flusher *f);

/* Something was written: to be flushed at the next tick. */
void flusher_dirty(struct flusher *f);

/* The writer, NULL before there is one. Valid until the loop is entered again. */
struct tape_writer *flusher_tape(struct flusher *f);

/* A flush runs: flusher_tape would have to wait, and what can be done later is better done then. */
bool flusher_is_busy(const struct flusher *f);

/* For observers: as of the last flush, so that nobody waits for the one that runs. */
#define FLUSH_BUCKETS 10
extern const int64_t flush_bucket_ns[FLUSH_BUCKETS]; /* upper bounds */
struct flusher_figures {
	uint64_t flushes, failures, holds;
	int64_t flush_ns; /* all together */
	uint64_t buckets[FLUSH_BUCKETS];
	struct tape_writer_stats tape;
	uint64_t pending_bytes, backlog_bytes;
	bool failing;
};
struct flusher_figures flusher_figures(const struct flusher *f);

/* Makes the tape durable here and now. A failure is reported and tried again like that of a tick. */
int flusher_now(struct flusher *f);

#endif
