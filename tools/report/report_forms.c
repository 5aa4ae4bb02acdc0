/* report_forms.c: the three forms of a report. */
#include "schema/base/visible.h"
#include "tools/report/report.h"

/* ---- for a terminal ---- */

static void text_begin(FILE *to, const char *title)
{
	visible_puts(to, title);
	fputc('\n', to);
}

static void text_section(FILE *to, const char *title)
{
	fprintf(to, "\n%s\n", title);
}

static void text_row(FILE *to, const struct slice c[REPORT_COLUMNS])
{
	fprintf(to, "  %8.*s  %.*s  ", (int)c[REPORT_SEQ].len, c[REPORT_SEQ].ptr, (int)c[REPORT_TIME].len,
		c[REPORT_TIME].ptr);
	visible_put(to, c[REPORT_OBJECT]);
	if (c[REPORT_WHAT].len)
		fputs("  ", to);
	visible_put(to, c[REPORT_WHAT]);
	if (c[REPORT_WHO].len)
		fputs("  by ", to);
	visible_put(to, c[REPORT_WHO]);
	fputc('\n', to);
}

static void nothing(FILE *to)
{
	(void)to;
}

static void text_note(FILE *to, const char *text)
{
	fprintf(to, "  %s\n", text);
}

const struct report_form report_text = {
	"text", text_begin, text_section, text_row, nothing, text_note, nothing};

/* ---- Markdown ---- */

/* What Markdown, or the HTML that it becomes, would take for more than a text. */
static void markdown_put(FILE *to, struct slice text)
{
	static const char active[] = "\\`*_{}[]()<>#+-.!|~&$:@";

	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];

		if (strchr(active, c) &&
			c) /* also of times and names: what is no letter or digit may be escaped */
			fputc('\\', to);
		if ((unsigned char)c >= 0x20 && c != 0x7f)
			fputc(c, to);
		else
			fputc(' ', to);
	}
}

static void markdown_begin(FILE *to, const char *title)
{
	fputs("# ", to);
	markdown_put(to, slice_of(title));
	fputc('\n', to);
}

static void markdown_section(FILE *to, const char *title)
{
	fprintf(to, "\n## %s\n", title);
}

static void markdown_row(FILE *to, const struct slice c[REPORT_COLUMNS])
{
	bool is_first = true;

	fputs("* ", to);
	for (int i = REPORT_SEQ; i < REPORT_COLUMNS; i++) {
		if (!c[i].len)
			continue;
		fputs(i == REPORT_SEQ      ? "event "
			: i == REPORT_WHAT ? ": "
			: i == REPORT_WHO  ? ", by "
			: is_first         ? ""
					   : ", ",
			to);
		markdown_put(to, c[i]);
		is_first = false;
	}
	fputc('\n', to);
}

static void markdown_note(FILE *to, const char *text)
{
	fprintf(to, "\n%s\n", text);
}

const struct report_form report_markdown = {
	"markdown", markdown_begin, markdown_section, markdown_row, nothing, markdown_note, nothing};

/* ---- HTML ---- */

/* What is active in a terminal is shown as in one; the rest is escaped. */
static void html_put(FILE *to, struct slice text)
{
	struct buf shown;

	buf_init(&shown, text.len * VISIBLE_GROWTH + 1);
	if (visible_append(&shown, text, NULL) == 0)
		text = buf_slice(&shown);
	for (size_t i = 0; i < text.len; i++) {
		switch (text.ptr[i]) {
		case '<': fputs("&lt;", to); break;
		case '>': fputs("&gt;", to); break;
		case '&': fputs("&amp;", to); break;
		case '"': fputs("&quot;", to); break;
		case '\'': fputs("&#39;", to); break;
		default: fputc(text.ptr[i], to);
		}
	}
	buf_release(&shown);
}

static void html_begin(FILE *to, const char *title)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width\"><title>",
		to);
	html_put(to, slice_of(title));
	fputs("</title>\n<style>body{font:14px/1.45 system-ui,sans-serif;margin:2em auto;max-width:75em;padding:0 1em;"
	      "color-scheme:light dark}table{border-collapse:collapse;width:100%}td{padding:.2em .8em .2em 0;"
	      "vertical-align:top;border-top:1px solid #8884;overflow-wrap:anywhere}td:nth-child(-n+2){white-space:nowrap;"
	      "font-variant-numeric:tabular-nums}h2{font-size:1.1em;margin:1.6em 0 .3em}p{opacity:.7;margin:.2em 0}</style>"
	      "</head>\n<body>\n<h1>",
		to);
	html_put(to, slice_of(title));
	fputs("</h1>\n", to);
}

static void html_section(FILE *to, const char *title)
{
	fprintf(to, "<h2>%s</h2>\n", title);
}

static void html_row(FILE *to, const struct slice c[REPORT_COLUMNS])
{
	fputs("<tr>", to);
	for (int i = REPORT_SEQ; i < REPORT_COLUMNS; i++) {
		fputs("<td>", to);
		html_put(to, c[i]);
		fputs("</td>", to);
	}
	fputs("</tr>\n", to);
}

static void html_rows_end(FILE *to)
{
	fputs("</table>\n", to);
}

static void html_note(FILE *to, const char *text)
{
	fprintf(to, "<p>%s</p>\n", text);
}

static void html_end(FILE *to)
{
	fputs("</body></html>\n", to);
}

const struct report_form report_html = {
	"html", html_begin, html_section, html_row, html_rows_end, html_note, html_end};
