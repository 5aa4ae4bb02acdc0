/*
 * row_store.h: rows of cells, kept for as long as a table is used. They are usually few; beyond
 * ROW_STORE_MEMORY they go to a temporary file, page by page.
 *
 *   put cells, row after row --> row_store_finish --> row_view_seek from any number of views
 */
#ifndef SCHEMA_SQL_ROW_STORE_H
#define SCHEMA_SQL_ROW_STORE_H

#include "schema/base/buf.h"

#define ROW_STORE_MEMORY ((size_t)32 << 20)

enum cell_kind {
	CELL_NULL,
	CELL_INTEGER,
	CELL_TEXT,
	CELL_LATER, /* a text that is read from the tape when it is asked for */
};

struct cell {
	enum cell_kind kind;
	uint32_t number; /* TEXT: its bytes; LATER: for the table */
	int64_t value; /* INTEGER: the number; TEXT: where it begins in the page's texts; LATER: for the table
			*/
};

struct row_store;

/* Of rows with this number of cells each. */
struct row_store *row_store_new(unsigned width);
void row_store_free(struct row_store *s); /* accepts NULL */

/* The next cell of the row. row_store_finish reports cells that could not be kept. */
void row_store_put(struct row_store *s, struct cell cell);
void row_store_put_text(struct row_store *s, struct slice text);

/* After the last row. ERR_TOO_LARGE for a text above LIMIT_OBJECT_BYTES, ERR_IO and ERR_NO_SPACE of the file.
 */
int row_store_finish(struct row_store *s, struct err *err) MUST_CHECK;

size_t row_store_count(const struct row_store *s);

/* A look at some rows of a store, one after the other or here and there. All zero to begin with. */
struct row_view {
	size_t first, count; /* the rows that are at hand */
	const struct cell *cells;
	const char *texts;
	char *own; /* a page that was read back */
};

/* Puts the row at hand, which must be below row_store_count. */
int row_view_seek(struct row_view *v, const struct row_store *s, size_t row, struct err *err) MUST_CHECK;
void row_view_release(struct row_view *v);

/* A cell of a row that is at hand, and its text; borrowed until the view moves on. */
const struct cell *row_view_cell(
	const struct row_view *v, const struct row_store *s, size_t row, unsigned column);
static inline struct slice row_view_text(const struct row_view *v, const struct cell *cell)
{
	return (struct slice){v->texts + cell->value, cell->number};
}

#endif
