/* run_verdict.c: see run_verdict.h. */
#include "tools/sweep/run_verdict.h"

#include "schema/base/clock.h"
#include "schema/base/log.h"
#include "schema/base/out_file.h"
#include "schema/base/visible.h"
#include "schema/sql/json_diff.h"
#include "tools/cli/progress.h"
#include "tools/out/state_text.h"
#include "tools/out/table_out.h"

#include <stdio.h>
#include <stdlib.h>

struct printer {
	struct state_text text;
	struct json_diff *diff;
	const struct run_comparison *comparison;
	struct verdict_measure measure;
};

static int ignore(void *rules, const char *text, struct err *err)
{
	return compare_rules_ignore(rules, text, err);
}

static int run_verdict_keep(void *rules, const char *text, struct err *err)
{
	return compare_rules_keep(rules, text, err);
}

int verdict_measure_make(const struct verdict_options *o, struct verdict_measure *ret, struct err *err)
{
	struct verdict_measure m = {.rules = compare_rules_new()};
	int rc = rule_names_each(o->names, RULE_OF_COMPARISON, &o->ignore, ignore, m.rules, err);

	if (rc == 0)
		rc = rule_names_each(o->names, RULE_OF_COMPARISON, &o->keep, run_verdict_keep, m.rules, err);
	if (rc)
		verdict_measure_release(&m);
	else
		*ret = m;
	return rc;
}

int verdict_measure_learn(struct verdict_measure *m, const struct verdict_options *o,
	const struct compare_options *options, const char *first, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < o->also.count && rc == 0; i++)
		rc = run_learn(&m->lessons, m->rules, options, first, o->also.items[i], err);
	return rc;
}

void verdict_measure_release(struct verdict_measure *m)
{
	run_lessons_release(&m->lessons);
	compare_rules_free(m->rules);
	*m = (struct verdict_measure){0};
}

void verdict_release(struct verdict_options *o)
{
	free(o->ignore.items);
	free(o->keep.items);
	free(o->also.items);
}

int verdict_order(struct verdict_options *o, bool ordered, bool last, struct err *err)
{
	if (ordered && last)
		return err_set(err, ERR_USAGE, "'--ordered' and '--last' exclude each other");
	o->order = ordered ? COMPARE_ORDERED : last ? COMPARE_LAST : COMPARE_SET;
	return 0;
}

int verdict_check(const struct verdict_options *o, struct err *err)
{
	struct verdict_measure m;
	int rc = verdict_measure_make(o, &m, err);

	if (rc == 0)
		verdict_measure_release(&m);
	return rc;
}

/* The fields of a difference: of a write that is only in one run, all that it sent. */
static int make_fields(struct printer *p, const struct run_difference *d, struct err *err)
{
	const char *old = d->first ? d->first->body : "{}";
	const char *new = d->second ? d->second->body : "{}";

	return json_diff_make(p->diff, slice_of(*old ? old : "{}"), slice_of(*new ? new : "{}"), true, err);
}

static const char *op_of(const struct json_change *c)
{
	return c->old_value.len == 0 ? "add" : c->new_value.len == 0 ? "remove" : "replace";
}

static struct slice field_of(const struct json_change *c)
{
	return c->field.len ? c->field : slice_of("body");
}

/* ---- for people ---- */

static void print_head(const struct printer *p, const struct run_difference *d)
{
	static const struct {
		char sign;
		enum state_style style;
	} heads[] = {{'-', STATE_REMOVED}, {'+', STATE_ADDED}, {'~', STATE_HEAD}, {'~', STATE_HEAD}};
	const struct run_action *a = d->first ? d->first : d->second;

	state_text_begin(&p->text, heads[d->kind].style);
	printf("%c ", heads[d->kind].sign);
	visible_puts(stdout, a->verb);
	fputs(a->dry_run ? " (dry run) " : " ", stdout);
	visible_put(stdout, slice_of(a->resource));
	fputs(*a->apigroup ? "." : "", stdout);
	visible_put(stdout, slice_of(a->apigroup));
	fputs(*a->subresource ? "/" : "", stdout);
	visible_put(stdout, slice_of(a->subresource));
	putchar(' ');
	state_text_name(slice_of(a->namespace), slice_of(a->name));
	if (d->kind == OTHER_TIMES)
		printf(": %llu times -> %llu times", (unsigned long long)d->first->times,
			(unsigned long long)d->second->times);
	else if (a->times > 1 && a->counts && d->kind != OTHER_BODY)
		printf(": %llu times", (unsigned long long)a->times);
	state_text_end(&p->text);
	putchar('\n');
}

static int print_text(struct printer *p, const struct run_difference *d, struct err *err)
{
	int rc = make_fields(p, d, err);

	if (rc)
		return rc;
	print_head(p, d);
	for (size_t i = 0; i < json_diff_count(p->diff); i++) {
		struct json_change c = json_diff_at(p->diff, i);

		state_text_change(&p->text, slice_of(op_of(&c)), field_of(&c), c.old_value, c.new_value,
			(struct slice){NULL, 0});
	}
	return 0;
}

/* ---- for programs ---- */

static void print_member(const char *name, const char *value)
{
	printf(",\"%s\":", name);
	table_out_json_string(stdout, slice_of(value));
}

static void print_side(const char *name, const struct run_action *a)
{
	char time[TIME_TEXT_BYTES];

	printf(",\"%s\":", name);
	if (!a) {
		fputs("null", stdout);
		return;
	}
	printf("{\"write\":%llu,\"seq\":%llu,\"tape_time\":", (unsigned long long)a->write,
		(unsigned long long)a->seq);
	if (a->tape_time_ns == RUN_NO_TIME)
		fputs("null", stdout);
	else
		printf("\"%s\"", time_format(time, a->tape_time_ns));
	printf(",\"status\":%d,\"times\":%llu}", a->status, (unsigned long long)a->times);
}

