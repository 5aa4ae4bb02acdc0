/*
 * coverage_table.c: the table `coverage`, one row for each stream: whether it was watched at a point of the
 * tape, also where it has no objects. The hidden column `at` says which point, as with `objects`:
 * `coverage('12:03:05')`.
 */
#include "schema/sql/coverage_table.h"

#include "schema/sql/event_plan.h"

#include <stdio.h>
#include <stdlib.h>

#define SEQ_MAX INT64_C(999999999999999999) /* 18 digits: what a position takes */

static int find_position(const struct scan *s, const char *text, struct tape_position *ret, struct err *err)
{
	struct tape_handle *h = scan_table(s)->handle;
	int rc = tape_position_find(h->tape, text, ret, err);

	if (rc == 0 && !h->remark[0])
		(void)tape_position_remark(ret, text, h->remark);
	return rc;
}

int position_of_value(const struct scan *s, sqlite3_value *value, struct tape_position *ret, struct err *err)
{
	int64_t seq;
	char text[32];

	if (!value && scan_table(s)->handle->times->needs_position)
		return err_set(err, ERR_USAGE,
			"over several tapes at, at_seq and at_rv have to be compared with constants, as in at = '12:03'; "
			"here a table is given no position");
	if (!value)
		return find_position(s, "end", ret, err);
	if (sqlite3_value_type(value) == SQLITE_TEXT)
		return find_position(s, (const char *)sqlite3_value_text(value), ret, err);
	if (sqlite3_value_type(value) != SQLITE_INTEGER)
		return err_set(err, ERR_USAGE, "bad position: expected a seq or a time");
	seq = sqlite3_value_int64(value);
	snprintf(text, sizeof(text), "seq:%lld", (long long)(seq < 0 ? 0 : seq < SEQ_MAX ? seq : SEQ_MAX));
	return find_position(s, text, ret, err);
}

int position_not_equal(struct err *err)
{
	return err_set(err, ERR_USAGE,
		"at, at_seq and at_rv give a table its position: they can only be compared with =, as in at = '12:03'");
}

void coverage_drop_cache(struct table *t)
{
	coverage_free(t->cache);
	t->cache = NULL;
}

int coverage_of_table(struct table *t, const struct coverage **ret, struct err *err)
{
	struct coverage *c;
	int rc = 0;

	if (!t->cache || t->cache_generation != t->handle->generation) {
		coverage_drop_cache(t);
		rc = coverage_load(t->handle->tape, &c, err);
		t->cache = rc ? NULL : c;
		t->cache_generation = t->handle->generation;
	}
	*ret = t->cache;
	return rc;
}

const char *certainty_word(const struct tape_position *p, const struct coverage_answer *a)
{
	return p->place == POSITION_ON_TAPE ? coverage_state_name(a->state) : "outside";
}

/* ---- the table ---- */

enum {
	COVERAGE_COLUMN_STREAM,
	COVERAGE_COLUMN_APIGROUP,
	COVERAGE_COLUMN_VERSION,
	COVERAGE_COLUMN_RESOURCE,
	COVERAGE_COLUMN_NAMESPACE,
	COVERAGE_COLUMN_LABEL_SELECTOR,
	COVERAGE_COLUMN_FIELD_SELECTOR,
	COVERAGE_COLUMN_CERTAINTY,
	COVERAGE_COLUMN_SINCE,
	COVERAGE_COLUMN_UNTIL,
	COVERAGE_COLUMN_GAP,
	COVERAGE_COLUMN_REASON,
	COVERAGE_COLUMN_AT,
};

struct coverage_scan {
	struct scan scan;
	sqlite3_value *at;
	struct tape_position position;
	const struct coverage *coverage; /* the table's */
	size_t row;                      /* of the tape's streams */
	struct coverage_answer answer;
};

/* What times are compared with comes after the position: it is looked at whether it is a time. */
static void take_times(sqlite3_index_info *info)
{
	int used = info->idxNum;

	for (int i = 0; i < info->nConstraint; i++) {
		if (event_plan_usable_time(info, i))
			info->aConstraintUsage[i].argvIndex = ++used;
	}
}

static int coverage_table_plan(struct table *t, sqlite3_index_info *info, struct err *err)
{
	(void)t;
	info->estimatedCost = 100;
	info->idxNum = 0;
	for (int i = 0; i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *c = &info->aConstraint[i];

		if (c->iColumn != COVERAGE_COLUMN_AT)
			continue;
		if (c->op != SQLITE_INDEX_CONSTRAINT_EQ)
			return position_not_equal(err);
		if (!c->usable)
			return SQLITE_CONSTRAINT;
		info->aConstraintUsage[i].argvIndex = 1;
		info->aConstraintUsage[i].omit = 1;
		info->idxNum = 1;
		break;
	}
	take_times(info);
	return SQLITE_OK;
}

