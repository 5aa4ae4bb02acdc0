/* writer_copy.c: events out of another tape, for a bulk writer; see writer_internal.h. */
#include "schema/tape/codec.h"
#include "schema/tape/reader_internal.h"
#include "schema/tape/writer_internal.h"

#include <stdlib.h>

int writer_copy_event(struct tape_writer *w, const struct event *e, struct slice object, struct err *err)
{
	struct event own = *e;
	int rc;

	own.seq = w->last_seq + 1;
	rc = extent_add(w->extent, &own, object, err);
	if (rc)
		return rc;
	w->last_seq++;
	return tape_writer_is_full(w) ? tape_writer_flush(w, err) : 0;
}

/* ---- whole extents ---- */

struct extent_copy {
	struct tape_writer *w;
	const struct tape_extent *from;
	const char *path; /* of its segment */
	struct err *err;
};

static int writer_copy_damaged(const struct extent_copy *c, const char *what, struct err *err)
{
	return err_set(err, ERR_CORRUPT, "bad checksum of %s of extent %lld in '%s'", what,
		(long long)c->from->id, c->path);
}

static int insert_block(const struct extent_copy *c, struct value *values, struct err *err)
{
	enum { XXH64 = 4, DATA = 5 };

	if (codec_hash(values[DATA].bytes) != (uint64_t)values[XXH64].integer)
		return writer_copy_damaged(c, "a block", err);
	values[0].integer = block_id(
		c->w->extent_id, (uint32_t)values[0].integer & ((UINT32_C(1) << BLOCK_NUMBER_BITS) - 1));
	return row_insert_prepared(&c->w->statements, TABLE_BLOCK, values, err);
}

static int insert_extent(const struct extent_copy *c, struct value *values, struct err *err)
{
	enum { INDEX_XXH64 = 11, FILTER_XXH64 = 12, FILTER = 13, INDEX = 14 };

	if (codec_hash(values[INDEX].bytes) != (uint64_t)values[INDEX_XXH64].integer)
		return writer_copy_damaged(c, "the index", err);
	if (codec_hash(values[FILTER].bytes) != (uint64_t)values[FILTER_XXH64].integer)
		return writer_copy_damaged(c, "the filter", err);
	values[0].integer = c->w->extent_id;
	return row_insert_prepared(&c->w->statements, TABLE_EXTENT, values, err);
}

/* The rows of a table whose ids lie between two. */
static int copy_rows(
	const struct extent_copy *c, sqlite3 *from, enum table table, const int64_t ids[2], struct err *err)
{
	char *sql = xasprintf("SELECT * FROM %s WHERE id BETWEEN ? AND ?", table_formats[table].name);
	struct value values[FORMAT_COLUMNS_MAX];
	sqlite3_stmt *rows;
	int step = SQLITE_DONE, rc = segment_prepare(from, sql, &rows, err);

	free(sql);
	if (rc)
		return rc;
	sqlite3_bind_int64(rows, 1, ids[0]);
	sqlite3_bind_int64(rows, 2, ids[1]);
	while (!rc && (step = sqlite3_step(rows)) == SQLITE_ROW) {
		for (int i = 0; i < table_formats[table].column_count; i++)
			values[i] = value_of_column(rows, i);
		rc = table == TABLE_BLOCK ? insert_block(c, values, err) : insert_extent(c, values, err);
	}
	if (!rc && step != SQLITE_DONE)
		rc = segment_failed(
			from, err, "cannot read table '%s' of '%s'", table_formats[table].name, c->path);
	sqlite3_finalize(rows);
	return rc;
}

static int insert_all(const struct extent_copy *c, sqlite3 *from, struct err *err)
{
	const int64_t extents[] = {c->from->id, c->from->id};
	const int64_t blocks[] = {block_id(c->from->id, 0), block_id(c->from->id + 1, 0) - 1};
	int rc = row_begin(&c->w->statements, err);

	if (rc)
		return rc;
	if (!(rc = copy_rows(c, from, TABLE_EXTENT, extents, err)) &&
		!(rc = copy_rows(c, from, TABLE_BLOCK, blocks, err)))
		rc = row_commit(&c->w->statements, err);
	if (rc)
		sqlite3_exec(c->w->db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

int writer_copy_extent(struct tape_writer *w, struct tape *t, const struct tape_extent *x, struct err *err)
{
	const struct extent_copy c = {.w = w, .from = x, .path = t->segments[x->segment].file.path};
	sqlite3 *from;
	int rc;

	if (x->first_seq != w->last_seq + 1)
		return err_set(err, ERR_USAGE, "an extent begins at event %llu, expected %llu",
			(unsigned long long)x->first_seq, (unsigned long long)w->last_seq + 1);
	if ((rc = tape_writer_flush(w, err)) || (rc = writer_ensure_segment(w, err)) ||
		(rc = writer_seal_extent(w, err)) || (rc = reader_db(t, x->segment, &from, err)) ||
		(rc = insert_all(&c, from, err)))
		return rc;
	w->extent_id++;
	w->last_seq = w->durable_seq = x->last_seq;
	w->sealed_raw_bytes += x->raw_bytes;
	return tape_writer_flush(w, err);
}
