/*
 * recover_internal.h: what recover.c (the whole), salvage.c and recover_extent.c (what is left of each
 * segment), recover_plan.c (what is lost) and recover_write.c (the new tape) share.
 */
#ifndef SCHEMA_TAPE_RECOVER_INTERNAL_H
#define SCHEMA_TAPE_RECOVER_INTERNAL_H

#include "schema/tape/hot.h"
#include "schema/tape/pack.h"
#include "schema/tape/raw_db.h"
#include "schema/tape/recover.h"
#include "schema/tape/registry.h"
#include "schema/tape/segment.h"

/* Doubles a list's room whenever its length reaches a power of two. */
static inline void *room_for_one(void *list, size_t count, size_t size)
{
	return count & (count - 1) ? list : xrealloc(list, (count ? 2 * count : 1) * size);
}

/* A row of a plain table, copied. */
struct kept_row {
	enum table table;
	int64_t id;
	size_t order;         /* in which it was found: where an id is there twice the first one counts */
	const char *unusable; /* why it is, else NULL */
	struct value *values; /* with their bytes behind them */
};

/* Where the row of a block is. */
struct kept_block {
	int64_t id;
	uint32_t events; /* as the row says */
	bool intact;     /* the row and its data are as they were sealed */
	struct raw_place place;
};

struct kept_chunk {
	int64_t id, extent;
	struct raw_place place;
};

/* An extent of which at least the row was found. */
struct kept_extent {
	int64_t id;
	bool is_state, is_hot;
	uint64_t first_seq, last_seq; /* of x, or as the row says */
	struct extent *x;             /* NULL when the index is damaged */
	bool *lost;                   /* by event of x: its object cannot be read; NULL before the plan */
	uint64_t hot_lost;            /* hot: events behind last_seq whose chunks cannot be decoded */
};

struct salvaged {
	struct segment_file file;
	const char *name; /* in the directory */
	struct raw_db *db;
	uint64_t first_seq; /* by meta; 0: not known */
	bool has_state;     /* by meta: its state is complete */
	struct kept_row *rows;
	size_t row_count;
	struct kept_block *blocks; /* sorted by id */
	size_t block_count;
	struct kept_chunk *chunks; /* sorted by id */
	size_t chunk_count;
	struct buf documents;        /* the decoded pack, empty when there is none that is intact */
	bool chunk_damaged;          /* some chunk, perhaps the last one, has a bad sum */
	struct kept_extent *extents; /* sorted by id, states first */
	size_t extent_count;
};

/* A run of seqs that are not in their place. */
struct lost_run {
	uint64_t first, last;
	size_t segment;                   /* SIZE_MAX: of a segment that is not there */
	const struct kept_extent *extent; /* NULL: nothing is known of them */
	char why[120];
};

/* An event that is lost in its place and stands in a later segment's state. */
struct rescued {
	uint64_t seq;
	size_t segment, extent;
	uint32_t index;
};

struct recovery {
	const struct tape_recover_options *options;
	struct salvaged *segments;
	size_t segment_count;
	struct registry registry;     /* of all segments */
	struct kept_row *stream_rows; /* by stream id - 1, borrowed from segments; values NULL when lost */
	uint64_t first_seq, last_seq; /* of the old tape, as far as known */
	struct lost_run *runs;        /* sorted, without what was rescued */
	size_t run_count;
	struct rescued *rescued; /* sorted by seq */
	size_t rescued_count;
	struct tape_recover_result result;
	uint64_t done_bytes, total_bytes;
};

/* salvage.c */
int salvage_segment(const struct segment_file *file, struct salvaged *ret, struct err *err) MUST_CHECK;
void salvaged_release(struct salvaged *s);
/* Decodes the chunks of hot extents; wants the whole registry. */
void salvage_chunks(struct salvaged *s, const struct registry *registry);
/* A block as the index describes it. */
struct block_shape {
	bool is_chain;
	uint32_t events;
	uint64_t raw_bytes;
	const struct extent *x; /* which has an event in it at index */
	uint32_t index;
};
/* The block, if its row can be read and its frame decoded; what the frames' own checksums say decides, so
 * that a damaged number in the row does no harm. Of a chain, versions behind a damaged one cannot be had. */
bool salvage_block(struct salvaged *s, int64_t extent, uint32_t number, const struct block_shape *shape,
	struct block **ret);

/* The document of a row that the pack holds, empty when it is not intact. */
struct slice salvage_document(const struct salvaged *s, const struct kept_row *row);

/* recover_extent.c: the blocks of one extent, opened as they are needed and kept until the end. */
struct extent_blocks;
struct extent_blocks *extent_blocks_new(struct salvaged *s, const struct kept_extent *e);
void extent_blocks_free(struct extent_blocks *b);
/* The object of event `index` of e->x, proved to be that event's; false when it is not intact. */
bool extent_blocks_object(struct extent_blocks *b, uint32_t index, struct slice *ret);
/* Number of the block that an event is in, for sentences. */
uint32_t extent_blocks_number(const struct kept_extent *e, uint32_t index);

/* recover_plan.c: what is lost, what is rescued. */
int recover_plan(struct recovery *r, struct err *err) MUST_CHECK;
/* The seq that an old one has in the new tape: of a lost one, that of the last one before it. */
uint64_t recover_map(const struct recovery *r, uint64_t seq);

/* recover_write.c */
int recover_write(struct recovery *r, const char *to, struct err *err) MUST_CHECK;

#endif
