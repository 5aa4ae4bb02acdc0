/*
 * hot.h: the hot stage: events as records in a running frame. FORMAT.md ("Hot chunks") has the byte table.
 */
#ifndef SCHEMA_TAPE_HOT_H
#define SCHEMA_TAPE_HOT_H

#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/tape/codec.h"
#include "schema/tape/extent.h"
#include "schema/tape/registry.h"

#include <sqlite3.h>

/* The size of hot_identify's scratch: four unescaped names. */
#define HOT_SCRATCH_BYTES (4 * LIMIT_NAME_BYTES)

/* Reads namespace, name, uid and rv off an object into e, whose slices point into object or, where the JSON
 * has escapes, into scratch. rv is left alone when e->origin is ORIGIN_INFERRED. */
int hot_identify(struct event *e, struct slice object, struct buf *scratch, struct err *err) MUST_CHECK;
/* Like hot_append(), for callers that have already run json_scan_object(). */
int hot_identify_scanned(struct event *e, struct slice object, const struct object_meta *scanned,
	struct buf *scratch, struct err *err) MUST_CHECK;

/* Appends one record to raw, without the object of that length, which has to follow. previous_time_ns is that
 * of the record before in the chunk, or the chunk's first. */
int hot_put_head(struct buf *raw, const struct event *e, size_t length, int64_t previous_time_ns,
	struct err *err) MUST_CHECK;

/* Decoding the chunks of one hot extent, in the order of their ids. The extent's bytes are the records as
 * they are decoded: each object is copied once. */
struct hot_reader {
	struct extent *extent;
	struct frame_reader *frame;
	int64_t last_chunk; /* id of the last chunk read */
	struct buf scratch;
};
void hot_reader_init(struct hot_reader *h);
void hot_reader_release(struct hot_reader *h);

/* One row of table chunk. */
struct hot_chunk {
	int64_t id, extent;
	uint64_t first_seq;
	int64_t events, first_time_ns, raw_bytes;
	uint64_t xxh64;
	struct slice data;
};

/* The correct xxh64: of the numbers of its row and its data. */
uint64_t hot_chunk_sum(const struct hot_chunk *chunk);

/* Decodes the next chunk of the extent. */
int hot_reader_take(struct hot_reader *h, const struct registry *registry, const struct hot_chunk *chunk,
	struct err *err) MUST_CHECK;

/* Reads the chunks of that extent that came after last_chunk. Returns how many. A chunk that is damaged ends
 * it with ERR_CORRUPT, the ones before it stay. */
int hot_reader_load(struct hot_reader *h, sqlite3 *db, int64_t extent_id, const struct registry *registry,
	struct err *err) MUST_CHECK;

#endif
