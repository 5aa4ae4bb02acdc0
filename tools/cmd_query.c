/*
 * cmd_query.c: `kubetape query`: SQL over a tape, from the command line, a file or stdin, or by hand in a
 * shell (shell.h).
 */
#include "recorder/push/remote_tape.h"
#include "schema/base/limits.h"
#include "schema/base/visible.h"
#include "tools/cli/read_file.h"
#include "tools/cli/tape_set.h"
#include "tools/commands.h"
#include "tools/shell/shell.h"

#include <stdlib.h>
#include <unistd.h>

struct query_options {
	const char *format, *file, *run;
	struct text_list parameters, tapes;
	int64_t time_limit_ns;
};

static const struct option_row rows[] = {
	{OPTION_CHOICE, 0, "format", offsetof(struct query_options, format), TABLE_FORMAT_WORDS,
		"how to print rows (default: table)"},
	{OPTION_TEXT, 'f', "file", offsetof(struct query_options, file), "FILE", "read the SQL from FILE"},
	{OPTION_TEXT, 0, "run", offsetof(struct query_options, run), "FILE",
		"add the tables of a run that 'kubetape replay --run' made"},
	{OPTION_LIST, 0, "tapes", offsetof(struct query_options, tapes), "[NAME=]PLACE",
		"ask many tapes at once: a tape, a folder of tapes, or s3://...; tables get a column cluster"},
	{OPTION_LIST, 'p', "param", offsetof(struct query_options, parameters), "NAME=VALUE",
		"the value of :NAME in the SQL"},
	{OPTION_DURATION, 0, "time-limit", offsetof(struct query_options, time_limit_ns), "DURATION",
		"give up after this time"},
	{OPTION_END, 0, NULL, 0, NULL, NULL},
};

/* With --tapes no tape stands before it. */
static const char *sql_operand(const struct query_options *o, const struct operands *operands)
{
	size_t before = o->tapes.count ? 0 : 1;

	return operands->count > before ? operands->items[before] : NULL;
}

static int read_sql(
	const struct query_options *o, const struct operands *operands, struct buf *to, struct err *err)
{
	const char *sql = sql_operand(o, operands);

	if (sql)
		return buf_append(to, sql, strlen(sql), err);
	if (o->file && strcmp(o->file, "-") != 0)
		return read_file(o->file, to, err);
	return read_all(STDIN_FILENO, "stdin", to, err);
}

static int set_parameters(struct sql_session *s, const struct text_list *list, struct err *err)
{
	for (size_t i = 0; i < list->count; i++) {
		const char *equals = strchr(list->items[i], '=');
		char *name;

		if (!equals || equals == list->items[i])
			return err_set(err, ERR_USAGE, "option '--param' wants NAME=VALUE, found '%s'",
				list->items[i]);
		name = slice_dup((struct slice){list->items[i], (size_t)(equals - list->items[i])});
		sql_session_set(s, name, equals + 1);
		free(name);
	}
	return 0;
}

static int run_sql(struct sql_session *s, const struct query_options *o, const struct operands *operands,
	struct err *err)
{
	struct query_run_options options = {table_format_parse(o->format), o->time_limit_ns};
	struct buf sql;
	int rc;

	if (!sql_operand(o, operands) && !o->file && isatty(STDIN_FILENO))
		return shell_run(s, o->tapes.count ? "tapes" : operands->items[0], &options, err);
	buf_init(&sql, LIMIT_CONFIG_BYTES);
	rc = read_sql(o, operands, &sql, err);
	if (!rc)
		rc = shell_run_text(s, &options, buf_slice(&sql), err);
	buf_release(&sql);
	return rc;
}

static int query_check(const struct query_options *o, const struct operands *operands, struct err *err)
{
	bool many = o->tapes.count;

	if (o->file && sql_operand(o, operands))
		return err_set(err, ERR_USAGE, "both '--file' and an SQL text were given");
	if (many && operands->count > 1)
		return err_set(err, ERR_USAGE, "'--tapes' names the tapes: '%s' stands beside it",
			operands->items[0]);
	if (many && o->run)
		return err_set(err, ERR_USAGE, "'--run' is of one tape, '--tapes' of many");
	if (!many && !operands->count)
		return err_set(err, ERR_USAGE, "expected a tape and perhaps one SQL text, found 0 operands");
	return 0;
}

static void tell_shared(const struct sql_tape *one, const struct sql_tape *other)
{
	fputs("kubetape query: '", stderr);
	visible_puts(stderr, one->name);
	fputs("' and '", stderr);
	visible_puts(stderr, other->name);
	fputs("' are both of cluster '", stderr);
	visible_puts(stderr, other->cluster);
	fputs("': an object that both have is there twice\n", stderr);
}

