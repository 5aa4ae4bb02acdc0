/* query_run.c: see query_run.h. */
#include "tools/query_run.h"

#include "schema/base/clock.h"

#include <signal.h>
#include <unistd.h>

#define SHOW_AFTER_NS (NS_PER_S / 2)

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	(void)number;
	interrupted = 1;
}

/* The line that says how far a statement is. Where rows go to the same terminal, there is no line any more
 * once the first rows are there. */
struct progress_line {
	struct sql_session *session;
	struct sql_sink rows;
	int64_t begin_ns;
	bool is_wanted, is_shown, is_beside_rows;
};

static void clear(struct progress_line *p)
{
	if (p->is_shown)
		fputs("\r\033[K", stderr);
	p->is_shown = false;
}

static void on_progress(void *context)
{
	struct progress_line *p = context;
	int64_t elapsed_ns = clock_mono_ns(&clock_system) - p->begin_ns;
	char text[TIME_TEXT_BYTES];
	const char *table;
	double share;

	if (interrupted)
		sql_session_interrupt(p->session);
	if (!p->is_wanted || elapsed_ns < SHOW_AFTER_NS)
		return;
	sql_session_progress(p->session, &table, &share);
	if (table)
		fprintf(stderr, "\r%3.0f %% of %s, ", share * 100, table);
	else
		fputc('\r', stderr);
	fprintf(stderr, "%s (Ctrl-C stops)\033[K", duration_format(text, elapsed_ns));
	p->is_shown = true;
}

static int on_begin(void *context, const char *const *names, size_t count, struct err *err)
{
	struct progress_line *p = context;

	return p->rows.begin(p->rows.context, names, count, err);
}

static int on_row(void *context, const struct sql_value *values, size_t count, struct err *err)
{
	struct progress_line *p = context;

	if (p->is_beside_rows) {
		clear(p);
		p->is_wanted = false;
	}
	return p->rows.row(p->rows.context, values, count, err);
}

static int on_end(void *context, struct err *err)
{
	struct progress_line *p = context;

	clear(p);
	return p->rows.end(p->rows.context, err);
}

int query_run(struct sql_session *s, const struct query_run_options *o, struct slice sql, struct err *err)
{
	struct table_out *out = table_out_new(stdout, o->format, table_out_terminal_width(stdout));
	struct progress_line line = {.session = s,
		.rows = table_out_sink(out),
		.begin_ns = clock_mono_ns(&clock_system),
		.is_wanted = isatty(STDERR_FILENO),
		.is_beside_rows = isatty(STDOUT_FILENO)};
	struct sql_sink sink = {on_begin, on_row, on_end, &line};
	struct sigaction action = {.sa_handler = on_signal}, before;
	int code;

	interrupted = 0;
	sigaction(SIGINT, &action, &before);
	sql_session_on_progress(s, on_progress, &line);
	sql_session_limit(s, o->time_limit_ns);
	code = sql_session_run(s, sql, &sink, err);
	clear(&line);
	sql_session_on_progress(s, NULL, NULL);
	sigaction(SIGINT, &before, NULL);
	table_out_free(out);
	return code;
}
