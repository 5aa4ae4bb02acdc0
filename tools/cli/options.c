/* options.c: see options.h. getopt_long does the parsing; the table says what to do with what it finds. */
#include "tools/cli/options.h"

#include "recorder/push/remote_tape.h"
#include "recorder/push/s3.h"
#include "schema/base/buf.h"
#include "schema/base/bytes_format.h"
#include "schema/base/clock.h"
#include "schema/base/similar.h"
#include "schema/base/visible.h"
#include "tools/cli/plural.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_OPTIONS 64
#define MAX_SIGNS   4    /* operands that begin with one */
#define HELP_VALUE  1000 /* getopt's value for --help; rows have 1001 and up */
#define HELP_COLUMN 34   /* where the help of an option begins */
#define HELP_WIDTH  100

static size_t count_rows(const struct option_row *rows)
{
	size_t n = 0;

	while (rows && rows[n].kind != OPTION_END)
		n++;
	return n;
}

static void begin_help_line(FILE *to, int column)
{
	bool has_room = column + 2 <= HELP_COLUMN;

	fprintf(to, "%s%*s", has_room ? "" : "\n", has_room ? HELP_COLUMN - column : HELP_COLUMN, "");
}

/* Prints the words of a text, as many on a line as fit, after a line that has reached the given column. */
static void print_words(FILE *to, const char *text, int column)
{
	int used = HELP_WIDTH;

	while (*text) {
		int len = (int)strcspn(text, " ");

		if (used + 1 + len > HELP_WIDTH) {
			begin_help_line(to, column);
			column = used = HELP_COLUMN;
		} else {
			fputc(' ', to);
			used++;
		}
		fprintf(to, "%.*s", len, text);
		used += len;
		text += len;
		text += strspn(text, " ");
	}
	fputc('\n', to);
}

/* "-o, --output FILE", and the help beside it. */
static void print_row(FILE *to, const struct option_row *row)
{
	const char *between = row->kind == OPTION_FLAG ? "" : row->kind == OPTION_CHOICE ? "=" : " ";
	char letter[] = {'-', row->letter, ',', 0};
	char *left = xasprintf("  %3s --%s%s%s", row->letter ? letter : "", row->name, between,
		row->kind == OPTION_FLAG ? "" : row->words);
	char *help = xasprintf("%s%s", row->help, row->kind == OPTION_LIST ? " (may be repeated)" : "");

	fputs(left, to);
	print_words(to, help, (int)strlen(left));
	free(left);
	free(help);
}

static const struct option_row *row_of(const struct command *c, int found)
{
	if (found == 0 || found == HELP_VALUE)
		return NULL;
	if (found > HELP_VALUE)
		return &c->options[found - HELP_VALUE - 1];
	for (const struct option_row *row = c->options; row && row->kind != OPTION_END; row++) {
		if (row->letter == found)
			return row;
	}
	return NULL;
}

const char options_size_text[] =
	"A SIZE is a number of bytes, or one with a unit: 600k, 16Gi, 1.5G, 512MiB. Units are powers of two\n"
	"with and without the i: k, M, G, T, P.";

bool options_take_sizes(const struct command *c)
{
	for (const struct option_row *row = c->options; row && row->kind != OPTION_END; row++) {
		if (row->kind == OPTION_BYTES)
			return true;
	}
	return false;
}

void options_print_help(const struct command *c, FILE *to)
{
	fprintf(to, "usage: kubetape %s [OPTION]...%s%s\n\n%s\n", c->name, *c->operands ? " " : "",
		c->operands, c->description);
	if (options_take_sizes(c))
		fprintf(to, "\n%s\n", options_size_text);
	fprintf(to, "\noptions:\n");
	for (const struct option_row *row = c->options; row && row->kind != OPTION_END; row++)
		print_row(to, row);
	fprintf(to, "  %s --help                      show this text\n", row_of(c, 'h') ? "   " : "-h,");
}

