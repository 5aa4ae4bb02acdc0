/*
 * writer.h: making a tape.
 *
 * One writer a tape, held by a lock on the directory. Calls append to memory; tape_writer_flush makes
 * everything before it durable in one transaction, and a crash at any moment leaves exactly what some flush
 * made durable. The caller flushes at each tick. When the open extent is full it is sealed (sorted, packed,
 * indexed) inside a later flush; tape_writer_commit is a flush that leaves that to the next one. Not
 * thread-safe: one thread writes.
 *
 * After any negative return the tape is what the last successful flush left. ERR_NO_SPACE and ERR_IO of flush
 * and commit may be retried: nothing that was appended is forgotten.
 */
#ifndef SCHEMA_TAPE_WRITER_H
#define SCHEMA_TAPE_WRITER_H

#include "schema/base/clock.h"
#include "schema/base/json_scan.h"
#include "schema/tape/event.h"
#include "schema/tape/retention.h"

/* Raw bytes of objects in an extent before it is sealed, when nothing else is asked for. */
#define TAPE_EXTENT_BYTES (64u << 20)

/* When the segments that share a state take this many times as much as the state, or this part of what
 * retention leaves to the tape, the next one begins with the state. */
#define TAPE_GROUP_STATES    11
#define TAPE_RETAINED_GROUPS 4

struct tape_writer;

struct tape_writer_options {
	/* Objects of an extent before it is sealed: as above if 0, or less where retention.max_bytes is small. */
	uint64_t extent_bytes;
	int64_t extent_age_ns; /* an extent older than that is sealed at the next flush; 0: never by age */
	/* A segment's stored bytes before the next one begins; 0: 256 MiB, or an eighth of
	 * retention.max_bytes when that is less. At most LIMIT_SEGMENT_BYTES / 4; UINT64_MAX: without end. */
	uint64_t segment_bytes;
	int64_t segment_age_ns;  /* 0: never by age */
	uint64_t segment_events; /* 0: never by count */
	/* A segment begins with the whole state if that is less JSON, about; 0: 2 MiB. Only some segments
	 * have a larger state: see FORMAT.md. */
	uint64_t small_state_bytes;
	struct retention retention; /* applied whenever a segment was sealed, and about every minute */
	const struct clock *clock;  /* NULL: clock_system */
	const char *program;        /* noted in the tape: "kubetape 0.1.0" */
};

/* Creates the tape `path` (a directory) or continues it. ERR_BUSY if another writer holds it, ERR_CORRUPT if
 * it is something else or damaged. options may be NULL. */
int tape_writer_open(const char *path, const struct tape_writer_options *options, struct tape_writer **ret,
	struct err *err) MUST_CHECK;

/* Flushes, seals the segment and closes; the writer is gone whatever is returned. It retries once after an
 * input/output error. If only the sealing failed the sentence says so: nothing is lost, and the next writer
 * seals the segment. Otherwise it says how many of the last events are not on the tape. */
int tape_writer_close(struct tape_writer *w, struct err *err);

/* Closes without flushing or sealing, as a crash would. */
void tape_writer_abandon(struct tape_writer *w);

/* Whether nothing was there when it was opened: this writer makes the tape. */
bool tape_writer_is_new(const struct tape_writer *w);

/* Closes, and removes the tape if this writer made it. Only the holder of the lock may do that: as soon as
 * the lock is released the tape may be another writer's. */
void tape_writer_discard(struct tape_writer *w);

/* The unique id of the tape, the same in all its segments; 32 hex digits, borrowed. */
const char *tape_writer_id(struct tape_writer *w);

/* The id of the resource or stream, made when the tape does not know it yet. `id` of the argument is ignored,
 * strings are copied. */
int tape_writer_resource(struct tape_writer *w, const struct tape_resource *resource, uint32_t *ret_id,
	struct err *err) MUST_CHECK;
int tape_writer_stream(struct tape_writer *w, const struct tape_stream *stream, uint32_t *ret_id,
	struct err *err) MUST_CHECK;

/*
 * Appends one event. Used of `e`: time_ns, type, origin, flags, stream, and rv when origin is
 * ORIGIN_INFERRED; the rest is read from the object. `object` must be a JSON object; it is copied. ret_seq
 * may be NULL.
 */
