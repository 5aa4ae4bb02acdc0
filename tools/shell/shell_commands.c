/*
 * shell_commands.c: what begins with a dot. To add a command: write its function and put it into the table,
 * which is what runs it, what .help prints and what completion offers.
 */
#include "tools/shell/shell_internal.h"

#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/sql/extension.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

struct shell_command {
	const char *name, *operand; /* operand: as .help shows it, "" for none */
	const char *help;
	int (*run)(struct shell *s, const char *operand, struct err *err);
};

/* Questions with their SQL, for `.help examples`; a test runs each. */
static const struct {
	const char *question, *sql;
} examples[] = {
	{"what happened to one object",
		"SELECT time, type, rv FROM events WHERE resource = 'deployments' AND name = 'web' "
		"ORDER BY seq;"},
	{"which pods were there at a moment",
		"SELECT name, jget(object, '$.status.phase') AS phase FROM objects('-30s') WHERE resource = 'pods';"},
	{"who changed which field",
		"SELECT time, name, field, old, new, manager FROM changes WHERE resource = 'deployments' "
		"ORDER BY seq LIMIT 20;"},
	{"what was not watched, and what that hid",
		"SELECT g.begin, g.reason, m.change, m.resource, m.name FROM gaps AS g LEFT JOIN missed AS m USING (gap);"},
	{"which resources make the most events",
		"SELECT resource, count(*) AS events, sum(bytes) AS bytes FROM events GROUP BY 1 ORDER BY 2 DESC LIMIT 5;"},
	{"what was deleted and made again under its name",
		"SELECT resource, name, count(DISTINCT uid) AS lives FROM events GROUP BY resource, namespace, name "
		"HAVING lives > 1;"},
	{"how connections ended",
		"SELECT purpose, end_reason, count(*) AS times FROM connections GROUP BY 1, 2;"},
	{"what a statement asks of the tape",
		"EXPLAIN QUERY PLAN SELECT object FROM events WHERE resource = 'pods' AND rv > 500 ORDER BY seq;"},
};

/* ---- helping ---- */

static int print_examples(void)
{
	for (size_t i = 0; i < COUNT_OF(examples); i++)
		printf("-- %s\n%s\n", examples[i].question, examples[i].sql);
	return 0;
}

static int on_help(struct shell *s, const char *operand, struct err *err);

/* ---- tables ---- */

static int keep_columns(void *context, const char *const *names, size_t count, struct err *err)
{
	(void)context, (void)names, (void)count, (void)err;
	return 0;
}

/* Of table_xinfo: its number, name, type, three more, and whether `SELECT *` leaves it out. */
static int print_column(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	size_t *printed = context;

	(void)count, (void)err;
	printf("  %-20.*s %-8.*s%s\n", (int)v[1].bytes.len, v[1].bytes.ptr, (int)v[2].bytes.len,
		v[2].bytes.ptr, v[6].integer ? " only when asked for" : "");
	++*printed;
	return 0;
}

/* Of table_list: the database, its name. */
static int print_run_table(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	(void)context, (void)count, (void)err;
	if (slice_is(v[0].bytes, "run") && !slice_is(v[1].bytes, "sqlite_schema"))
		printf("%-12.*s of the run\n", (int)v[1].bytes.len, v[1].bytes.ptr);
	return 0;
}

static int end_columns(void *context, struct err *err)
{
	(void)context, (void)err;
	return 0;
}

static int on_tables(struct shell *s, const char *operand, struct err *err)
{
	struct sql_sink sink = {keep_columns, print_run_table, end_columns, NULL};
	const char *name, *summary;

	(void)operand;
	for (size_t i = 0; (name = sql_table_name(i, &summary)); i++)
		printf("%-12s %s\n", name, summary ? summary : "");
	return sql_session_run(s->session, slice_of("PRAGMA table_list"), &sink, err);
}

static bool is_word(const char *text)
{
	return *text &&
	       text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] == 0;
}

static int print_schema(struct shell *s, const char *table, struct err *err)
{
	size_t printed = 0;
	struct sql_sink sink = {keep_columns, print_column, end_columns, &printed};
	char *sql;
	int rc;

	if (!is_word(table))
		return err_set(err, ERR_USAGE, "there is no table '%s'", table);
	printf("%s\n", table);
	sql = xasprintf("PRAGMA table_xinfo(%s)", table);
	rc = sql_session_run(s->session, slice_of(sql), &sink, err);
	free(sql);
	return rc || printed ? rc : err_set(err, ERR_USAGE, "there is no table '%s'", table);
}

static int on_schema(struct shell *s, const char *operand, struct err *err)
{
	const char *name, *summary;
	int rc;

	if (*operand)
		return print_schema(s, operand, err);
	for (size_t i = 0; (name = sql_table_name(i, &summary)); i++) {
		rc = print_schema(s, name, err);
		if (rc)
			return rc;
	}
	return 0;
}

