/*
 * event_plan.c: see event_plan.h.
 *
 * The plan travels from xBestIndex to xFilter as text; the words stand in the order of the arguments. Values
 * of an unexpected type only widen the walk.
 */
#include "schema/sql/event_plan.h"

#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/sql/rv_collation.h"

#include <math.h>
#include <stdlib.h>

/* A walk over 64 bits of seq: what one condition leaves. */
struct range {
	int64_t min, max;
};

/* ---- plans as text ---- */

static const char *const column_names[COLUMN_OF_KIND] = {
	[COLUMN_SEQ] = "seq",
	[COLUMN_TIME] = "time",
	[COLUMN_TIME_NS] = "time_ns",
	[COLUMN_ORIGIN] = "origin",
	[COLUMN_TYPE] = "type",
	[COLUMN_APIGROUP] = "apigroup",
	[COLUMN_VERSION] = "version",
	[COLUMN_RESOURCE] = "resource",
	[COLUMN_NAMESPACE] = "namespace",
	[COLUMN_NAME] = "name",
	[COLUMN_UID] = "uid",
	[COLUMN_RV] = "rv",
	[COLUMN_BYTES] = "bytes",
	[COLUMN_OBJECT] = "object",
};

const char *event_column_name(int column)
{
	return column_names[column < 0 ? COLUMN_SEQ : column]; /* -1 is the row id, which is seq */
}

static int column_named(struct slice name)
{
	for (int i = 0; i < COLUMN_OF_KIND; i++) {
		if (slice_is(name, column_names[i]))
			return i;
	}
	return -1;
}

/* NULL for an operator that is never pushed down. */
static const char *operator_text(unsigned char op)
{
	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_EQ: return "=";
	case SQLITE_INDEX_CONSTRAINT_GT: return ">";
	case SQLITE_INDEX_CONSTRAINT_GE: return ">=";
	case SQLITE_INDEX_CONSTRAINT_LT: return "<";
	case SQLITE_INDEX_CONSTRAINT_LE: return "<=";
	default: return NULL;
	}
}

char *plan_word_add(char *plan, const char *column, unsigned char op)
{
	return sqlite3_mprintf("%z%s%s%s", plan, *plan ? " " : "", column, operator_text(op));
}

bool plan_word_next(const char **plan, struct plan_word *ret)
{
	const char *at = *plan + strspn(*plan, " ");
	size_t len = strcspn(at, "=<>");

	if (*at == '(' || !at[len])
		return false;
	ret->column = (struct slice){at, len};
	ret->op = at[len];
	if (ret->op != '=' && at[len + 1] == '=') {
		ret->op = ret->op == '>' ? 'g' : 'l';
		len++;
	}
	*plan = at + len + 1;
	return true;
}

uint64_t event_plan_count(struct table *t)
{
	return t->handle->info.events;
}

bool event_plan_usable_text(sqlite3_index_info *info, int i)
{
	return info->aConstraint[i].usable && info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ &&
	       strcmp(sqlite3_vtab_collation(info, i), "BINARY") == 0;
}

bool event_plan_usable_number(sqlite3_index_info *info, int i)
{
	return info->aConstraint[i].usable && operator_text(info->aConstraint[i].op);
}

bool event_plan_usable_time(sqlite3_index_info *info, int i)
{
	return event_plan_usable_number(info, i) &&
	       strcmp(sqlite3_vtab_collation(info, i), TIME_COLLATION) == 0;
}

/* By how much a condition narrows the walk: a guess that only has to rank plans; 0 when it is no use. */
static double worth(sqlite3_index_info *info, int i)
{
	const struct sqlite3_index_constraint *c = &info->aConstraint[i];
	bool equal = c->op == SQLITE_INDEX_CONSTRAINT_EQ;

	if (!c->usable || !operator_text(c->op))
		return 0;
	switch (c->iColumn) {
	case -1:
	case COLUMN_SEQ: return equal ? 1e9 : 3;
	case COLUMN_TIME_NS: return equal ? 1e4 : 3;
	case COLUMN_TIME: return !event_plan_usable_time(info, i) ? 0 : equal ? 1e4 : 3;
	case COLUMN_APIGROUP:
	case COLUMN_VERSION: return event_plan_usable_text(info, i) ? 1.5 : 0;
	case COLUMN_RESOURCE: return event_plan_usable_text(info, i) ? 8 : 0;
	case COLUMN_NAMESPACE: return event_plan_usable_text(info, i) ? 10 : 0;
	case COLUMN_NAME: return event_plan_usable_text(info, i) ? 1000 : 0;
	case COLUMN_UID: return event_plan_usable_text(info, i) ? 1e4 : 0;
	case COLUMN_RV: return strcmp(sqlite3_vtab_collation(info, i), RV_COLLATION) ? 0 : equal ? 1000 : 3;
	default: return 0;
	}
}

