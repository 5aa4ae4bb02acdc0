/* row_reader.c: see row_reader.h. */
#include "schema/tape/row_reader.h"

#include <stdlib.h>

/* A row whose id an earlier segment has too. */
struct row_repeated {
	int64_t id;
	size_t segment;
};

/* Rows of one segment: its table's columns, of ids from the first one on. */
struct selection {
	size_t segment;
	const char *columns;
	int64_t first_id;
};

static const char *table_name(const struct row_reader *r)
{
	return table_formats[r->table].name;
}

static bool is_written_again(enum table table)
{
	return table == TABLE_CONNECTION || table == TABLE_GAP;
}

static int compare_repeated(const void *left, const void *right)
{
	const struct row_repeated *a = left, *b = right;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return (a->segment > b->segment) - (a->segment < b->segment);
}

static int select_rows(struct row_reader *r, const struct selection *s, sqlite3_stmt **ret, struct err *err)
{
	char *sql = xasprintf("SELECT %s FROM %s WHERE id >= ? ORDER BY id", s->columns, table_name(r));
	int rc = reader_prepare(r->tape, s->segment, sql, ret, err);

	free(sql);
	if (!rc)
		sqlite3_bind_int64(*ret, 1, s->first_id);
	return rc;
}

static int end_rows(struct row_reader *r, size_t segment, sqlite3_stmt *rows, int step, struct err *err)
{
	int rc = 0;

	if (step != SQLITE_DONE)
		rc = segment_failed(sqlite3_db_handle(rows), err, "cannot read table '%s' of '%s'",
			table_name(r), r->tape->segments[segment].file.path);
	sqlite3_finalize(rows);
	return rc;
}

/* Notes the ids of the segment that earlier ones have too, which are not above their highest. */
static int find_again(struct row_reader *r, size_t segment, struct err *err)
{
	const struct selection all = {segment, "id", INT64_MIN};
	const struct id_range *ids = reader_ids(r->tape, segment, r->table);
	int64_t highest = r->highest;
	sqlite3_stmt *rows;
	int step, rc;

	if (ids && ids->lowest > highest) {
		r->highest = ids->highest > highest ? ids->highest : highest;
		return 0;
	}
	rc = select_rows(r, &all, &rows, err);
	if (rc)
		return rc;
	while ((step = sqlite3_step(rows)) == SQLITE_ROW) {
		int64_t id = sqlite3_column_int64(rows, 0);

		highest = id > highest ? id : highest;
		if (id > r->highest)
			continue;
		r->again = xgrow(r->again, r->again_count, sizeof(*r->again));
		r->again[r->again_count++] = (struct row_repeated){id, segment};
	}
	r->highest = highest;
	return end_rows(r, segment, rows, step, err);
}

int row_reader_open(struct tape *t, enum table table, struct row_reader *ret, struct err *err)
{
	int rc = 0;

	*ret = (struct row_reader){.tape = t, .table = table, .highest = INT64_MIN};
	for (size_t i = 0; i < t->segment_count && !rc && is_written_again(table); i++)
		rc = find_again(ret, i, err);
	if (ret->again_count)
		qsort(ret->again, ret->again_count, sizeof(*ret->again), compare_repeated);
	ret->highest = INT64_MIN;
	return rc;
}

void row_reader_close(struct row_reader *r)
{
	free(r->again);
	r->again = NULL;
}

static bool is_superseded(const struct row_reader *r, int64_t id, size_t segment)
{
	size_t low = 0, high = r->again_count;

	while (low < high) { /* the first repetition of that id in a later segment, or what follows it */
		size_t middle = low + (high - low) / 2;
		const struct row_repeated *again = &r->again[middle];

		if (again->id < id || (again->id == id && again->segment <= segment))
			low = middle + 1;
		else
			high = middle;
	}
	return low < r->again_count && r->again[low].id == id;
}

/* Copied rows begin after the highest id of the segments before: ids do not reach INT64_MAX. */
static int64_t first_id_of(const struct row_reader *r)
{
	if (is_written_again(r->table) || r->highest == INT64_MIN)
		return INT64_MIN;
	return r->highest < INT64_MAX ? r->highest + 1 : INT64_MAX;
}

static int row_reader_walk(struct row_reader *r, const struct selection *s,
	int (*take)(void *context, sqlite3_stmt *row), void *context, struct err *err)
{
	const struct id_range *ids = reader_ids(r->tape, s->segment, r->table);
	int64_t highest = r->highest;
	int step = SQLITE_DONE, stop;
	sqlite3_stmt *rows;

	if (ids && (ids->lowest > ids->highest || ids->highest < s->first_id))
		return 0;
	stop = select_rows(r, s, &rows, err);
	if (stop)
		return stop;
	while (!stop && (step = sqlite3_step(rows)) == SQLITE_ROW) {
		int64_t id = sqlite3_column_int64(rows, 0);

		highest = id > highest ? id : highest;
		if (!is_superseded(r, id, s->segment))
			stop = take(context, rows);
	}
	r->highest = highest;
	if (stop) {
		sqlite3_finalize(rows);
		return stop;
	}
	return end_rows(r, s->segment, rows, step, err);
}

int row_reader_segment(struct row_reader *r, size_t segment, const char *columns,
	int (*take)(void *context, sqlite3_stmt *row), void *context, struct err *err)
{
	char *with_id = xasprintf("id, %s", columns);
	const struct selection s = {segment, with_id, first_id_of(r)};
	int stop = row_reader_walk(r, &s, take, context, err);

	free(with_id);
	return stop;
}

/* ---- as values ---- */

struct value_walk {
	enum table table;
	int (*take)(void *context, struct value *values);
	void *context;
};

static int take_values(void *context, sqlite3_stmt *row)
{
	const struct value_walk *w = context;
	struct value values[FORMAT_COLUMNS_MAX];

	for (int i = 0; i < table_formats[w->table].column_count; i++)
		values[i] = value_of_column(row, i);
	return w->take(w->context, values);
}

int row_reader_values(struct row_reader *r, size_t segment, int (*take)(void *context, struct value *values),
	void *context, struct err *err)
{
	struct value_walk w = {r->table, take, context};
	const struct selection s = {segment, "*", first_id_of(r)};

	return row_reader_walk(r, &s, take_values, &w, err);
}
