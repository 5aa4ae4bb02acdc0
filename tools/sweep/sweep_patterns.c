/*
 * sweep_patterns.c: where a program goes blind beside the gaps of its watches: at its own writes, in what comes at once, for as
 * long as the tape. See sweep.h.
 *
 * A write is told by its kind and by the last event before it: with what a program has seen by then, its
 * first write of that kind is the same one in each run.
 */
#include "tools/sweep/sweep_patterns_internal.h"

#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/run/run_schema.h"

#include <stdlib.h>

#define WRITES_OF_A_KIND 6 /* that are places: the first ones, and the last */
#define WRITES_AT_ONCE   8 /* of one kind, in answer to one event, between which something may happen */

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

static uint64_t number_of_next(const struct sweep_facts *f, const struct sweep_own_write *next)
{
	for (size_t i = f->write_count; i-- && f->writes[i].seq == next->seq;) {
		if (strcmp(f->writes[i].kind, next->kind) == 0)
			return f->writes[i].number + 1;
	}
	return 1;
}

static int add_write(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct sweep_facts *f = context;
	struct sweep_own_write w = {.seq = (uint64_t)v[0].integer,
		.kind = slice_dup(v[1].bytes),
		.resource = slice_dup(v[2].bytes),
		.is_farewell = v[3].integer,
		.is_kept = v[4].integer,
		.is_overtaken = v[5].integer,
		.is_healed = v[6].integer};

	(void)count;
	(void)err;
	w.number = number_of_next(f, &w);
	f->writes = xrealloc(f->writes, (f->write_count + 1) * sizeof(*f->writes));
	f->writes[f->write_count++] = w;
	return 0;
}

static int add_sent(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct sweep_facts *f = context;

	(void)count;
	(void)err;
	f->sent = xrealloc(f->sent, (f->sent_count + 1) * sizeof(*f->sent));
	f->sent[f->sent_count++] = (uint64_t)v[0].integer;
	return 0;
}

struct sweep_position *sweep_place_add(
	const struct sweep_facts *f, enum sweep_pattern pattern, enum sweep_kind kind, const char *resource)
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
static void add_resumptions(struct sweep_facts *f, const char *resource, const struct sql_value *v)
{
	struct sweep_position *p;

	if (f->patterns >> SWEEP_COALESCED & 1) {
		p = sweep_place_add(f, SWEEP_COALESCED, SWEEP_STRETCH, resource);
		p->seq = (uint64_t)v[0].integer;
		p->last_seq = (uint64_t)v[1].integer;
		p->hidden = (uint64_t)v[2].integer;
	}
	if (f->patterns >> SWEEP_RESTART & 1) {
		p = sweep_place_add(f, SWEEP_RESTART, SWEEP_STRETCH, resource);
		p->seq = p->last_seq = (uint64_t)v[1].integer;
		p->hidden = 1;
	}
}

/* Resources that were listed or watched. */
static int add_watched(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct sweep_facts *f = context;
	char *resource = slice_dup(v[0].bytes);

	(void)count;
	(void)err;
	if (f->patterns >> SWEEP_SLOW & 1)
		sweep_place_add(f, SWEEP_SLOW, SWEEP_ALWAYS, resource)->is_empty =
			!v[1].integer && !v[2].integer;
	if ((f->patterns >> SWEEP_ECHO & 1) && v[1].integer) {
		sweep_place_add(f, SWEEP_ECHO, SWEEP_ALWAYS, resource)->late_writes = (uint64_t)v[1].integer;
		sweep_place_add(f, SWEEP_ECHO, SWEEP_ALWAYS, resource);
	}
	if (v[5].integer)
		add_resumptions(f, resource, v + 3);
	text_list_add(&f->watched, resource);
	return 0;
}

