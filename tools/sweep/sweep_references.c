/*
 * sweep_references.c: where an object comes, or changes, and then another one that names it: watches of two resources have no
 * order, so a program may see the second one first. See sweep_rows.h.
 *
 *   the tape        O comes ... an object of another resource comes, or changes, which names O ...
 *   watches of O    |----------------------- away ---------------------------|
 *
 * Afterwards a list shows O: the program has to look at the other one again. If O has the name of one that was deleted, the watches
 * are away from there on as well: then the program still knows that one when it sees the other.
 *
 *   the tape        B comes, or changes, which names O ...... O is deleted, or is to be ...
 *   watches of B    |---------------------------- away ---------------------------|
 *
 * Here the program does not know that O is in use when it sees O's end. What it does then no list undoes: it has to ask the server.
 *
 *   the tape        O is deleted ...... B, of which O was an owner, is deleted, or is to be ...
 *   watches of O    |------------------------------ away ------------------------------|
 *
 * The program looks at B's end with an owner that it believes to be there, and is told of the owner's end when B needs it no more:
 * what holds B must be let go of then.
 */
#include "tools/sweep/sweep_rows.h"

#include <stdlib.h>

#define APART_MAX       "50" /* events: what lies further apart is no gap, and would take long to find */
#define PREDECESSOR_MAX 50

#define EVENTS                                                                                                      \
	"WITH e AS MATERIALIZED (SELECT seq, type, resource || iif(apigroup = '', '', '.' || apigroup) AS of, uid," \
	"  coalesce(namespace, '') AS namespace, name, CAST(object AS TEXT) AS object FROM events"                  \
	"  WHERE seq > (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'first_seq') AND resource NOT IN ('leases', 'events'))"
/* Whether b, which is there, names a of another resource. */
#define B_NAMES_A                                                                                            \
	"a.of <> b.of AND b.type <> 'DELETED' AND (a.namespace = '' OR a.namespace = b.namespace)"           \
	" AND (" SWEEP_NAMES("b.object", "a") " OR instr(b.object, '\"' || a.name || '\"'))"

/* Where each object is deleted, or is to be. */
#define ENDS                                                                                                        \
	", ends AS MATERIALIZED (SELECT min(seq) AS seq, of, namespace, name, object FROM e WHERE type = 'DELETED'" \
	"  OR json_extract(object, '$.metadata.deletionTimestamp') IS NOT NULL GROUP BY uid)"

/* An event, and the first one after it that names its object, for each resource. The last ones first: what comes later may heal
 * what was done. */
static const char references_sql[] = EVENTS
	" SELECT a.seq, min(b.seq) AS named FROM e AS b JOIN e AS a ON a.seq BETWEEN b.seq - " APART_MAX
	" AND b.seq - 1 AND a.type <> 'DELETED' AND " B_NAMES_A
	" GROUP BY a.seq, b.of ORDER BY named DESC, a.seq DESC";

/* An event of an object, and the first one of the end of an object that it names, for each resource. */
static const char ends_sql[] = EVENTS ENDS
	" SELECT b.seq, min(a.seq) AS ended FROM e AS b JOIN ends AS a ON a.seq BETWEEN b.seq + 1 AND b.seq + " APART_MAX
	" AND " B_NAMES_A " GROUP BY b.seq, a.of ORDER BY ended DESC, b.seq DESC";

/* The deletion of an object, and the first end of an object after it of which it was an owner, for each resource. */
static const char owned_sql[] = EVENTS ENDS
	" SELECT a.seq, min(b.seq) AS ended FROM e AS a JOIN ends AS b ON b.seq BETWEEN a.seq + 1 AND a.seq + " APART_MAX
	" AND a.type = 'DELETED' AND b.of <> a.of AND EXISTS (SELECT 1 FROM json_each(b.object, '$.metadata.ownerReferences') AS o"
	"  WHERE json_extract(o.value, '$.uid') = a.uid) GROUP BY a.seq, b.of ORDER BY ended DESC, a.seq DESC";

