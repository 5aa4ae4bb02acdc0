/* sql_progress.c: see sql_progress.h. */
#include "tools/cli/sql_progress.h"

#include "schema/base/clock.h"
#include "tools/cli/progress.h"

#include <unistd.h>

#define SHOW_AFTER_NS (NS_PER_S / 2)

static void sql_progress_clear(struct sql_progress *p)
{
	if (p->is_shown)
		fputs("\r\033[K", stderr);
	p->is_shown = false;
}

static void on_progress(void *context)
{
	struct sql_progress *p = context;
	int64_t elapsed_ns = clock_mono_ns(&clock_system) - p->begin_ns;
	char text[TIME_TEXT_BYTES];
	const char *table;
	double share;

	if (progress_stop_asked())
		sql_session_interrupt(p->session);
	if (!p->is_wanted || elapsed_ns < SHOW_AFTER_NS)
		return;
	sql_session_progress(p->session, &table, &share);
	fprintf(stderr, "\r%s", p->verb);
	if (table)
		fprintf(stderr, "%3.0f %% of %s, ", share * 100, table);
	fprintf(stderr, "%s (Ctrl-C stops)\033[K", duration_format(text, elapsed_ns));
	p->is_shown = true;
}

static int on_begin(void *context, const char *const *names, size_t count, struct err *err)
{
	struct sql_progress *p = context;

	return p->rows.begin ? p->rows.begin(p->rows.context, names, count, err) : 0;
}

static int on_row(void *context, const struct sql_value *values, size_t count, struct err *err)
{
	struct sql_progress *p = context;

	if (p->is_beside_rows) {
		sql_progress_clear(p);
		p->is_wanted = false;
	}
	return p->rows.row(p->rows.context, values, count, err);
}

static int on_end(void *context, struct err *err)
{
	struct sql_progress *p = context;

	sql_progress_clear(p);
	return p->rows.end ? p->rows.end(p->rows.context, err) : 0;
}

struct sql_sink sql_progress_begin(struct sql_progress *p, struct sql_session *s, const char *verb, FILE *to,
	const struct sql_sink *rows)
{
	*p = (struct sql_progress){.session = s,
		.verb = verb,
		.rows = *rows,
		.begin_ns = clock_mono_ns(&clock_system),
		.is_wanted = isatty(STDERR_FILENO),
		.is_beside_rows = to && isatty(fileno(to))};
	sql_session_on_progress(s, on_progress, p);
	return (struct sql_sink){on_begin, on_row, on_end, p};
}

void sql_progress_end(struct sql_progress *p)
{
	sql_progress_clear(p);
	sql_session_on_progress(p->session, NULL, NULL);
}

int sql_progress_run(struct sql_session *s, struct slice sql, const struct sql_sink *rows, struct err *err)
{
	struct sql_progress progress;
	struct sigaction before;
	struct sql_sink sink;
	int rc;

	progress_catch_interrupt(&before);
	sink = sql_progress_begin(&progress, s, "", stdout, rows);
	rc = sql_session_run(s, sql, &sink, err);
	sql_progress_end(&progress);
	progress_release_interrupt(&before);
	return rc;
}