/* As of a recording that was lost and begun anew. */
static void tell_shared_clusters(const struct tape_set *set)
{
	for (size_t i = 1; i < set->count; i++) {
		for (size_t k = 0; k < i; k++) {
			if (!set->tapes[k].problem && !set->tapes[i].problem &&
				strcmp(set->tapes[k].cluster, set->tapes[i].cluster) == 0) {
				tell_shared(&set->tapes[k], &set->tapes[i]);
				break;
			}
		}
	}
}

static bool tell_problems(const struct tape_set *set)
{
	bool found = false;

	for (size_t i = 0; i < set->count; i++) {
		char *words;

		if (!set->tapes[i].problem)
			continue;
		found = true;
		fputs("kubetape query: '", stderr);
		visible_puts(stderr, set->tapes[i].name);
		words = remote_tape_words(set->tapes[i].problem);
		fputs("' is left out: ", stderr);
		visible_puts(stderr, words);
		fputc('\n', stderr);
		free(words);
	}
	return found;
}

static int open_session(const struct query_options *o, const struct operands *operands,
	struct sql_session **ret, bool *ret_lacks_tapes, struct err *err)
{
	struct tape_set set;
	int rc;

	if (!o->tapes.count)
		return sql_session_open(operands->items[0], ret, err);
	rc = tape_set_find(&o->tapes, &set, err);
	if (!rc)
		rc = sql_session_open_many(set.tapes, set.count, ret, err);
	if (!rc) {
		tape_set_tell_twins(&set);
		tell_shared_clusters(&set);
		*ret_lacks_tapes = tell_problems(&set);
	}
	tape_set_release(&set);
	return rc;
}

static int query(void *values, const struct operands *operands, struct err *err)
{
	struct query_options *o = values;
	struct sql_session *s;
	bool lacks_tapes = false;
	int rc = query_check(o, operands, err);

	rc = rc ? rc : open_session(o, operands, &s, &lacks_tapes, err);
	if (rc)
		return rc;
	rc = o->run ? sql_session_add_run(s, o->run, err) : 0;
	if (!rc)
		rc = set_parameters(s, &o->parameters, err);
	if (!rc)
		rc = run_sql(s, o, operands, err);
	if (!rc && (lacks_tapes || sql_session_has_guessed(s)))
		rc = EXIT_LOSS;
	sql_session_close(s);
	return rc;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct query_options o = {.format = "table"};
	int rc = command_run(self, argc, argv, &o, query);

	free(o.parameters.items);
	free(o.tapes.items);
	return rc;
}

const struct command cmd_query = {
	.name = "query",
	.operands = "TAPE [SQL]",
	.expects = {"a tape and perhaps one SQL text", 0, 2},
	.summary = "ask a tape in SQL",
	.description =
		"Runs SQL over the tape and prints the rows. Without SQL it reads statements from stdin; at a\n"
		"terminal it prompts for them, with a history, completion and `.help`. Tables: events, objects\n"
		"(the state now, or objects('12:03:05')), coverage (whether that was known), changes (field by\n"
		"field), gaps, missed, connections, streams, marks, bookmarks, documents, segments; with --run\n"
		"also requests, deliveries, writes, faults and run.\n"
		"jget(object, '$.metadata.name') reads a value out of an object.\n"
		"\n"
		"The rows of events have no guaranteed order; ORDER BY seq gives the order of arrival and\n"
		"costs nothing. No statement can write or open another file.\n"
		"\n"
		"With --tapes it asks many tapes at once, of a fleet or of one cluster before and after. Each\n"
		"table then has the rows of all tapes, with a first column `cluster`; the table `tapes` lists\n"
		"the tapes. Give a position as objects WHERE at = '12:03'.\n"
		"\n"
		"  kubetape query X.tape \"SELECT time, type, name FROM events WHERE resource='pods' ORDER BY seq\"\n"
		"  kubetape query X.tape \"SELECT * FROM missed JOIN gaps USING (gap)\" --format json\n"
		"  kubetape query X.tape --run X.run \"SELECT e.type, e.name, w.verb, w.resource FROM writes w\n"
		"      JOIN requests r USING (request) JOIN events e ON e.seq = r.seen_seq\"\n"
		"  kubetape query --tapes s3://tapes/prod \"SELECT cluster, count(*) FROM events GROUP BY 1\"",
	.options = rows,
	.exits =
		{
			[EXIT_LOSS] =
				"done, but a statement named a position outside the tape, or a tape of --tapes "
				"could not be read, or not to its end",
		},
	.run = run,
};
