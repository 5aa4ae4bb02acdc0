/*
 * cmd_query.c: `kubetape query`: SQL over a tape, from the command line, a file or stdin, or by hand in a
 * shell (shell.h).
 */
#include "schema/base/clock.h"
#include "schema/base/limits.h"
#include "tools/commands.h"
#include "tools/shell.h"
#include "tools/table_out.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

struct query_options {
	const char *format, *file, *run;
	struct text_list parameters;
	int64_t time_limit_ns;
};

static const struct option_row rows[] = {
	{OPTION_CHOICE, 0, "format", offsetof(struct query_options, format), TABLE_FORMAT_WORDS,
		"how to print rows (default: table)"},
	{OPTION_TEXT, 'f', "file", offsetof(struct query_options, file), "FILE", "read the SQL from FILE"},
	{OPTION_TEXT, 0, "run", offsetof(struct query_options, run), "FILE",
		"add the tables of a run that 'kubetape replay --run' made"},
	{OPTION_LIST, 'p', "param", offsetof(struct query_options, parameters), "NAME=VALUE",
		"what :NAME means in the SQL"},
	{OPTION_DURATION, 0, "time-limit", offsetof(struct query_options, time_limit_ns), "DURATION",
		"give up after that long"},
	{OPTION_END, 0, NULL, 0, NULL, NULL},
};

/* ---- what to run ---- */

static int read_all(int fd, const char *name, struct buf *to, struct err *err)
{
	for (;;) {
		char *room = buf_reserve(to, 65536);
		ssize_t n;

		if (!room)
			return err_set(err, ERR_TOO_LARGE, "'%s' is larger than the maximum of %u bytes",
				name, LIMIT_CONFIG_BYTES);
		n = read(fd, room, 65536);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set_errno(err, errno, "cannot read '%s'", name);
		if (n == 0)
			return 0;
		to->len += (size_t)n;
	}
}

static int read_file(const char *path, struct buf *to, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), code;

	if (fd < 0)
		return err_set_errno(err, errno, "cannot open '%s'", path);
	code = read_all(fd, path, to, err);
	close(fd);
	return code;
}

static int read_sql(
	const struct query_options *o, const struct operands *operands, struct buf *to, struct err *err)
{
	if (operands->count > 1)
		return buf_append(to, operands->items[1], strlen(operands->items[1]), err);
	if (o->file && strcmp(o->file, "-") != 0)
		return read_file(o->file, to, err);
	return read_all(STDIN_FILENO, "stdin", to, err);
}

/* ---- running it ---- */

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	(void)number;
	interrupted = 1;
}

struct progress {
	struct sql_session *session;
	int64_t begin_ns;
	bool is_visible, was_shown;
};

static void on_progress(void *context)
{
	struct progress *p = context;
	int64_t elapsed_ns = clock_mono_ns(&clock_system) - p->begin_ns;
	char text[TIME_TEXT_BYTES];

	if (interrupted)
		sql_session_interrupt(p->session);
	if (!p->is_visible || elapsed_ns < 2 * NS_PER_S)
		return;
	fprintf(stderr, "\r%s ... (Ctrl-C stops)", duration_format(text, elapsed_ns));
	p->was_shown = true;
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

static int run_sql(struct sql_session *s, const struct query_options *o, struct slice sql, struct err *err)
{
	struct progress progress = {
		s, clock_mono_ns(&clock_system), isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO), false};
	struct sigaction action = {.sa_handler = on_signal};
	struct table_out *out;
	struct sql_sink sink;
	int code;

	sigaction(SIGINT, &action, NULL);
	sql_session_on_progress(s, on_progress, &progress);
	sql_session_limit(s, o->time_limit_ns);
	out = table_out_new(stdout, table_format_parse(o->format), table_out_terminal_width(stdout));
	sink = table_out_sink(out);
	code = sql_session_run(s, sql, &sink, err);
	if (progress.was_shown)
		fputs("\r\033[K", stderr);
	table_out_free(out);
	return code;
}

static int query(const struct query_options *o, const struct operands *operands, struct err *err)
{
	struct sql_session *s = NULL;
	struct buf sql;
	int code;

	buf_init(&sql, LIMIT_CONFIG_BYTES);
	code = read_sql(o, operands, &sql, err);
	if (!code)
		code = sql_session_open(operands->items[0], &s, err);
	if (!code && o->run)
		code = sql_session_add_run(s, o->run, err);
	if (!code)
		code = set_parameters(s, &o->parameters, err);
	if (!code)
		code = run_sql(s, o, buf_slice(&sql), err);
	sql_session_close(s);
	buf_release(&sql);
	return code;
}

static int check(const struct query_options *o, const struct operands *operands, struct err *err)
{
	if (operands->count < 1 || operands->count > 2 || operands->child)
		return err_set(err, ERR_USAGE,
			"expected a tape and perhaps one SQL text, found %zu operands%s", operands->count,
			operands->child ? " and '--'" : "");
	if (o->file && operands->count > 1)
		return err_set(err, ERR_USAGE, "both '--file' and an SQL text were given");
	return 0;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct query_options o = {.format = "table"};
	struct operands operands;
	struct err err = {0};
	int code = options_parse(self, argc, argv, &o, &operands, &err);

	if (code > 0)
		return EXIT_OK;
	if (code < 0 || check(&o, &operands, &err))
		return command_fail(self, &err);
	if (operands.count == 1 && !o.file && isatty(STDIN_FILENO))
		code = shell_run(operands.items[0], o.run, &err);
	else
		code = query(&o, &operands, &err);
	return code < 0 ? command_fail(self, &err) : EXIT_OK;
}

const struct command cmd_query = {
	.name = "query",
	.operands = "TAPE [SQL]",
	.summary = "ask a tape in SQL",
	.description =
		"Runs SQL over the tape and prints the rows. Without SQL it reads statements from stdin, or\n"
		"opens the sqlite3 shell when stdin is a terminal. Tables: events, objects (the state now, "
		"or\n"
		"objects('12:03:05')), changes (field by field), gaps, missed, connections, streams, marks,\n"
		"bookmarks, documents, segments; with --run also requests, deliveries, writes, faults and run.\n"
		"jget(object, '$.metadata.name') reads a value out of an object.\n\n"
		"The rows of events come in no promised order; ORDER BY seq gives the order of arrival and\n"
		"costs nothing. Nothing a statement does can write or open another file.\n\n"
		"  kubetape query X.tape \"SELECT time, type, name FROM events WHERE resource='pods' ORDER "
		"BY seq\"\n"
		"  kubetape query X.tape \"SELECT * FROM missed JOIN gaps USING (gap)\" --format json\n"
		"  kubetape query X.tape --run X.run \"SELECT e.type, e.name, w.verb, w.resource FROM writes w\n"
		"      JOIN requests r USING (request) JOIN events e ON e.seq = r.seen_seq\"",
	.options = rows,
	.run = run,
};