static bool is_choice(const char *words, const char *value)
{
	size_t len = strlen(value);

	for (const char *w = words; *w; w += strcspn(w, "|"), w += *w == '|') {
		if (strcspn(w, "|") == len && strncmp(w, value, len) == 0)
			return true;
	}
	return false;
}

static int parse_number(const struct option_row *row, const char *value, int64_t *ret, struct err *err)
{
	char *end;
	long long number;

	errno = 0;
	number = strtoll(value, &end, 10);
	if (end == value || *end || errno || number < 0)
		return err_set(err, ERR_USAGE, "option '--%s' wants a number, found '%s'", row->name, value);
	*ret = number;
	return 0;
}

void text_list_add(struct text_list *list, const char *value)
{
	list->items = xrealloc(list->items, (list->count + 1) * sizeof(*list->items));
	list->items[list->count++] = value;
}

bool text_list_has(const struct text_list *list, const char *value)
{
	for (size_t i = 0; i < list->count; i++) {
		if (strcmp(list->items[i], value) == 0)
			return true;
	}
	return false;
}

bool text_list_keep(struct text_list *list, const char *value)
{
	if (text_list_has(list, value))
		return false;
	text_list_add(list, xstrdup(value));
	return true;
}

void text_list_release(struct text_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free((char *)list->items[i]);
	free((void *)list->items);
	*list = (struct text_list){0};
}

/* What was given before --help has no further use. */
static void drop_lists(const struct command *c, void *values)
{
	for (const struct option_row *row = c->options; row && row->kind != OPTION_END; row++) {
		struct text_list *list = (struct text_list *)(void *)((char *)values + row->offset);

		if (row->kind != OPTION_LIST)
			continue;
		free(list->items);
		*list = (struct text_list){0};
	}
}

static int options_store(const struct option_row *row, const char *value, void *values, struct err *err)
{
	void *field = (char *)values + row->offset;
	int rc;

	switch (row->kind) {
	case OPTION_FLAG: *(bool *)field = true; return 0;
	case OPTION_TEXT: *(const char **)field = value; return 0;
	case OPTION_LIST: text_list_add(field, value); return 0;
	case OPTION_NUMBER: return parse_number(row, value, field, err);
	case OPTION_BYTES:
		rc = bytes_parse(value, field, err);
		return rc ? err_prefix(err, rc, "option '--%s'", row->name) : 0;
	case OPTION_DURATION:
		rc = duration_parse(value, field, err);
		return rc ? err_prefix(err, rc, "option '--%s'", row->name) : 0;
	case OPTION_CHOICE:
		if (!is_choice(row->words, value))
			return err_set(err, ERR_USAGE, "option '--%s' wants one of %s, found '%s'", row->name,
				row->words, value);
		*(const char **)field = value;
		return 0;
	case OPTION_END: break;
	}
	return err_set(err, ERR_USAGE, "option '--%s' cannot be stored", row->name);
}

/* getopt's two forms of the table: letters (after "+:"-less ":" for own messages) and long names. */
static void make_getopt_tables(const struct command *c, char *letters, struct option *longs)
{
	size_t n = count_rows(c->options);

	*letters++ = ':';
	for (size_t i = 0; i < n && i < MAX_OPTIONS; i++) {
		const struct option_row *row = &c->options[i];
		bool has_value = row->kind != OPTION_FLAG;

		if (row->letter) {
			*letters++ = row->letter;
			if (has_value)
				*letters++ = ':';
		}
		longs[i] = (struct option){row->name, has_value, NULL, HELP_VALUE + 1 + (int)i};
	}
	if (!row_of(c, 'h'))
		*letters++ = 'h';
	*letters = 0;
	longs[n] = (struct option){"help", 0, NULL, HELP_VALUE};
	longs[n + 1] = (struct option){NULL, 0, NULL, 0};
}

static int refuse_long(const struct command *c, const char *word, struct err *err)
{
	char *name = slice_dup((struct slice){word, strcspn(word, "=")});
	struct similar similar = similar_to(slice_of(name + strspn(name, "-")));

	for (const struct option_row *row = c->options; row && row->kind != OPTION_END; row++)
		similar_offer(&similar, row->name, NULL);
	free(name);
	if (similar.meant)
		return err_set(
			err, ERR_USAGE, "unknown option '%s'; did you mean '--%s'?", word, similar.meant);
	return err_set(err, ERR_USAGE, "unknown option '%s'; see 'kubetape %s --help'", word, c->name);
}