/* ---- how rows are printed, and for how long ---- */

static int on_mode(struct shell *s, const char *operand, struct err *err)
{
	static const char words[] = "|" TABLE_FORMAT_WORDS "|";
	char *word = xasprintf("|%s|", operand);
	bool is_known = *operand && !strchr(operand, '|') && strstr(words, word);

	free(word);
	if (!is_known)
		return err_set(
			err, ERR_USAGE, "'.mode' wants one of " TABLE_FORMAT_WORDS ", found '%s'", operand);
	s->options.format = table_format_parse(operand);
	return 0;
}

static int on_limit(struct shell *s, const char *operand, struct err *err)
{
	if (strcmp(operand, "off") == 0) {
		s->options.time_limit_ns = 0;
		return 0;
	}
	return duration_parse(operand, &s->options.time_limit_ns, err);
}

static int on_timer(struct shell *s, const char *operand, struct err *err)
{
	if (strcmp(operand, "on") != 0 && strcmp(operand, "off") != 0)
		return err_set(err, ERR_USAGE, "'.timer' wants on or off, found '%s'", operand);
	s->is_timed = operand[1] == 'n';
	return 0;
}

static int on_param(struct shell *s, const char *operand, struct err *err)
{
	const char *equals = strchr(operand, '=');
	char *name;

	if (!equals || equals == operand)
		return err_set(err, ERR_USAGE, "'.param' wants NAME=VALUE, found '%s'", operand);
	name = slice_dup((struct slice){operand, (size_t)(equals - operand)});
	sql_session_set(s->session, name, equals + 1);
	free(name);
	return 0;
}

static int on_read(struct shell *s, const char *operand, struct err *err)
{
	if (!*operand)
		return err_set(err, ERR_USAGE, "'.read' wants the name of a file");
	return shell_read_file(s, operand, err);
}

static int on_quit(struct shell *s, const char *operand, struct err *err)
{
	(void)operand, (void)err;
	s->is_over = true;
	return 0;
}

/* ---- the table ---- */

static const struct shell_command commands[] = {
	{".help", "[examples]", "this list; or questions with their SQL", on_help},
	{".tables", "", "the tables, and what a row of each is", on_tables},
	{".schema", "[TABLE]", "the columns of one table or of all", on_schema},
	{".mode", TABLE_FORMAT_WORDS, "how rows are printed", on_mode},
	{".param", "NAME=VALUE", "what :NAME means in a statement", on_param},
	{".limit", "DURATION|off", "give a statement up after that long", on_limit},
	{".timer", "on|off", "tell how long a statement took", on_timer},
	{".read", "FILE", "run the statements and commands of a file", on_read},
	{".quit", "", "leave, as Ctrl-D does", on_quit},
	{".exit", "", "the same", on_quit},
};

#define COMMAND_COUNT (COUNT_OF(commands))

const char *shell_command_name(size_t i)
{
	return i < COMMAND_COUNT ? commands[i].name : NULL;
}

static int on_help(struct shell *s, const char *operand, struct err *err)
{
	(void)s;
	if (strcmp(operand, "examples") == 0)
		return print_examples();
	if (*operand)
		return err_set(err, ERR_USAGE, "'.help' knows only 'examples', found '%s'", operand);
	printf("A statement ends with a semicolon; Ctrl-C stops it, the tab key completes names.\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		printf("  %-8s %-23s %s\n", commands[i].name, commands[i].operand, commands[i].help);
	printf("Functions: jget(object, '$.status.phase'), jdiff(A, B), to_ns(TIME), to_time(NS), duration(NS), "
	       "rv_cmp(A, B)\n");
	return 0;
}

/* A trailing semicolon is a habit, not an operand. */
static char *operand_of(const char *text)
{
	size_t len;

	text += strspn(text, " \t");
	len = strlen(text);
	while (len && (isspace((unsigned char)text[len - 1]) || text[len - 1] == ';'))
		len--;
	return slice_dup((struct slice){text, len});
}

int shell_command(struct shell *s, const char *line, struct err *err)
{
	size_t len = strcspn(line, " \t\r;");

	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		char *operand;
		int rc;

		if (!slice_is((struct slice){line, len}, commands[i].name))
			continue;
		operand = operand_of(line + len);
		rc = *commands[i].operand || !*operand
			     ? commands[i].run(s, operand, err)
			     : err_set(err, ERR_USAGE, "'%s' takes nothing, found '%s'", commands[i].name,
				       operand);
		free(operand);
		return rc;
	}
	return err_set(
		err, ERR_USAGE, "there is no command '%.*s'; see '.help'", (int)(len < 80 ? len : 80), line);
}
