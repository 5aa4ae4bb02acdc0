/* row_table.c: see row_table.h. */
#include "schema/sql/row_table.h"

#include "schema/sql/event_plan.h"

#include "schema/base/clock.h"
#include "schema/base/limits.h"

#include <stdlib.h>

enum cell_kind { CELL_NULL, CELL_INTEGER, CELL_TEXT };

struct cell {
	enum cell_kind kind;
	uint32_t text_bytes;
	int64_t value; /* the integer, or where the text begins in texts */
};

/* All rows of a table as they were when it was read. */
struct row_sink {
	struct cell *cells;
	size_t count, cap;
	struct buf texts;
	struct err err; /* the first thing that went wrong */
};

/* ---- filling ---- */

static void put(struct row_sink *sink, struct cell cell)
{
	if (sink->count == sink->cap) {
		sink->cap = sink->cap ? 2 * sink->cap : 256;
		sink->cells = xrealloc(sink->cells, sink->cap * sizeof(*sink->cells));
	}
	sink->cells[sink->count++] = cell;
}

void put_integer(struct row_sink *sink, int64_t value)
{
	put(sink, (struct cell){CELL_INTEGER, 0, value});
}

void put_known(struct row_sink *sink, int64_t value)
{
	put(sink, (struct cell){value == -1 ? CELL_NULL : CELL_INTEGER, 0, value});
}

void put_slice(struct row_sink *sink, struct slice text)
{
	struct cell cell = {CELL_TEXT, (uint32_t)text.len, (int64_t)sink->texts.len};

	if (text.len > LIMIT_OBJECT_BYTES && !sink->err.code)
		(void)err_set(&sink->err, ERR_TOO_LARGE, "a text of %zu bytes exceeds the maximum of %u",
			text.len, LIMIT_OBJECT_BYTES);
	if (sink->err.code || buf_append(&sink->texts, text.ptr, text.len, &sink->err))
		cell = (struct cell){CELL_NULL, 0, 0};
	put(sink, cell);
}

void put_string(struct row_sink *sink, const char *text)
{
	if (text)
		put_slice(sink, slice_of(text));
	else
		put(sink, (struct cell){CELL_NULL, 0, 0});
}

void put_optional(struct row_sink *sink, struct slice text)
{
	if (text.len)
		put_slice(sink, text);
	else
		put(sink, (struct cell){CELL_NULL, 0, 0});
}

void put_time(struct row_sink *sink, int64_t time_ns)
{
	char text[TIME_TEXT_BYTES];

	put_string(sink, time_format(text, time_ns));
}

static void sink_free(struct row_sink *sink)
{
	if (!sink)
		return;
	free(sink->cells);
	buf_release(&sink->texts);
	free(sink);
}

void row_table_drop_cache(struct table *t)
{
	sink_free(t->cache);
	t->cache = NULL;
}

static const struct row_detail *detail_of(const struct table *t)
{
	return t->kind->detail;
}

/* The rows of the tape as it now is, read when they are not at hand. */
static int load(struct table *t, struct err *err)
{
	struct row_sink *sink;
	int code;

	if (t->cache && t->cache_generation == t->handle->generation)
		return 0;
	row_table_drop_cache(t);
	sink = xcalloc(1, sizeof(*sink));
	buf_init(&sink->texts, LIMIT_LIST_BYTES);
	code = detail_of(t)->fill(t->handle->tape, sink, err);
	if (code >= 0 && sink->err.code)
		code = err_set(err, sink->err.code, "cannot keep the rows of '%s': %s", t->kind->name,
			sink->err.text);
	if (code < 0) {
		sink_free(sink);
		return code;
	}
	t->cache = sink;
	t->cache_generation = t->handle->generation;
	return 0;
}

/* ---- walking ---- */

static bool is_equality(const struct sqlite3_index_constraint *c)
{
	return c->usable && c->op == SQLITE_INDEX_CONSTRAINT_EQ && c->iColumn >= 0;
}

/* What times are compared with comes after the value of the equality: it is looked at whether it is a time.
 */
static void take_times(sqlite3_index_info *info, int used)
{
	for (int i = 0; i < info->nConstraint; i++) {
		if (event_plan_usable_time(info, i))
			info->aConstraintUsage[i].argvIndex = ++used;
	}
}

