/*
 * reader_internal.h: the reader's own state, shared by reader.c (opening), reader_load.c and
 * reader_segments.c (keeping up with the writer), reader_indexes.c (decoded indexes), reader_extents.c
 * (finding events), reader_blocks.c (decoded objects), reader_ids.c, reader_rows.c, row_reader.h, cursor.c and
 * state.c, and by the code that makes tapes from tapes: writer_group.c, writer_copy.c, repack.c, remake_internal.h and
 * merge_internal.h.
 *
 * A tape is a list of segments, each a list of extents. Extents of events cover the seqs without holes or
 * overlaps; the last ones may still be hot, that is in chunks, and become sealed in their place. Extents of
 * state repeat the live objects at a segment's start and are in a list of their own.
 */
#ifndef SCHEMA_TAPE_READER_INTERNAL_H
#define SCHEMA_TAPE_READER_INTERNAL_H

#include "schema/tape/extent.h"
#include "schema/tape/hot.h"
#include "schema/tape/pack.h"
#include "schema/tape/reader.h"
#include "schema/tape/registry.h"
#include "schema/tape/segment.h"

/* Of the rows of a table; of none lowest is above highest. */
struct id_range {
	int64_t lowest, highest;
};
static inline struct id_range no_ids(void)
{
	return (struct id_range){INT64_MAX, INT64_MIN};
}

struct tape_segment {
	struct segment_file file;
	sqlite3 *db; /* NULL while closed, see reader_db */
	sqlite3_stmt *read_block;
	uint64_t used;       /* tick of the last use */
	int64_t last_extent; /* id of the newest sealed extent of events we know */
	uint64_t first_seq;  /* of the first event that is or will be in it */
	bool has_state;      /* its extents of state are complete, and in the list */
	uint32_t base;       /* number of the segment that has its state; 0: not known yet */
	bool settled;        /* read after it was sealed: nothing will be added */
	bool knows_ids;
	struct id_range ids[TABLE_COUNT]; /* see reader_ids */
};

struct tape_extent {
	size_t segment;
	int64_t id;
	uint64_t first_seq, last_seq, events, raw_bytes;
	int64_t min_time_ns, max_time_ns;
	/* Sealed: what the index showed when it was decoded first. Not on disk: a walk by resourceVersion
	 * passes the extent by from the second time on. */
	uint64_t min_rv, max_rv;
	bool rvs_known;         /* and all of them are numbers */
	struct hot_reader *hot; /* the chunks from which it was decoded while it is hot, else NULL */
	struct extent *index;   /* sealed: decoded, or NULL */
	uint64_t used;
	uint32_t *filter; /* sealed: decoded, or NULL */
	size_t filter_count;
	bool is_compact; /* it has no filter */
};

struct extent_list {
	struct tape_extent *items; /* in the order of segments and ids */
	size_t count;
};

/* An extent whose index, or filter, is decoded. */
struct kept_part {
	bool is_state; /* in states, else in events */
	size_t index;
	size_t bytes;
};

struct kept_parts {
	struct kept_part *items; /* in the order of decoding */
	size_t count, bytes;
};

/* A decoded block; in a chain of its hash bucket and in the order of use. */
struct cached_block {
	size_t segment;
	int64_t id;
	struct block *block;
	uint64_t latest;           /* offset of the object that was read last */
	unsigned in_order;         /* objects read so far, each after the one before; READ_ANYHOW: not so */
	bool passed;               /* a walk is done with it */
	struct cached_block *next; /* in the bucket */
	struct cached_block *newer, *older;
};

#define BLOCK_BUCKETS 1024

/* Databases held open at once; a tape may have more segments than the process may have files. */
#define MAX_OPEN_SEGMENTS 64

struct tape {
	char *path;
	struct registry registry;
	struct tape_segment *segments;
	size_t segment_count;
	size_t open[MAX_OPEN_SEGMENTS]; /* those whose database is open */
	size_t open_count;
	struct extent_list events, states;
	struct cached_block *buckets[BLOCK_BUCKETS], *newest, *oldest;
	size_t cache_bytes, cache_max_bytes;
	size_t passed_bytes; /* of the blocks kept, those that walks have passed */
	struct kept_parts indexes, filters;
	size_t indexes_max_bytes;
	uint64_t tick, rest_tick; /* rest_tick: the tick at the last tape_rest */
	struct buf document_text; /* what tape_document's strings point into */
	struct buf documents;     /* the pack of documents that was decoded last, of that sum */
	int64_t documents_xxh64;
};

/* reader.c: the segment's database, opened when need be; others may be closed for it. Borrowed until the next
 * call. */
int reader_db(struct tape *t, size_t segment, sqlite3 **ret, struct err *err) MUST_CHECK;
/* A statement in it, which the caller finalizes before the next call of reader_db. */
int reader_prepare(
	struct tape *t, size_t segment, const char *sql, sqlite3_stmt **ret, struct err *err) MUST_CHECK;
void reader_close_segment(struct tape *t, struct tape_segment *s);

/* reader_ids.c: what is known of the ids of that segment's table without opening it, or NULL; borrowed. Known are those of sealed
 * segments, which reader_note_ids has noted; if that fails, it is told when the rows are read. */
const struct id_range *reader_ids(const struct tape *t, size_t segment, enum table table);
void reader_note_ids(struct tape_segment *s, sqlite3 *db);

/* A view of some successive segments, for a tape's writer: no directory is read, so that rotation costs the same
 * however long the tape is. Little is kept in memory. */
int reader_open_segments(
	const struct segment_file *list, size_t count, struct tape **ret, struct err *err) MUST_CHECK;

/* state.c: the live objects after event seq, each with the event that gave its last version, as they are
 * stored: extent by extent, so that each block is decoded once. Arguments are borrowed for the call; anything
 * but 0 ends the walk and is returned. */
int reader_each_live(struct tape *t, uint64_t seq,
	int (*each)(void *context, const struct event *e, struct slice object), void *context,
	struct err *err) MUST_CHECK;

/* The most memory of a state: more than that would be a claim that the disk does not bear out. */
size_t reader_state_bytes(const struct tape *t);

/* By how much the hot extent is larger than writers make one; the cache for other extents shrinks by that.
 */
size_t reader_excess(const struct tape *t);

/* reader_indexes.c */

/* The extent of an entry of one of the lists, sorted. */
int reader_extent(struct tape *t, struct tape_extent *entry, struct extent **ret, struct err *err) MUST_CHECK;
/* False only when the extent surely has no object of that hash. */
int reader_may_have(
	struct tape *t, struct tape_extent *entry, uint32_t hash, bool *ret, struct err *err) MUST_CHECK;
void reader_release_indexes(struct tape *t);
void reader_forget_indexes(struct tape *t); /* the entries stay */

/* reader_blocks.c: x is the entry's extent, which may have been hot when it was taken. */
int reader_object(struct tape *t, const struct tape_extent *entry, const struct extent *x, size_t index,
	struct slice *ret, struct err *err) MUST_CHECK;
void reader_release_blocks(struct tape *t);

/* reader_load.c: brings segments, extents and registry up to date with the directory. */
int reader_load(struct tape *t, struct err *err) MUST_CHECK;
int reader_load_segment(struct tape *t, size_t segment, struct err *err) MUST_CHECK;
void reader_release_extents(struct extent_list *list);

#endif
