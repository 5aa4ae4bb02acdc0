/* sweep_html.c: what a sweep found as one page that needs nothing else. See sweep_report.h. */
#include "tools/sweep/sweep_report.h"

#include <stdlib.h>

static const char head[] =
	"<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">"
	"<meta name=\"viewport\" content=\"width=device-width\"><title>kubetape sweep</title><style>"
	"body{font:15px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em;color:#222;background:#fff}"
	"pre{background:#f4f4f4;padding:.6em;white-space:pre-wrap;overflow-wrap:anywhere}table{border-collapse:collapse}"
	"td,th{border-bottom:1px solid #ccc;padding:.2em .6em;text-align:left;vertical-align:top}"
	".wrong{color:#a00;font-weight:bold}@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}"
	"pre{background:#262626}.wrong{color:#f77}}</style></head><body>\n";

static void put_text(FILE *to, const char *text)
{
	for (; text && *text; text++) {
		switch (*text) {
		case '&': fputs("&amp;", to); break;
		case '<': fputs("&lt;", to); break;
		case '>': fputs("&gt;", to); break;
		case '"': fputs("&quot;", to); break;
		default: fputc(*text, to);
		}
	}
}

static void put_cause(const struct sweep_report *r, const struct sweep_cause *c, FILE *to)
{
	char *place = sweep_position_name(c->example->position), *repeat = sweep_repeat_of(r, c->example);

	fputs("<section><h2 class=\"wrong\">", to);
	put_text(to, c->key);
	fprintf(to, "</h2><p>%zu %s; the simplest: ", c->places, c->places == 1 ? "place" : "places");
	put_text(to, place);
	fputs(" (", to);
	put_text(to, c->example->words);
	fputs(")</p><pre>", to);
	put_text(to, c->example->differences);
	fputs("</pre><p>Again, with its verdict:</p><pre>", to);
	put_text(to, repeat);
	fputs("</pre></section>\n", to);
	free(repeat);
	free(place);
}

static void put_row(const struct sweep_try *t, FILE *to)
{
	char *place = sweep_position_name(t->position);

	fprintf(to, "<tr><td>%s</td><td>", sweep_pattern_names[t->position->pattern]);
	put_text(to, place);
	fputs("</td><td>", to);
	put_text(to, t->words);
	fprintf(to, "</td><td%s>%s</td></tr>\n", t->verdict == SWEEP_WRONG ? " class=\"wrong\"" : "",
		sweep_verdict_name(t->verdict));
	free(place);
}

void sweep_report_html(const struct sweep_report *r, FILE *to)
{
	struct sweep_causes causes;

	sweep_causes_find(r, SWEEP_WRONG, &causes);
	fputs(head, to);
	fputs("<h1>Sweep of ", to);
	put_text(to, r->tape);
	fprintf(to, "</h1><p>%zu faults tried, %zu wrong, of %zu %s.</p>\n",
		r->count - sweep_report_count(r, SWEEP_NOT_REACHED) - sweep_report_count(r, SWEEP_UNTRIED),
		sweep_report_count(r, SWEEP_WRONG), causes.count, causes.count == 1 ? "cause" : "causes");
	for (size_t i = 0; i < causes.count; i++)
		put_cause(r, &causes.items[i], to);
	fputs("<h2>All that was tried</h2><table><tr><th>pattern</th><th>place</th><th>fault</th><th>verdict</th></tr>\n",
		to);
	for (size_t i = 0; i < r->count; i++)
		put_row(&r->tries[i], to);
	fputs("</table></body></html>\n", to);
	sweep_causes_release(&causes);
}
