/* report.c: see report.h. */
#include "tools/report/report.h"

#include "tools/cli/sql_progress.h"

#include <stdlib.h>

struct section_rows {
	const struct report *report;
	size_t count;
};

static struct slice text_of(const struct sql_value *v, char number[24])
{
	if (v->type == SQL_INTEGER) {
		snprintf(number, 24, "%lld", (long long)v->integer);
		return slice_of(number);
	}
	return v->bytes.ptr ? v->bytes : (struct slice){"", 0};
}

static int on_row(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct section_rows *s = context;
	struct slice columns[REPORT_COLUMNS];
	char numbers[REPORT_COLUMNS][24];

	(void)err;
	if (++s->count > REPORT_ROWS_MAX)
		return 0;
	for (size_t i = 0; i < REPORT_COLUMNS; i++)
		columns[i] = i < count ? text_of(&v[i], numbers[i]) : (struct slice){"", 0};
	s->report->form->row(s->report->to, columns);
	return 0;
}

/* ---- whether it can be known ---- */

static int on_stream(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	(void)count, (void)err;
	*(bool *)context = v[0].integer > 0;
	return 0;
}

/* Whether any of the resources was recorded, of that namespace. */
static int is_recorded(const struct report *r, const char *resources, bool *ret, struct err *err)
{
	static const char sql[] =
		"SELECT count(*) FROM streams WHERE instr(' ' || :resources || ' ', ' ' || resource || ' ') "
		"AND (:namespace = '' OR namespace IN ('', :namespace))";
	const struct sql_sink sink = {.row = on_stream, .context = ret};

	*ret = true;
	if (!resources)
		return 0;
	sql_session_set(r->session, "resources", resources);
	return sql_session_run(r->session, slice_of(sql), &sink, err);
}

static void say_unknown(const struct report *r, const char *resources)
{
	char *text = xasprintf("not known: the tape has none of %s%s", resources,
		r->is_of_namespace ? " in that namespace" : "");

	r->form->note(r->to, text);
	free(text);
}

/* ---- sections ---- */

static int make_section(const struct report *r, const struct report_section *s, struct err *err)
{
	struct section_rows rows = {.report = r};
	const struct sql_sink sink = {.row = on_row, .context = &rows};
	bool known;
	int rc = is_recorded(r, s->resources, &known, err);

	if (rc)
		return rc;
	r->form->section(r->to, s->title);
	if (!known) {
		say_unknown(r, s->resources);
		return 0;
	}
	rc = sql_progress_run(r->session, slice_of(s->sql), &sink, err);
	if (rc)
		return err_prefix(err, rc, "section '%s'", s->title);
	if (rows.count)
		r->form->rows_end(r->to);
	else
		r->form->note(r->to, "none");
	if (rows.count > REPORT_ROWS_MAX)
		r->form->note(r->to, "and more: a shorter stretch, or a namespace, shows all");
	return 0;
}

int report_make(const struct report *r, struct err *err)
{
	char most[24];
	int rc = 0;

	snprintf(most, sizeof(most), "%d", REPORT_ROWS_MAX + 1);
	sql_session_set(r->session, "most", most);
	r->form->begin(r->to, r->title);
	for (const struct report_section *s = report_sections; s->title && !rc; s++)
		rc = make_section(r, s, err);
	if (!rc)
		r->form->end(r->to);
	return rc;
}
