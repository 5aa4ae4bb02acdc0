/*
 * sweep_stale.c: what a program may be shown as older than it had seen it, when it starts again: which state of which resource,
 * and where it is killed. See sweep_patterns_internal.h.
 */
#include "tools/sweep/sweep_patterns_internal.h"

#include <stdlib.h>

#define OLDER_STATES 3 /* of one resource that a view is frozen at */
#define OTHERS_MAX   3 /* resources that are frozen with it, one by one */

/* ---- what the run without faults tells ---- */

/* An older state that a cache may show, and from when on it is wrong. */
struct older_state {
	uint64_t as_of_seq, wrong_seq;
	char *resource, *what;
	bool answered; /* the program wrote that resource before the next event */
};

/* What the program lists at 0, and when it changed last before it is started again. */
struct changed {
	char *resource;
	uint64_t seq;
};

struct stale {
	const struct sweep_facts *of;
	struct older_state *older;
	size_t older_count;
	struct changed *changed; /* what the program created last comes first */
	size_t changed_count;
	uint64_t end_seq; /* the last event of what the program asks for */
};

/* States that a program has gone past, of resources that it lists at 0: just before an object was gone, with
 * the first deletionTimestamp, and just before its spec changed. Once it is asked to end, the program's own answer may take
 * the object away before the tape does. */
#define LISTED_AT_0                                                                                          \
	"listed AS (SELECT DISTINCT " RESOURCE                                                               \
	" AS name FROM requests WHERE verb IN ('list', 'watch') AND rv = '0')"

static const char older_sql[] =
	"WITH " LISTED_AT_0 ","
	" seen AS (SELECT seq, type, " RESOURCE " AS name, uid, object FROM events WHERE origin <> 'list'"
	"  AND seq > (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'first_seq')"
	"  AND seq <= (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'last_seq')),"
	" old AS (SELECT min(seq) AS as_of, min(seq) + 1 AS wrong, name, 'about to be deleted' AS what FROM seen"
	"   WHERE jget(object, '$.metadata.deletionTimestamp') IS NOT NULL AND type = 'MODIFIED' GROUP BY name, uid"
	"  UNION ALL SELECT seq - 1, seq, name, 'not deleted' FROM seen WHERE type = 'DELETED'"
	"  UNION ALL SELECT min(c.seq) - 1, c.seq, c.resource || iif(c.apigroup = '', '', '.' || c.apigroup), 'with an older spec'"
	"   FROM changes AS c WHERE c.type = 'MODIFIED' AND c.path LIKE '$.spec%' AND c.seq IN (SELECT seq FROM seen)"
	"   GROUP BY c.seq)"
	" SELECT as_of, wrong, name, what, what = 'about to be deleted' AND EXISTS (SELECT 1 FROM writes"
	"   WHERE seq = old.as_of AND " RESOURCE " = old.name AND policy = 'overlay' AND status < 300)"
	" FROM old WHERE name IN (SELECT name FROM listed) ORDER BY name, what, as_of";

/* Up to an event. */
static const char changed_sql[] =
	"WITH " LISTED_AT_0 ","
	" done AS (SELECT " RESOURCE " AS name, seq, iif(status = 201, write, 0) AS made FROM writes"
	"   WHERE policy = 'overlay' AND status < 300"
	"  UNION ALL SELECT " RESOURCE ", seq, 0 FROM events WHERE origin <> 'list')"
	" SELECT name, max(seq) FROM done WHERE seq <= %llu AND name IN (SELECT name FROM listed)"
	" GROUP BY name ORDER BY max(made) DESC, name";

static const char end_sql[] =
	"SELECT coalesce(max(seq), 0) FROM events WHERE " RESOURCE " IN (SELECT " RESOURCE
	" FROM requests) AND origin <> 'list' AND seq <= (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'last_seq')";

static int add_older(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct stale *f = context;

	(void)count;
	(void)err;
	f->older = xrealloc(f->older, (f->older_count + 1) * sizeof(*f->older));
	f->older[f->older_count++] = (struct older_state){.as_of_seq = (uint64_t)v[0].integer,
		.wrong_seq = (uint64_t)v[1].integer,
		.resource = slice_dup(v[2].bytes),
		.what = slice_dup(v[3].bytes),
		.answered = v[4].integer != 0};
	return 0;
}

static int add_changed(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct stale *f = context;

	(void)count;
	(void)err;
	f->changed = xrealloc(f->changed, (f->changed_count + 1) * sizeof(*f->changed));
	f->changed[f->changed_count++] = (struct changed){slice_dup(v[0].bytes), (uint64_t)v[1].integer};
	return 0;
}

static int take_end(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	(void)count;
	(void)err;
	((struct stale *)context)->end_seq = (uint64_t)v[0].integer;
	return 0;
}

static void release(struct stale *f)
{
	for (size_t i = 0; i < f->changed_count; i++)
		free(f->changed[i].resource);
	for (size_t i = 0; i < f->older_count; i++) {
		free(f->older[i].resource);
		free(f->older[i].what);
	}
	free(f->changed);
	free(f->older);
}

/* ---- places ---- */

static struct sweep_position *add_older_view(
	struct stale *f, const struct older_state *o, enum sweep_kind kind, uint64_t seq)
{
	struct sweep_position *p = sweep_place_add(f->of, SWEEP_STALE, kind, o->resource);

