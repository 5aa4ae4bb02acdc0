/*
 * salvage.h: what is left of one segment of a damaged tape. Only the places of rows, blocks and extents are
 * kept in memory, and these are read again when needed: a tape may be larger than memory. At any time one
 * extent's index and some of its blocks are decoded.
 *
 *   salvage_segment of all --> salvage_settle with the whole registry --> salvage_row, salvage_extent ...
 */
#ifndef SCHEMA_TAPE_SALVAGE_H
#define SCHEMA_TAPE_SALVAGE_H

#include "schema/tape/hot.h"
#include "schema/tape/lost_bits.h"
#include "schema/tape/pack.h"
#include "schema/tape/raw_db.h"
#include "schema/tape/registry.h"
#include "schema/tape/segment.h"

enum row_fault {
	ROW_USABLE,
	ROW_OF_NO_STREAM,    /* it names a stream that is not there */
	ROW_WITHOUT_ITS_PACK /* a document whose pack is damaged */
};

#define STREAM_STRANGE UINT32_MAX

/* A row of a plain table. */
struct kept_row {
	int64_t id;
	struct raw_place place;
	uint32_t order;  /* in which it was found: where an id is there twice the first one counts */
	uint32_t stream; /* that it names; 0: none; STREAM_STRANGE: no number of a stream */
	uint8_t table, fault;
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

/* An extent whose row at least was found. */
struct kept_extent {
	int64_t id;
	uint32_t order;                /* as kept_row's */
	struct raw_place place;        /* of its row, unless it is hot */
	size_t chunk_begin, chunk_end; /* hot: among the chunks */
	bool is_state, is_hot, is_intact;
	bool is_readable;             /* its index is intact, and all that it names is there */
	uint64_t first_seq, last_seq; /* of the index, or as the row says */
	uint64_t events, raw_bytes;   /* of the index */
	struct lost_bits *lost;       /* by event: its object cannot be read; NULL: none is lost */
	uint64_t hot_lost;            /* hot: events after last_seq whose chunks cannot be decoded */
};

struct salvaged {
	struct segment_file file;
	const char *name; /* in the directory */
	struct raw_db *db;
	uint64_t first_seq; /* by meta; 0: not known */
	bool has_state;     /* by meta: its state is complete */
	int64_t base;       /* by meta: the segment that has its state, unless it has; 0: it does not say */
	struct kept_row *rows; /* sorted by table, id and order */
	size_t row_count;
	bool strange_ids[TABLE_COUNT]; /* a row has a number that no row can have */
	struct kept_block *blocks;     /* sorted by id */
	size_t block_count;
	struct kept_chunk *chunks; /* sorted by extent and id */
	size_t chunk_count;
	struct raw_place pack_place; /* of the pack of documents */
	bool has_pack;
	bool chunk_damaged;          /* some chunk, perhaps the last one, has a bad sum */
	struct kept_extent *extents; /* sorted by id, states first */
	size_t extent_count;
};

int salvage_segment(const struct segment_file *file, struct salvaged *ret, struct err *err) MUST_CHECK;
void salvaged_release(struct salvaged *s);
/* Reads a row again. Its values are borrowed until the next one of the segment is read. */
bool salvage_row(struct salvaged *s, const struct kept_row *row, struct raw_row *ret);
/* The first usable row of that table and id, in the segment; NULL if there is none. */
const struct kept_row *salvage_find_row(const struct salvaged *s, enum table table, int64_t id);
/* With the whole registry: refuses rows of streams that are not there, looks at each index, and decodes
 * chunks. */
void salvage_settle(struct salvaged *s, const struct registry *registry);
/* The decoded pack of documents, appended. */
void salvage_pack(struct salvaged *s, struct buf *to);
/* The body of a packed document, empty when it is not intact. */
struct slice salvage_document(const struct raw_row *row, struct slice pack);

/* Decodes the index of an extent, or its chunks; NULL if it is damaged. The caller unrefs.
 */
struct extent *salvage_extent(
	struct salvaged *s, const struct kept_extent *e, const struct registry *registry);

/* A block as the index describes it. */
struct block_shape {
	bool is_chain;
	uint32_t events;
	uint64_t raw_bytes;
	const struct extent *x; /* which has an event in it at index */
	uint32_t index;
};
/* The block, if its row can be read and its frame decoded; the frames' own checksums decide, so that a
 * damaged number in the row does no harm. Versions in a chain after a damaged one are lost. */
bool salvage_block(struct salvaged *s, int64_t extent, uint32_t number, const struct block_shape *shape,
	struct block **ret);

#endif
