/* rows.c: see rows.h. */
#include "schema/tape/rows.h"

#include "schema/tape/segment.h"

#include <stdio.h>
#include <stdlib.h>

struct queued_row {
	struct queued_row *next;
	enum table table;
	size_t bytes;
	struct value values[]; /* and after them the copies of their bytes */
};

struct row_queue {
	struct queued_row *first, **last;
	size_t bytes;
};

struct row_queue *row_queue_new(void)
{
	struct row_queue *q = xcalloc(1, sizeof(*q));

	q->last = &q->first;
	return q;
}

void row_queue_clear(struct row_queue *q)
{
	while (q->first) {
		struct queued_row *next = q->first->next;

		free(q->first);
		q->first = next;
	}
	q->last = &q->first;
	q->bytes = 0;
}

void row_queue_free(struct row_queue *q)
{
	if (!q)
		return;
	row_queue_clear(q);
	free(q);
}

bool row_queue_empty(const struct row_queue *q)
{
	return !q->first;
}

size_t row_queue_bytes(const struct row_queue *q)
{
	return q->bytes;
}

static size_t bytes_of(const struct value *values, int count)
{
	size_t bytes = (size_t)count * sizeof(*values);

	for (int i = 0; i < count; i++)
		bytes += values[i].bytes.len;
	return bytes;
}

/* The bytes go behind the values. */
static void copy_values(struct value *to, const struct value *values, int count)
{
	char *at = (char *)&to[count];

	for (int i = 0; i < count; i++) {
		to[i] = values[i];
		if (values[i].kind < VALUE_TEXT)
			continue;
		if (values[i].bytes.len)
			memcpy(at, values[i].bytes.ptr, values[i].bytes.len);
		to[i].bytes.ptr = at;
		at += values[i].bytes.len;
	}
}

struct value *values_dup(const struct value *values, int count)
{
	struct value *to = xmalloc(bytes_of(values, count));

	copy_values(to, values, count);
	return to;
}

void row_queue_add(struct row_queue *q, enum table table, const struct value *values)
{
	int columns = table_formats[table].column_count;
	size_t bytes = sizeof(struct queued_row) + bytes_of(values, columns);
	struct queued_row *row = xmalloc(bytes);

	*row = (struct queued_row){.table = table, .bytes = bytes};
	copy_values(row->values, values, columns);
	*q->last = row;
	q->last = &row->next;
	q->bytes += row->bytes;
}

static int bind(sqlite3_stmt *statement, int index, const struct value *v)
{
	switch (v->kind) {
	case VALUE_NULL: return sqlite3_bind_null(statement, index);
	case VALUE_INTEGER: return sqlite3_bind_int64(statement, index, v->integer);
	case VALUE_TEXT:
		return sqlite3_bind_text64(
			statement, index, v->bytes.ptr, v->bytes.len, SQLITE_STATIC, SQLITE_UTF8);
	case VALUE_BLOB:
		return sqlite3_bind_blob64(statement, index, v->bytes.ptr, v->bytes.len, SQLITE_STATIC);
	}
	return SQLITE_MISUSE;
}

static sqlite3_stmt *prepare_insert(sqlite3 *db, enum table table)
{
	char sql[256];
	sqlite3_stmt *statement = NULL;
	int n = snprintf(sql, sizeof(sql), "INSERT OR REPLACE INTO %s VALUES(?", table_formats[table].name);

	for (int i = 1; i < table_formats[table].column_count; i++)
		n += snprintf(sql + n, sizeof(sql) - (size_t)n, ",?");
	snprintf(sql + n, sizeof(sql) - (size_t)n, ")");
	sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
	return statement;
}

static int step_insert(sqlite3_stmt *statement, enum table table, const struct value *values)
{
	int rc = SQLITE_OK;

	for (int i = 0; i < table_formats[table].column_count && !rc; i++)
		rc = bind(statement, i + 1, &values[i]);
	if (!rc && sqlite3_step(statement) != SQLITE_DONE)
		rc = SQLITE_ERROR;
	sqlite3_reset(statement);
	return rc;
}

void row_statements_release(struct row_statements *s)
{
	sqlite3_finalize(s->begin);
	sqlite3_finalize(s->commit);
	for (size_t i = 0; i < TABLE_COUNT; i++)
		sqlite3_finalize(s->insert[i]);
	*s = (struct row_statements){0};
}

static int execute(struct row_statements *s, sqlite3_stmt **statement, const char *sql, struct err *err)
{
	int rc = 0;

	if (!*statement && (rc = segment_prepare(s->db, sql, statement, err)))
		return rc;
	if (sqlite3_step(*statement) != SQLITE_DONE)
		rc = segment_failed(
			s->db, err, "'%s' failed on '%s'", sql, sqlite3_db_filename(s->db, "main"));
	sqlite3_reset(*statement);
	return rc;
}

int row_begin(struct row_statements *s, struct err *err)
{
	return execute(s, &s->begin, "BEGIN IMMEDIATE", err);
}

int row_commit(struct row_statements *s, struct err *err)
{
	return execute(s, &s->commit, "COMMIT", err);
}

int row_insert_prepared(
	struct row_statements *s, enum table table, const struct value *values, struct err *err)
{
	if (!s->insert[table])
		s->insert[table] = prepare_insert(s->db, table);
	if (s->insert[table] && step_insert(s->insert[table], table, values) == SQLITE_OK)
		return 0;
	return segment_failed(s->db, err, "cannot write to table '%s'", table_formats[table].name);
}

int row_queue_insert(const struct row_queue *q, struct row_statements *s, struct err *err)
{
	int rc = 0;

	for (const struct queued_row *row = q->first; row && !rc; row = row->next)
		rc = row_insert_prepared(s, row->table, row->values, err);
	return rc;
}

int row_insert(sqlite3 *db, enum table table, const struct value *values, struct err *err)
{
	struct row_statements once = {.db = db};
	int rc = row_insert_prepared(&once, table, values, err);

	row_statements_release(&once);
	return rc;
}

struct value value_of_column(sqlite3_stmt *row, int column)
{
	switch (sqlite3_column_type(row, column)) {
	case SQLITE_INTEGER: return value_integer(sqlite3_column_int64(row, column));
	case SQLITE_BLOB:
		return value_blob((struct slice){
			sqlite3_column_blob(row, column), (size_t)sqlite3_column_bytes(row, column)});
	case SQLITE_NULL: return value_text(NULL);
	default:
		return value_slice((struct slice){(const char *)sqlite3_column_text(row, column),
			(size_t)sqlite3_column_bytes(row, column)});
	}
}
