/* extent_store.c: see extent_store.h. */
#include "schema/tape/extent_store.h"

#include "schema/tape/codec.h"
#include "schema/tape/segment.h"

#include <inttypes.h>
#include <stdio.h>

int extent_store_meta(sqlite3 *db, const char *key, struct value value, struct err *err)
{
	struct value values[] = {value_text(key), value};

	return row_insert(db, TABLE_META, values, err);
}

static int insert_blocks(sqlite3 *db, int64_t extent_id, const struct packed_extent *p, struct err *err)
{
	for (size_t i = 0; i < p->block_count; i++) {
		const struct packed_block *b = &p->blocks[i];
		struct value values[] = {
			value_integer(extent_id << BLOCK_NUMBER_BITS | (int64_t)i),
			value_text(block_kind_name(b->kind)),
			value_integer(b->events),
			value_integer((int64_t)b->raw_bytes),
			value_integer((int64_t)codec_hash(buf_slice(&b->data))),
			value_blob(buf_slice(&b->data)),
		};

		if (row_insert(db, TABLE_BLOCK, values, err))
			return err->code;
	}
	return 0;
}

static int insert_extent(sqlite3 *db, int64_t id, const char *kind, const struct extent *x,
	const struct packed_extent *p, struct err *err)
{
	struct value values[] = {
		value_integer(id),
		value_text(kind),
		value_integer((int64_t)extent_first_seq(x)),
		value_integer((int64_t)extent_last_seq(x)),
		value_integer((int64_t)x->event_count),
		value_integer((int64_t)x->object_count),
		value_integer(x->min_time_ns),
		value_integer(x->max_time_ns),
		value_integer((int64_t)x->raw_bytes),
		value_integer((int64_t)p->block_count),
		value_integer((int64_t)p->index_raw_bytes),
		value_integer((int64_t)codec_hash(buf_slice(&p->index))),
		value_integer((int64_t)codec_hash(buf_slice(&p->filter))),
		value_blob(buf_slice(&p->filter)),
		value_blob(buf_slice(&p->index)),
	};

	return row_insert(db, TABLE_EXTENT, values, err);
}

static int delete_chunks(sqlite3 *db, int64_t extent_id, struct err *err)
{
	char sql[80];

	snprintf(sql, sizeof(sql), "DELETE FROM chunk WHERE extent = %" PRId64, extent_id);
	return segment_exec(db, sql, err);
}

int extent_store(sqlite3 *db, int64_t id, const char *kind, struct extent *x,
	const struct pack_options *options, struct err *err)
{
	struct packed_extent p;
	int failed = pack_extent(x, options, &p, err);

	if (failed)
		return failed;
	failed = segment_exec(db, "BEGIN IMMEDIATE", err);
	if (!failed) {
		failed = insert_blocks(db, id, &p, err) || insert_extent(db, id, kind, x, &p, err) ||
			 delete_chunks(db, id, err) || segment_exec(db, "COMMIT", err);
		if (failed)
			sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	}
	pack_release(&p);
	return failed ? err->code : 0;
}