/* Takes the first equality there is; without one it is a walk over everything. */
int row_table_plan(struct table *t, sqlite3_index_info *info, struct err *err)
{
	(void)t, (void)err;
	info->idxNum = -1;
	info->estimatedRows = 1000;
	info->estimatedCost = 1000;
	for (int i = 0; i < info->nConstraint; i++) {
		if (!is_equality(&info->aConstraint[i]) || strcmp(sqlite3_vtab_collation(info, i), "BINARY"))
			continue;
		info->idxNum = info->aConstraint[i].iColumn;
		info->aConstraintUsage[i].argvIndex = 1;
		info->estimatedRows = 10;
		info->estimatedCost = 100;
		break;
	}
	take_times(info, info->idxNum >= 0);
	return SQLITE_OK;
}

static int check_times(const struct scan *s, sqlite3_value **values, int count, struct err *err)
{
	int64_t ns;
	int rc = 0;

	for (int i = 0; i < count && rc >= 0; i++)
		rc = event_plan_read_time(scan_table(s)->handle->times, values[i], &ns, err);
	return rc < 0 ? rc : 0;
}

static const struct cell *cell_at(const struct row_sink *sink, const struct row_scan *r, int column)
{
	unsigned width = detail_of(scan_table(&r->scan))->column_count;

	return &sink->cells[r->row * width + (unsigned)column];
}

/* False only when the row surely does not meet the condition; SQLite compares again. */
static bool may_match(const struct row_sink *sink, const struct row_scan *r)
{
	const struct cell *cell;
	int type;

	if (r->column < 0)
		return true;
	cell = cell_at(sink, r, r->column);
	type = sqlite3_value_type(r->value);
	if (cell->kind == CELL_INTEGER && type == SQLITE_INTEGER)
		return cell->value == sqlite3_value_int64(r->value);
	if (cell->kind == CELL_TEXT && type == SQLITE_TEXT) {
		const void *text = sqlite3_value_text(r->value);

		return text && cell->text_bytes == (uint32_t)sqlite3_value_bytes(r->value) &&
		       memcmp(sink->texts.ptr + cell->value, text, cell->text_bytes) == 0;
	}
	return cell->kind != CELL_NULL;
}

/* From the current row to the first that may match. */
static void settle(struct row_scan *r)
{
	const struct row_sink *sink = scan_table(&r->scan)->cache;
	size_t row_count = sink->count / detail_of(scan_table(&r->scan))->column_count;

	while (r->row < row_count && !may_match(sink, r))
		r->row++;
	r->scan.at_end = r->row >= row_count;
	r->scan.row_id = (int64_t)r->row + 1;
}

int row_table_filter(struct scan *s, const char *plan, int plan_flags, sqlite3_value **args, int arg_count,
	struct err *err)
{
	struct row_scan *r = (struct row_scan *)s;
	int equalities = plan_flags >= 0;
	int failed = check_times(s, args + equalities, arg_count - equalities, err);

	(void)plan;
	if (!failed)
		failed = load(scan_table(s), err);
	if (failed)
		return failed;
	r->row = 0;
	r->column = plan_flags;
	r->value = equalities ? sqlite3_value_dup(args[0]) : NULL;
	settle(r);
	return 0;
}

int row_table_next(struct scan *s, struct err *err)
{
	struct row_scan *r = (struct row_scan *)s;

	(void)err;
	r->row++;
	settle(r);
	return 0;
}

int row_table_column(struct scan *s, sqlite3_context *context, int column, struct err *err)
{
	const struct row_sink *sink = scan_table(s)->cache;
	const struct cell *cell = cell_at(sink, (struct row_scan *)s, column);

	(void)err;
	if (cell->kind == CELL_INTEGER)
		sqlite3_result_int64(context, cell->value);
	else if (cell->kind == CELL_TEXT)
		result_slice(context, (struct slice){sink->texts.ptr + cell->value, cell->text_bytes});
	return 0;
}

void row_table_reset(struct scan *s)
{
	struct row_scan *r = (struct row_scan *)s;

	sqlite3_value_free(r->value);
	r->value = NULL;
}
