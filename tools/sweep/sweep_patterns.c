/*
 * sweep_patterns.c: where a program goes blind beside the gaps of its watches: at its own writes, and in what
 * it lists. See sweep.h.
 *
 * A write is told by its kind and by the last event before it: with what a program has seen by then, its
 * first write of that kind is the same one in each run.
 */
#include "tools/sweep/sweep.h"

#include "schema/base/clock.h"
#include "schema/run/run_schema.h"

#include <stdlib.h>

#define WRITES_OF_A_KIND 6 /* that are places: the first ones, and the last */
#define OLDER_STATES     3 /* of one resource that a view is frozen at */
#define OTHERS_MAX       3 /* resources that are frozen with it, one by one */

const char *const sweep_pattern_names[SWEEP_PATTERNS] = {
	[SWEEP_UNOBSERVED] = "unobserved",
	[SWEEP_RESTART] = "restart",
	[SWEEP_STALE] = "stale",
	[SWEEP_WRITES] = "writes",
	[SWEEP_COALESCED] = "coalesced",
	[SWEEP_ECHO] = "echo",
	[SWEEP_SLOW] = "slow",
};

static int find_pattern(const char *name)
{
	for (int i = 0; i < SWEEP_PATTERNS; i++) {
		if (strcmp(sweep_pattern_names[i], name) == 0)
			return i;
	}
	return -1;
}

int sweep_patterns_parse(const char *text, unsigned *ret, struct err *err)
{
	char *copy = xstrdup(text ? text : ""), *rest = copy;
	int rc = 0;

	*ret = text ? 0 : (1u << SWEEP_PATTERNS) - 1;
	for (char *word; text && rc == 0 && (word = strsep(&rest, ","));) {
		int pattern = find_pattern(word);

		if (pattern >= 0)
			*ret |= 1u << pattern;
		else
			rc = err_set(err, ERR_USAGE,
				"bad pattern '%.100s': expected unobserved, restart, stale, writes, coalesced, echo or slow",
				word);
	}
	free(copy);
	return rc;
}

/* ---- what the run without faults tells ---- */

/* A write of the program. */
struct own_write {
	uint64_t seq; /* the last event before it */
	char *kind, *resource;
	bool is_kept;     /* it lies over the tape */
	bool is_farewell; /* to an object that is being deleted, as where a finalizer is taken away */
};

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

struct facts {
	struct own_write *writes;
	size_t write_count;
	struct older_state *older;
	size_t older_count;
	struct changed *changed; /* what the program created last comes first */
	size_t changed_count;
	uint64_t end_seq; /* the last event of what the program asks for */
	uint64_t *sent;   /* the events that it was sent, in their order */
	size_t sent_count;
	struct sweep_positions *to;
	unsigned patterns;
	bool own; /* SWEEP_OWN, too */
	bool laid_over;
	struct text_list watched; /* owned */
};

static int add_write(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct facts *f = context;

	(void)count;
	(void)err;
	f->writes = xrealloc(f->writes, (f->write_count + 1) * sizeof(*f->writes));
	f->writes[f->write_count++] = (struct own_write){(uint64_t)v[0].integer, slice_dup(v[1].bytes),
		slice_dup(v[2].bytes), v[4].integer, v[3].integer};
	return 0;
}

static int add_older(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct facts *f = context;

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
	struct facts *f = context;

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
	((struct facts *)context)->end_seq = (uint64_t)v[0].integer;
	return 0;
}

static int add_sent(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct facts *f = context;

	(void)count;
	(void)err;
	f->sent = xrealloc(f->sent, (f->sent_count + 1) * sizeof(*f->sent));
	f->sent[f->sent_count++] = (uint64_t)v[0].integer;
	return 0;
}

static struct sweep_position *add_place(
	struct facts *f, enum sweep_pattern pattern, enum sweep_kind kind, const char *resource)
{
	struct sweep_positions *to = f->to;
	struct sweep_position *p;

	to->items = xrealloc(to->items, (to->count + 1) * sizeof(*to->items));
	p = &to->items[to->count++];
	*p = (struct sweep_position){.pattern = pattern,
		.kind = kind,
		.laid_over = f->laid_over,
		.resource = xstrdup(resource),
		.reached = true};
	return p;
}