static bool is_limited(const sqlite3_index_info *info)
{
	for (int i = 0; i < info->nConstraint; i++) {
		if (info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_LIMIT)
			return true;
	}
	return false;
}

/* ---- the order of time ---- */

/* Looking through more events than this for the sake of a plan would cost more
 * than the sort that it saves. */
#define TIME_CHECK_EVENTS 20000000

static int check_times(struct tape_handle *h, struct tape_cursor *c, struct err *err)
{
	struct event e;
	int more = 0;

	while (!h->time_steps_back && (more = tape_cursor_next(c, &e, err)) > 0) {
		h->time_steps_back = h->time_checked_seq && e.time_ns < h->time_checked_ns;
		h->time_checked_seq = e.seq;
		h->time_checked_ns = e.time_ns;
	}
	return more < 0 ? more : 0;
}

/* Whether the order of arrival is also the order of time. What is new since the last call is looked at. */
static int time_order_holds(struct tape_handle *h, bool *ret, struct err *err)
{
	struct tape_filter rest = {.seq_min = h->time_checked_seq + 1};
	struct tape_info info;
	struct tape_cursor *c;
	int rc = tape_info(h->tape, &info, err);

	if (!rc && !h->time_steps_back && info.last_seq > h->time_checked_seq &&
		info.events < TIME_CHECK_EVENTS) {
		rc = tape_cursor_open(h->tape, &rest, TAPE_FORWARD, &c, err);
		if (rc)
			return rc;
		rc = check_times(h, c, err);
		tape_cursor_close(c);
	}
	if (!rc)
		*ret = !h->time_steps_back && info.last_seq <= h->time_checked_seq;
	return rc;
}

/* Events of one time come by seq, so that only seq may be asked for after the time, the same way round. */
static bool is_order_of_time(struct table *t, const sqlite3_index_info *info)
{
	int first = info->aOrderBy[0].iColumn;
	bool holds;

	if (first != COLUMN_TIME && first != COLUMN_TIME_NS)
		return false;
	if (info->nOrderBy > 1 &&
		(info->aOrderBy[1].iColumn != COLUMN_SEQ || info->aOrderBy[1].desc != info->aOrderBy[0].desc))
		return false;
	return time_order_holds(t->handle, &holds, NULL) == 0 && holds;
}

/* ---- plans ---- */

/* seq is unique, so whatever is sorted after it is sorted. */
static int choose_walk(struct table *t, sqlite3_index_info *info, bool reads_objects, bool narrow)
{
	int first = info->nOrderBy ? info->aOrderBy[0].iColumn : -2;
	bool by_seq = first == COLUMN_SEQ || first == -1;

	if (by_seq || (first >= 0 && !narrow && is_order_of_time(t, info))) {
		info->orderByConsumed = 1;
		return (info->aOrderBy[0].desc ? WALK_BACKWARD : 0) | (by_seq ? 0 : WALK_BY_TIME);
	}
	return reads_objects && !narrow && !is_limited(info) ? WALK_STORED : 0;
}

static char *add_walk(char *plan, int walk)
{
	const char *how = walk & WALK_STORED ? "by storage" : walk & WALK_BY_TIME ? "by time" : "by seq";

	return sqlite3_mprintf(
		"%z%s(%s%s)", plan, *plan ? " " : "", how, walk & WALK_BACKWARD ? " descending" : "");
}

/* An input without a value yet: SQLite must find another order of the tables. */
static bool waits_for(const struct sqlite3_index_constraint *c, int input)
{
	return input && c->iColumn == input && c->op == SQLITE_INDEX_CONSTRAINT_EQ && !c->usable;
}

