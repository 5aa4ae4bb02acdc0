/*
 * sweep_overwrites.c: where the program writes an object without having seen the object's last change, because its watch is
 * away. See sweep_rows.h.
 *
 *   the tape       O changes ...... something of another resource happens ......
 *   the program                         |-> writes O
 *   watches of O   |----------------- away ------------------|
 *
 * Afterwards the watches show only what is older than that write, or the write itself, which includes the change.
 */
#include "tools/sweep/sweep_rows.h"

#include <stdlib.h>

#define BACK_MAX  500 /* events; what lies further apart is no gap */
#define OF_A_SORT 2   /* one program may answer both events at once, and lose nothing */

struct search {
	const struct sweep_finding *f;
	bool laid_over;
};

/* The last change of that object before `at`, if there is something to act on in it; else SWEEP_NO_ROW. */
static size_t find_change(
	const struct sweep_rows *rows, size_t at, struct slice resource, struct slice object)
{
	for (size_t i = at; i-- && at - i < BACK_MAX;) {
		const struct sweep_row *r = &rows->items[i];

		if (slice_is(object, r->object) && slice_is(resource, r->resource))
			return r->type == 'M' && r->reached && r->change ? i : SWEEP_NO_ROW;
	}
	return SWEEP_NO_ROW;
}

static void add_place(const struct search *s, size_t changed, size_t answered, bool is_last)
{
	const struct sweep_rows *rows = s->f->all;
	const struct sweep_row *change = &rows->items[changed], *cause = &rows->items[answered];
	char *what = xasprintf("%s, then written in answer to %s", change->change, cause->resource);
	struct sweep_position *p;

	if (sweep_positions_alike(s->f->to, SWEEP_OVERWRITE, change->resource, what) == OF_A_SORT) {
		free(what);
		return;
	}
	p = sweep_positions_add_stretch(s->f, SWEEP_OVERWRITE, changed, sweep_rows_after(rows, answered));
	p->what = what;
	p->laid_over = s->laid_over;
	p->is_healed = !is_last;
}

static int on_write(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	const struct search *s = context;
	const struct sweep_rows *rows = s->f->all;
	size_t answered = sweep_rows_find(rows, (uint64_t)v[0].integer), changed;

	(void)count;
	(void)err;
	if (answered == SWEEP_NO_ROW || slice_is(v[1].bytes, rows->items[answered].resource))
		return 0;
	changed = find_change(rows, answered, v[1].bytes, v[2].bytes);
	if (changed != SWEEP_NO_ROW && rows->items[changed].time_ns < rows->items[answered].time_ns &&
		sweep_rows_life_end(rows, changed, answered + 1) > answered)
		add_place(s, changed, answered, !v[3].integer);
	return 0;
}

/* Of each sort the places where the object is written for the last time, or else the last ones: whatever comes later, such as
 * the answer to another write, heals what was lost. */
int sweep_overwrites_find(
	struct sql_session *session, const struct sweep_finding *f, bool laid_over, struct err *err)
{
	static const char sql[] =
		"SELECT seq, of, object, seq < max(seq) OVER (PARTITION BY of, object) FROM (SELECT DISTINCT seq,"
		" resource || iif(apigroup = '', '', '.' || apigroup) AS of,"
		" iif(coalesce(namespace, '') = '', '', namespace || '/') || name AS object FROM writes"
		" WHERE status BETWEEN 200 AND 299 AND verb IN ('update', 'patch') AND coalesce(dry_run, 0) = 0"
		" AND resource NOT IN ('leases', 'events'))"
		" ORDER BY 4, seq DESC, of, object";
	struct search search = {f, laid_over};
	const struct sql_sink sink = {.row = on_write, .context = &search};

	return sql_session_run(session, slice_of(sql), &sink, err);
}