/* Near the last deletion: until it; or at it, where the program lists just before. */
static void add_resumptions(struct facts *f, const char *resource, const struct sql_value *v)
{
	struct sweep_position *p;

	if (f->patterns >> SWEEP_COALESCED & 1) {
		p = add_place(f, SWEEP_COALESCED, SWEEP_STRETCH, resource);
		p->seq = (uint64_t)v[0].integer;
		p->last_seq = (uint64_t)v[1].integer;
		p->hidden = (uint64_t)v[2].integer;
	}
	if (f->patterns >> SWEEP_RESTART & 1) {
		p = add_place(f, SWEEP_RESTART, SWEEP_STRETCH, resource);
		p->seq = p->last_seq = (uint64_t)v[1].integer;
		p->hidden = 1;
	}
}

/* Resources that were listed or watched. */
static int add_watched(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct facts *f = context;
	char *resource = slice_dup(v[0].bytes);

	(void)count;
	(void)err;
	if (f->patterns >> SWEEP_SLOW & 1)
		add_place(f, SWEEP_SLOW, SWEEP_ALWAYS, resource)->is_empty = !v[1].integer && !v[2].integer;
	if ((f->patterns >> SWEEP_ECHO & 1) && v[1].integer) {
		add_place(f, SWEEP_ECHO, SWEEP_ALWAYS, resource)->late_writes = (uint64_t)v[1].integer;
		add_place(f, SWEEP_ECHO, SWEEP_ALWAYS, resource);
	}
	if (v[5].integer)
		add_resumptions(f, resource, v + 3);
	text_list_add(&f->watched, resource);
	return 0;
}

#define RESOURCE "resource || iif(apigroup = '', '', '.' || apigroup)"

static const char writes_sql[] =
	"SELECT seq, verb || ' ' || " RESOURCE
	" || iif(coalesce(subresource, '') = '', '', '/' || subresource), " RESOURCE
	", verb IN ('update', 'patch') AND json_valid(object)"
	"  AND json_extract(object, '$.metadata.deletionTimestamp') IS NOT NULL"
	", policy = 'overlay' AND status < 300"
	" FROM writes WHERE resource NOT IN ('leases', 'events') AND coalesce(dry_run, 0) = 0 ORDER BY write";

/* What it watches, how often it writes there itself, whether the tape has anything there; and the last events that it was sent of it,
 * up to a deletion if there is one. */
static const char watched_sql[] =
	"WITH sent AS (SELECT DISTINCT e.seq, " RESOURCE
	" AS name, max(iif(e.type = 'DELETED', e.seq, NULL)) OVER"
	"  (PARTITION BY " RESOURCE ") AS gone FROM deliveries AS d CROSS JOIN events AS e ON e.seq = d.seq),"
	" ranked AS (SELECT name, seq, row_number() OVER (PARTITION BY name ORDER BY seq DESC) AS n FROM sent"
	"  WHERE seq <= coalesce(gone, seq)),"
	" resumed AS (SELECT name, min(seq) AS first, max(seq) AS last, count(*) AS count FROM ranked WHERE n <= 3 GROUP BY name)"
	" SELECT watched, (SELECT count(*) FROM writes WHERE " RESOURCE
	" = watched AND policy = 'overlay' AND status < 300),"
	" EXISTS (SELECT 1 FROM events AS e WHERE e.resource = r.resource AND e.apigroup = r.apigroup), first, last, count"
	" FROM (SELECT DISTINCT resource, apigroup, " RESOURCE " AS watched FROM requests WHERE " RUN_IS_WATCH
	") AS r LEFT JOIN resumed ON name = watched ORDER BY 1";

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

static const char sent_sql[] = "SELECT DISTINCT seq FROM deliveries WHERE seq < 1 << 62 ORDER BY 1";

static void release_facts(struct facts *f)
{
	free(f->sent);
	for (size_t i = 0; i < f->changed_count; i++)
		free(f->changed[i].resource);
	free(f->changed);
	for (size_t i = 0; i < f->write_count; i++) {
		free(f->writes[i].kind);
		free(f->writes[i].resource);
	}
	for (size_t i = 0; i < f->older_count; i++) {
		free(f->older[i].resource);
		free(f->older[i].what);
	}
	text_list_release(&f->watched);
	free(f->writes);
	free(f->older);
}

