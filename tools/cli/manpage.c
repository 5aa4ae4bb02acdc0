/* manpage.c: see manpage.h. Only macros and escapes that both groff and mandoc know are used. */
#include "tools/cli/manpage.h"

#include "schema/base/buf.h"
#include "schema/base/version.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define BOLD   "\\fB"
#define ITALIC "\\fI"
#define ROMAN  "\\fR"

/* Prints a text of one line so that it is read literally, a minus as a minus. */
static void print_plain(const char *text, size_t len, FILE *to)
{
	static const char special[] = "\\-^~`'";
	static const char *const escapes[] = {"\\e", "\\-", "\\(ha", "\\(ti", "\\(ga", "\\(aq"};

	for (size_t i = 0; i < len; i++) {
		const char *found = memchr(special, text[i], sizeof(special) - 1);

		if (found)
			fputs(escapes[found - special], to);
		else
			fputc(text[i], to);
	}
}

/* A whole line; a dot at its beginning would be a macro. */
static void print_line(const char *text, size_t len, FILE *to)
{
	if (len && *text == '.')
		fputs("\\&", to);
	print_plain(text, len, to);
	fputc('\n', to);
}

static void print_in(const char *font, const char *text, size_t len, FILE *to)
{
	fputs(font, to);
	print_plain(text, len, to);
	fputs(ROMAN, to);
}

/* What is typed as it stands is bold, what stands for something is slanted: it has a capital. */
static void print_words(const char *words, const char *separators, FILE *to)
{
	while (*words) {
		size_t len = strcspn(words, separators);
		const char *font = BOLD;

		for (size_t i = 0; i < len; i++)
			font = isupper((unsigned char)words[i]) ? ITALIC : font;
		if (len)
			print_in(font, words, len, to);
		words += len;
		if (*words)
			print_plain(words++, 1, to);
	}
}

static bool is_indented(const char *line)
{
	return strncmp(line, "  ", 2) == 0;
}

static void switch_example(bool begins, FILE *to)
{
	fputs(begins ? ".PP\n.RS 4\n.nf\n" : ".fi\n.RE\n.PP\n", to);
}

/* Lines that are indented are examples and stay as they are; the others flow. An empty line stays in an
 * example and ends a paragraph of text. */
static void print_description(const char *text, FILE *to)
{
	bool is_example = false;

	for (const char *next; *text; text = next) {
		size_t len = strcspn(text, "\n");

		next = text + len + (text[len] == '\n');
		if (!len && is_example == is_indented(next))
			fputs(is_example ? "\n" : ".PP\n", to);
		if (!len)
			continue;
		if (is_indented(text) != is_example) {
			is_example = !is_example;
			switch_example(is_example, to);
		}
		print_line(is_example ? text + 2 : text, is_example ? len - 2 : len, to);
	}
	if (is_example)
		fputs(".fi\n.RE\n", to);
}

static void print_option(const struct option_row *row, FILE *to)
{
	char *name = xasprintf("--%s", row->name), letter[] = {'-', row->letter, 0};

	fputs(".TP\n", to);
	if (row->letter) {
		print_in(BOLD, letter, 2, to);
		fputs(", ", to);
	}
	print_in(BOLD, name, strlen(name), to);
	if (row->kind != OPTION_FLAG) {
		fputs(row->kind == OPTION_CHOICE ? "=" : " ", to);
		print_words(row->words, "|=", to);
	}
	fputc('\n', to);
	print_line(row->help, strlen(row->help), to);
	if (row->kind == OPTION_LIST)
		fputs("(may be repeated)\n", to);
	free(name);
}

/* `own`: the command's, NULL: of none. */
static void print_exit_status(const char *const *own, FILE *to)
{
	static const char *const usual[EXIT_CODE_COUNT] = {
		[EXIT_OK] = "done",
		[EXIT_FAILED] = "failed; one sentence on standard error says why",
		[EXIT_USAGE] = "the command line was not understood",
		[EXIT_LOSS] = "done, but something is missing: gaps, a lost tail, lateness over the limit",
	};

	fputs(".SH EXIT STATUS\n", to);
	for (int code = 0; code < EXIT_CODE_COUNT; code++) {
		const char *text = own && own[code] ? own[code] : usual[code];

		if (!*text)
			continue;
		fprintf(to, ".TP\n.B %d\n", code);
		print_line(text, strlen(text), to);
	}
}

static void print_head(const char *page, const char *summary, FILE *to)
{
	fputs(".TH ", to);
	for (const char *c = page; *c; c++)
		fputc(toupper((unsigned char)*c), to);
	fprintf(to, " 1 %s \"kubetape %s\" \"User Commands\"\n.SH NAME\n", KUBETAPE_VERSION_DATE,
		KUBETAPE_VERSION);
	print_plain(page, strlen(page), to);
	fputs(" \\- ", to);
	print_line(summary, strlen(summary), to);
	fputs(".SH SYNOPSIS\n", to);
}

void manpage_write_overview(const struct command *const *commands, FILE *to)
{
	print_head("kubetape", "flight recorder and time machine for the Kubernetes watch API", to);
	fputs(".B kubetape\n.I COMMAND\n[\\fIARGUMENT\\fR]...\n.br\n"
	      ".B kubectl tape\n.I COMMAND\n[\\fIARGUMENT\\fR]...\n.SH DESCRIPTION\n"
	      "Follows any set of resources of a Kubernetes cluster and keeps every watch event, and the life of\n"
	      "the watch connections themselves, in a\n.IR tape ,\n"
	      "a directory of compressed SQLite segments. A tape is served again as an API server, which\n"
	      "unmodified clients list and watch, and it is asked in SQL.\n.SH COMMANDS\n",
		to);
	for (; *commands; commands++) {
		fputs(".TP\n.B ", to);
		print_line((*commands)->name, strlen((*commands)->name), to);
		print_line((*commands)->summary, strlen((*commands)->summary), to);
	}
	print_exit_status(NULL, to);
}

void manpage_write_command(const struct command *c, FILE *to)
{
	char *page = xasprintf("kubetape-%s", c->name);

	print_head(page, c->summary, to);
	fputs(".B kubetape ", to);
	print_line(c->name, strlen(c->name), to);
	fputs("[\\fIOPTION\\fR]...\n", to);
	print_words(c->operands, " []|.", to);
	fprintf(to, "%s.SH DESCRIPTION\n", *c->operands ? "\n" : "");
	print_description(c->description, to);
	if (options_take_sizes(c)) {
		fputs(".PP\n", to);
		print_description(options_size_text, to);
	}
	fputs(".SH OPTIONS\n", to);
	for (const struct option_row *row = c->options; row && row->kind != OPTION_END; row++)
		print_option(row, to);
	fputs(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nshow a short form of this page\n", to);
	print_exit_status(c->exits, to);
	free(page);
}