/* The sentence for what getopt did not like; it leaves the option, or 0 for an
 * unknown long one, in optopt. */
static int options_refuse(const struct command *c, int found, const char *word, struct err *err)
{
	const struct option_row *row = row_of(c, optopt);

	if (row && found == ':')
		return err_set(err, ERR_USAGE, "option '--%s' wants a value; see 'kubetape %s --help'",
			row->name, c->name);
	if (row || optopt == HELP_VALUE)
		return err_set(err, ERR_USAGE, "option '--%s' takes no value; see 'kubetape %s --help'",
			row ? row->name : "help", c->name);
	if (optopt)
		return err_set(
			err, ERR_USAGE, "unknown option '-%c'; see 'kubetape %s --help'", optopt, c->name);
	return refuse_long(c, word, err);
}

/* "-o=yaml" is the same as "-o yaml", as kubectl takes it; "-o =yaml" is not. */
static const char *value_of(const struct option_row *row, int found, const char *word)
{
	bool is_attached = optarg && found < HELP_VALUE && optarg > word && optarg <= word + strlen(word);

	return is_attached && row->letter && *optarg == '=' ? optarg + 1 : optarg;
}

/* Cuts argv at a lone `--` and keeps what is behind it for the child. */
static int cut_child(int argc, char **argv, struct operands *ret)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--") == 0) {
			ret->child = argv + i + 1;
			return i;
		}
	}
	return argc;
}

/* "-5m" is a position, not an option, unless it is the value of one, which getopt takes as it is. So that
 * getopt does not take it for letters, it is not shown the sign. */
static void hide_signs(int argc, char **argv, char **ret_hidden)
{
	size_t n = 0;

	for (int i = 1; i < argc && n < MAX_SIGNS; i++) {
		if (argv[i][0] == '-' && isdigit((unsigned char)argv[i][1]) && argv[i - 1][0] != '-')
			ret_hidden[n++] = ++argv[i];
	}
}

static void show_signs(int argc, char **argv, char *const *hidden)
{
	for (int i = 1; i < argc; i++) {
		for (size_t n = 0; n < MAX_SIGNS && hidden[n]; n++)
			argv[i] -= argv[i] == hidden[n];
	}
}

/* What is written here is durable at each tick: no store is. */
static int check_output(const struct option_row *row, const char *value, struct err *err)
{
	if (!row->words || strcmp(row->words, "TAPE") != 0 || !s3_is_url(value))
		return 0;
	return err_set(err, ERR_USAGE,
		"option '--%s' wants a folder, found '%s': write a tape here and 'kubetape push' it",
		row->name, value);
}

static int check_operands(const struct command *c, const struct operands *found, struct err *err)
{
	const struct operand_count *expected = &c->expects;

	if (found->count < expected->least || found->count > expected->most)
		return err_set(err, ERR_USAGE, "expected %s, found %zu operand%s", expected->words,
			found->count, plural(found->count));
	return 0;
}

/* The folder that stands for a tape in a store is a cache, which may be removed at any time. */
static int check_place(const struct command *c, const struct operands *operands, struct err *err)
{
	const char *tape = operands->count ? operands->items[0] : "";

	if (!c->writes_beside || !s3_is_url(tape))
		return 0;
	return err_set(err, ERR_USAGE, "'%s' is not on this machine: 'kubetape cut %s -o X.tape' copies it",
		tape, tape);
}

/* A tape in a store becomes the folder that stands for it. */
static int resolve_operands(const struct command *c, struct operands *operands, struct err *err)
{
	int rc = check_place(c, operands, err);

	for (size_t i = 0; i < operands->count && i < OPERANDS_GIVEN; i++)
		operands->given[i] = operands->items[i];
	for (size_t i = 0; i < operands->count && !c->takes_urls && !rc; i++) {
		char *note = NULL;

		if (!s3_is_url(operands->items[i]))
			continue;
		rc = remote_tape_resolve(operands->items[i], &operands->items[i], &note, err);
		if (note)
			fprintf(stderr, "kubetape %s: %s\n", c->name, note);
		free(note);
	}
	return rc;
}

