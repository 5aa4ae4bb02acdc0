/* sql_rows.h: runs SQL in a session and gives the rows as text: cells joined by |, rows by line feeds, NULL
 * as
 * "-". */
#ifndef TESTS_UNIT_SQL_ROWS_H
#define TESTS_UNIT_SQL_ROWS_H

#include "schema/sql/session.h"
#include "tests/unit/unit.h"

#include <stdio.h>

static inline int sql_rows_begin(void *context, const char *const *names, size_t count, struct err *err)
{
	(void)context, (void)names, (void)count, (void)err;
	return 0;
}

static inline int sql_rows_row(void *context, const struct sql_value *values, size_t count, struct err *err)
{
	struct buf *to = context;
	int code = 0;

	for (size_t i = 0; i < count && !code; i++) {
		const struct sql_value *v = &values[i];

		if (i)
			code = buf_append(to, "|", 1, err);
		if (!code && v->type == SQL_INTEGER)
			code = buf_printf(to, err, "%lld", (long long)v->integer);
		else if (!code && v->type == SQL_REAL)
			code = buf_printf(to, err, "%g", v->real);
		else if (!code && v->type == SQL_NULL)
			code = buf_append(to, "-", 1, err);
		else if (!code)
			code = buf_append(to, v->bytes.ptr, v->bytes.len, err);
	}
	return code ? code : buf_append(to, "\n", 1, err);
}

static inline int sql_rows_end(void *context, struct err *err)
{
	(void)context, (void)err;
	return 0;
}

/* The result, to be freed. */
static inline char *sql_rows(struct sql_session *s, const char *sql)
{
	struct buf rows;
	struct sql_sink sink = {sql_rows_begin, sql_rows_row, sql_rows_end, &rows};
	struct err err = {0};
	char *text;

	buf_init(&rows, 64u << 20);
	ck_assert_ok(sql_session_run(s, slice_of(sql), &sink, &err), &err);
	text = slice_dup(buf_slice(&rows));
	buf_release(&rows);
	return text;
}

/* The sentence with which the statement fails, to be freed. */
static inline char *sql_failure(struct sql_session *s, const char *sql)
{
	struct buf rows;
	struct sql_sink sink = {sql_rows_begin, sql_rows_row, sql_rows_end, &rows};
	struct err err = {0};

	buf_init(&rows, 64u << 20);
	ck_assert_int_lt(sql_session_run(s, slice_of(sql), &sink, &err), 0);
	buf_release(&rows);
	return xstrdup(err.text);
}

#define ck_assert_sql(session, sql, want)                                                                    \
	do {                                                                                                 \
		char *ck_rows = sql_rows(session, sql);                                                      \
		ck_assert_str_eq(ck_rows, want);                                                             \
		free(ck_rows);                                                                               \
	} while (0)

#define ck_assert_sql_fails(session, sql, want)                                                              \
	do {                                                                                                 \
		char *ck_text = sql_failure(session, sql);                                                   \
		ck_assert_msg(strstr(ck_text, want), "%s: '%s' lacks '%s'", sql, ck_text, want);             \
		free(ck_text);                                                                               \
	} while (0)

#endif
