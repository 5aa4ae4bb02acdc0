/*
 * row_table.h: virtual tables over the plain rows of a tape (connections, gaps, bookmarks ...).
 *
 * There are few compared with the events, so a table is read whole at the first walk and kept until the tape
 * has grown. One `column = value`, as in a join, is answered by searching the kept rows.
 *
 * A kind of row_table has a list of columns, each with its name, its type and where its value comes from: a
 * member of the row, of the row's stream or of its resource, or a function. The declaration for SQL and the
 * cells of a row are made from that list. To add a column: one line in it, and one in docs/tables.md.
 */
#ifndef SCHEMA_SQL_ROW_TABLE_H
#define SCHEMA_SQL_ROW_TABLE_H

#include "schema/sql/row_store.h"
#include "schema/sql/vtab.h"

struct row_sink;

/* The parts of a row. */
enum row_part { ROW_ITSELF, ROW_STREAM, ROW_RESOURCE, ROW_PARTS };
struct row {
	const void *parts[ROW_PARTS]; /* the struct that the table is of; tape_stream; tape_resource */
};

enum row_form {
	ROW_AS_IS,
	ROW_OR_NULL,  /* NULL in SQL for -1, and for an empty slice */
	ROW_NOT_ZERO, /* NULL in SQL for 0 */
	ROW_TIME,     /* nanoseconds as text */
};

enum row_type { ROW_BOOL, ROW_INT, ROW_U32, ROW_I64, ROW_U64, ROW_STRING, ROW_SLICE };

/* One column. */
struct row_column {
	const char *name, *sql_type;
	enum row_form form;
	enum row_part part;
	enum row_type type; /* of the member */
	size_t offset;
	void (*put)(struct row_store *store, const struct row *row); /* instead of a member; puts one cell */
};

/* part, type and offset of a member. */
#define ROW_MEMBER(in, structure, member)                                                                    \
	.part = (in), .offset = offsetof(structure, member),                                                 \
	.type = _Generic(((structure *)0)->member, bool : ROW_BOOL, int : ROW_INT, uint32_t : ROW_U32, int64_t \
		: ROW_I64, uint64_t : ROW_U64, char * : ROW_STRING, const char * : ROW_STRING, struct slice  \
		: ROW_SLICE)

/* SQL types of columns. */
#define SQL_TIME "TEXT COLLATE kubetape_time"
#define SQL_RV   "TEXT COLLATE kubetape_rv"

/* The target of table_kind.detail. */
struct row_detail {
	const struct row_column *columns;
	unsigned column_count;
	/* Calls row_sink_put for each row. */
	int (*fill)(struct tape *t, struct row_sink *sink, struct err *err);
	/* Appends the text that put_later left out. */
	int (*fetch)(struct tape *t, uint32_t number, int64_t value, struct buf *to, struct err *err);
};

struct row_sink {
	struct tape *tape;
	struct row_store *store;
	const struct row_detail *detail;
};

/* A row of the resource with this id (0: none), which is followed by `stream` (NULL: by none or by many). */
void row_sink_put(
	struct row_sink *sink, const void *row, const struct tape_stream *stream, uint32_t resource);

/* One cell each; if they cannot keep one (memory, maximum), the walk of the table reports it. NULL in SQL is:
 * put_known of -1, put_string of NULL, put_optional of an empty slice. */
void put_integer(struct row_store *sink, int64_t value);
void put_known(struct row_store *sink, int64_t value);
void put_time(struct row_store *sink, int64_t time_ns);
void put_string(struct row_store *sink, const char *text);
void put_slice(struct row_store *sink, struct slice text);
void put_optional(struct row_store *sink, struct slice text);
void put_later(struct row_store *sink, uint32_t number, int64_t value); /* a text, when it is asked for */

/* The size and the functions of such a kind. */
#define ROW_TABLE_METHODS                                                                                    \
	.declare = row_table_declare, .scan_bytes = ROW_TABLE_SCAN_BYTES, .plan = row_table_plan,            \
	.filter = row_table_filter, .next = row_table_next, .column = row_table_column,                      \
	.reset = row_table_reset, .drop_cache = row_table_drop_cache

struct row_scan {
	struct scan scan;
	size_t row;
	struct row_view view;
	int column;           /* of the condition, -1 for none */
	sqlite3_value *value; /* that it must equal */
};
#define ROW_TABLE_SCAN_BYTES sizeof(struct row_scan)

char *row_table_declare(const struct table_kind *kind);
int row_table_plan(struct table *t, sqlite3_index_info *info, struct err *err);
int row_table_filter(struct scan *s, const char *plan, int plan_flags, sqlite3_value **args, int arg_count,
	struct err *err);
int row_table_next(struct scan *s, struct err *err);
int row_table_column(struct scan *s, sqlite3_context *context, int column, struct err *err);
void row_table_reset(struct scan *s);
void row_table_drop_cache(struct table *t);

#endif