/* ---- places ---- */

/* 0: no two come after it. */
static uint64_t second_sent_after(const struct facts *f, uint64_t seq)
{
	size_t i = 0;

	while (i < f->sent_count && f->sent[i] <= seq)
		i++;
	return i + 1 < f->sent_count ? f->sent[i + 1] : 0;
}

static void add_write_place(
	struct facts *f, enum sweep_pattern pattern, enum sweep_kind kind, const struct own_write *w)
{
	struct sweep_position *p = add_place(f, pattern, kind, w->resource);

	p->write = xstrdup(w->kind);
	p->seq = p->last_seq = w->seq;
	p->is_farewell = w->is_farewell;
	if (pattern == SWEEP_WRITES)
		p->until_seq = second_sent_after(f, w->seq);
}

/* Several of a kind after the same event are one place, of which this is the first. */
static bool is_place(const struct facts *f, size_t at)
{
	for (size_t i = at; i-- && f->writes[i].seq == f->writes[at].seq;) {
		if (strcmp(f->writes[i].kind, f->writes[at].kind) == 0)
			return false;
	}
	return true;
}

static bool is_alike(const struct own_write *a, const struct own_write *b)
{
	return a->is_farewell == b->is_farewell && strcmp(a->kind, b->kind) == 0;
}

/* How many places of that kind come before, and come at all. */
static bool is_chosen(const struct facts *f, size_t at)
{
	size_t before = 0, after = 0;

	if (!is_place(f, at))
		return false;
	for (size_t i = 0; i < f->write_count; i++) {
		if (!is_alike(&f->writes[i], &f->writes[at]) || !is_place(f, i))
			continue;
		before += i < at;
		after += i > at;
	}
	return before < WRITES_OF_A_KIND - 1 || after == 0;
}

/* An informer learns it from its next list, together with whatever the program has made meanwhile under that name. */
static bool is_own_deletion(const struct facts *f, const struct own_write *w)
{
	bool deletes = w->is_farewell || strncmp(w->kind, "delete ", 7) == 0;

	return f->own && w->is_kept && deletes && text_list_has(&f->watched, w->resource);
}

static void find_at_writes(struct facts *f)
{
	for (size_t i = 0; i < f->write_count; i++) {
		if (!is_chosen(f, i))
			continue;
		if (f->patterns >> SWEEP_RESTART & 1)
			add_write_place(f, SWEEP_RESTART, SWEEP_WRITE, &f->writes[i]);
		if (f->patterns >> SWEEP_WRITES & 1)
			add_write_place(f, SWEEP_WRITES, SWEEP_WRITE, &f->writes[i]);
		if (is_own_deletion(f, &f->writes[i]))
			add_write_place(f, SWEEP_UNOBSERVED, SWEEP_OWN, &f->writes[i]);
	}
}

static struct sweep_position *add_older_view(
	struct facts *f, const struct older_state *o, enum sweep_kind kind, uint64_t seq)
{
	struct sweep_position *p = add_place(f, SWEEP_STALE, kind, o->resource);

	p->seq = p->last_seq = seq;
	p->as_of_seq = o->as_of_seq;
	p->before_answer = o->answered;
	p->what = xstrdup(o->what);
	return p;
}

static struct sweep_position *add_stale(
	struct facts *f, const struct older_state *o, const struct own_write *w)
{
	struct sweep_position *p = add_older_view(f, o, SWEEP_WRITE, w->seq);

	p->write = xstrdup(w->kind);
	return p;
}

/* The last write of the run that creates something, or else the last; NULL: there is none. */
static const struct own_write *last_creation(const struct facts *f)
{
	for (size_t i = f->write_count; i--;) {
		if (strncmp(f->writes[i].kind, "create ", 7) == 0)
			return &f->writes[i];
	}
	return f->write_count ? &f->writes[f->write_count - 1] : NULL;
}

static const struct own_write *first_write_from(const struct facts *f, uint64_t seq)
{
	for (size_t i = 0; i < f->write_count; i++) {
		if (f->writes[i].seq >= seq)
			return &f->writes[i];
	}
	return NULL;
}