static const char writes_sql[] =
	"WITH sent AS MATERIALIZED (SELECT DISTINCT seq FROM deliveries)"
	" SELECT seq, verb || ' ' || " RESOURCE
	" || iif(coalesce(subresource, '') = '', '', '/' || subresource), " RESOURCE
	", verb IN ('update', 'patch') AND json_valid(object)"
	"  AND json_extract(object, '$.metadata.deletionTimestamp') IS NOT NULL"
	", policy = 'overlay' AND status < 300"
	", coalesce((SELECT e.uid = json_extract(w.object, '$.metadata.uid') FROM events AS e WHERE e.seq ="
	"  (SELECT min(seq) FROM sent WHERE seq > w.seq) AND json_valid(w.object)), 0)"
	", EXISTS (SELECT 1 FROM events AS e WHERE e.type = 'DELETED' AND e.seq > w.seq AND e.apigroup = w.apigroup"
	"  AND e.resource = w.resource AND coalesce(e.namespace, '') = coalesce(w.namespace, '') AND e.name = w.name)"
	" FROM writes AS w WHERE resource NOT IN ('leases', 'events') AND coalesce(dry_run, 0) = 0 ORDER BY write";

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

static const char sent_sql[] = "SELECT DISTINCT seq FROM deliveries WHERE seq < 1 << 62 ORDER BY 1";

static void release_facts(struct sweep_facts *f)
{
	free(f->sent);
	for (size_t i = 0; i < f->write_count; i++) {
		free(f->writes[i].kind);
		free(f->writes[i].resource);
	}
	text_list_release(&f->watched);
	free(f->writes);
}

/* ---- places ---- */

/* 0: no two come after it. */
static uint64_t second_sent_after(const struct sweep_facts *f, uint64_t seq)
{
	size_t i = 0;

	while (i < f->sent_count && f->sent[i] <= seq)
		i++;
	return i + 1 < f->sent_count ? f->sent[i + 1] : 0;
}

static struct sweep_position *add_write_place(struct sweep_facts *f, enum sweep_pattern pattern,
	enum sweep_kind kind, const struct sweep_own_write *w)
{
	struct sweep_position *p = sweep_place_add(f, pattern, kind, w->resource);

	p->write = xstrdup(w->kind);
	p->seq = p->last_seq = w->seq;
	p->is_farewell = w->is_farewell;
	p->is_healed = w->is_healed;
	return p;
}

/* Several of a kind after the same event are one place, of which this is the first. */
static bool is_place(const struct sweep_own_write *w)
{
	return w->number == 1;
}

/* Where an event is first answered by so many of a kind: a program that is killed, or fails, among them has done a part. */
static bool is_later_place(const struct sweep_facts *f, size_t at)
{
	const struct sweep_own_write *w = &f->writes[at];

	if (w->number == 1 || w->number > WRITES_AT_ONCE)
		return false;
	for (size_t i = at; i--;) {
		if (f->writes[i].number == w->number && strcmp(f->writes[i].kind, w->kind) == 0)
			return false;
	}
	return true;
}

static bool is_alike(const struct sweep_own_write *a, const struct sweep_own_write *b)
{
	return a->is_farewell == b->is_farewell && strcmp(a->kind, b->kind) == 0;
}

/* A program that is killed there has done a part of what answers the event. */
static bool is_part(const struct sweep_facts *f, size_t at)
{
	for (size_t i = at + 1; i < f->write_count && f->writes[i].seq == f->writes[at].seq; i++) {
		if (strcmp(f->writes[i].kind, f->writes[at].kind) != 0)
			return true;
	}
	return false;
}

/* How many places of that kind come before, and come at all. The last of which each is a part is one, too. */
static bool is_chosen(const struct sweep_facts *f, size_t at)
{
	size_t before = 0, after = 0, parts_after = 0;

	if (!is_place(&f->writes[at]))
		return false;
	for (size_t i = 0; i < f->write_count; i++) {
		if (!is_place(&f->writes[i]) || !is_alike(&f->writes[i], &f->writes[at]))
			continue;
		before += i < at;
		after += i > at;
		parts_after += i > at && is_part(f, i);
	}
	return before < WRITES_OF_A_KIND - 1 || after == 0 || (!parts_after && is_part(f, at));
}

/* An informer learns it from its next list, together with whatever the program has made meanwhile under that name. */
static bool is_own_deletion(const struct sweep_facts *f, const struct sweep_own_write *w)
{
	bool deletes = w->is_farewell || strncmp(w->kind, "delete ", 7) == 0;

	return f->own && w->is_kept && deletes && text_list_has(&f->watched, w->resource);
}

/* Of those of its kind that something overtakes the first and the last, or else the first: what is answered late must have
 * something to come meanwhile, at best what the answer takes back. */
