/* viewer_sql.c: statements that people write: read-only, with an end, and with their rows as JSON. */
#include "replayer/view/viewer_internal.h"

#include "schema/base/clock.h"

#include <stdlib.h>

#define STATEMENT_LIMIT_NS (120 * NS_PER_S)
#define ROWS_MAX           5000
#define TEXT_MAX           (64u << 10)
#define EXACT_MAX          (INT64_C(1) << 53) /* larger numbers are strings, or JavaScript would round them */

struct rows {
	struct answer_out *o;
	size_t count, most, cut;
	size_t statements; /* that gave columns; only the first one's rows are told */
};

static int put_columns(void *context, const char *const *names, size_t count, struct err *err)
{
	struct rows *r = context;

	(void)err;
	if (!count || r->statements++)
		return 0;
	answer_put(r->o, "\"columns\":[");
	for (size_t i = 0; i < count; i++) {
		answer_put(r->o, i ? "," : "");
		answer_text(r->o, slice_of(names[i]));
	}
	answer_put(r->o, "],\"rows\":[");
	return r->o->code;
}

static void put_value(struct rows *r, const struct sql_value *v)
{
	bool is_exact = v->integer <= EXACT_MAX && v->integer >= -EXACT_MAX;

	switch (v->type) {
	case SQL_NULL: answer_put(r->o, "null"); break;
	case SQL_INTEGER: answer_put(r->o, is_exact ? "%lld" : "\"%lld\"", (long long)v->integer); break;
	case SQL_REAL: answer_put(r->o, v->real - v->real == 0 ? "%.17g" : "\"%g\"", v->real); break;
	case SQL_TEXT: answer_text(r->o, answer_cut(v->bytes, r->cut)); break;
	case SQL_BLOB: answer_put(r->o, "\"%zu bytes\"", v->bytes.len); break;
	}
}

static int put_row(void *context, const struct sql_value *values, size_t count, struct err *err)
{
	struct rows *r = context;

	(void)err;
	if (r->statements > 1 || r->count++ >= r->most)
		return 1; /* enough */
	answer_put(r->o, r->count > 1 ? ",[" : "[");
	for (size_t i = 0; i < count; i++) {
		answer_put(r->o, i ? "," : "");
		put_value(r, &values[i]);
	}
	answer_put(r->o, "]");
	return r->o->code;
}

int viewer_put_rows(struct viewer_desk *d, struct answer_out *o, struct slice sql, size_t most, size_t cut,
	struct err *err)
{
	struct rows rows = {o, 0, most, cut, 0};
	struct sql_sink sink = {.begin = put_columns, .row = put_row, .context = &rows};
	int rc = sql_session_run(d->session, sql, &sink, err);

	if (rc < 0)
		return rc;
	if (!rows.statements)
		answer_put(o, "\"columns\":[],\"rows\":[");
	answer_put(o, "],\"truncated\":%s", rows.statements > 1 || rows.count > most ? "true" : "false");
	return o->code;
}

/* An interrupt between two statements would be forgotten: whoever ends the view may come before the
 * statement. */
static void stop_if_closed(void *context)
{
	struct viewer_desk *d = context;

	if (d->closes)
		sql_session_interrupt(d->session);
}

int viewer_open_session(struct viewer_desk *d, struct err *err)
{
	int rc = sql_session_open(d->tape, &d->session, err);

	if (!rc && d->run)
		rc = sql_session_add_run(d->session, d->run, err);
	if (!rc)
		sql_session_on_progress(d->session, stop_if_closed, d);
	return rc;
}

void viewer_sql(struct viewer_desk *d, struct viewer_job *job)
{
	struct answer_out o = {&job->answer, &job->err, 0};
	struct slice sql = job->body.len ? buf_slice(&job->body) : query_get(&job->query, "q");
	int64_t begin_ns = clock_mono_ns(&clock_system);

	sql_session_limit(d->session, STATEMENT_LIMIT_NS);
	answer_put(&o, "{");
	job->code = viewer_put_rows(d, &o, sql, ROWS_MAX, TEXT_MAX, &job->err);
	if (job->code)
		return;
	answer_put(&o, ",\"ms\":%.1f}", (double)(clock_mono_ns(&clock_system) - begin_ns) / 1e6);
	job->code = o.code;
}
