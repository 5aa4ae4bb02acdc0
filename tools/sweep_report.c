/* sweep_report.c: what a sweep found, for people and as JSON. See sweep.h. */
#include "tools/sweep.h"

#include "schema/base/visible.h"
#include "tools/table_out.h"

#include <stdlib.h>

static const char *const verdict_names[] = {
	[SWEEP_UNTRIED] = "untried",
	[SWEEP_FINE] = "fine",
	[SWEEP_WRONG] = "wrong",
	[SWEEP_UNSURE] = "unsure",
	[SWEEP_CUT] = "wrong when cut",
	[SWEEP_NOT_REACHED] = "not reached",
};

static size_t count(const struct sweep_report *r, enum sweep_verdict verdict)
{
	size_t n = 0;

	for (size_t i = 0; i < r->count; i++)
		n += r->tries[i].verdict == verdict;
	return n;
}

static bool is_plain_word(const char *text)
{
	return *text &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+") ==
		       strlen(text);
}

char *sweep_word(const char *text)
{
	size_t quotes = 0;
	char *word, *at;

	if (is_plain_word(text))
		return xstrdup(text);
	for (const char *c = text; *c; c++)
		quotes += *c == '\'';
	word = at = xmalloc(strlen(text) + 3 * quotes + 3);
	*at++ = '\'';
	for (; *text; text++) {
		if (*text == '\'')
			at = stpcpy(at, "'\\'");
		*at++ = *text;
	}
	stpcpy(at, "'");
	return word;
}

/* The line that does it again, with its verdict; the caller frees. */
static char *repeat_of(const struct sweep_report *r, const struct sweep_try *t)
{
	char *faults = sweep_word(t->faults);
	const char *verdict = t->position->laid_over ? r->verdict_laid_over : r->verdict;
	char *line = xasprintf("%s%s --gaps=%s --", r->again, verdict, faults);

	free(faults);
	for (char **child = r->child; *child; child++) {
		char *word = sweep_word(*child), *longer = xasprintf("%s %s", line, word);

		free(word);
		free(line);
		line = longer;
	}
	return line;
}

/* ---- for people ---- */

static void print_without(const struct sweep_report *r, FILE *to)
{
	fprintf(to, "without gaps the command %s with exit code %lld",
		r->without->end == SWEEP_QUIET ? "is quiet at the end and leaves" : "ends by itself",
		(long long)r->without->exit_code);
	fprintf(to, "; it was sent %llu events, and %zu things that it wrote are left\n",
		(unsigned long long)r->positions->delivered, r->without->effect_count);
	for (size_t i = 0; i < r->measure->unsteady_count; i++)
		fprintf(to,
			"what it writes into %s differs from run to run: only whether it is there is compared\n",
			r->measure->unsteady[i]);
	if (r->alone)
		fputs("side by side with itself the command comes to something else: one ran after the other\n",
			to);
}

static void print_place(const struct sweep_position *p, FILE *to)
{
	unsigned long long seq = p->seq, last_seq = p->last_seq;
	const char *how = p->pattern == SWEEP_COALESCED ? "at once" : "missed";

	if (p->write || p->kind == SWEEP_ALWAYS)
		return;
	if (p->hidden == 0)
		fprintf(to, ", its watches away from event %llu to %llu", seq, last_seq);
	else if (seq == last_seq)
		fprintf(to, ", event %llu %s", seq, how);
	else
		fprintf(to, ", %llu events of %llu to %llu %s", (unsigned long long)p->hidden, seq, last_seq,
			how);
}

static const char *const headings[] = {
	[SWEEP_WRONG] = "WRONG",
	[SWEEP_UNSURE] = "wrong once, and not again",
	[SWEEP_CUT] = "wrong with a harmless cut there as well",
};

static void print_try(const struct sweep_report *r, const struct sweep_try *t, FILE *to)
{
	char *name = sweep_position_name(t->position), *repeat = repeat_of(r, t);
	const char *line = t->differences;

	fprintf(to, "\n%s: ", headings[t->verdict]);
	visible_puts(to, name);
	print_place(t->position, to);
	fprintf(to, " (%s)\n", t->words);
	while (line && *line) {
		int len = (int)strcspn(line, "\n");

		fprintf(to, "    %.*s\n", len, line);
		line += len + (line[len] == '\n');
	}
	fprintf(to, "    %s\n", repeat);
	free(repeat);
	free(name);
}