int event_plan_make(
	struct table *t, sqlite3_index_info *info, bool reads_objects, int input, const char *input_name)
{
	double rows = (double)event_plan_count(t), narrowed = 1;
	char *plan = sqlite3_mprintf("");
	int used = 0;

	for (int i = 0; i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *c = &info->aConstraint[i];
		bool is_input = input && c->iColumn == input && c->op == SQLITE_INDEX_CONSTRAINT_EQ;
		double by = is_input ? 1 : worth(info, i);

		if (waits_for(c, input)) {
			sqlite3_free(plan);
			return SQLITE_CONSTRAINT;
		}
		if (by == 0)
			continue;
		narrowed *= by;
		info->aConstraintUsage[i].argvIndex = ++used;
		plan = plan_word_add(plan, is_input ? input_name : event_column_name(c->iColumn), c->op);
	}
	info->idxNum = choose_walk(t, info, reads_objects, narrowed >= 1000);
	info->idxStr = add_walk(plan, info->idxNum);
	info->needToFreeIdxStr = 1;
	rows = rows / narrowed < 1 ? 1 : rows / narrowed;
	info->estimatedRows = (sqlite3_int64)rows;
	info->estimatedCost = 20 + rows * (reads_objects ? 20 : 1);
	if (narrowed >= 1e9)
		info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
	return SQLITE_OK;
}

/* ---- from arguments to a filter ---- */

static void narrow_by_integer(struct range *r, char op, int64_t v)
{
	if ((op == '=' || op == 'g') && v > r->min)
		r->min = v;
	if (op == '>' && v >= r->min)
		r->min = v == INT64_MAX ? v : v + 1;
	if ((op == '=' || op == 'l') && v < r->max)
		r->max = v;
	if (op == '<' && v <= r->max)
		r->max = v == INT64_MIN ? v : v - 1;
}

/* Wider by up to one than the condition: SQLite looks again. */
static void narrow_by_real(struct range *r, char op, double v)
{
	if (isnan(v))
		return;
	if (v > -9.2e18 && v < 9.2e18) {
		if (op == '=' || op == '>' || op == 'g')
			narrow_by_integer(r, 'g', (int64_t)floor(v));
		if (op == '=' || op == '<' || op == 'l')
			narrow_by_integer(r, 'l', (int64_t)ceil(v));
	}
}

static void narrow_by_number(struct range *r, char op, sqlite3_value *value)
{
	switch (sqlite3_value_numeric_type(value)) {
	case SQLITE_INTEGER: narrow_by_integer(r, op, sqlite3_value_int64(value)); break;
	case SQLITE_FLOAT: narrow_by_real(r, op, sqlite3_value_double(value)); break;
	default: break;
	}
}

int event_plan_read_time(
	const struct time_reader *times, sqlite3_value *value, int64_t *ret_ns, struct err *err)
{
	const char *text;
	int rc;

	if (sqlite3_value_type(value) == SQLITE_NULL || sqlite3_value_type(value) == SQLITE_BLOB)
		return 0;
	text = (const char *)sqlite3_value_text(value);
	rc = time_reader_read(times, (struct slice){text, (size_t)sqlite3_value_bytes(value)}, ret_ns, err);
	return rc ? rc : 1;
}

static int narrow_by_time(
	struct range *r, char op, const struct time_reader *times, sqlite3_value *value, struct err *err)
{
	int64_t ns;
	int rc = event_plan_read_time(times, value, &ns, err);

	if (rc > 0)
		narrow_by_integer(r, op, ns);
	return rc < 0 ? rc : 0;
}

bool event_plan_is_ns(struct slice column)
{
	return slice_is(column, "time_ns") || slice_is(column, "begin_ns") || slice_is(column, "end_ns");
}

int event_plan_check_ns(struct slice column, sqlite3_value *value, struct err *err)
{
	int name = (int)column.len - 3; /* without _ns */

	if (sqlite3_value_numeric_type(value) != SQLITE_TEXT)
		return 0;
	return err_set(err, ERR_USAGE,
		"'%.80s' is compared with '%.*s_ns', nanoseconds since 1970: compare it with '%.*s'",
		(const char *)sqlite3_value_text(value), name, column.ptr, name, column.ptr);
}

