/*
 * row_table.h: virtual tables over what a tape keeps as plain rows (connections, gaps, bookmarks ...).
 *
 * There are few of them beside the events, so that a table is read whole when it is first walked and kept
 * until the tape has grown. One `column = value` is answered by looking through the kept rows, which is what
 * a join asks for again and again.
 *
 * A kind of row_table gives one function that puts the cells of every row, in the order of the columns.
 */
#ifndef SCHEMA_SQL_ROW_TABLE_H
#define SCHEMA_SQL_ROW_TABLE_H

#include "schema/sql/row_store.h"
#include "schema/sql/vtab.h"

/* What table_kind.detail points to. */
struct row_detail {
	unsigned column_count;
	/* Puts column_count cells for each row. */
	int (*fill)(struct tape *t, struct row_store *sink, struct err *err);
	/* Appends the text that put_later left out. */
	int (*fetch)(struct tape *t, uint32_t number, int64_t value, struct buf *to, struct err *err);
};

/* One cell each; what they cannot keep (memory, maximum) is reported when the table is walked. NULL in SQL
 * is: put_known of -1, put_string of NULL, put_optional of an empty slice. */
void put_integer(struct row_store *sink, int64_t value);
void put_known(struct row_store *sink, int64_t value);
void put_time(struct row_store *sink, int64_t time_ns);
void put_string(struct row_store *sink, const char *text);
void put_slice(struct row_store *sink, struct slice text);
void put_optional(struct row_store *sink, struct slice text);
void put_later(struct row_store *sink, uint32_t number, int64_t value); /* a text, when it is asked for */

/* The size and the functions of such a kind. */
#define ROW_TABLE_METHODS                                                                                    \
	.scan_bytes = ROW_TABLE_SCAN_BYTES, .plan = row_table_plan, .filter = row_table_filter,              \
	.next = row_table_next, .column = row_table_column, .reset = row_table_reset,                        \
	.drop_cache = row_table_drop_cache

struct row_scan {
	struct scan scan;
	size_t row;
	struct row_view view;
	int column;           /* of the condition, -1 for none */
	sqlite3_value *value; /* that it must equal */
};
#define ROW_TABLE_SCAN_BYTES sizeof(struct row_scan)

int row_table_plan(struct table *t, sqlite3_index_info *info, struct err *err);
int row_table_filter(struct scan *s, const char *plan, int plan_flags, sqlite3_value **args, int arg_count,
	struct err *err);
int row_table_next(struct scan *s, struct err *err);
int row_table_column(struct scan *s, sqlite3_context *context, int column, struct err *err);
void row_table_reset(struct scan *s);
void row_table_drop_cache(struct table *t);

#endif
