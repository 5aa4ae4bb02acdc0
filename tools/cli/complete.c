/*
 * complete.c: see complete.h. The words before the one to complete are read as getopt would, without
 * complaining: an unknown option counts as a flag.
 */
#include "tools/cli/complete.h"

#include "schema/base/buf.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct completion {
	const struct command *const *commands;
	FILE *to;
	const char *typed;  /* what is there already of the word or value */
	struct slice front; /* what stands before it in the same word: "--format=", "-f" */
	unsigned directive;
};

/* An option as it stands in a word. */
struct option_word {
	const struct option_row *row; /* NULL unless it is an option that has a value */
	const char *value;            /* in the same word; NULL: the next word is the value */
};

/* Where a command line has come to. */
struct place {
	const struct option_row *awaits; /* the option whose value is next, or NULL */
	size_t operands;
	bool is_child; /* after "--" */
};

/* ---- candidates ---- */

static void offer(struct completion *c, struct slice candidate, const char *help)
{
	if (!slice_begins(candidate, c->typed))
		return;
	fprintf(c->to, "%.*s%.*s", (int)c->front.len, c->front.ptr, (int)candidate.len, candidate.ptr);
	fprintf(c->to, "%s%s\n", help ? "\t" : "", help ? help : "");
}

static void offer_commands(struct completion *c)
{
	for (const struct command *const *command = c->commands; *command; command++)
		offer(c, slice_of((*command)->name), (*command)->summary);
}

/* ---- files ---- */

enum path_kind {
	PATH_ANY,
	PATH_DIRECTORY,
	PATH_TAPE, /* a directory *.tape, a file *.ktape, or a directory on the way to them */
};

static bool ends_with(const char *name, const char *ending)
{
	size_t len = strlen(name), ending_len = strlen(ending);

	return len > ending_len && strcmp(name + len - ending_len, ending) == 0;
}

/* A name that cannot stand on a line of the answer is left out. */
static bool can_be_offered(const char *name, const char *typed)
{
	if (strncmp(name, typed, strlen(typed)) != 0 || (*name == '.' && *typed != '.'))
		return false;
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return false;
	for (const char *c = name; *c; c++) {
		if (iscntrl((unsigned char)*c))
			return false;
	}
	return true;
}

static void offer_path(
	struct completion *c, enum path_kind kind, const char *folder, const char *written, const char *name)
{
	char *path = xasprintf("%s/%s", folder, name), *candidate;
	struct stat st;
	bool is_directory = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
	bool goes_on = is_directory && !(kind == PATH_TAPE && ends_with(name, ".tape"));

	free(path);
	if (!is_directory && kind != PATH_ANY && !(kind == PATH_TAPE && ends_with(name, ".ktape")))
		return;
	candidate = xasprintf("%s%s%s", written, name, goes_on ? "/" : "");
	offer(c, slice_of(candidate), NULL);
	free(candidate);
	if (goes_on)
		c->directive |= COMPLETE_NO_SPACE;
}

/* The folder that is meant by what was written up to the last slash. */
static char *folder_of(const char *written)
{
	const char *home = strncmp(written, "~/", 2) == 0 ? getenv("HOME") : NULL;

	if (!*written)
		return xstrdup(".");
	return home ? xasprintf("%s/%s", home, written + 2) : xstrdup(written);
}

static void offer_paths(struct completion *c, enum path_kind kind)
{
	const char *slash = strrchr(c->typed, '/');
	char *written = slice_dup((struct slice){c->typed, slash ? (size_t)(slash + 1 - c->typed) : 0});
	const char *typed = c->typed + strlen(written);
	char *folder = folder_of(written);
	DIR *names = opendir(folder);

	for (struct dirent *entry; names && (entry = readdir(names));) {
		if (can_be_offered(entry->d_name, typed))
			offer_path(c, kind, folder, written, entry->d_name);
	}
	if (names)
		closedir(names);
	free(folder);
	free(written);
}

/* ---- values ---- */

static bool has_capital(struct slice text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (isupper((unsigned char)text.ptr[i]))
			return true;
	}
	return false;
}

static void offer_alternative(struct completion *c, struct slice word)
{
	if (!has_capital(word))
		offer(c, word, NULL);
	else if (slice_is(word, "TAPE") || slice_is(word, "X.tape"))
		offer_paths(c, PATH_TAPE);
	else if (slice_is(word, "DIR"))
		offer_paths(c, PATH_DIRECTORY);
	else if (slice_begins(word, "FILE"))
		offer_paths(c, PATH_ANY);
}

/* "recorded|none|FILE" */
static void offer_value(struct completion *c, struct slice words)
{
	while (words.len) {
		const char *bar = memchr(words.ptr, '|', words.len);
		size_t len = bar ? (size_t)(bar - words.ptr) : words.len, used = len + (bar != NULL);

		offer_alternative(c, (struct slice){words.ptr, len});
		words = (struct slice){words.ptr + used, words.len - used};
	}
}

/* ---- options ---- */

static const struct option_row *row_by_letter(const struct command *c, char letter)
{
	for (const struct option_row *row = c->options; row && row->kind != OPTION_END; row++) {
		if (row->letter && row->letter == letter)
			return row;
	}
	return NULL;
}

/* The row of a long name, which may be shortened as getopt_long allows. */
static const struct option_row *row_by_name(const struct command *c, struct slice name)
{
	const struct option_row *found = NULL;

	for (const struct option_row *row = c->options; row && row->kind != OPTION_END; row++) {
		if (slice_is(name, row->name))
			return row;
		if (name.len < strlen(row->name) && memcmp(row->name, name.ptr, name.len) == 0)
			found = row;
	}
	return found;
}