static int narrow_by_time_ns(struct range *r, char op, sqlite3_value *value, struct err *err)
{
	int rc = event_plan_check_ns(slice_of("time_ns"), value, err);

	if (rc == 0)
		narrow_by_number(r, op, value);
	return rc;
}

/* The three names that make a resource, as far as they were asked for. */
struct wanted_names {
	const char *apigroup, *version, *resource;
};

static bool is_wanted(const struct tape_resource *r, const struct wanted_names *names)
{
	return (!names->apigroup || strcmp(names->apigroup, r->apigroup) == 0) &&
	       (!names->version || strcmp(names->version, r->version) == 0) &&
	       (!names->resource || strcmp(names->resource, r->resource) == 0);
}

static void choose_resources(struct tape *t, const struct wanted_names *names, struct event_query *q)
{
	const struct tape_resource *r;
	uint32_t end = 0, count = 0;

	if (!names->apigroup && !names->version && !names->resource)
		return;
	for (size_t i = 0; (r = tape_resource_at(t, i)); i++)
		end = r->id >= end ? r->id + 1 : end;
	q->wanted = xcalloc(end + 1, 1);
	q->wanted_end = end;
	for (size_t i = 0; (r = tape_resource_at(t, i)); i++) {
		if (!is_wanted(r, names))
			continue;
		q->wanted[r->id] = 1;
		q->filter.resource = r->id;
		count++;
	}
	if (count > 1)
		q->filter.resource = 0;
	q->nothing |= count == 0;
}

/* NUL bytes cannot be part of a filter's string; such a condition is left to SQLite. */
static const char *plain_text(sqlite3_value *value)
{
	const char *text = (const char *)sqlite3_value_text(value);

	if (sqlite3_value_type(value) == SQLITE_BLOB || !text)
		return NULL;
	return strlen(text) == (size_t)sqlite3_value_bytes(value) ? text : NULL;
}

static void set_text(struct event_query *q, const char **field, size_t slot, sqlite3_value *value)
{
	const char *text = plain_text(value);

	if (!text || *field)
		return;
	q->texts[slot] = xstrdup(text);
	*field = q->texts[slot];
}

/* Of several bounds the first is taken: SQLite looks again. */
static void narrow_by_rv(struct event_query *q, char op, sqlite3_value *value)
{
	if (op == '=' || op == '>' || op == 'g')
		set_text(q, &q->filter.rv_min, 3, value);
	if (op == '=' || op == '<' || op == 'l')
		set_text(q, &q->filter.rv_max, 4, value);
}

/* Conditions on the time are left to others. */
static void event_plan_apply(struct event_query *q, struct range *seq, struct wanted_names *names,
	const struct plan_word *word, sqlite3_value *value)
{
	if (sqlite3_value_type(value) == SQLITE_NULL)
		q->nothing = true;
	switch (column_named(word->column)) {
	case COLUMN_SEQ: narrow_by_number(seq, word->op, value); break;
	case COLUMN_RV: narrow_by_rv(q, word->op, value); break;
	case COLUMN_APIGROUP: names->apigroup = plain_text(value); break;
	case COLUMN_VERSION: names->version = plain_text(value); break;
	case COLUMN_RESOURCE: names->resource = plain_text(value); break;
	case COLUMN_NAMESPACE: set_text(q, &q->filter.namespace, 0, value); break;
	case COLUMN_NAME: set_text(q, &q->filter.name, 1, value); break;
	case COLUMN_UID: set_text(q, &q->filter.uid, 2, value); break;
	default: break;
	}
}

static int apply_time(struct range *time, const struct time_reader *times, const struct plan_word *word,
	sqlite3_value *value, struct err *err)
{
	switch (column_named(word->column)) {
	case COLUMN_TIME: return narrow_by_time(time, word->op, times, value, err);
	case COLUMN_TIME_NS: return narrow_by_time_ns(time, word->op, value, err);
	default: return 0;
	}
}

int event_query_make(struct tape_handle *h, const char *plan, sqlite3_value **args, int arg_count,
	struct event_query *ret, struct err *err)
{
	struct range seq = {1, INT64_MAX}, time = {INT64_MIN, INT64_MAX};
	struct wanted_names names = {0};
	struct event_query q = {0};
	struct plan_word word;
	int rc = 0;

