/* cmd_gaps.c: `kubetape gaps`: a readable account of each gap of a tape. */
#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/base/out_file.h"
#include "schema/base/visible.h"
#include "tools/cli/time_shown.h"
#include "tools/commands.h"
#include "tools/gap_account.h"
#include "tools/out/table_out.h"

#include <stdlib.h>

#define SHOWN_MISSED 20 /* of one gap, unless all are asked for */

struct gaps_options {
	bool json, lossy, all, local;
};

static const struct option_row rows[] = {
	{OPTION_FLAG, 0, "json", offsetof(struct gaps_options, json), NULL,
		"print one JSON object, with everything"},
	{OPTION_FLAG, 0, "lossy", offsetof(struct gaps_options, lossy), NULL,
		"only gaps that hid something, or never ended"},
	{OPTION_FLAG, 'a', "all", offsetof(struct gaps_options, all), NULL,
		"list every missed change, not the first twenty of each gap"},
	LOCAL_TIME_ROW(gaps_options),
	{OPTION_END, 0, NULL, 0, NULL, NULL},
};

static bool is_open(const struct gap_account *a)
{
	return strcmp(a->gap.how_ended, "open") == 0;
}

static bool is_wanted(const struct gap_account *a, const struct gaps_options *o)
{
	return !o->lossy || gap_hid_something(a);
}

static uint64_t differences(const struct gap_account *a)
{
	return a->gap.modified + a->gap.added + a->gap.deleted + a->gap.recreated;
}

/* ---- for people ---- */

static void print_visible(const char *text)
{
	visible_put(stdout, slice_of(text));
}

static void print_resource_name(const struct tape_resource *r)
{
	print_visible(r ? r->resource : "?");
	if (r && *r->apigroup) {
		fputs(".", stdout);
		print_visible(r->apigroup);
	}
}

static void print_scope(const char *word, const char *text)
{
	if (!text || !*text)
		return;
	printf(" %s ", word);
	print_visible(text);
}

static void print_head(const struct gap_account *a, bool local)
{
	char begin[TIME_TEXT_BYTES], end[TIME_TEXT_BYTES], length[TIME_TEXT_BYTES];
	const struct tape_gap *g = &a->gap;
	int64_t length_ns = g->duration_ns >= 0 ? g->duration_ns : time_sub(g->end_ns, g->begin_ns);

	if (g->id)
		printf("gap %llu  ", (unsigned long long)g->id);
	else
		fputs("gap -  ", stdout);
	print_resource_name(a->resource);
	if (a->stream) {
		print_scope("in namespace", a->stream->namespace);
		print_scope("with labels", a->stream->label_selector);
		print_scope("with fields", a->stream->field_selector);
	}
	printf("\n  when     %s", time_shown(begin, g->begin_ns, local, TIME_DIGITS_ALL));
	if (is_open(a))
		printf(", never ended");
	else
		printf(" to %s (%s)", time_shown(end, g->end_ns, local, TIME_DIGITS_ALL),
			length_ns < 0 ? "its clock was set back meanwhile"
				      : duration_format(length, length_ns));
	printf(", after event %llu\n", (unsigned long long)g->begin_seq);
}

static void print_why(const struct gap_account *a)
{
	const char *words = gap_reason_words(a->gap.reason);
	char length[TIME_TEXT_BYTES];

	fputs("  why      ", stdout);
	print_visible(words);
	if (strcmp(words, a->gap.reason) != 0) {
		fputs(" (", stdout);
		print_visible(a->gap.reason);
		fputs(")", stdout);
	}
	if (a->known_before && a->watched_ns >= 0)
		printf(", after %s", duration_format(length, a->watched_ns));
	if (a->known_before && a->watched_ns >= 0 && a->knows_events)
		printf(" and %llu events", (unsigned long long)a->watched_events);
	if (*a->gap.from_rv) {
		fputs("; last version seen ", stdout);
		print_visible(a->gap.from_rv);
	}
	fputs("\n", stdout);
}

static void print_attempts(const struct gap_account *a)
{
	for (size_t i = 0; i < a->attempt_count; i++) {
		const struct gap_attempt *t = &a->attempts[i];

		fputs(i ? ", " : "  tried    ", stdout);
		print_visible(t->purpose);
		fputs(" ", stdout);
		print_visible(t->reason);
		if (t->count > 1)
			printf(" %llu times", (unsigned long long)t->count);
	}
	if (a->attempt_count)
		fputs("\n", stdout);
}