static const struct tape_stream *coverage_table_current(const struct coverage_scan *c)
{
	return tape_stream_at(scan_tape(&c->scan), c->row);
}

static void coverage_table_settle(struct coverage_scan *c)
{
	const struct tape_stream *s = coverage_table_current(c);
	struct coverage_point point;

	c->scan.at_end = !s;
	c->scan.row_id = (int64_t)c->row + 1;
	if (!s)
		return;
	point = tape_position_point(&c->position, c->coverage);
	c->answer = coverage_at(c->coverage, s->id, &point);
}

static int coverage_table_filter(struct scan *s, const char *plan_text, int plan_flags, sqlite3_value **args,
	int arg_count, struct err *err)
{
	struct coverage_scan *c = (struct coverage_scan *)s;
	int64_t ns;
	int rc = 0;

	(void)plan_text;
	for (int i = plan_flags; i < arg_count && rc >= 0; i++)
		rc = event_plan_read_time(scan_table(s)->handle->times, args[i], &ns, err);
	if (rc < 0)
		return rc;
	c->at = plan_flags ? sqlite3_value_dup(args[0]) : NULL;
	c->row = 0;
	if (c->at && sqlite3_value_type(c->at) == SQLITE_NULL) {
		s->at_end = true;
		return 0;
	}
	rc = position_of_value(s, c->at, &c->position, err);
	if (rc == 0)
		rc = coverage_of_table(scan_table(s), &c->coverage, err);
	if (rc == 0)
		coverage_table_settle(c);
	return rc;
}

static int coverage_table_next(struct scan *s, struct err *err)
{
	struct coverage_scan *c = (struct coverage_scan *)s;

	(void)err;
	c->row++;
	coverage_table_settle(c);
	return 0;
}

/* NULL where the interval has no such end. */
static void result_bound(sqlite3_context *context, int64_t ns)
{
	if (ns != INT64_MIN && ns != INT64_MAX)
		result_time(context, ns);
}

static void result_of_answer(
	const struct coverage_scan *c, sqlite3_context *context, int coverage_table_column)
{
	const struct coverage_answer *a = &c->answer;

	switch (coverage_table_column) {
	case COVERAGE_COLUMN_CERTAINTY: result_string(context, certainty_word(&c->position, a)); break;
	case COVERAGE_COLUMN_SINCE: result_bound(context, a->since_ns); break;
	case COVERAGE_COLUMN_UNTIL: result_bound(context, a->until_ns); break;
	case COVERAGE_COLUMN_GAP:
		if (a->gap)
			sqlite3_result_int64(context, (sqlite3_int64)a->gap);
		break;
	case COVERAGE_COLUMN_REASON:
		if (*a->reason)
			result_string(context, a->reason);
		break;
	default:
		if (c->at)
			sqlite3_result_value(context, c->at);
	}
}

static int coverage_table_column(struct scan *s, sqlite3_context *context, int i, struct err *err)
{
	const struct coverage_scan *c = (const struct coverage_scan *)s;
	const struct tape_stream *stream = coverage_table_current(c);
	const struct tape_resource *r = tape_resource_by_id(scan_tape(s), stream->resource);

	(void)err;
	switch (i) {
	case COVERAGE_COLUMN_STREAM: sqlite3_result_int64(context, stream->id); break;
	case COVERAGE_COLUMN_APIGROUP: result_string(context, r ? r->apigroup : NULL); break;
	case COVERAGE_COLUMN_VERSION: result_string(context, r ? r->version : NULL); break;
	case COVERAGE_COLUMN_RESOURCE: result_string(context, r ? r->resource : NULL); break;
	case COVERAGE_COLUMN_NAMESPACE: result_string(context, stream->namespace); break;
	case COVERAGE_COLUMN_LABEL_SELECTOR: result_string(context, stream->label_selector); break;
	case COVERAGE_COLUMN_FIELD_SELECTOR: result_string(context, stream->field_selector); break;
	default: result_of_answer(c, context, i);
	}
	return 0;
}

static void coverage_table_reset(struct scan *s)
{
	struct coverage_scan *c = (struct coverage_scan *)s;

	sqlite3_value_free(c->at);
	c->at = NULL;
}

const struct table_kind coverage_table = {
	.name = "coverage",
	.summary =
		"whether each stream was watched: at the end, or at a point of the tape as in coverage('12:03:05')",
	.columns =
		"stream INTEGER, apigroup TEXT, version TEXT, resource TEXT, namespace TEXT, label_selector TEXT, "
		"field_selector TEXT, certainty TEXT, since TEXT COLLATE kubetape_time, "
		"until TEXT COLLATE kubetape_time, gap INTEGER, reason TEXT, at HIDDEN",
	.scan_bytes = sizeof(struct coverage_scan),
	.plan = coverage_table_plan,
	.filter = coverage_table_filter,
	.next = coverage_table_next,
	.column = coverage_table_column,
	.reset = coverage_table_reset,
	.drop_cache = coverage_drop_cache,
};
