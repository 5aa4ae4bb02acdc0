/* sweep_junit.c: what a sweep found as JUnit XML: a test case for each fault that was tried. See
 * sweep_report.h. */
#include "tools/sweep/sweep_report.h"

#include <stdlib.h>

/* Text and attributes alike; what XML 1.0 does not have becomes a question mark. */
static void put_text(FILE *to, const char *text)
{
	for (; text && *text; text++) {
		unsigned char c = (unsigned char)*text;

		switch (c) {
		case '&': fputs("&amp;", to); break;
		case '<': fputs("&lt;", to); break;
		case '>': fputs("&gt;", to); break;
		case '"': fputs("&quot;", to); break;
		case '\n': fputs("&#10;", to); break;
		default: fputc(c < ' ' && c != '\t' ? '?' : c, to);
		}
	}
}

static void put_attribute(FILE *to, const char *name, const char *text)
{
	fprintf(to, " %s=\"", name);
	put_text(to, text);
	fputc('"', to);
}

static void put_failure(const struct sweep_report *r, const struct sweep_try *t, FILE *to)
{
	char *repeat = sweep_repeat_of(r, t);
	char *first = slice_dup((struct slice){t->differences, strcspn(t->differences, "\n")});

	fputs("      <failure", to);
	put_attribute(to, "type", sweep_pattern_names[t->position->pattern]);
	put_attribute(to, "message", first);
	fputc('>', to);
	put_text(to, t->differences);
	put_text(to, repeat);
	fputs("</failure>\n", to);
	free(first);
	free(repeat);
}

static void put_case(const struct sweep_report *r, const struct sweep_try *t, FILE *to)
{
	char *place = sweep_position_name(t->position), *name = xasprintf("%s (%s)", place, t->words);

	fputs("    <testcase", to);
	put_attribute(to, "classname", sweep_pattern_names[t->position->pattern]);
	put_attribute(to, "name", name);
	fputs(">\n", to);
	if (t->verdict == SWEEP_WRONG) {
		put_failure(r, t, to);
	} else if (t->verdict != SWEEP_FINE) {
		fputs("      <skipped", to);
		put_attribute(to, "message", sweep_verdict_name(t->verdict));
		fputs("/>\n", to);
	}
	fputs("    </testcase>\n", to);
	free(name);
	free(place);
}

static void put_left_out(const char *pattern, const char *why, FILE *to)
{
	fputs("    <testcase", to);
	put_attribute(to, "classname", pattern);
	put_attribute(to, "name", "all places");
	fputs(">\n      <skipped", to);
	put_attribute(to, "message", why);
	fputs("/>\n    </testcase>\n", to);
}

void sweep_report_junit(const struct sweep_report *r, FILE *to)
{
	size_t wrong = sweep_report_count(r, SWEEP_WRONG);
	size_t left_out = (size_t)__builtin_popcount(r->left_out);
	size_t skipped = r->count - wrong - sweep_report_count(r, SWEEP_FINE) + left_out;

	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite", to);
	put_attribute(to, "name", "kubetape sweep");
	put_attribute(to, "file", r->tape);
	fprintf(to, " tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\">\n", r->count + left_out,
		wrong, skipped);
	for (size_t i = 0; i < r->count; i++)
		put_case(r, &r->tries[i], to);
	for (int i = 0; i < SWEEP_PATTERNS; i++) {
		if (r->left_out >> i & 1)
			put_left_out(sweep_pattern_names[i], r->why_left_out, to);
	}
	fputs("  </testsuite>\n</testsuites>\n", to);
}
