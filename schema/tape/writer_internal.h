/*
 * writer_internal.h: the writer's own state, shared by writer.c (append and flush), writer_rows.c (rows),
 * writer_seal.c (extents, segments, recovery), writer_place.c (is the tape still there), writer_copy.c
 * (events out of other tapes), writer_group.c (segments that share a state), writer_retention.c (removing
 * old ones), and by the code that makes a tape out of others: recover_write.c, remake_internal.h, merge_internal.h.
 *
 *   append        -> extent: records, sorted later
 *   flush         -> what is new of it is compressed into a chunk; chunk and rows go into one transaction
 *   extent full   -> packed into blocks, its chunks deleted, in one transaction
 *   segment full  -> sealed; the next one begins with the state
 */
#ifndef SCHEMA_TAPE_WRITER_INTERNAL_H
#define SCHEMA_TAPE_WRITER_INTERNAL_H

#include "schema/tape/codec.h"
#include "schema/tape/format.h"
#include "schema/tape/pack.h"
#include "schema/tape/registry.h"
#include "schema/tape/rows.h"
#include "schema/tape/tape_lock.h"
#include "schema/tape/writer.h"

struct segment_file;
struct tape;
struct tape_extent;

/* The segments since the last one that begins with the whole state. */
struct segment_group {
	uint32_t base;       /* the number of that one; 0: there is none */
	int64_t began_ns;    /* wall clock */
	uint64_t disk_bytes; /* of its sealed ones */
	uint64_t live_bytes; /* of the objects that live now, as JSON: what was added less what was deleted */
	bool live_known;
	bool holds_up; /* retention would remove it if it were not the last one */
};

struct tape_writer {
	char *path;
	struct tape_writer_options options;
	struct tape_lock lock;

	sqlite3 *db;                      /* the open segment; NULL until there is something to write */
	struct row_statements statements; /* of db */
	uint32_t segment;
	int64_t segment_began_ns;    /* monotonic */
	uint64_t segment_born_bytes; /* what it had when it began */
	uint64_t segment_first_seq;
	int wal_pages; /* in the log since the last checkpoint */
	bool rotate_wanted;
	bool misplaced; /* the tape was found to be no longer at its path */
	bool is_new;    /* there was no segment when it was opened */
	char previous_digest[33];
	char *tape_id;

	struct registry registry;
	struct row_queue *rows;
	int64_t ids[TABLE_COUNT]; /* the highest of rows that have one, continued across segments */

	struct extent *extent;   /* the open one; its bytes are hot records */
	size_t compressed_bytes; /* this many of them went into the frame */
	int64_t extent_id, extent_began_ns;
	struct frame_writer *frame;
	bool frame_broken;
	struct buf chunk; /* compressed, not yet committed */
	struct buf scratch;
	uint64_t chunk_first_seq, chunk_events, chunk_raw_bytes;
	int64_t chunk_first_time_ns, last_time_ns;
	int64_t next_chunk_id;

	uint64_t last_seq, durable_seq;
	uint64_t sealed_raw_bytes; /* of all extents of events */
	uint64_t sealed_disk_bytes, sealed_segments;
	struct segment_group group;
	struct retention_removed removed;
	int64_t hold_ns;     /* see tape_writer_hold */
	int64_t retained_ns; /* monotonic, when retention was last applied; 0: to be done at the next flush */
	/* Set by code that makes a tape from another one: rows, clock rows among them, come from there, and
	 * so does the state before the first event: `seed` puts it into the first segment. */
	bool copying;
	/* The tape is thrown away unless it becomes whole: events come by writer_copy_event or
	 * writer_copy_extent alone, and an extent goes from memory into its sealed form. */
	bool bulk;
	bool packs_hard; /* ... but takes its time to pack */
	int (*seed)(void *context, sqlite3 *db, int64_t *extent_id, struct err *err);
	void *seed_context;
	int64_t wall_minus_mono_ns; /* as in the last clock row */
	bool clock_known;
	char boot_id[40];
};

/* writer.c */

/* Ends the running frame to free its memory, as large as its window: sealing needs memory of its own. If the
 * extent has to continue all the same (it could not be sealed), another frame begins. */
int writer_end_frame(struct tape_writer *w, struct err *err) MUST_CHECK;

/* writer_seal.c */

/* Finds the present state of the tape: last segment, ids, last seq; turns hot chunks that a crash left into
 * an extent. */
int writer_recover(struct tape_writer *w, struct err *err) MUST_CHECK;
/* Makes sure that there is an open segment. */
int writer_ensure_segment(struct tape_writer *w, struct err *err) MUST_CHECK;
/* Packs the open extent and begins the next; nothing to do when it is empty. Everything must be flushed. */
int writer_seal_extent(struct tape_writer *w, struct err *err) MUST_CHECK;
/* Seals the open segment. */
int writer_seal_segment(struct tape_writer *w, struct err *err) MUST_CHECK;

/* How extents of a tape that is made at one go are packed: harder if they are small. */
const struct pack_options *writer_bulk_options(uint64_t raw_bytes);

/* How extents are packed where nobody waits longer than need be. */
extern const struct pack_options writer_seal_options;

/* writer_group.c */

/* Whether the next segment begins with the whole state, and with that a group. */
bool writer_group_is_over(const struct tape_writer *w);
/* The segment that was just made does. */
void writer_group_begin(struct tape_writer *w, int64_t now_ns);
/* Puts the live objects at the end of the last sealed segment into a new one. */
int writer_put_state(struct tape_writer *w, sqlite3 *db, struct err *err) MUST_CHECK;
/* Counts an event that was appended. */
void writer_group_count(struct tape_writer *w, enum event_type type, size_t bytes);
/* Notes in the open segment, which is about to be sealed, what the next writer has to know. */
int writer_group_note(struct tape_writer *w, struct err *err) MUST_CHECK;
/* What a segment of an existing tape is to its group; in their order. */
int writer_group_recover(
	struct tape_writer *w, const struct segment_file *file, sqlite3 *db, struct err *err) MUST_CHECK;
/* Counts what lives where the last segment does not say it. What cannot be counted stays unknown, and the next
 * segment begins with the whole state. */
void writer_group_measure(struct tape_writer *w, const struct segment_file *last);

/* writer_retention.c */

/* Whether old segments are to be looked at. */
bool writer_retains_now(const struct tape_writer *w);
/* If so, removes those beyond the limits. */
int writer_retain(struct tape_writer *w, struct err *err) MUST_CHECK;
/* The same at once, on a full disk. False if nothing was removed. */
bool writer_frees_space(struct tape_writer *w);
/* Of the open segment's database, without its log; 0: none is open. */
uint64_t writer_open_bytes(const struct tape_writer *w);
/* Before the open segment is sealed: its log and its sealed copy, of some two thirds of its size, lie beside it then.
 * writer_retain tells of failures. */
void writer_make_room_to_seal(struct tape_writer *w);
/* The first step of all: removes what `keep_free_bytes` asks for, and counts it. writer_retain tells of failures. */
void writer_make_room(struct tape_writer *w);

/* writer_copy.c, of a bulk writer */

/* Appends an event of another tape unchanged, except for its seq; stream and resource are the new tape's. */
int writer_copy_event(
	struct tape_writer *w, const struct event *e, struct slice object, struct err *err) MUST_CHECK;
/* Appends a sealed extent unchanged, with its seqs, streams and resources: the first of its events must be
 * the next of this tape. Seals earlier events first. */
int writer_copy_extent(
	struct tape_writer *w, struct tape *t, const struct tape_extent *x, struct err *err) MUST_CHECK;

#endif
