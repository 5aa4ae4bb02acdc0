/*
 * sweep_references.c: where an object comes, or changes, and then another one that names it: watches of two resources have no
 * order, so a program may see the second one first. See sweep_rows.h.
 *
 *   the tape        O comes ... an object of another resource comes, or changes, which names O ...
 *   watches of O    |----------------------- away ---------------------------|
 *
 * Afterwards a list shows O: the program has to look at the other one again.
 */
#include "tools/sweep/sweep_rows.h"

#include <stdlib.h>

#define APART_MAX "50" /* events: what lies further apart is no gap, and would take long to find */

/* An event, and the first one after it that names its object, for each resource. The last ones first: what comes later may heal
 * what was done. */
static const char references_sql[] =
	"WITH e AS MATERIALIZED (SELECT seq, resource || iif(apigroup = '', '', '.' || apigroup) AS of,"
	"  coalesce(namespace, '') AS namespace, name, CAST(object AS TEXT) AS object FROM events"
	"  WHERE seq > (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'first_seq') AND type IN ('ADDED', 'MODIFIED')"
	"  AND resource NOT IN ('leases', 'events'))"
	" SELECT a.seq, min(b.seq) AS named FROM e AS b JOIN e AS a ON a.seq BETWEEN b.seq - " APART_MAX
	" AND b.seq - 1 AND a.of <> b.of"
	"  AND (a.namespace = '' OR a.namespace = b.namespace) AND (" SWEEP_NAMES("b.object",
		"a") " OR instr(b.object, '\"' || a.name || '\"')) GROUP BY a.seq, b.of ORDER BY named DESC, a.seq DESC";

/* One that can be acted on, and is not deleted before the other has come. */
static bool can_be_late(const struct sweep_rows *rows, size_t named, size_t by)
{
	const struct sweep_row *a = &rows->items[named], *b = &rows->items[by];

	return a->reached && b->reached && (a->type == 'A' || a->change) && a->time_ns < b->time_ns &&
	       sweep_rows_life_end(rows, named, by + 1) > by;
}

/* One place for each sort. */
static int on_pair(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	const struct sweep_finding *f = context;
	size_t named = sweep_rows_find(f->all, (uint64_t)v[0].integer),
	       by = sweep_rows_find(f->all, (uint64_t)v[1].integer);
	const struct sweep_row *a;
	char *what;

	(void)count;
	(void)err;
	if (named == SWEEP_NO_ROW || by == SWEEP_NO_ROW || !can_be_late(f->all, named, by))
		return 0;
	a = &f->all->items[named];
	what = xasprintf(
		"%s, then named by %s", a->type == 'A' ? "created" : a->change, f->all->items[by].resource);
	if (sweep_positions_has(f->to, SWEEP_REFERENCE, a->resource, what))
		free(what);
	else
		sweep_positions_add_stretch(f, SWEEP_REFERENCE, named, sweep_rows_after(f->all, by))->what =
			what;
	return 0;
}

int sweep_references_find(struct sql_session *s, const struct sweep_finding *f, struct err *err)
{
	const struct sql_sink sink = {.row = on_pair, .context = (void *)f};

	return sql_session_run(s, slice_of(references_sql), &sink, err);
}