/* A word "--name", "--name=value", "-x" or "-xvalue"; any other is read as an option without a row. */
static struct option_word read_option(const struct command *c, const char *word)
{
	size_t len = strcspn(word, "=");
	const struct option_row *row;

	if (word[0] != '-')
		return (struct option_word){NULL, NULL};
	if (word[1] == '-') {
		row = row_by_name(c, (struct slice){word + 2, len - 2});
		return row && row->kind != OPTION_FLAG
			       ? (struct option_word){row, word[len] ? word + len + 1 : NULL}
			       : (struct option_word){NULL, NULL};
	}
	for (const char *letter = word + 1; *letter; letter++) {
		row = row_by_letter(c, *letter);
		if (row && row->kind != OPTION_FLAG)
			return (struct option_word){row, letter[1] ? letter + 1 : NULL};
	}
	return (struct option_word){NULL, NULL};
}

static bool was_given(const struct command *c, const struct option_row *row, char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t len = strcspn(words[i], "=");

		if (strncmp(words[i], "--", 2) == 0 && len > 2 &&
			row_by_name(c, (struct slice){words[i] + 2, len - 2}) == row)
			return true;
		if (words[i][0] == '-' && words[i][1] && words[i][1] == row->letter)
			return true;
	}
	return false;
}

static void offer_options(
	struct completion *c, const struct command *command, char *const *words, size_t count)
{
	for (const struct option_row *row = command->options; row && row->kind != OPTION_END; row++) {
		char *name = xasprintf("--%s", row->name);

		if (row->kind == OPTION_LIST || !was_given(command, row, words, count))
			offer(c, slice_of(name), row->help);
		free(name);
	}
	offer(c, slice_of("--help"), "show the options");
}

/* ---- operands ---- */

/* The next blank-separated word of "TAPE [SQL]" without brackets; whether it may be repeated. */
static struct slice next_operand(const char **spec, bool *ret_repeats)
{
	static const char dots[] = "...", ellipsis[] = "\xe2\x80\xa6";
	const char *begin = *spec + strspn(*spec, " ["), *end = begin + strcspn(begin, " ");

	*spec = end;
	*ret_repeats = false;
	while (end > begin) {
		size_t len = (size_t)(end - begin);
		bool has_dots =
			len >= 3 && (memcmp(end - 3, dots, 3) == 0 || memcmp(end - 3, ellipsis, 3) == 0);

		if (!has_dots && end[-1] != ']')
			break;
		*ret_repeats |= has_dots;
		end -= has_dots ? 3 : 1;
	}
	return (struct slice){begin, (size_t)(end - begin)};
}

static void offer_operand(struct completion *c, const struct command *command, size_t index)
{
	const char *spec = command->operands;
	bool repeats = false;
	struct slice word;

	do
		word = next_operand(&spec, &repeats);
	while (word.len && !repeats && index-- > 0);
	if (slice_is(word, "COMMAND") && strcmp(command->name, "help") == 0)
		offer_commands(c);
	else if (!slice_is(word, "--"))
		offer_value(c, word);
}

/* ---- a command line ---- */

static struct place find_place(const struct command *c, char *const *words, size_t count)
{
	struct place p = {0};

	for (size_t i = 0; i < count && !p.is_child; i++) {
		struct option_word option = read_option(c, words[i]);

		if (p.awaits)
			p.awaits = NULL;
		else if (strcmp(words[i], "--") == 0)
			p.is_child = true;
		else if (option.row && !option.value)
			p.awaits = option.row;
		else if (words[i][0] != '-' || !words[i][1])
			p.operands++;
	}
	return p;
}

static void complete_arguments(
	struct completion *c, const struct command *command, char *const *words, size_t count)
{
	struct place place = find_place(command, words, count - 1);
	const char *word = words[count - 1];
	struct option_word option = read_option(command, word);

	c->typed = word;
	if (place.is_child) {
		c->directive &= ~(unsigned)COMPLETE_NO_FILES;
		return;
	}
	if (place.awaits)
		option = (struct option_word){place.awaits, word};
	if (option.row && option.value) {
		c->front = (struct slice){word, (size_t)(option.value - word)};
		c->typed = option.value;
		offer_value(c, slice_of(option.row->words));
	} else if (word[0] == '-') {
		offer_options(c, command, words, count - 1);
	} else {
		offer_operand(c, command, place.operands);
	}
}

/* The command, which options of its own may precede, and where it stands; NULL: there is none before the last word. */
static size_t find_command(
	const struct command *const *commands, char *const *words, size_t count, const struct command **ret)
{
	*ret = NULL;
	for (size_t i = 0; i + 1 < count; i++) {
		for (const struct command *const *c = commands; *c; c++) {
			if (strcmp((*c)->name, words[i]) == 0 && options_precede(*c, (int)i, words)) {
				*ret = *c;
				return i;
			}
		}
	}
	return 0;
}

void complete(const struct command *const *commands, char *const *words, size_t count, FILE *to)
{
	struct completion c = {
		.commands = commands, .to = to, .typed = words[0], .directive = COMPLETE_NO_FILES};
	const struct command *command;
	size_t at;

	if (count == 1) {
		offer_commands(&c);
		if (c.typed[0] == '-') {
			offer(&c, slice_of("--help"), "show the commands");
			offer(&c, slice_of("--version"), "show the version");
		}
	}
	at = find_command(commands, words, count, &command);
	if (command)
		complete_arguments(&c, command, words + at + 1, count - at - 1);
	fprintf(to, ":%u\n", c.directive);
}