	for (int i = 0; i < arg_count && rc == 0; i++) {
		if (!plan_word_next(&plan, &word)) {
			rc = err_set(err, ERR_FAILED, "a plan for %d conditions came with %d", i, arg_count);
			break;
		}
		event_plan_apply(&q, &seq, &names, &word, args[i]);
		rc = apply_time(&time, h->times, &word, args[i], err);
	}
	if (rc) {
		event_query_release(&q);
		return rc;
	}
	choose_resources(h->tape, &names, &q);
	q.nothing |= seq.min > seq.max || time.min > time.max;
	q.filter.seq_min = seq.min > 1 ? (uint64_t)seq.min : 0;
	q.filter.seq_max = seq.max < INT64_MAX ? (uint64_t)seq.max : 0;
	q.filter.time_min_ns = time.min == INT64_MIN ? 0 : time.min;
	q.filter.time_max_ns = time.max == INT64_MAX ? 0 : time.max;
	*ret = q;
	return 0;
}

void event_query_release(struct event_query *q)
{
	free(q->wanted);
	for (size_t i = 0; i < COUNT_OF(q->texts); i++)
		free(q->texts[i]);
	*q = (struct event_query){0};
}

int event_query_open(struct tape_handle *h, const struct event_query *q, int walk_flags,
	struct tape_cursor **ret, struct err *err)
{
	enum tape_order order = walk_flags & WALK_BACKWARD ? TAPE_BACKWARD
				: walk_flags & WALK_STORED ? TAPE_STORED
							   : TAPE_FORWARD;
	bool holds = true;
	int rc;

	if (walk_flags & WALK_BY_TIME && (rc = time_order_holds(h, &holds, err)))
		return rc;
	if (!holds)
		return err_set(
			err, ERR_BUSY, "the tape's clock has stepped back: the order has to be sorted");
	if (q->nothing) {
		*ret = NULL;
		return 0;
	}
	return tape_cursor_open(h->tape, &q->filter, order, ret, err);
}

int event_query_next(const struct event_query *q, struct tape_cursor *c, struct event *ret, struct err *err)
{
	int more;

	if (!c)
		return 0;
	do {
		more = tape_cursor_next(c, ret, err);
	} while (more > 0 && q->wanted && (ret->resource >= q->wanted_end || !q->wanted[ret->resource]));
	return more;
}

/* ---- columns ---- */

static void resource_result(sqlite3_context *context, const struct tape_resource *r, int column)
{
	if (!r)
		return;
	if (column == COLUMN_APIGROUP)
		result_string(context, r->apigroup);
	else
		result_string(context, column == COLUMN_VERSION ? r->version : r->resource);
}

void event_result(sqlite3_context *context, const struct tape *t, const struct event *e, int column)
{
	bool of_resource = column >= COLUMN_APIGROUP && column <= COLUMN_RESOURCE;

	event_result_of(context, of_resource ? tape_resource_by_id(t, e->resource) : NULL, e, column);
}

void event_result_of(
	sqlite3_context *context, const struct tape_resource *r, const struct event *e, int column)
{
	switch (column) {
	case COLUMN_SEQ: sqlite3_result_int64(context, (sqlite3_int64)e->seq); break;
	case COLUMN_TIME: result_time(context, e->time_ns); break;
	case COLUMN_TIME_NS: sqlite3_result_int64(context, e->time_ns); break;
	case COLUMN_ORIGIN: result_string(context, event_origin_name(e->origin)); break;
	case COLUMN_TYPE: result_string(context, event_type_name(e->type)); break;
	case COLUMN_APIGROUP:
	case COLUMN_VERSION:
	case COLUMN_RESOURCE: resource_result(context, r, column); break;
	case COLUMN_NAMESPACE: result_slice(context, e->namespace); break;
	case COLUMN_NAME: result_slice(context, e->name); break;
	case COLUMN_UID: result_slice(context, e->uid); break;
	case COLUMN_RV: result_slice(context, e->rv); break;
	case COLUMN_BYTES: sqlite3_result_int64(context, (sqlite3_int64)e->bytes); break;
	default: break;
	}
}