static void print_end(const struct gap_account *a)
{
	const struct tape_gap *g = &a->gap;

	fputs("  ended    ", stdout);
	if (strcmp(g->how_ended, "rewatch") == 0) {
		printf("the watch went on where it was: nothing was missed\n");
		return;
	}
	if (strcmp(g->how_ended, "filled") == 0) {
		puts("filled: another recording saw what happened, and was merged with this one");
		return;
	}
	if (is_open(a)) {
		if (strcmp(g->reason, "left_out") == 0)
			puts("not at all: what was left out is not on the tape");
		else
			puts(g->id ? "not at all: what came after it is not on the tape"
				   : "not at all: later recordings on this tape did not follow it");
		return;
	}
	if (strcmp(g->how_ended, "relist") == 0)
		fputs("by listing again", stdout);
	else if (strcmp(g->how_ended, "restart") == 0)
		fputs("by a new start of the recorder", stdout);
	else if (strcmp(g->how_ended, "epoch") == 0)
		fputs("in another life of the cluster", stdout);
	else if (strcmp(g->how_ended, "skipped") == 0)
		fputs("by a watch from later on, without a list: what was missed is not known", stdout);
	else
		print_visible(g->how_ended);
	if (*g->to_rv) {
		fputs(", at version ", stdout);
		print_visible(g->to_rv);
	}
	fputs("\n", stdout);
}

static void print_counts(const struct gap_account *a)
{
	const struct {
		uint64_t count;
		const char *word;
	} counts[] = {{a->gap.recreated, "recreated"}, {a->gap.deleted, "deleted"}, {a->gap.added, "added"},
		{a->gap.modified, "modified"}};
	const char *before = "  missed   ";

	if (strcmp(a->gap.how_ended, "filled") == 0)
		return;
	for (size_t i = 0; i < COUNT_OF(counts); i++) {
		if (!counts[i].count)
			continue;
		printf("%s%llu %s", before, (unsigned long long)counts[i].count, counts[i].word);
		before = ", ";
	}
	if (differences(a))
		printf("; %llu unchanged\n", (unsigned long long)a->gap.unchanged);
	else
		printf("  missed   nothing that can be seen (%llu objects unchanged); what was created and deleted "
		       "within, nobody knows\n",
			(unsigned long long)a->gap.unchanged);
}

static void print_missed(const struct gap_missed *m)
{
	printf("    %-9s  ", m->change);
	print_resource_name(m->resource);
	fputs(" ", stdout);
	if (*m->namespace) {
		print_visible(m->namespace);
		fputs("/", stdout);
	}
	print_visible(m->name);
	if (strcmp(m->change, "recreated") == 0) {
		fputs("  uid ", stdout);
		print_visible(m->old_uid);
		fputs(" is now ", stdout);
		print_visible(m->uid);
	} else if (strcmp(m->change, "modified") == 0 && *m->old_rv) {
		fputs("  version ", stdout);
		print_visible(m->old_rv);
		fputs(" to ", stdout);
		print_visible(m->rv);
	}
	fputs("\n", stdout);
}

/* What misleads most comes first. */
static void print_all_missed(const struct gap_account *a, bool all)
{
	static const char *const order[] = {"recreated", "deleted", "added", "modified"};
	size_t shown = 0;

	for (size_t k = 0; k < COUNT_OF(order); k++) {
		for (size_t i = 0; i < a->missed_count && (all || shown < SHOWN_MISSED); i++) {
			if (strcmp(a->missed[i].change, order[k]) != 0)
				continue;
			print_missed(&a->missed[i]);
			shown++;
		}
	}
	if (!all && a->missed_count > SHOWN_MISSED)
		printf("    and %zu more (--all)\n", a->missed_count - shown);
}

static void print_gap(const struct gap_account *a, const struct gaps_options *o)
{
	print_head(a, o->local);
	print_why(a);
	print_attempts(a);
	print_end(a);
	if (!is_open(a) && strcmp(a->gap.how_ended, "rewatch") != 0) {
		print_counts(a);
		print_all_missed(a, o->all);
	}
	fputs("\n", stdout);
}

static const char *why_no_gaps(const struct tape *t, const struct gap_accounts *all)
{
	if (!tape_stream_at(t, 0))
		return "no gaps: the tape has no streams, so nothing was watched";
	return all->untold_count || all->unlisted_count
		       ? "no gaps are known"
		       : "no gaps: every stream was watched from its first list to the end";
}

static void print_page(const struct tape *t, const struct gap_accounts *all, const struct gaps_options *o)
{
	uint64_t missed = 0;
	size_t hid = 0, open = 0;

	for (size_t i = 0; i < all->count; i++) {
		const struct gap_account *a = &all->items[i];

		if (is_wanted(a, o))
			print_gap(a, o);
		hid += gap_hid_something(a) && !is_open(a);
		open += is_open(a);
		missed += differences(a);
	}
	if (all->untold_count)
		printf("of %zu imported streams the tape does not tell when they were watched\n",
			all->untold_count);
	if (all->unlisted_count)
		printf("%zu stream%s never listed: what there was is not known\n", all->unlisted_count,
			all->unlisted_count == 1 ? " was" : "s were");
	if (all->count == 0) {
		puts(why_no_gaps(t, all));
		return;
	}
	printf("%zu gaps, of which %zu hid %llu changes", all->count, hid, (unsigned long long)missed);
	if (open)
		printf(" and %zu never ended", open);
	fputs("\n", stdout);
}

/* ---- JSON ---- */

static void json_text(const char *before, const char *name, const char *text)
{
	printf("%s\"%s\": ", before, name);
	table_out_json_string(stdout, slice_of(text ? text : ""));
}

static void json_number(const char *name, long long number)
{
	printf(", \"%s\": %lld", name, number);
}

