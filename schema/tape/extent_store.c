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

/* Where blocks go as they are made. */
struct store {
	struct row_statements statements;
	int64_t extent_id;
};

static int insert_block(
	void *context, size_t number, const struct packed_block *b, struct slice data, struct err *err)
{
	struct store *s = context;
	struct value values[] = {
		value_integer(block_id(s->extent_id, (uint32_t)number)),
		value_text(block_kind_name(b->kind)),
		value_integer(b->events),
		value_integer((int64_t)b->raw_bytes),
		value_integer((int64_t)codec_hash(data)),
		value_blob(data),
	};

	return row_insert_prepared(&s->statements, TABLE_BLOCK, values, err);
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

static int store(struct store *s, const char *kind, struct extent *x, const struct pack_options *options,
	struct err *err)
{
	sqlite3 *db = s->statements.db;
	struct packed_extent p;
	int rc = pack_extent(x, options, insert_block, s, &p, err);

	if (rc)
		return rc;
	if (!(rc = insert_extent(db, s->extent_id, kind, x, &p, err)) &&
		!(rc = delete_chunks(db, s->extent_id, err)))
		rc = segment_exec(db, "COMMIT", err);
	pack_release(&p);
	return rc;
}

int extent_store(sqlite3 *db, int64_t id, const char *kind, struct extent *x,
	const struct pack_options *options, struct err *err)
{
	struct store s = {.statements = {.db = db}, .extent_id = id};
	int rc = segment_exec(db, "BEGIN IMMEDIATE", err);

	if (rc)
		return rc;
	rc = store(&s, kind, x, options, err);
	row_statements_release(&s.statements);
	if (rc)
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}
