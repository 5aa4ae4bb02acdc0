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

#define IN_SECTION(t)                                                                                        \
	"(:resources = '' OR instr(' ' || :resources || ' ', ' ' || " t ".resource || ' ')) "                \
	"AND (:namespace = '' OR " t ".namespace IN ('', :namespace)) "

/* Whether any of the resources was recorded, of that namespace. */
static int is_recorded(const struct report *r, const char *resources, bool *ret, struct err *err)
{
	static const char sql[] = "SELECT count(*) FROM streams AS s WHERE " IN_SECTION("s");
	const struct sql_sink sink = {.row = on_stream, .context = ret};

	*ret = true;
	if (!resources)
		return 0;
	sql_session_set(r->session, "resources", resources);
	return sql_session_run(r->session, slice_of(sql), &sink, err);
}

/* A gap that covers the whole stretch. What a list shows at the beginning of one is known; after the list that a bundle
 * is, the gap begins a nanosecond later. */
#define UNWATCHED(before)                                                                                    \
	"EXISTS (SELECT 1 FROM gaps AS g WHERE g.stream = s.stream AND g.how_ended IS NOT 'filled' "         \
	"AND g.begin_ns " before " :begin_ns AND (g.end_ns IS NULL OR g.end_ns >= :until_ns)) "

static const char *const watched_sql[] = {
	[REPORT_OF_STATES] = "SELECT EXISTS (SELECT 1 FROM streams AS s WHERE " IN_SECTION("s") "AND NOT " UNWATCHED(
		"<") ") OR EXISTS (SELECT 1 FROM events AS s WHERE s.seq > :from AND s.seq <= :until AND " IN_SECTION("s") ")",
	[REPORT_OF_CHANGES] = "SELECT EXISTS (SELECT 1 FROM streams AS s WHERE " IN_SECTION(
		"s") "AND NOT " UNWATCHED("<= 1 +") ")",
};

/* Says of a section without rows that there was nothing, or that nobody watched. */
static int say_none(const struct report *r, const struct report_section *s, struct err *err)
{
	bool watched = true;
	const struct sql_sink sink = {.row = on_stream, .context = &watched};
	char *text;
	int rc;

	sql_session_set(r->session, "resources", s->resources ? s->resources : "");
	rc = sql_progress_run(r->session, slice_of(watched_sql[s->kind]), &sink, err);
	if (rc)
		return rc;
	text = watched        ? xstrdup("none")
	       : s->resources ? xasprintf("not known: in that time nobody watched %s", s->resources)
			      : xstrdup("not known: in that time nobody watched");
	r->form->note(r->to, text);
	free(text);
	return 0;
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
	if (!rows.count)
		return say_none(r, s, err);
	r->form->rows_end(r->to);
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
