/*
 * rows.h: rows on their way into a segment. The writer queues them with copied values and inserts them all in
 * the transaction of a flush; when that fails they stay queued, so that nothing is forgotten.
 */
#ifndef SCHEMA_TAPE_ROWS_H
#define SCHEMA_TAPE_ROWS_H

#include "schema/base/buf.h"
#include "schema/tape/format.h"

#include <sqlite3.h>

enum value_kind { VALUE_NULL, VALUE_INTEGER, VALUE_TEXT, VALUE_BLOB };

struct value {
	enum value_kind kind;
	int64_t integer;
	struct slice bytes;
};

static inline struct value value_integer(int64_t n)
{
	return (struct value){.kind = VALUE_INTEGER, .integer = n};
}

/* NULL becomes SQL NULL. */
static inline struct value value_text(const char *text)
{
	return (struct value){.kind = text ? VALUE_TEXT : VALUE_NULL, .bytes = slice_of(text)};
}

static inline struct value value_slice(struct slice text)
{
	return (struct value){.kind = text.ptr ? VALUE_TEXT : VALUE_NULL, .bytes = text};
}

static inline struct value value_blob(struct slice bytes)
{
	return (struct value){.kind = bytes.ptr ? VALUE_BLOB : VALUE_NULL, .bytes = bytes};
}

/* A column of a statement's row; bytes are borrowed until its next step. */
struct value value_of_column(sqlite3_stmt *row, int column);

/* The number, 0 if there is none. */
static inline int64_t value_number(const struct value *v)
{
	return v->kind == VALUE_INTEGER ? v->integer : 0;
}

static inline bool value_is(const struct value *v, const char *text)
{
	return v->kind == VALUE_TEXT && slice_is(v->bytes, text);
}

/* A copy of the values with their bytes, in one block; the caller frees it. */
struct value *values_dup(const struct value *values, int count);

struct row_queue;
struct row_queue *row_queue_new(void);
void row_queue_free(struct row_queue *q);

/* As many values as the table has columns. A row whose first value (its key) is in the table replaces that
 * one. */
void row_queue_add(struct row_queue *q, enum table table, const struct value *values);
bool row_queue_empty(const struct row_queue *q);
size_t row_queue_bytes(const struct row_queue *q);

void row_queue_clear(struct row_queue *q);

/* The statements of every flush, prepared once for a database. Release them before the database is closed or
 * replaced. */
struct row_statements {
	sqlite3 *db; /* borrowed */
	sqlite3_stmt *begin, *commit, *insert[TABLE_COUNT];
};
void row_statements_release(struct row_statements *s);
int row_begin(struct row_statements *s, struct err *err) MUST_CHECK;
int row_commit(struct row_statements *s, struct err *err) MUST_CHECK;
int row_insert_prepared(
	struct row_statements *s, enum table table, const struct value *values, struct err *err) MUST_CHECK;

/* Inserts every row, in order, inside the transaction that is open. The queue is unchanged. */
int row_queue_insert(const struct row_queue *q, struct row_statements *s, struct err *err) MUST_CHECK;

/* Inserts one row at once. */
int row_insert(sqlite3 *db, enum table table, const struct value *values, struct err *err) MUST_CHECK;

#endif
