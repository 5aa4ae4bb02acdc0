/*
 * sweep_unechoed.c: where the program writes an object that others delete, or deletes one that others make again, before a
 * watch has shown that write. See sweep_rows.h.
 *
 *   the tape       O changes ............... O is deleted          an event ............. another O
 *   the program        |-> writes O                                    |-> deletes O
 *   watches of O       |------------ away ------------|                |------- away --------|
 *
 * Afterwards a list lacks the object: what the program keeps of its own write it has to forget without being told. Or it has
 * another one of that name: only the UID tells that the deletion has come about.
 */
#include "tools/sweep/sweep_rows.h"

#include <stdlib.h>

#define AHEAD_MAX 500 /* events; what lies further apart is no gap */
#define FIRST_MAX 2   /* of one kind, and the last */

struct unechoed {
	size_t answered, until; /* rows */
	char *kind;
};

struct search {
	const struct sweep_finding *f;
	struct unechoed *items;
	size_t count;
	bool laid_over;
};

/* The deletion of the object of that row; SWEEP_NO_ROW: none, or the whole life of another one lies before it. */
static size_t find_deletion(
	const struct sweep_rows *rows, size_t answered, struct slice resource, struct slice object)
{
	for (size_t i = answered + 1; i < rows->count && i - answered < AHEAD_MAX; i++) {
		const struct sweep_row *r = &rows->items[i];

		if (!slice_is(object, r->object) || !slice_is(resource, r->resource) || r->type != 'D')
			continue;
		return r->reached && sweep_rows_life_end(rows, answered + 1, i + 1) > i ? i : SWEEP_NO_ROW;
	}
	return SWEEP_NO_ROW;
}

/* The creation of another object of that name, likewise. */
static size_t find_successor(
	const struct sweep_rows *rows, size_t answered, struct slice resource, struct slice object)
{
	for (size_t i = answered + 1; i < rows->count && i - answered < AHEAD_MAX; i++) {
		const struct sweep_row *r = &rows->items[i];

		if (r->type == 'A' && slice_is(object, r->object) && slice_is(resource, r->resource))
			return r->reached ? i : SWEEP_NO_ROW;
	}
	return SWEEP_NO_ROW;
}

static bool is_new(const struct search *s, const struct unechoed *u)
{
	for (size_t i = 0; i < s->count; i++) {
		if (s->items[i].answered == u->answered && strcmp(s->items[i].kind, u->kind) == 0)
			return false;
	}
	return true;
}

static int on_write(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct search *s = context;
	const struct sweep_rows *rows = s->f->all;
	struct unechoed u = {.answered = sweep_rows_find(rows, (uint64_t)v[0].integer)};

	(void)count;
	(void)err;
	if (u.answered == SWEEP_NO_ROW)
		return 0;
	u.kind = slice_dup(v[3].bytes);
	u.until = v[4].integer ? find_successor(rows, u.answered, v[1].bytes, v[2].bytes)
			       : find_deletion(rows, u.answered, v[1].bytes, v[2].bytes);
	if (u.until == SWEEP_NO_ROW || !is_new(s, &u)) {
		free(u.kind);
		return 0;
	}
	s->items = xrealloc(s->items, (s->count + 1) * sizeof(*s->items));
	s->items[s->count++] = u;
	return 0;
}

static bool is_chosen(const struct search *s, size_t at)
{
	size_t before = 0, after = 0;

	for (size_t i = 0; i < s->count; i++) {
		bool is_alike = strcmp(s->items[i].kind, s->items[at].kind) == 0;

		before += is_alike && i < at;
		after += is_alike && i > at;
	}
	return before < FIRST_MAX || after == 0;
}

static void add_place(const struct search *s, const struct unechoed *u)
{
	const struct sweep_rows *rows = s->f->all;
	struct sweep_position *p;
	size_t first = u->until;

	for (size_t i = u->until; i > u->answered; i--)
		first = sweep_rows_of_one_resource(rows, u->until, i) ? i : first;
	p = sweep_positions_add(s->f, SWEEP_OWN, first, u->until);
	free(p->object);
	p->object = xstrdup(rows->items[u->until].object);
	p->what = xstrdup(rows->items[u->until].type == 'D' ? "deleted" : "made again");
	p->write = xstrdup(u->kind);
	p->seq = rows->items[u->answered].seq;
	p->until_seq = p->last_seq;
	p->laid_over = s->laid_over;
	p->reached = true;
}

int sweep_unechoed_find(
	struct sql_session *session, const struct sweep_finding *f, bool laid_over, struct err *err)
{
	static const char sql[] =
		"SELECT seq, of, iif(coalesce(namespace, '') = '', '', namespace || '/') || name,"
		" verb || ' ' || of || iif(coalesce(subresource, '') = '', '', '/' || subresource),"
		" verb = 'delete' OR subresource = 'eviction'"
		" FROM (SELECT *, resource || iif(apigroup = '', '', '.' || apigroup) AS of FROM writes)"
		" WHERE status BETWEEN 200 AND 299 AND policy = 'overlay' AND coalesce(dry_run, 0) = 0"
		" AND (verb IN ('update', 'patch', 'delete') OR (verb = 'create' AND coalesce(subresource, '') <> ''))"
		" AND resource NOT IN ('leases', 'events') ORDER BY write";
	struct search search = {.f = f, .laid_over = laid_over};
	const struct sql_sink sink = {.row = on_write, .context = &search};
	int rc = sql_session_run(session, slice_of(sql), &sink, err);

	for (size_t i = 0; i < search.count; i++) {
		if (rc == 0 && is_chosen(&search, i))
			add_place(&search, &search.items[i]);
	}
	for (size_t i = 0; i < search.count; i++)
		free(search.items[i].kind);
	free(search.items);
	return rc;
}
