/* sweep_json.c: what a sweep found, as JSON. See sweep_report.h. */
#include "tools/sweep/sweep_report.h"

#include "tools/out/table_out.h"

#include <stdlib.h>

static void json_items(FILE *to, const struct text_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		fputs(i ? ", " : "", to);
		table_out_json_string(to, slice_of(list->items[i]));
	}
}

static void json_text(FILE *to, const char *name, const char *text)
{
	fprintf(to, "\"%s\": ", name);
	if (text)
		table_out_json_string(to, slice_of(text));
	else
		fputs("null", to);
}

static void json_lines(FILE *to, const char *name, const char *lines)
{
	fprintf(to, "\"%s\": [", name);
	for (size_t i = 0; lines && *lines; i++) {
		size_t len = strcspn(lines, "\n");

		fputs(i ? ", " : "", to);
		table_out_json_string(to, (struct slice){lines, len});
		lines += len + (lines[len] == '\n');
	}
	fputc(']', to);
}

static void json_try(FILE *to, const struct sweep_report *r, const struct sweep_try *t)
{
	const struct sweep_position *p = t->position;
	bool kept = t->verdict == SWEEP_WRONG || t->verdict == SWEEP_UNSURE || t->verdict == SWEEP_CUT;
	char *repeat = kept ? sweep_repeat_of(r, t) : NULL;

	fputs("    {", to);
	json_text(to, "verdict", sweep_verdict_name(t->verdict));
	fputs(", ", to);
	json_text(to, "pattern", sweep_pattern_names[p->pattern]);
	fputs(", ", to);
	json_text(to, "kind", sweep_kind_names[p->kind]);
	fprintf(to,
		", \"seq\": %llu, \"last_seq\": %llu, \"hidden\": %llu, \"as_of_seq\": %llu, "
		"\"before_answer\": %s, \"late_writes\": %llu, \"until_seq\": %llu, \"nth\": %llu, ",
		(unsigned long long)p->seq, (unsigned long long)p->last_seq, (unsigned long long)p->hidden,
		(unsigned long long)p->as_of_seq, p->before_answer ? "true" : "false",
		(unsigned long long)p->late_writes, (unsigned long long)p->until_seq,
		(unsigned long long)p->nth);
	if (t->narrowed_from)
		fprintf(to, "\"narrowed_from\": {\"seq\": %llu, \"last_seq\": %llu, \"hidden\": %llu}, ",
			(unsigned long long)t->narrowed_from->seq,
			(unsigned long long)t->narrowed_from->last_seq,
			(unsigned long long)t->narrowed_from->hidden);
	json_text(to, "resource", p->resource);
	fputs(", ", to);
	json_text(to, "others", p->others);
	fprintf(to, ", \"others_as_of_seq\": %llu, ", (unsigned long long)p->others_as_of_seq);
	json_text(to, "object", p->object);
	fputs(", ", to);
	json_text(to, "what", p->what);
	fputs(", ", to);
	json_text(to, "write", p->write);
	fputs(", ", to);
	json_text(to, "gap", t->words);
	fprintf(to, ", \"further_runs\": %u, \"further_wrong\": %u, ", t->further_runs, t->further_wrong);
	json_text(to, "faults", kept ? t->faults : NULL);
	fputs(", ", to);
	json_text(to, "repeat", repeat);
	fputs(", ", to);
	json_lines(to, "differences", t->differences);
	fputc('}', to);
	free(repeat);
}

static void json_causes(FILE *to, const struct sweep_report *r)
{
	struct sweep_causes causes;

	sweep_causes_find(r, SWEEP_WRONG, &causes);
	fputs(",\n  \"causes\": [", to);
	for (size_t i = 0; i < causes.count; i++) {
		char *repeat = sweep_repeat_of(r, causes.items[i].example);

		fputs(i ? ",\n    {" : "\n    {", to);
		json_text(to, "cause", causes.items[i].key);
		fprintf(to, ", \"places\": %zu, \"example\": %zu, ", causes.items[i].places,
			(size_t)(causes.items[i].example - r->tries));
		json_text(to, "repeat", repeat);
		fputc('}', to);
		free(repeat);
	}
	fputs(causes.count ? "\n  ]" : "]", to);
	sweep_causes_release(&causes);
}

void sweep_report_json(const struct sweep_report *r, FILE *to)
{
	char *again = sweep_again_of(r, 0);

	fputs("{\n  ", to);
	json_text(to, "tape", r->tape);
	fputs(", ", to);
	json_text(to, "tape_id", r->tape_id);
	fputs(",\n  \"asked\": [", to);
	json_items(to, r->asked);
	fputs("],\n  \"command\": [", to);
	json_items(to, r->command);
	fputs("],\n  ", to);
	json_text(to, "folder", r->folder);
	fprintf(to, ",\n  \"without\": {\"ended_by\": \"%s\", \"exit_code\": %lld, \"events\": ",
		r->without->end == SWEEP_QUIET ? "quiet" : "command", (long long)r->without->exit_code);
	if (sweep_report_knows_delivered(r))
		fprintf(to, "%llu", (unsigned long long)r->positions->delivered);
	else
		fputs("null", to);
	fprintf(to, ", \"left\": %zu, \"gc\": %s},\n", r->without->effect_count, r->gc ? "true" : "false");
	fprintf(to, "  \"jobs\": %zu, \"stopped\": %s, \"positions\": %zu, \"positions_found\": %zu,\n",
		r->jobs, r->stopped ? "true" : "false", r->positions->count, r->found);
	fputs("  ", to);
	json_text(to, "shard", r->shard);
	fprintf(to, ", \"alone\": %s, \"unsteady\": [", r->alone ? "true" : "false");
	json_items(to, &r->measure->unsteady);
	fputs("], \"ignored\": [", to);
	json_items(to, r->ignored);
	fputs("], \"left_out\": [", to);
	for (unsigned i = 0, n = 0; i < SWEEP_PATTERNS; i++) {
		if (r->left_out >> i & 1)
			fprintf(to, "%s\"%s\"", n++ ? ", " : "", sweep_pattern_names[i]);
	}
	fputs("], ", to);
	json_text(to, "why_left_out", r->why_left_out);
	fprintf(to,
		",\n  \"wrong\": %zu, \"unsure\": %zu, \"fine\": %zu, \"unseen\": %zu, \"made_again\": %zu, "
		"\"exchanged\": %zu, \"not_reached\": %zu,\n  ",
		sweep_report_count(r, SWEEP_WRONG), sweep_report_count(r, SWEEP_UNSURE),
		sweep_report_count(r, SWEEP_FINE), sweep_report_count(r, SWEEP_UNSEEN),
		sweep_report_count(r, SWEEP_MADE_AGAIN), sweep_report_count(r, SWEEP_EXCHANGED),
		sweep_report_count(r, SWEEP_NOT_REACHED));
	json_text(to, "again", again);
	free(again);
	json_causes(to, r);
	fputs(",\n  \"gaps\": [", to);
	for (size_t i = 0; i < r->count; i++) {
		fputs(i ? ",\n" : "\n", to);
		json_try(to, r, &r->tries[i]);
	}
	fputs(r->count ? "\n  ]\n}\n" : "]\n}\n", to);
}
