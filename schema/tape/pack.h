/*
 * pack.h: the form of an extent in a segment: blocks of objects, a columnar index, a filter. The bytes are
 * specified in FORMAT.md ("Sealed extents"); this is the only code that makes or reads them.
 *
 * Objects go into blocks in layout order, versions of one object side by side, which is what makes them
 * small. Small objects fill *packs*, one zstd frame of about PACK_BYTES, which refers to the names of its
 * objects (a *named* pack; the first tapes have plain ones), and may lack their versions (a *bare* one). Objects of
 * CHAIN_MIN_BYTES and more form
 * *chains*: up to CHAIN_LENGTH successive versions of one object, each compressed against the one before.
 */
#ifndef SCHEMA_TAPE_PACK_H
#define SCHEMA_TAPE_PACK_H

#include "schema/tape/extent.h"

#define PACK_BYTES      (512u << 10)
#define CHAIN_MIN_BYTES (16u << 10)
#define CHAIN_LENGTH    16
#define CHAIN_MAX_BYTES (2u << 20) /* of frames; what compresses so badly gains nothing by more */

enum block_kind { BLOCK_PACK, BLOCK_CHAIN, BLOCK_NAMED, BLOCK_BARE };

/* Whether the event of a sealed extent lies in a chain. */
static inline bool pack_is_chained(const struct extent *x, const struct extent_event *e)
{
	return !x->no_chains && e->length >= CHAIN_MIN_BYTES;
}

/* As in column `kind`. */
const char *block_kind_name(enum block_kind kind);
bool block_kind_find(struct slice name, enum block_kind *ret);

struct packed_block {
	enum block_kind kind;
	uint32_t events;
	uint64_t raw_bytes;
};

/* Takes each block when it is finished, so that an extent is never in memory twice: the number-th of the
 * extent (not in order: packs may be finished while a chain continues), data borrowed. */
typedef int pack_sink(
	void *context, size_t number, const struct packed_block *block, struct slice data, struct err *err);

struct packed_extent {
	struct packed_block *blocks;
	size_t block_count;
	struct buf index; /* compressed */
	uint64_t index_raw_bytes;
	struct buf filter; /* of a compact one: empty */
};

/* How hard to try with a pack. */
struct pack_effort {
	int level; /* zstd's */
	size_t bytes; /* of objects in a pack, at most LIMIT_BLOCK_BYTES / 2; more is smaller and slower to look into */
};

/* Objects are large from this on. */
#define PACK_LARGE_BYTES 8192

struct pack_options {
	struct pack_effort effort;
	struct pack_effort large; /* with a pack whose objects are large on average; {0}: the same */
	bool compact; /* a smaller index, bare packs, no chains and no filter, in a segment of which all extents are so */
};

/* Packs a hot extent, sorting it first. The result's buffers are the caller's, for pack_release. A failure of
 * the sink ends it. */
int pack_extent(struct extent *x, const struct pack_options *options, pack_sink *sink, void *context,
	struct packed_extent *ret, struct err *err) MUST_CHECK;
void pack_release(struct packed_extent *p);

/* The extent that an index describes; sorted, without bytes. Every count and sum in it is checked: block
 * counts against events, lengths against limits. The caller owns one reference. */
int unpack_index(
	struct slice index, uint64_t index_raw_bytes, struct extent **ret, struct err *err) MUST_CHECK;
/* The two halves of it: encodes the columns of the index, appended to `to`; and decodes them. */
int unpack_index_bytes(
	struct slice index, uint64_t index_raw_bytes, struct buf *to, struct err *err) MUST_CHECK;
int unpack_extent(struct slice raw, struct extent **ret, struct err *err) MUST_CHECK;

/* A decoded block, as far as it was needed: a pack whole, a chain up to the last version asked for. */
struct block {
	enum block_kind kind;
	struct buf bytes; /* objects of layout order, one after the other; bytes.max is the raw size */
	struct buf data;  /* chain: the stored bytes still needed */
	uint32_t decoded, events;
	size_t *frame_end; /* chain: of each version, in data */
	size_t *raw_end;   /* chain: of each version, in bytes */
};

/* The events of a pack, in their order. */
struct pack_walk {
	const struct extent *x;
	size_t at; /* in the layout */
	uint32_t block;
};
/* From the first one of the pack that the event of a sealed extent at index is in. */
struct pack_walk pack_walk_begin(const struct extent *x, uint32_t index);
const struct extent_event *pack_walk_next(struct pack_walk *w); /* NULL at the end */

/* Appends the names of an object, of all objects in the pack that an event of a sealed extent is in. */
int pack_names_add(const struct extent_object *o, struct buf *to, struct err *err) MUST_CHECK;
int pack_names(const struct extent *x, uint32_t index, struct buf *to, struct err *err) MUST_CHECK;

/* Takes a copy of what it needs of data. names: of a named pack, by pack_names. A bare one needs its extent, below. */
int block_open(enum block_kind kind, struct slice data, uint32_t events, uint64_t raw_bytes,
	struct slice names, struct block **ret, struct err *err) MUST_CHECK;
/* The same, with the names of the pack that the event of a sealed extent at index is in. */
int block_open_of(const struct extent *x, uint32_t index, enum block_kind kind, struct slice data,
	uint32_t events, uint64_t raw_bytes, struct block **ret, struct err *err) MUST_CHECK;
void block_free(struct block *b);
/* length bytes at offset; borrowed until block_free. */
int block_get(
	struct block *b, uint64_t offset, uint64_t length, struct slice *ret, struct err *err) MUST_CHECK;

/* The filter answers "is this uid, or this key, perhaps in the extent": sorted 32-bit hashes, no false no. */
int pack_filter(const struct extent *x, struct buf *to, struct err *err) MUST_CHECK; /* appends it */
uint32_t filter_hash_uid(struct slice uid);
uint32_t filter_hash_key(uint32_t resource, struct slice namespace, struct slice name);
int filter_decode(struct slice filter, uint32_t **ret_hashes, size_t *ret_count, struct err *err) MUST_CHECK;
bool filter_has(const uint32_t *hashes, size_t count, uint32_t hash);

#endif