static void print_value(const char *name, struct slice json)
{
	if (!json.len)
		return;
	printf(",\"%s\":", name);
	visible_put_json(stdout, json);
}

static int print_json(struct printer *p, const struct run_difference *d, struct err *err)
{
	static const char *const kinds[] = {
		[ONLY_IN_FIRST] = "only in first",
		[ONLY_IN_SECOND] = "only in second",
		[OTHER_BODY] = "body",
		[OTHER_TIMES] = "times",
	};
	const struct run_action *a = d->first ? d->first : d->second;
	int rc = make_fields(p, d, err);

	if (rc)
		return rc;
	printf("{\"difference\":\"%s\"", kinds[d->kind]);
	print_member("verb", a->verb);
	print_member("apigroup", a->apigroup);
	print_member("resource", a->resource);
	print_member("subresource", a->subresource);
	print_member("namespace", a->namespace);
	print_member("name", a->name);
	print_side("first", d->first);
	print_side("second", d->second);
	fputs(",\"fields\":[", stdout);
	for (size_t i = 0; i < json_diff_count(p->diff); i++) {
		struct json_change c = json_diff_at(p->diff, i);

		printf("%s{\"op\":\"%s\",\"field\":", i ? "," : "", op_of(&c));
		table_out_json_string(stdout, field_of(&c));
		print_value("old", c.old_value);
		print_value("new", c.new_value);
		putchar('}');
	}
	puts("]}");
	return 0;
}

/* ---- the whole ---- */

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* What may explain a difference. */
static void warn_of_sides(const struct run_side *a, const struct run_side *b)
{
	if (strcmp(last_part(a->tape), last_part(b->tape)) != 0)
		log_warn("the runs are of different tapes: '%s' and '%s'", a->tape, b->tape);
	else if (a->is_live || b->is_live)
		; /* how far they got is no question of events */
	else if (a->first_seq != b->first_seq || a->last_seq != b->last_seq)
		log_warn("the runs are of different parts of the tape: events %llu to %llu, and %llu to %llu",
			(unsigned long long)a->first_seq, (unsigned long long)a->last_seq,
			(unsigned long long)b->first_seq, (unsigned long long)b->last_seq);
	else if (a->ended && b->ended && a->ended_seq != b->ended_seq)
		log_warn("the replays ended at different events: %llu and %llu",
			(unsigned long long)a->ended_seq, (unsigned long long)b->ended_seq);
	for (int side = 0; side < 2; side++) {
		const struct run_side *s = side ? b : a;

		if (!s->ended)
			log_warn("the replay of '%s' did not end in order: its last writes may be missing",
				s->path);
	}
}

/* Of the differences those that good runs do not have. */
static size_t count_all(const struct printer *p)
{
	size_t count = 0;

	for (size_t i = 0; i < run_comparison_count(p->comparison); i++) {
		struct run_difference d = run_comparison_at(p->comparison, i);

		count += !run_lessons_cover(&p->measure.lessons, &d);
	}
	return count;
}

static int print_all(struct printer *p, const struct verdict_options *o, struct err *err)
{
	const struct run_side *a = run_comparison_side(p->comparison, 0);
	const struct run_side *b = run_comparison_side(p->comparison, 1);
	size_t count = count_all(p);
	int rc = 0;

	if (!o->json && count)
		printf("--- %s: %zu writes, %zu compared\n+++ %s: %zu writes, %zu compared\n", a->path,
			a->writes, a->compared, o->second ? o->second : b->path, b->writes, b->compared);
	for (size_t i = 0; i < run_comparison_count(p->comparison) && rc == 0; i++) {
		struct run_difference d = run_comparison_at(p->comparison, i);

		if (run_lessons_cover(&p->measure.lessons, &d))
			continue;
		rc = o->json ? print_json(p, &d, err) : print_text(p, &d, err);
	}
	if (rc)
		return rc;
	if (!o->json && count == 0)
		printf("no difference: %zu of %zu writes compared with %zu of %zu\n", a->compared, a->writes,
			b->compared, b->writes);
	warn_of_sides(a, b);
	rc = out_stream_flush(stdout, err);
	if (rc)
		return rc;
	if (count)
		return EXIT_FAILED;
	return a->ended && b->ended ? EXIT_OK : EXIT_LOSS;
}

static int run_verdict_step(void *context, uint64_t done_bytes, uint64_t total_bytes)
{
	return progress_step(context, done_bytes, total_bytes);
}

int verdict_give(const struct verdict_options *o, const char *first, const char *second, struct err *err)
{
	struct progress progress;
	struct compare_options options = {
		.order = o->order,
		.client = o->client,
		.progress = run_verdict_step,
		.context = &progress,
	};
	struct printer p = {.text = {state_text_wants_color(o->color), o->full, true}};
	struct run_comparison *comparison = NULL;
	int rc = verdict_measure_make(o, &p.measure, err);

	options.rules = p.measure.rules;
	progress_begin(&progress, "comparing");
	if (rc == 0)
		rc = verdict_measure_learn(&p.measure, o, &options, first, err);
	if (rc == 0)
		rc = run_compare(first, second, &options, &comparison, err);
	progress_clear(&progress);
	if (rc == 0) {
		p.comparison = comparison;
		p.diff = json_diff_new();
		rc = print_all(&p, o, err);
	}
	json_diff_free(p.diff);
	run_comparison_free(comparison);
	verdict_measure_release(&p.measure);
	return rc;
}
