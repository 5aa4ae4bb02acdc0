/* row_table.c: see row_table.h. */
#include "schema/sql/row_table.h"

#include "schema/sql/event_plan.h"

#include "schema/base/clock.h"
#include "schema/base/limits.h"

/* ---- filling ---- */

void put_integer(struct row_store *sink, int64_t value)
{
	row_store_put(sink, (struct cell){CELL_INTEGER, 0, value});
}

void put_known(struct row_store *sink, int64_t value)
{
	row_store_put(sink, (struct cell){value == -1 ? CELL_NULL : CELL_INTEGER, 0, value});
}

void put_slice(struct row_store *sink, struct slice text)
{
	row_store_put_text(sink, text);
}

void put_string(struct row_store *sink, const char *text)
{
	if (text)
		row_store_put_text(sink, slice_of(text));
	else
		row_store_put(sink, (struct cell){CELL_NULL, 0, 0});
}

void put_optional(struct row_store *sink, struct slice text)
{
	if (text.len)
		row_store_put_text(sink, text);
	else
		row_store_put(sink, (struct cell){CELL_NULL, 0, 0});
}

void put_later(struct row_store *sink, uint32_t number, int64_t value)
{
	row_store_put(sink, (struct cell){CELL_LATER, number, value});
}

void put_time(struct row_store *sink, int64_t time_ns)
{
	char text[TIME_TEXT_BYTES];

	put_string(sink, time_format(text, time_ns));
}

static const struct tape_stream no_stream = {0, 0, "", "", ""};
static const struct tape_resource no_resource = {0, "", "", "", "", false};

/* Numbers that SQL cannot have are no numbers of a tape: ids, counts and bytes are far below 2^63. */
static int64_t number_at(const void *at, enum row_type type)
{
	switch (type) {
	case ROW_BOOL: return *(const bool *)at;
	case ROW_INT: return *(const int *)at;
	case ROW_U32: return *(const uint32_t *)at;
	case ROW_U64: return (int64_t) * (const uint64_t *)at;
	default: return *(const int64_t *)at;
	}
}

static void put_number(struct row_store *store, enum row_form form, int64_t value)
{
	if (form == ROW_TIME)
		put_time(store, value);
	else if ((form == ROW_OR_NULL && value == -1) || (form == ROW_NOT_ZERO && value == 0))
		put_string(store, NULL);
	else
		put_integer(store, value);
}

static void put_column(struct row_store *store, const struct row_column *c, const struct row *row)
{
	const char *at = (const char *)row->parts[c->part] + c->offset;

	if (c->put)
		c->put(store, row);
	else if (c->type == ROW_STRING)
		put_string(store, *(const char *const *)at);
	else if (c->type != ROW_SLICE)
		put_number(store, c->form, number_at(at, c->type));
	else if (c->form == ROW_OR_NULL)
		put_optional(store, *(const struct slice *)at);
	else
		put_slice(store, *(const struct slice *)at);
}

void row_sink_put(struct row_sink *sink, const void *row, const struct tape_stream *stream, uint32_t resource)
{
	const struct tape_resource *r = tape_resource_by_id(sink->tape, resource);
	const struct row parts = {{row, stream ? stream : &no_stream, r ? r : &no_resource}};

	for (unsigned i = 0; i < sink->detail->column_count; i++)
		put_column(sink->store, &sink->detail->columns[i], &parts);
}

char *row_table_declare(const struct table_kind *kind)
{
	const struct row_detail *detail = kind->detail;
	char *sql = sqlite3_mprintf("");

	for (unsigned i = 0; i < detail->column_count && sql; i++)
		sql = sqlite3_mprintf("%z%s%s %s", sql, i ? ", " : "", detail->columns[i].name,
			detail->columns[i].sql_type);
	return sql;
}

void row_table_drop_cache(struct table *t)
{
	row_store_free(t->cache);
	t->cache = NULL;
}

static const struct row_detail *detail_of(const struct table *t)
{
	return t->kind->detail;
}

/* The rows of the tape as it now is, read when they are not at hand. */
static int row_table_load(struct table *t, struct err *err)
{
	struct row_store *store;
	int rc;

	if (t->cache && t->cache_generation == t->handle->generation)
		return 0;
	row_table_drop_cache(t);
	store = row_store_new(detail_of(t)->column_count);
	rc = detail_of(t)->fill(
		t->handle->tape, &(struct row_sink){t->handle->tape, store, detail_of(t)}, err);
	if (rc >= 0) {
		rc = row_store_finish(store, err);
		if (rc)
			err_prefix(err, rc, "cannot keep the rows of '%s'", t->kind->name);
	}
	if (rc < 0) {
		row_store_free(store);
		return rc;
	}
	t->cache = store;
	t->cache_generation = t->handle->generation;
	return 0;
}

/* ---- walking ---- */

static bool is_ns(const struct table *t, int column)
{
	return column >= 0 && event_plan_is_ns(slice_of(detail_of(t)->columns[column].name));
}

static bool is_equality(const struct table *t, const struct sqlite3_index_constraint *c)
{
	return c->usable && c->op == SQLITE_INDEX_CONSTRAINT_EQ && c->iColumn >= 0 && !is_ns(t, c->iColumn);
}

/* What times and nanoseconds are compared with comes after the value of the equality, in the order of the
 * plan's words: it is looked at whether it can be compared with them. */
