/*
 * reader_internal.h: the reader's own state, shared by reader.c (opening, refreshing), reader_extents.c
 * (finding events), reader_blocks.c (decoded objects), reader_rows.c, cursor.c and state.c. Nobody else
 * includes it.
 *
 * A tape is a list of segments, each a list of extents; the last one may have a hot extent behind it. Extents
 * of events cover the seqs without holes or overlaps. Extents of state repeat the live objects at a segment's
 * start.
 */
#ifndef SCHEMA_TAPE_READER_INTERNAL_H
#define SCHEMA_TAPE_READER_INTERNAL_H

#include "schema/tape/extent.h"
#include "schema/tape/hot.h"
#include "schema/tape/pack.h"
#include "schema/tape/reader.h"
#include "schema/tape/registry.h"
#include "schema/tape/segment.h"

struct tape_segment {
	struct segment_file file;
	sqlite3 *db; /* NULL while closed, see reader_db */
	sqlite3_stmt *read_block;
	uint64_t used;       /* tick of the last use */
	int64_t last_extent; /* id of the newest extent we know */
	uint64_t first_seq;  /* of the first event that is or will be in it */
	bool has_state;      /* its extents of state are complete */
};

struct tape_extent {
	size_t segment;
	int64_t id;
	bool is_state;
	uint64_t first_seq, last_seq, events, raw_bytes;
	int64_t min_time_ns, max_time_ns;
	struct extent *index; /* decoded, or NULL */
	uint64_t used;
	uint32_t *filter; /* decoded, or NULL */
	size_t filter_count;
};

struct cached_block {
	size_t segment;
	int64_t id; /* 0: free */
	struct block *block;
	uint64_t used;
};

struct tape {
	char *path;
	struct registry registry;
	struct tape_segment *segments;
	size_t segment_count, open_count;
	struct tape_extent *extents; /* in the order of segments and ids */
	size_t extent_count;
	struct hot_reader hot; /* of the last segment */
	struct cached_block *blocks;
	size_t block_count;
	size_t cache_bytes, cache_max_bytes;
	size_t index_bytes;
	uint64_t tick;
	struct buf document_text; /* what tape_document's strings point into */
};

/* A view of one sealed segment alone, for the writer: no directory is read, so that rotation costs the same
 * however long the tape is. */
int reader_open_sealed(const char *path, uint32_t number, struct tape **ret, struct err *err) MUST_CHECK;

/* reader.c: the segment's database, opened when need be; others may be closed for it. */
sqlite3 *reader_db(struct tape *t, size_t segment, struct err *err);

/* reader_extents.c */

/* Where a seq is: the extent and the event's index in it. The extent stays valid until the next call that
 * looks for one; take a reference to keep it longer. entry is NULL when it is the hot one. */
struct place {
	const struct tape_extent *entry;
	struct extent *extent;
	size_t index;
};
int reader_find(struct tape *t, uint64_t seq, struct place *ret, struct err *err) MUST_CHECK;
/* The decoded index of extent i; extent_count is the hot one (may be empty). */
int reader_extent(struct tape *t, size_t i, struct extent **ret, struct err *err) MUST_CHECK;
/* False only when extent i surely has no object of that hash. */
int reader_may_have(struct tape *t, size_t i, uint32_t hash, bool *ret, struct err *err) MUST_CHECK;

/* reader_blocks.c */
int reader_object(struct tape *t, const struct tape_extent *entry, const struct extent *x, size_t index,
	struct slice *ret, struct err *err) MUST_CHECK;
void reader_release_blocks(struct tape *t);

#endif