static bool is_same_place(const struct own_write *a, const struct own_write *b)
{
	return a->seq == b->seq && strcmp(a->kind, b->kind) == 0;
}

/* The program starts again after it has acted on what is newer: within the first write from then on, within
 * the last one of the run, when what it makes is there again, and when what others make then is there as well. */
static void add_stale_alone(struct facts *f, const struct older_state *o, const struct own_write *first)
{
	const struct own_write *last = &f->writes[f->write_count - 1], *creation = last_creation(f);

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
static uint64_t as_of_for_other(const struct facts *f, const struct older_state *o, const char *resource)
{
	for (size_t i = f->write_count; i--;) {
		const struct own_write *w = &f->writes[i];

		if (w->seq > 1 && w->seq <= o->wrong_seq && strncmp(w->kind, "delete ", 7) == 0 &&
			strcmp(w->resource, resource) == 0)
			return w->seq - 1;
	}
	return o->as_of_seq;
}

static void add_stale_with(struct facts *f, const struct older_state *o, const char *others, uint64_t as_of)
{
	struct sweep_position *p = add_stale(f, o, last_creation(f));

	p->others = xstrdup(others);
	p->others_as_of_seq = as_of;
}

/* Each resource has a cache of its own, and any of them may lag: beside that one, each other of which the program has
 * seen or written something newer, and all of these. */
static void add_stale_with_others(struct facts *f, const struct older_state *o)
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

static void find_stale(struct facts *f)
{
	size_t alike = 0;

	for (size_t i = 0; i < f->older_count; i++) {
		const struct older_state *o = &f->older[i];
		const struct own_write *first = first_write_from(f, o->wrong_seq);

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

/* What one may miss may also come all at once; what only a list tells is left out. */
static void find_coalesced(struct facts *f)
{
	size_t count = f->to->count;

	for (size_t i = 0; i < count; i++) {
		const struct sweep_position *of = &f->to->items[i];
		struct sweep_position *p;
		bool is_one = of->kind == SWEEP_TERMINATION || of->kind == SWEEP_RECREATION ||
			      of->kind == SWEEP_REPLACEMENT || of->kind == SWEEP_CHANGES;

		if (of->pattern != SWEEP_UNOBSERVED || !is_one)
			continue;
		p = add_place(f, SWEEP_COALESCED, of->kind, of->resource);
		of = &f->to->items[i];
		p->seq = of->seq;
		p->last_seq = of->last_seq;
		p->hidden = of->hidden;
		p->object = of->object ? xstrdup(of->object) : NULL;
		p->what = of->what ? xstrdup(of->what) : NULL;
		p->alike = of->alike;
		p->turn = of->turn;
		p->reached = of->reached;
		p->laid_over = of->laid_over;
	}
}

static int read_older(struct sql_session *s, struct facts *f, struct err *err)
{
	const struct sql_sink older = {.row = add_older, .context = f},
			      changed = {.row = add_changed, .context = f},
			      end = {.row = take_end, .context = f};
	const struct own_write *at = last_creation(f);
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

int sweep_patterns_find(struct sql_session *s, unsigned patterns, bool own, bool laid_over,
	struct sweep_positions *to, struct err *err)
{
	struct facts f = {.to = to, .patterns = patterns, .own = own, .laid_over = laid_over};
	const struct sql_sink writes = {.row = add_write, .context = &f},
			      watched = {.row = add_watched, .context = &f},
			      sent = {.row = add_sent, .context = &f};
	int rc = sql_session_run(s, slice_of(writes_sql), &writes, err);

	if (rc == 0)
		rc = sql_session_run(s, slice_of(watched_sql), &watched, err);
	if (rc == 0 && (patterns >> SWEEP_WRITES & 1))
		rc = sql_session_run(s, slice_of(sent_sql), &sent, err);
	if (rc == 0 && (patterns >> SWEEP_STALE & 1))
		rc = read_older(s, &f, err);
	if (rc == 0) {
		find_at_writes(&f);
		find_stale(&f);
		if (patterns >> SWEEP_COALESCED & 1)
			find_coalesced(&f);
	}
	release_facts(&f);
	return rc;
}