static void take_times(const struct table *t, sqlite3_index_info *info, int used)
{
	char *plan = sqlite3_mprintf("");

	for (int i = 0; i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *c = &info->aConstraint[i];

		if (!event_plan_usable_time(info, i) &&
			!(is_ns(t, c->iColumn) && event_plan_usable_number(info, i)))
			continue;
		info->aConstraintUsage[i].argvIndex = ++used;
		plan = plan_word_add(plan, detail_of(t)->columns[c->iColumn].name, c->op);
	}
	info->idxStr = plan;
	info->needToFreeIdxStr = 1;
}

/* Takes the first equality there is; without one it is a walk over everything. */
int row_table_plan(struct table *t, sqlite3_index_info *info, struct err *err)
{
	(void)err;
	info->idxNum = -1;
	info->estimatedRows = 1000;
	info->estimatedCost = 1000;
	for (int i = 0; i < info->nConstraint; i++) {
		if (!is_equality(t, &info->aConstraint[i]) ||
			strcmp(sqlite3_vtab_collation(info, i), "BINARY"))
			continue;
		info->idxNum = info->aConstraint[i].iColumn;
		info->aConstraintUsage[i].argvIndex = 1;
		info->estimatedRows = 10;
		info->estimatedCost = 100;
		break;
	}
	take_times(t, info, info->idxNum >= 0);
	return SQLITE_OK;
}

static int check_times(const struct scan *s, const char *plan, sqlite3_value **values, struct err *err)
{
	struct plan_word word;
	int64_t ns;
	int rc = 0;

	for (int i = 0; rc >= 0 && plan_word_next(&plan, &word); i++)
		rc = event_plan_is_ns(word.column)
			     ? event_plan_check_ns(word.column, values[i], err)
			     : event_plan_read_time(scan_table(s)->handle->times, values[i], &ns, err);
	return rc < 0 ? rc : 0;
}

static const struct cell *cell_at(const struct row_scan *r, int column)
{
	return row_view_cell(&r->view, scan_table(&r->scan)->cache, r->row, (unsigned)column);
}

/* False only when the row surely does not meet the condition; SQLite compares again. */
static bool may_match(const struct row_scan *r)
{
	const struct cell *cell;
	int type;

	if (r->column < 0)
		return true;
	cell = cell_at(r, r->column);
	type = sqlite3_value_type(r->value);
	if (cell->kind == CELL_INTEGER && type == SQLITE_INTEGER)
		return cell->value == sqlite3_value_int64(r->value);
	if (cell->kind == CELL_TEXT && type == SQLITE_TEXT) {
		const void *text = sqlite3_value_text(r->value);

		return text && cell->number == (uint32_t)sqlite3_value_bytes(r->value) &&
		       memcmp(row_view_text(&r->view, cell).ptr, text, cell->number) == 0;
	}
	return cell->kind != CELL_NULL;
}

/* From the current row to the first that may match. */
static int row_table_settle(struct row_scan *r, struct err *err)
{
	const struct row_store *store = scan_table(&r->scan)->cache;
	size_t count = row_store_count(store);

	for (; r->row < count; r->row++) {
		int rc = row_view_seek(&r->view, store, r->row, err);

		if (rc)
			return rc;
		if (may_match(r))
			break;
	}
	r->scan.at_end = r->row >= count;
	r->scan.row_id = (int64_t)r->row + 1;
	return 0;
}

int row_table_filter(struct scan *s, const char *plan, int plan_flags, sqlite3_value **args, int arg_count,
	struct err *err)
{
	struct row_scan *r = (struct row_scan *)s;
	int equalities = plan_flags >= 0;
	int rc = check_times(s, plan, args + equalities, err);

	(void)arg_count;
	if (!rc)
		rc = row_table_load(scan_table(s), err);
	if (rc)
		return rc;
	r->row = 0;
	r->column = plan_flags;
	r->value = equalities ? sqlite3_value_dup(args[0]) : NULL;
	return row_table_settle(r, err);
}

int row_table_next(struct scan *s, struct err *err)
{
	struct row_scan *r = (struct row_scan *)s;

	r->row++;
	return row_table_settle(r, err);
}

static int give_later(struct scan *s, sqlite3_context *context, const struct cell *cell, struct err *err)
{
	struct buf text;
	int rc;

	buf_init(&text, LIMIT_DOCUMENT_BYTES);
	rc = detail_of(scan_table(s))->fetch(scan_tape(s), cell->number, cell->value, &text, err);
	if (!rc)
		result_slice(context, (struct slice){text.ptr ? text.ptr : "", text.len});
	buf_release(&text);
	return rc;
}

int row_table_column(struct scan *s, sqlite3_context *context, int column, struct err *err)
{
	const struct row_scan *r = (struct row_scan *)s;
	const struct cell *cell = cell_at(r, column);

	switch (cell->kind) {
	case CELL_INTEGER: sqlite3_result_int64(context, cell->value); return 0;
	case CELL_TEXT: result_slice(context, row_view_text(&r->view, cell)); return 0;
	case CELL_LATER: return give_later(s, context, cell, err);
	default: return 0;
	}
}

void row_table_reset(struct scan *s)
{
	struct row_scan *r = (struct row_scan *)s;

	sqlite3_value_free(r->value);
	r->value = NULL;
	row_view_release(&r->view);
}
