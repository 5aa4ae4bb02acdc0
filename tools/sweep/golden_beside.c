/* golden_beside.c: see golden_beside.h. */
#include "tools/sweep/golden_beside.h"

#include "schema/sql/json_diff.h"
#include "schema/view/answer_out.h"

#include <stdlib.h>

#define ROWS_MAX   2000
#define FIELDS_MAX 40
#define VALUE_MAX  300

struct golden_beside {
	const struct verdict_options *verdict;
	const char *golden;
	struct verdict_measure measure;
	bool has_learned; /* the other good runs were read */
};

/* A write of either run, or of both. */
struct beside_row {
	const char *difference; /* "" none */
	const struct run_action *golden, *now;
};

struct beside_rows {
	struct beside_row *items;
	size_t count, different;
};

int golden_beside_open(const struct verdict_options *verdict, const char *golden, struct golden_beside **ret,
	struct err *err)
{
	struct golden_beside *b = xcalloc(1, sizeof(*b));
	int rc = verdict_measure_make(verdict, &b->measure, err);

	b->verdict = verdict;
	b->golden = golden;
	if (rc)
		golden_beside_close(b);
	else
		*ret = b;
	return rc;
}

void golden_beside_close(struct golden_beside *b)
{
	if (!b)
		return;
	verdict_measure_release(&b->measure);
	free(b);
}

/* ---- rows ---- */

static const struct run_action *any_of(const struct beside_row *r)
{
	return r->golden ? r->golden : r->now;
}

static int by_time(const void *left, const void *right)
{
	const struct run_action *a = any_of(left), *b = any_of(right);

	if (a->tape_time_ns != b->tape_time_ns)
		return a->tape_time_ns < b->tape_time_ns ? -1 : 1;
	return (a->write > b->write) - (a->write < b->write);
}

static void collect(const struct golden_beside *b, const struct run_comparison *c, struct beside_rows *ret)
{
	static const char *const words[] = {
		[ONLY_IN_FIRST] = "only golden",
		[ONLY_IN_SECOND] = "only now",
		[OTHER_BODY] = "body",
		[OTHER_TIMES] = "times",
	};
	size_t differences = run_comparison_count(c), matches = run_comparison_match_count(c);

	ret->items = xcalloc(differences + matches + 1, sizeof(*ret->items));
	for (size_t i = 0; i < differences; i++) {
		struct run_difference d = run_comparison_at(c, i);

		if (!run_lessons_cover(&b->measure.lessons, &d))
			ret->items[ret->count++] = (struct beside_row){words[d.kind], d.first, d.second};
	}
	ret->different = ret->count;
	for (size_t i = 0; i < matches; i++) {
		struct run_match m = run_comparison_match_at(c, i);

		ret->items[ret->count++] = (struct beside_row){"", m.first, m.second};
	}
}

/* ---- as JSON ---- */

static void put_side(struct answer_out *o, const char *name, const struct run_action *a)
{
	answer_put(o, ",\"%s\":", name);
	if (!a) {
		answer_put(o, "null");
		return;
	}
	answer_put(o, "{\"status\":%d,\"times\":%llu", a->status, (unsigned long long)a->times);
	answer_number(o, "write", (int64_t)a->write);
	if (a->tape_time_ns != RUN_NO_TIME)
		answer_number(o, "time_ns", a->tape_time_ns);
	answer_put(o, "}");
}

static void put_value(struct answer_out *o, struct slice json)
{
	answer_put(o, ",");
	if (json.len)
		answer_text(o, answer_cut(json, VALUE_MAX));
	else
		answer_put(o, "null");
}

/* `[field, golden, now]` of what the bodies differ in. */
static int put_fields(
	struct answer_out *o, const struct beside_row *r, struct json_diff *diff, struct err *err)
{
	int rc = json_diff_make(diff, slice_of(*r->golden->body ? r->golden->body : "{}"),
		slice_of(*r->now->body ? r->now->body : "{}"), true, err);

	answer_put(o, ",\"fields\":[");
	for (size_t i = 0; rc == 0 && i < json_diff_count(diff) && i < FIELDS_MAX; i++) {
		struct json_change c = json_diff_at(diff, i);

		answer_put(o, i ? ",[" : "[");
		answer_text(o, c.field.len ? c.field : slice_of("body"));
		put_value(o, c.old_value);
		put_value(o, c.new_value);
		answer_put(o, "]");
	}
	answer_put(o, "]");
	return rc;
}

static int put_row(struct answer_out *o, const struct beside_row *r, struct json_diff *diff, struct err *err)
{
	const struct run_action *a = any_of(r);
	int rc = 0;

	answer_put(o, "{\"difference\":\"%s\"", r->difference);
	answer_member(o, "verb", slice_of(a->verb));
	answer_member(o, "group", slice_of(a->apigroup));
	answer_member(o, "resource", slice_of(a->resource));
	answer_member(o, "subresource", slice_of(a->subresource));
	answer_member(o, "namespace", slice_of(a->namespace));
	answer_member(o, "name", slice_of(a->name));
	put_side(o, "golden", r->golden);
	put_side(o, "now", r->now);
	if (r->golden && r->now && *r->difference)
		rc = put_fields(o, r, diff, err);
	answer_put(o, "}");
	return rc ? rc : o->code;
}

static int put_rows(struct answer_out *o, struct beside_rows *rows, struct err *err)
{
	size_t shown = rows->count < ROWS_MAX ? rows->count : ROWS_MAX;
	struct json_diff *diff = json_diff_new();
	int rc = 0;

	/* What differs stands first: what is left off is rather something that does not. */
	qsort(rows->items, shown, sizeof(*rows->items), by_time);
	answer_put(o, ",\"different\":%zu,\"more\":%zu,\"rows\":[", rows->different, rows->count - shown);
	for (size_t i = 0; i < shown && rc == 0; i++) {
		answer_put(o, i ? "," : "");
		rc = put_row(o, &rows->items[i], diff, err);
	}
	answer_put(o, "]}");
	json_diff_free(diff);
	return rc ? rc : o->code;
}

static int put_comparison(
	const struct golden_beside *b, const struct run_comparison *c, struct buf *to, struct err *err)
{
	const struct run_side *golden = run_comparison_side(c, 0), *now = run_comparison_side(c, 1);
	struct answer_out o = {to, err, 0};
	struct beside_rows rows = {0};
	int rc;

	collect(b, c, &rows);
	answer_put(&o, "{\"golden\":%zu,\"now\":%zu,\"ended\":%s", golden->writes, now->writes,
		now->ended ? "true" : "false");
	answer_member(&o, "golden_run", slice_of(golden->path));
	rc = put_rows(&o, &rows, err);
	free(rows.items);
	return rc;
}

int golden_beside_answer(void *context, const char *now, struct buf *to, struct err *err)
{
	struct golden_beside *b = context;
	const struct compare_options options = {.order = b->verdict->order, .rules = b->measure.rules};
	struct run_comparison *c = NULL;
	int rc = 0;

	if (!b->has_learned)
		rc = verdict_measure_learn(&b->measure, b->verdict, &options, b->golden, err);
	b->has_learned = true;
	if (rc == 0)
		rc = run_compare(b->golden, now, &options, &c, err);
	if (rc == 0)
		rc = put_comparison(b, c, to, err);
	run_comparison_free(c);
	return rc;
}