static void json_time(const char *name, int64_t time_ns)
{
	char text[TIME_TEXT_BYTES];

	printf(", \"%s\": \"%s\"", name, time_format(text, time_ns));
}

static void json_resource(const struct tape_resource *r)
{
	json_text(", ", "apigroup", r ? r->apigroup : NULL);
	json_text(", ", "version", r ? r->version : NULL);
	json_text(", ", "resource", r ? r->resource : NULL);
}

static void json_missed(const struct gap_missed *m)
{
	json_text("      {", "change", m->change);
	json_resource(m->resource);
	json_text(", ", "namespace", m->namespace);
	json_text(", ", "name", m->name);
	json_text(", ", "uid", m->uid);
	json_text(", ", "old_uid", m->old_uid);
	json_text(", ", "rv", m->rv);
	json_text(", ", "old_rv", m->old_rv);
	fputs("}", stdout);
}

static void json_lists(const struct gap_account *a)
{
	fputs(", \"attempts\": [", stdout);
	for (size_t i = 0; i < a->attempt_count; i++) {
		json_text(i ? ", {" : "{", "purpose", a->attempts[i].purpose);
		json_text(", ", "reason", a->attempts[i].reason);
		json_number("count", (long long)a->attempts[i].count);
		fputs("}", stdout);
	}
	fputs("], \"missed\": [", stdout);
	for (size_t i = 0; i < a->missed_count; i++) {
		fputs(i ? ",\n" : "\n", stdout);
		json_missed(&a->missed[i]);
	}
	fputs("]}", stdout);
}

static void json_gap(const struct gap_account *a)
{
	const struct tape_gap *g = &a->gap;

	if (g->id)
		printf("    {\"gap\": %llu", (unsigned long long)g->id);
	else
		fputs("    {\"gap\": null", stdout);
	json_number("stream", g->stream);
	json_resource(a->resource);
	json_text(", ", "namespace", a->stream ? a->stream->namespace : NULL);
	json_time("begin", g->begin_ns);
	if (is_open(a))
		fputs(", \"end\": null", stdout);
	else
		json_time("end", g->end_ns);
	json_number("duration_ns", g->duration_ns);
	json_number("begin_seq", (long long)g->begin_seq);
	json_number("end_seq", (long long)g->end_seq);
	json_text(", ", "from_rv", g->from_rv);
	json_text(", ", "to_rv", g->to_rv);
	json_text(", ", "reason", g->reason);
	json_text(", ", "how_ended", g->how_ended);
	json_number("modified", (long long)g->modified);
	json_number("added", (long long)g->added);
	json_number("deleted", (long long)g->deleted);
	json_number("recreated", (long long)g->recreated);
	json_number("unchanged", (long long)g->unchanged);
	json_lists(a);
}

static void print_json(const char *path, const struct gap_accounts *all, const struct gaps_options *o)
{
	const char *before = "\n";

	json_text("{\n  ", "tape", path);
	printf(",\n  \"untold_streams\": %zu,\n  \"unlisted_streams\": %zu,\n  \"gaps\": [",
		all->untold_count, all->unlisted_count);
	for (size_t i = 0; i < all->count; i++) {
		if (!is_wanted(&all->items[i], o))
			continue;
		fputs(before, stdout);
		json_gap(&all->items[i]);
		before = ",\n";
	}
	fputs(*before == ',' ? "\n  ]\n}\n" : "]\n}\n", stdout);
}

/* ---- the command ---- */

static int gaps_show(void *values, const struct operands *operands, struct err *err)
{
	const struct gaps_options *o = values;
	struct gap_accounts all = {0};
	struct tape *t;
	int rc = tape_open(operands->items[0], &t, err);

	if (rc)
		return rc;
	rc = gap_accounts_read(t, &all, err);
	if (!rc) {
		if (o->json)
			print_json(operands->items[0], &all, o);
		else
			print_page(t, &all, o);
		rc = out_stream_flush(stdout, err);
		if (!rc && gap_accounts_lack_something(&all))
			rc = EXIT_LOSS;
	}
	gap_accounts_release(&all);
	tape_close(t);
	return rc;
}

static int gaps_run(const struct command *self, int argc, char **argv)
{
	struct gaps_options o = {0};

	return command_run(self, argc, argv, &o, gaps_show);
}

const struct command cmd_gaps = {
	.name = "gaps",
	.operands = "TAPE",
	.expects = {"one tape", 1, 1},
	.summary = "show what the recorder could not see, and why",
	.description =
		"Describes each interval in which a stream was not watched: why it began, what was tried, how it\n"
		"ended, and which objects turned out to be changed, deleted or recreated meanwhile. A resource\n"
		"that a later recording on the tape left out has a gap without a number. The exit code is 3 if a\n"
		"gap hid something or never ended, if a stream was never listed, or if the tape does not say when\n"
		"it was watched, as after an import; else 0.",
	.options = rows,
	.exits =
		{
			[EXIT_LOSS] =
				"a gap hid something or never ended, a stream was never listed, or the tape does not say when it was watched",
		},
	.run = gaps_run,
};