int tape_writer_append(struct tape_writer *w, const struct event *e, struct slice object, uint64_t *ret_seq,
	struct err *err) MUST_CHECK;

/* Like it, for callers that have already scanned the object with json_scan_object or json_scan_frame. */
int tape_writer_append_scanned(struct tape_writer *w, const struct event *e, struct slice object,
	const struct object_meta *scanned, uint64_t *ret_seq, struct err *err) MUST_CHECK;

/* Rows. Everything is copied. A connection is written when it begins and again, whole, when it ends: begin
 * gives it its id, end wants it set. */
int tape_writer_begin_connection(
	struct tape_writer *w, struct tape_connection *c, struct err *err) MUST_CHECK;
int tape_writer_end_connection(
	struct tape_writer *w, const struct tape_connection *c, struct err *err) MUST_CHECK;
int tape_writer_mark(struct tape_writer *w, const struct tape_mark *mark, struct err *err) MUST_CHECK;
int tape_writer_document(
	struct tape_writer *w, const struct tape_document *document, struct err *err) MUST_CHECK;
/* A gap is written when it begins (how_ended "open", id given) and again, whole, when it ended. */
int tape_writer_gap(struct tape_writer *w, struct tape_gap *gap, struct err *err) MUST_CHECK;
int tape_writer_missed(struct tape_writer *w, const struct tape_missed *missed, struct err *err) MUST_CHECK;
/* Another cluster, or another life of it: resourceVersions before and after are not comparable. */
int tape_writer_epoch(
	struct tape_writer *w, const char *cluster_uid, const char *reason, struct err *err) MUST_CHECK;

/* Makes everything appended so far durable, seals extents and segments that are full, and applies
 * retention. */
int tape_writer_flush(struct tape_writer *w, struct err *err) MUST_CHECK;

/* Whether the tape is still at its path. ERR_NOT_FOUND if its directory or its open segment was removed,
 * moved or replaced, in one sentence that says what that means; flush and commit ask this as well, after they
 * have written. Such a writer can only be closed, and seals nothing then. */
int tape_writer_check_place(struct tape_writer *w, struct err *err) MUST_CHECK;

/* The first half of it: one transaction, never more. Only where no segment is open does it have to begin one,
 * with the live objects. */
int tape_writer_commit(struct tape_writer *w, struct err *err) MUST_CHECK;

/* The work of the next flush: this many bytes, and whether anything takes a while (sealing, beginning a
 * segment with its state, checkpoints of SQLite, retention). For callers that let another thread do that. */
struct tape_writer_work {
	uint64_t pending_bytes; /* appended, not yet flushed */
	uint64_t memory_bytes;  /* of the open extent and what compresses it */
	uint64_t extent_bytes;  /* a full extent's */
	bool takes_long;
};
void tape_writer_work(const struct tape_writer *w, struct tape_writer_work *ret);
/* Of it, what costs nothing to ask after each event. */
uint64_t tape_writer_pending_bytes(const struct tape_writer *w);

/* Retention removes nothing that was sealed at that time or later (wall clock), unless the disk is short. 0: anything. */
void tape_writer_hold(struct tape_writer *w, int64_t time_ns);

/* Frees memory of earlier extents that this one has not filled yet. Filling it then costs time again. */
void tape_writer_trim(struct tape_writer *w);

/* True if the open extent has its size: more events make it larger than it should be. Ask after each event;
 * the next flush seals it. */
bool tape_writer_is_full(const struct tape_writer *w);

/* The object of an event that is still in memory: one that is not durable yet always is. False if it is on
 * the tape only. Valid until the next call that takes a writer that is not const. */
bool tape_writer_object(const struct tape_writer *w, uint64_t seq, struct slice *ret);

/* Ends the open segment and begins the next, at the next flush. */
void tape_writer_rotate(struct tape_writer *w);

/* For status lines and summaries. */
struct tape_writer_stats {
	uint64_t last_seq, durable_seq; /* appended, flushed */
	uint64_t segments;
	uint64_t raw_bytes, disk_bytes; /* of the whole tape */
	uint64_t pending_bytes;         /* appended, not yet flushed */
	uint64_t removed_segments;      /* by retention, in this life of the writer */
	uint64_t forced_segments;       /* ... of them those that were nowhere else, see retention.h */
};
void tape_writer_stats(const struct tape_writer *w, struct tape_writer_stats *ret);

#endif