/* One that can be acted on, and is not deleted before the other has come. */
static bool can_be_late(const struct sweep_rows *rows, size_t named, size_t by)
{
	const struct sweep_row *a = &rows->items[named], *b = &rows->items[by];

	return a->reached && b->reached && (a->type == 'A' || a->change) && a->time_ns <= b->time_ns &&
	       sweep_rows_life_end(rows, named, by + 1) > by;
}

/* One place for each sort; takes the words over. */
static void add_place(const struct sweep_finding *f, size_t first, size_t last, char *what)
{
	if (sweep_positions_alike(f->to, SWEEP_REFERENCE, f->all->items[first].resource, what))
		free(what);
	else
		sweep_positions_add_stretch(f, SWEEP_REFERENCE, first, sweep_rows_after(f->all, last))->what =
			what;
}

static char *tell_named(const struct sweep_finding *f, size_t by, const char *change)
{
	return xasprintf("%s, then named by %s", change, f->all->items[by].resource);
}

static const char *change_of(const struct sweep_row *r)
{
	return r->type == 'A' ? "created" : r->change;
}

/* The deletion of the object that had the name before; SWEEP_NO_ROW: there is none near by, or others come and go since. */
static size_t find_predecessor(const struct sweep_rows *rows, size_t created, size_t by)
{
	size_t deleted = rows->items[created].previous;

	if (rows->items[created].type != 'A' || deleted == SWEEP_NO_ROW ||
		created - deleted > PREDECESSOR_MAX)
		return SWEEP_NO_ROW;
	return rows->items[deleted].type == 'D' && rows->items[deleted].reached &&
			       sweep_rows_life_end(rows, deleted, by + 1) > by
		       ? deleted
		       : SWEEP_NO_ROW;
}

static int on_pair(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	const struct sweep_finding *f = context;
	size_t named = sweep_rows_find(f->all, (uint64_t)v[0].integer),
	       by = sweep_rows_find(f->all, (uint64_t)v[1].integer);
	size_t deleted;

	(void)count;
	(void)err;
	if (named == SWEEP_NO_ROW || by == SWEEP_NO_ROW || !can_be_late(f->all, named, by))
		return 0;
	add_place(f, named, by, tell_named(f, by, change_of(&f->all->items[named])));
	deleted = find_predecessor(f->all, named, by);
	if (deleted != SWEEP_NO_ROW)
		add_place(f, deleted, by, tell_named(f, by, "recreated"));
	return 0;
}

static int on_end(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	const struct sweep_finding *f = context;
	size_t naming = sweep_rows_find(f->all, (uint64_t)v[0].integer),
	       ended = sweep_rows_find(f->all, (uint64_t)v[1].integer);

	(void)count;
	(void)err;
	if (naming != SWEEP_NO_ROW && ended != SWEEP_NO_ROW && can_be_late(f->all, naming, ended))
		add_place(f, naming, ended,
			xasprintf("%s, then the end of %s that it names", change_of(&f->all->items[naming]),
				f->all->items[ended].resource));
	return 0;
}

static int on_owned(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	const struct sweep_finding *f = context;
	size_t owner = sweep_rows_find(f->all, (uint64_t)v[0].integer),
	       ended = sweep_rows_find(f->all, (uint64_t)v[1].integer);
	const struct sweep_row *a, *b;

	(void)count;
	(void)err;
	if (owner == SWEEP_NO_ROW || ended == SWEEP_NO_ROW)
		return 0;
	a = &f->all->items[owner];
	b = &f->all->items[ended];
	if (a->reached && b->reached && a->time_ns <= b->time_ns)
		add_place(
			f, owner, ended, xasprintf("deleted, then the end of %s that it owned", b->resource));
	return 0;
}

int sweep_references_find(struct sql_session *s, const struct sweep_finding *f, struct err *err)
{
	const struct sql_sink pairs = {.row = on_pair, .context = (void *)f};
	const struct sql_sink ends = {.row = on_end, .context = (void *)f};
	const struct sql_sink owned = {.row = on_owned, .context = (void *)f};
	int rc = sql_session_run(s, slice_of(references_sql), &pairs, err);

	rc = rc ? rc : sql_session_run(s, slice_of(ends_sql), &ends, err);
	return rc ? rc : sql_session_run(s, slice_of(owned_sql), &owned, err);
}
