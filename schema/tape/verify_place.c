/* verify_place.c: where in a segment's file a row is: the page on which it begins. */
#include "schema/tape/verify_internal.h"

#include <inttypes.h>
#include <stdlib.h>

/* Of one table, in order: its leaves, and how many rows there are up to the end of each. */
struct leaves {
	const char *table; /* NULL: not looked up */
	struct leaf {
		int64_t page, upto;
	} * items;
	size_t count;
};

struct row_places {
	struct leaves leaves;
	unsigned found; /* so far, of this segment */
};

/* To count the rows before one costs a walk over their table. */
#define PLACES_MAX 200

struct row_places *row_places_new(void)
{
	return xcalloc(1, sizeof(struct row_places));
}

static void verify_place_forget(struct leaves *l)
{
	free(l->items);
	*l = (struct leaves){0};
}

void row_places_reset(struct row_places *p)
{
	verify_place_forget(&p->leaves);
	p->found = 0;
}

void row_places_free(struct row_places *p)
{
	if (!p)
		return;
	verify_place_forget(&p->leaves);
	free(p);
}

static void add_leaf(struct leaves *l, int64_t page, int64_t cells)
{
	int64_t before = l->count ? l->items[l->count - 1].upto : 0;

	l->items = xgrow(l->items, l->count, sizeof(*l->items));
	l->items[l->count++] = (struct leaf){page, before + cells};
}

/* SQLite tells how many rows are on each leaf of a table. */
static void read_leaves(struct leaves *l, sqlite3 *db, const char *table)
{
	char *sql = xasprintf(
		"SELECT pageno, ncell FROM dbstat WHERE name = '%s' AND pagetype = 'leaf' ORDER BY path",
		table);
	sqlite3_stmt *rows;

	verify_place_forget(l);
	l->table = table;
	if (segment_prepare(db, sql, &rows, NULL) == 0) {
		while (sqlite3_step(rows) == SQLITE_ROW)
			add_leaf(l, sqlite3_column_int64(rows, 0), sqlite3_column_int64(rows, 1));
		sqlite3_finalize(rows);
	}
	free(sql);
}

static int64_t page_of(const struct leaves *l, int64_t rows_before)
{
	size_t low = 0, high = l->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (l->items[middle].upto <= rows_before)
			low = middle + 1;
		else
			high = middle;
	}
	return low < l->count ? l->items[low].page : 0;
}

uint64_t row_places_find(struct row_places *p, sqlite3 *db, const char *table, int64_t id)
{
	char *sql = xasprintf("SELECT count(*) FROM %s WHERE rowid < %" PRId64, table, id);
	int64_t before = 0, page_bytes = 0, page = 0;

	if (p->found++ < PLACES_MAX && segment_number(db, sql, 0, &before, NULL) == 0 &&
		segment_number(db, "PRAGMA page_size", 0, &page_bytes, NULL) == 0) {
		if (!p->leaves.table || strcmp(p->leaves.table, table) != 0)
			read_leaves(&p->leaves, db, table);
		page = page_of(&p->leaves, before);
	}
	free(sql);
	return page < 1 ? UINT64_MAX : (uint64_t)(page - 1) * (uint64_t)page_bytes;
}