static bool may_be_late(const struct sweep_facts *f, size_t at)
{
	const struct sweep_own_write *w = &f->writes[at];
	size_t before = 0, after = 0, overtaken = 0;

	if (!is_place(w))
		return false;
	for (size_t i = 0; i < f->write_count; i++) {
		const struct sweep_own_write *other = &f->writes[i];

		if (!is_place(other) || !is_alike(other, w))
			continue;
		overtaken += other->is_overtaken;
		before += i < at && other->is_overtaken == w->is_overtaken;
		after += i > at && other->is_overtaken == w->is_overtaken;
	}
	return w->is_overtaken ? !before || !after : !before && !overtaken;
}

static void add_late_answer(struct sweep_facts *f, const struct sweep_own_write *w)
{
	uint64_t until_seq = second_sent_after(f, w->seq);
	struct sweep_position *p;

	if (!until_seq)
		return;
	p = add_write_place(f, SWEEP_WRITES, SWEEP_WRITE, w);
	p->what = xstrdup("answered late");
	p->until_seq = until_seq;
}

static void find_between_writes(struct sweep_facts *f, size_t at)
{
	static const enum sweep_pattern among[] = {SWEEP_RESTART, SWEEP_WRITES};

	for (size_t i = 0; i < COUNT_OF(among); i++) {
		if (f->patterns >> among[i] & 1)
			add_write_place(f, among[i], SWEEP_WRITE, &f->writes[at])->nth = f->writes[at].number;
	}
}

static void find_at_writes(struct sweep_facts *f)
{
	for (size_t i = 0; i < f->write_count; i++) {
		if (is_later_place(f, i))
			find_between_writes(f, i);
		if ((f->patterns >> SWEEP_WRITES & 1) && may_be_late(f, i))
			add_late_answer(f, &f->writes[i]);
		if (!is_chosen(f, i))
			continue;
		if (f->patterns >> SWEEP_RESTART & 1)
			add_write_place(f, SWEEP_RESTART, SWEEP_WRITE, &f->writes[i])->is_part =
				is_part(f, i);
		if (f->patterns >> SWEEP_WRITES & 1)
			add_write_place(f, SWEEP_WRITES, SWEEP_WRITE, &f->writes[i]);
		if (is_own_deletion(f, &f->writes[i]))
			add_write_place(f, SWEEP_UNOBSERVED, SWEEP_OWN, &f->writes[i]);
	}
}

/* What one may miss may also come all at once; what only a list tells is left out. */
static void find_coalesced(struct sweep_facts *f)
{
	size_t count = f->to->count;

	for (size_t i = 0; i < count; i++) {
		const struct sweep_position *of = &f->to->items[i];
		struct sweep_position *p;
		char *resource;
		bool is_one = of->kind == SWEEP_TERMINATION || of->kind == SWEEP_RECREATION ||
			      of->kind == SWEEP_REPLACEMENT || of->kind == SWEEP_CHANGES;

		if (of->pattern != SWEEP_UNOBSERVED || !is_one)
			continue;
		p = sweep_place_add(f, SWEEP_COALESCED, of->kind, of->resource);
		of = &f->to->items[i];
		resource = p->resource;
		*p = *of;
		p->pattern = SWEEP_COALESCED;
		p->resource = resource;
		p->object = of->object ? xstrdup(of->object) : NULL;
		p->what = of->what ? xstrdup(of->what) : NULL;
	}
}

int sweep_patterns_find(struct sql_session *s, unsigned patterns, bool own, bool laid_over,
	struct sweep_positions *to, struct err *err)
{
	struct sweep_facts f = {.to = to, .patterns = patterns, .own = own, .laid_over = laid_over};
	const struct sql_sink writes = {.row = add_write, .context = &f},
			      watched = {.row = add_watched, .context = &f},
			      sent = {.row = add_sent, .context = &f};
	int rc = sql_session_run(s, slice_of(writes_sql), &writes, err);

	if (rc == 0)
		rc = sql_session_run(s, slice_of(watched_sql), &watched, err);
	if (rc == 0 && (patterns >> SWEEP_WRITES & 1))
		rc = sql_session_run(s, slice_of(sent_sql), &sent, err);
	if (rc == 0)
		find_at_writes(&f);
	if (rc == 0 && (patterns >> SWEEP_STALE & 1))
		rc = sweep_stale_find(s, &f, err);
	if (rc == 0 && (patterns >> SWEEP_COALESCED & 1))
		find_coalesced(&f);
	release_facts(&f);
	return rc;
}