int options_parse(
	const struct command *c, int argc, char **argv, void *values, struct operands *ret, struct err *err)
{
	char letters[2 * MAX_OPTIONS + 3];
	struct option longs[MAX_OPTIONS + 2];
	struct operands operands = {0};
	const struct option_row *row;
	char *hidden[MAX_SIGNS] = {0};
	int found, rc;

	make_getopt_tables(c, letters, longs);
	if (c->runs_child)
		argc = cut_child(argc, argv, &operands);
	hide_signs(argc, argv, hidden);
	optind = 0;
	while ((found = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		if (found == HELP_VALUE || (found == 'h' && !row_of(c, 'h'))) {
			options_print_help(c, stdout);
			drop_lists(c, values);
			return 1;
		}
		if (found == ':' || found == '?')
			return options_refuse(c, found, argv[optind - 1], err);
		row = row_of(c, found);
		rc = options_store(row, value_of(row, found, argv[optind - 1]), values, err);
		rc = rc || row->kind != OPTION_TEXT ? rc : check_output(row, optarg, err);
		if (rc)
			return rc;
	}
	show_signs(argc, argv, hidden);
	operands.items = argv + optind;
	operands.count = (size_t)(argc - optind);
	rc = check_operands(c, &operands, err);
	rc = rc ? rc : resolve_operands(c, &operands, err);
	if (rc)
		return rc;
	*ret = operands;
	return 0;
}

/* ---- options before the command ---- */

static const struct option_row *row_by_name(const struct command *c, const char *name, size_t len)
{
	for (const struct option_row *row = c->options; row && row->kind != OPTION_END; row++) {
		if (strlen(row->name) == len && memcmp(row->name, name, len) == 0)
			return row;
	}
	return NULL;
}

/* How many words the option is that stands there: 2 when its value is the next; 0 when the command has none
 * such. */
static int count_words(const struct command *c, const char *word)
{
	const struct option_row *row;
	size_t len = strcspn(word, "=");

	if (word[0] != '-' || !word[1])
		return 0;
	if (word[1] == '-') {
		row = row_by_name(c, word + 2, len - 2);
		return !row ? 0 : row->kind == OPTION_FLAG ? !word[len] : word[len] ? 1 : 2;
	}
	for (const char *letter = word + 1; *letter; letter++) {
		row = row_of(c, *letter);
		if (!row)
			return 0;
		if (row->kind != OPTION_FLAG)
			return letter[1] ? 1 : 2;
	}
	return 1;
}

bool options_precede(const struct command *c, int count, char *const *words)
{
	int at = 0;

	while (at < count) {
		int n = count_words(c, words[at]);

		if (n == 0)
			return false;
		at += n;
	}
	return at == count;
}

/* ---- running ---- */

/* The words of others may be in it: of a server, of a tape, of SQLite about a stranger's file. */
void say_error(const char *command, const struct err *err)
{
	char *words = remote_tape_words(err->text);

	fprintf(stderr, "kubetape%s%s: ", *command ? " " : "", command);
	visible_puts(stderr, words);
	free(words);
	fputc('\n', stderr);
}

int command_fail(const struct command *c, const struct err *err)
{
	say_error(c->name, err);
	return err->code == ERR_USAGE ? EXIT_USAGE : EXIT_FAILED;
}

int command_run(const struct command *c, int argc, char **argv, void *values,
	int (*work)(void *values, const struct operands *operands, struct err *err))
{
	struct operands operands;
	struct err err = {0};
	int rc = options_parse(c, argc, argv, values, &operands, &err);

	if (rc > 0)
		return EXIT_OK;
	if (rc == 0)
		rc = work(values, &operands, &err);
	return rc < 0 ? command_fail(c, &err) : rc;
}