/* Which resources nobody watched where something would have been tried. */
static void print_unreached(const struct sweep_report *r, FILE *to)
{
	size_t n = count(r, SWEEP_NOT_REACHED), told = 0;

	if (n == 0)
		return;
	fprintf(to, "%zu not reached: no watch was open there (", n);
	for (size_t i = 0; i < r->count; i++) {
		const char *resource = r->tries[i].position->resource;
		bool seen = r->tries[i].verdict != SWEEP_NOT_REACHED;

		for (size_t k = 0; k < i && !seen; k++)
			seen = r->tries[k].verdict == SWEEP_NOT_REACHED &&
			       strcmp(r->tries[k].position->resource, resource) == 0;
		if (seen)
			continue;
		fputs(told++ ? ", " : "", to);
		visible_puts(to, resource);
	}
	fputs(")\n", to);
}

void sweep_report_text(const struct sweep_report *r, FILE *to)
{
	size_t wrong = count(r, SWEEP_WRONG), fine = count(r, SWEEP_FINE), unsure = count(r, SWEEP_UNSURE);

	print_without(r, to);
	for (size_t i = 0; i < r->count; i++) {
		enum sweep_verdict verdict = r->tries[i].verdict;

		if (verdict == SWEEP_WRONG || verdict == SWEEP_UNSURE || verdict == SWEEP_CUT)
			print_try(r, &r->tries[i], to);
	}
	fprintf(to, "%s%zu of %zu faults make it go wrong\n", wrong || unsure ? "\n" : "", wrong,
		wrong + fine + unsure);
	print_unreached(r, to);
	if (unsure)
		fprintf(to, "%zu wrong once, and not again: look at the command, or at a longer --settle\n",
			unsure);
	if (r->found > r->positions->count)
		fprintf(to, "%zu of %zu positions, the most telling ones; --max 0 tries all of them\n",
			r->positions->count, r->found);
	if (r->stopped)
		fprintf(to, "stopped: %zu gaps were not tried\n", count(r, SWEEP_UNTRIED));
}

/* ---- as JSON ---- */

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
	char *repeat = kept ? repeat_of(r, t) : NULL;

	fputs("    {", to);
	json_text(to, "verdict", verdict_names[t->verdict]);
	fputs(", ", to);
	json_text(to, "pattern", sweep_pattern_names[p->pattern]);
	fputs(", ", to);
	json_text(to, "kind", sweep_kind_names[p->kind]);
	fprintf(to, ", \"seq\": %llu, \"last_seq\": %llu, \"hidden\": %llu, ", (unsigned long long)p->seq,
		(unsigned long long)p->last_seq, (unsigned long long)p->hidden);
	json_text(to, "resource", p->resource);
	fputs(", ", to);
	json_text(to, "object", p->object);
	fputs(", ", to);
	json_text(to, "what", p->what);
	fputs(", ", to);
	json_text(to, "write", p->write);
	fputs(", ", to);
	json_text(to, "gap", t->words);
	fputs(", ", to);
	json_text(to, "faults", kept ? t->faults : NULL);
	fputs(", ", to);
	json_text(to, "repeat", repeat);
	fputs(", ", to);
	json_lines(to, "differences", t->differences);
	fputc('}', to);
	free(repeat);
}

void sweep_report_json(const struct sweep_report *r, FILE *to)
{
	fputs("{\n  ", to);
	json_text(to, "tape", r->tape);
	fputs(",\n  ", to);
	json_text(to, "folder", r->folder);
	fprintf(to,
		",\n  \"without\": {\"ended_by\": \"%s\", \"exit_code\": %lld, \"events\": %llu, \"left\": %zu},\n",
		r->without->end == SWEEP_QUIET ? "quiet" : "command", (long long)r->without->exit_code,
		(unsigned long long)r->positions->delivered, r->without->effect_count);
	fprintf(to, "  \"jobs\": %zu, \"stopped\": %s, \"positions\": %zu, \"positions_found\": %zu,\n",
		r->jobs, r->stopped ? "true" : "false", r->positions->count, r->found);
	fprintf(to, "  \"wrong\": %zu, \"unsure\": %zu, \"fine\": %zu, \"not_reached\": %zu,\n  ",
		count(r, SWEEP_WRONG), count(r, SWEEP_UNSURE), count(r, SWEEP_FINE),
		count(r, SWEEP_NOT_REACHED));
	json_text(to, "again", r->again);
	fputs(",\n  \"gaps\": [", to);
	for (size_t i = 0; i < r->count; i++) {
		fputs(i ? ",\n" : "\n", to);
		json_try(to, r, &r->tries[i]);
	}
	fputs(r->count ? "\n  ]\n}\n" : "]\n}\n", to);
}