	p->seq = p->last_seq = seq;
	p->as_of_seq = o->as_of_seq;
	p->before_answer = o->answered;
	p->what = xstrdup(o->what);
	return p;
}

static struct sweep_position *add_stale(
	struct stale *f, const struct older_state *o, const struct sweep_own_write *w)
{
	struct sweep_position *p = add_older_view(f, o, SWEEP_WRITE, w->seq);

	p->write = xstrdup(w->kind);
	return p;
}

/* The last creation of the run, or the last write if nothing was created; NULL: it wrote nothing. */
static const struct sweep_own_write *last_creation(const struct stale *f)
{
	for (size_t i = f->of->write_count; i--;) {
		if (strncmp(f->of->writes[i].kind, "create ", 7) == 0)
			return &f->of->writes[i];
	}
	return f->of->write_count ? &f->of->writes[f->of->write_count - 1] : NULL;
}

static const struct sweep_own_write *first_write_from(const struct stale *f, uint64_t seq)
{
	for (size_t i = 0; i < f->of->write_count; i++) {
		if (f->of->writes[i].seq >= seq)
			return &f->of->writes[i];
	}
	return NULL;
}

static bool is_same_place(const struct sweep_own_write *a, const struct sweep_own_write *b)
{
	return a->seq == b->seq && strcmp(a->kind, b->kind) == 0;
}

/* The program starts again after it has acted on what is newer: within the first write from then on, within
 * the last one of the run, when what it makes is there again, and when what others make then is there as well. */
static void add_stale_alone(struct stale *f, const struct older_state *o, const struct sweep_own_write *first)
{
	const struct sweep_own_write *last = &f->of->writes[f->of->write_count - 1],
				     *creation = last_creation(f);

	add_stale(f, o, first);
	if (last->seq != first->seq)
		add_stale(f, o, last);
	if (creation->seq >= o->wrong_seq && !is_same_place(creation, first) &&
		(last->seq == first->seq || !is_same_place(creation, last)))
		add_stale(f, o, creation);
	if (f->end_seq > creation->seq)
		add_older_view(f, o, SWEEP_ENDING, f->end_seq);
}

/* Before the program deleted something of that resource, having seen what is newer; or the same. */
static uint64_t as_of_for_other(const struct stale *f, const struct older_state *o, const char *resource)
{
	for (size_t i = f->of->write_count; i--;) {
		const struct sweep_own_write *w = &f->of->writes[i];

		if (w->seq > 1 && w->seq <= o->wrong_seq && strncmp(w->kind, "delete ", 7) == 0 &&
			strcmp(w->resource, resource) == 0)
			return w->seq - 1;
	}
	return o->as_of_seq;
}

static void add_stale_with(struct stale *f, const struct older_state *o, const char *others, uint64_t as_of)
{
	struct sweep_position *p = add_stale(f, o, last_creation(f));

	p->others = xstrdup(others);
	p->others_as_of_seq = as_of;
}

/* Each resource has a cache of its own, and any of them may lag: beside that one, each other of which the program has
 * seen or written something newer, and all of these. */
static void add_stale_with_others(struct stale *f, const struct older_state *o)
{
	uint64_t earliest = UINT64_MAX;
	char *all = NULL;
	size_t count = 0;

	for (size_t i = 0; last_creation(f)->seq >= o->wrong_seq && i < f->changed_count; i++) {
		const struct changed *c = &f->changed[i];
		uint64_t as_of = as_of_for_other(f, o, c->resource);
		char *longer;

		if (c->seq <= as_of || strcmp(c->resource, o->resource) == 0)
			continue;
		longer = all ? xasprintf("%s,%s", all, c->resource) : xstrdup(c->resource);
		free(all);
		all = longer;
		earliest = as_of < earliest ? as_of : earliest;
		if (count++ < OTHERS_MAX)
			add_stale_with(f, o, c->resource, as_of);
	}
	if (count > 1)
		add_stale_with(f, o, all, earliest);
	free(all);
}

static void find_stale(struct stale *f)
{
	size_t alike = 0;

	for (size_t i = 0; i < f->older_count; i++) {
		const struct older_state *o = &f->older[i];
		const struct sweep_own_write *first = first_write_from(f, o->wrong_seq);

		alike = i && strcmp(o->resource, o[-1].resource) == 0 && strcmp(o->what, o[-1].what) == 0
				? alike + 1
				: 0;
		if (alike >= OLDER_STATES || !first)
			continue;
		add_stale_alone(f, o, first);
		if (alike == 0)
			add_stale_with_others(f, o);
	}
}

static int read_older(struct sql_session *s, struct stale *f, struct err *err)
{
	const struct sql_sink older = {.row = add_older, .context = f},
			      changed = {.row = add_changed, .context = f},
			      end = {.row = take_end, .context = f};
	const struct sweep_own_write *at = last_creation(f);
	char *sql;
	int rc;

	if (!at)
		return 0;
	if ((rc = sql_session_run(s, slice_of(older_sql), &older, err)) ||
		(rc = sql_session_run(s, slice_of(end_sql), &end, err)))
		return rc;
	sql = xasprintf(changed_sql, (unsigned long long)at->seq);
	rc = sql_session_run(s, slice_of(sql), &changed, err);
	free(sql);
	return rc;
}

int sweep_stale_find(struct sql_session *s, const struct sweep_facts *of, struct err *err)
{
	struct stale f = {.of = of};
	int rc = read_older(s, &f, err);

	if (rc == 0)
		find_stale(&f);
	release(&f);
	return rc;
}
