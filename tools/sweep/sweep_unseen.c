/* sweep_unseen.c: see sweep_unseen.h. */
#include "tools/sweep/sweep_unseen.h"

#include "tools/sweep/sweep_content.h"
#include "tools/sweep/sweep_gathered.h"
#include "tools/sweep/sweep_kin.h"
#include "tools/sweep/sweep_numbered.h"

#include "schema/base/clock.h"
#include "schema/base/json_scan.h"

#include <stdlib.h>

#define LIFE_NS         (200 * NS_PER_MS) /* a program that is killed sooner had no time to act on what came */
#define LONE_TEXT_BYTES 4                 /* with its quotes: what is shorter may stand anywhere */

/* What answers to the end of an object by being undone, such as its entry in a list, can still be undone when it is gone. */
#define SHOWS_THE_END                                                                                        \
	"(%d AND l.type = 'DELETED' AND l.uid IS c.uid AND json_extract(c.object, '$.metadata.deletionTimestamp') IS NOT NULL)"

/* For a path in a longer one. Of a map or a list that is new, all of it is what changed. */
#define DOTTED(path) "replace(" path " || '.', '[', '.')"

/* 0: not to be seen. `telling` are the versions of the object that show what the event changed (one that is to go does not
 * show what there was to do before): every word, as in "phase Running", and at least one field. `lost` are the fields that
 * a version no longer shows. `views` are the versions that the program was shown, for how long each was its newest, until
 * the program was killed or a request of it was refused, and for how long it lived on. Who deletes the object in answer to the
 * event has seen it, however soon a fault followed: `acted`.
 * `others` are objects that the effect names and that are deleted later: it answers to the event and to these together. */
/* clang-format off */
static const char seen_sql[] =
	"WITH cause AS (SELECT * FROM events WHERE seq = %llu), effect AS (SELECT %Q AS text),"
	" ends AS (SELECT (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'last_seq') AS seq,"
	" (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'end_ns') AS time_ns),"
	" later AS MATERIALIZED (SELECT e.seq, e.type, e.uid, e.object,"
	" json_extract(e.object, '$.metadata.deletionTimestamp') IS NOT NULL AS is_ending FROM events AS e, cause AS c, ends"
	" WHERE e.apigroup = c.apigroup AND e.resource = c.resource AND e.namespace IS c.namespace"
	" AND e.name = c.name AND e.seq BETWEEN c.seq AND ends.seq),"
	" changed AS MATERIALIZED (SELECT path, new NOT GLOB '*[^A-Za-z]*' AND length(new) BETWEEN 1 AND 24 AS is_word"
	" FROM changes, cause AS c WHERE changes.seq = c.seq AND c.type = 'MODIFIED'),"
	" lost AS MATERIALIZED (SELECT l.seq, changed.path, is_word FROM later AS l, cause AS c, json_each(jdiff(c.object, l.object)) AS d"
	" JOIN changed ON instr(" DOTTED("json_extract(d.value, '$.path')") ", " DOTTED("changed.path") ") = 1 WHERE c.type = 'MODIFIED'),"
	" telling AS MATERIALIZED (SELECT l.seq FROM later AS l, cause AS c WHERE l.seq < %llu AND (c.type = 'DELETED' OR " SHOWS_THE_END
	" OR (l.type <> 'DELETED' AND l.uid IS c.uid"
	" AND l.is_ending <= (SELECT is_ending FROM later WHERE seq = c.seq) AND (c.type <> 'MODIFIED' OR (EXISTS (SELECT path FROM changed"
	" EXCEPT SELECT path FROM lost WHERE seq = l.seq) AND NOT EXISTS (SELECT 1 FROM lost WHERE seq = l.seq AND is_word)))))),"
	" shown AS (SELECT d.seq, d.out_ns AS at, 0 AS killed FROM deliveries AS d JOIN later USING (seq)"
	" UNION ALL SELECT (SELECT max(l.seq) FROM later AS l WHERE l.seq <= r.seq), r.time_ns, 0 FROM requests AS r, cause AS c"
	" WHERE r.status = 200 AND r.apigroup = c.apigroup AND r.resource = c.resource AND r.seq >= c.seq"
	" AND (r.verb = 'list' OR (r.verb = 'get' AND r.name = c.name AND coalesce(r.namespace, '') = coalesce(c.namespace, '')))"
	" AND r.request NOT IN (SELECT request FROM faults WHERE what IN ('stale_view', 'stale_list') AND request IS NOT NULL)"
	" UNION ALL SELECT NULL, time_ns, step = 'restart' FROM faults"
	" WHERE step = 'restart' OR (step = 'request' AND what NOT IN ('stale_view', 'stale_list', 'wait'))),"
	" restarts AS MATERIALIZED (SELECT time_ns FROM faults WHERE step = 'restart'),"
	" views AS (SELECT seq, lead(at, 1, (SELECT time_ns FROM ends)) OVER w - at AS lasted_ns,"
	" lead(killed, 1, 0) OVER w AS killed,"
	" (SELECT min(time_ns) FROM restarts WHERE time_ns >= shown.at) - at AS lived_ns"
	" FROM shown WINDOW w AS (ORDER BY at, seq)),"
	" acted AS (SELECT 1 FROM writes AS w, cause AS c WHERE w.seq = c.seq AND w.status BETWEEN 200 AND 299"
	" AND (w.verb = 'delete' OR w.subresource = 'eviction') AND w.apigroup = c.apigroup AND w.resource = c.resource"
	" AND w.name = c.name AND coalesce(w.namespace, '') = coalesce(c.namespace, '')"
	" AND NOT EXISTS (SELECT 1 FROM restarts)),"
	" others AS MATERIALIZED (SELECT e.seq FROM events AS e, cause AS c, effect, ends WHERE e.type = 'DELETED'"
	" AND e.seq > c.seq AND e.seq <= ends.seq AND e.uid IS NOT c.uid AND (instr(text, e.uid)"
	" OR (e.name <> c.name AND " SWEEP_NAMES("text",
		"e") "))),"
		     " passed AS (SELECT seq, (SELECT min(at) FROM (SELECT out_ns AS at FROM deliveries WHERE seq >= o.seq"
		     "  UNION ALL SELECT time_ns FROM requests WHERE seq >= o.seq)) AS at FROM others AS o)"
		     " SELECT NOT EXISTS (SELECT 1 FROM cause) OR (((SELECT max(seq) FROM later) IN (SELECT seq FROM telling)"
		     "   OR EXISTS (SELECT 1 FROM views JOIN telling USING (seq) WHERE NOT killed AND lasted_ns >= %lld"
		     "    AND (lived_ns IS NULL OR lived_ns >= %lld)) OR EXISTS (SELECT 1 FROM acted))"
		     "  AND NOT EXISTS (SELECT 1 FROM passed WHERE at < %lld + coalesce((SELECT min(at) FROM shown JOIN telling USING (seq)),"
		     "   (SELECT time_ns FROM ends))))";
/* clang-format on */

static int on_truth(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	(void)count;
	(void)err;
	*(bool *)context = v[0].integer;
	return 0;
}

int sweep_was_seen(struct sql_session *run, uint64_t seq, uint64_t end_seq, const char *text, bool undone,
	int64_t pace_ns, bool *ret, struct err *err)
{
	const struct sql_sink sink = {.row = on_truth, .context = ret};
	/* In lock-step it has acted on each version when the next one comes. */
	int64_t life_ns = pace_ns ? 0 : LIFE_NS;

	*ret = true;
	return sql_session_run_format(run, &sink, err, seen_sql, (unsigned long long)seq, text,
		(unsigned long long)end_seq, (int)undone, (long long)pace_ns, (long long)life_ns,
		(long long)pace_ns);
}

/* ---- fields ---- */

/* The writes to an object, each with what it was before; NULL: it was made. */
#define STEPS                                                                                                                 \
	"WITH w AS (SELECT write, seq, object, status = 201 AND coalesce(subresource, '') = '' AS made FROM writes"           \
	"  WHERE status BETWEEN 200 AND 299 AND coalesce(dry_run, 0) = 0"                                                     \
	"  AND verb NOT LIKE 'delete%%' AND policy = 'overlay' AND json_valid(object) AND resource || iif(apigroup = '', ''," \
	"  '.' || apigroup) || ' ' || iif(coalesce(namespace, '') = '', '', namespace || '/') || name = %Q),"                 \
	" steps AS (SELECT write, seq, object, iif(made, NULL, lag(object) OVER (ORDER BY write)) AS before FROM w)"

/* The event that was answered by the write which gave a field of that object the value of its end: no later write changed
 * it, nor what it is a part of, nor a part of it. 0: the state at the start was. */
static const char given_sql[] = STEPS
	", field AS (SELECT %Q AS name),"
	" given AS (SELECT max(write), seq FROM steps, field WHERE before IS NULL OR EXISTS (SELECT 1 FROM"
	"  (SELECT json_extract(d.value, '$.field') AS of FROM json_each(jdiff(before, object)) AS d)"
	"  WHERE (substr(name, 1, length(of)) = of AND substr(name, length(of) + 1, 1) IN ('', '.', '['))"
	"   OR (substr(of, 1, length(name)) = name AND substr(of, length(name) + 1, 1) IN ('', '.', '['))))"
	" SELECT coalesce(seq, 0) * (coalesce(seq, 0) > (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'first_seq')) FROM given";

/* The same for an item of a list of plain values: the write that put it in, whatever else was put in later. */
static const char item_sql[] = STEPS
	" SELECT seq FROM steps WHERE instr(object, %Q) AND (before IS NULL OR NOT instr(before, %Q))"
	"  AND seq > (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'first_seq') ORDER BY write DESC LIMIT 1";

/* All events that were answered by writes which gave that field a value, or another one, in the same way: a sum is made of all of
 * them. How many of those that follow lead back to what all other fields were before it, as of a leader that goes and comes again:
 * a program that has not seen the first of these events has nothing to do at the others. Both values. And the next of these events
 * of the same object: from then on, the first one can no longer be told from it. */
static const char summed_sql[] = STEPS
	", field AS (SELECT %Q AS name, %Q AS path),"
	" raised AS MATERIALIZED (SELECT min(write) AS write, seq, before, object FROM steps, field"
	"  WHERE iif(before IS NULL, jget(object, path) IS NOT NULL,"
	"   EXISTS (SELECT 1 FROM json_each(jdiff(before, object)) AS d WHERE json_extract(d.value, '$.field') = name))"
	"  AND seq > (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'first_seq') GROUP BY seq),"
	" undone AS (SELECT a.write AS first, max(b.write) AS last FROM raised AS a JOIN raised AS b ON b.write > a.write, field"
	"  WHERE a.before IS NOT NULL AND NOT EXISTS (SELECT 1 FROM json_each(jdiff(a.before, b.object)) AS d"
	"   WHERE json_extract(d.value, '$.field') <> name AND json_extract(d.value, '$.field') NOT GLOB 'metadata.[rmg]*')"
	"  GROUP BY a.write),"
	" causes AS MATERIALIZED (SELECT r.*, apigroup, resource, namespace, name FROM raised AS r JOIN events AS e ON e.seq = r.seq)"
	" SELECT seq, (SELECT count(*) FROM raised AS b JOIN undone ON b.write > first AND b.write <= last WHERE first = a.write),"
	"  jget(before, path), jget(a.object, path), (SELECT coalesce(min(n.seq), %lld) FROM causes AS n WHERE n.seq > a.seq"
	"   AND n.name = a.name AND n.namespace IS a.namespace AND n.resource = a.resource AND n.apigroup = a.apigroup)"
	"  FROM causes AS a, field ORDER BY write";

/* The event that was answered by the write which gave another field of that object the value that the field then took over from it, as
 * a last state does from the present one; and the event that was answered by that. */
static const char taken_over_sql[] = STEPS
	", field AS (SELECT %Q AS name, %Q AS text),"
	" given AS (SELECT max(write) AS write, seq, before FROM steps, field WHERE EXISTS (SELECT 1 FROM json_each(jdiff(before, object)) AS d"
	"  WHERE json_extract(d.value, '$.field') = name) AND write > (SELECT max(write) FROM steps WHERE before IS NULL))"
	" SELECT s.seq, g.seq FROM steps AS s JOIN given AS g ON s.write < g.write AND instr(g.before, text), field"
	"  WHERE instr(s.object, text) AND (s.before IS NULL OR NOT instr(s.before, text)) ORDER BY s.write DESC LIMIT 1";

/* Whether the field may be computed from that sum: the write that gave it its last value changed the sum as well, and before
 * that it had the value in question. */
static const char computed_sql[] = STEPS
	", field AS (SELECT %Q AS name, %Q AS path, json_extract(%Q, '$') AS value, %Q AS sum),"
	" fields AS (SELECT write, json_extract(d.value, '$.field') AS of FROM steps, json_each(jdiff(before, object)) AS d"
	"  WHERE before IS NOT NULL),"
	" given AS (SELECT max(write) AS write FROM fields, field WHERE of = name)"
	" SELECT EXISTS (SELECT 1 FROM fields JOIN given USING (write), field WHERE of = sum)"
	"  AND EXISTS (SELECT 1 FROM steps, given, field WHERE steps.write < given.write AND jget(object, path) IS value)";

/* The changes of a thing in answer to later events of the object whose event was answered by its making, or by that of a later one of
 * that name. */
#define KEPT                                                                                                                                        \
	STEPS ", made AS (SELECT * FROM events WHERE seq = %llu),"                                                                                  \
	      " kept AS MATERIALIZED (SELECT s.write, s.seq, s.object, e.object AS version FROM steps AS s JOIN events AS e ON e.seq = s.seq, made" \
	      "  WHERE s.seq > made.seq AND e.name = made.name AND e.namespace IS made.namespace AND e.resource = made.resource"                    \
	      "  AND e.apigroup = made.apigroup"                                                                                                    \
	      "  AND e.type <> 'DELETED' AND s.before IS NOT NULL AND EXISTS (SELECT 1 FROM json_each(jdiff(s.before, s.object)) AS d"              \
	      "   WHERE json_extract(d.value, '$.field') NOT GLOB 'metadata.[rmg]*'))"

/* The first of these events in answer to which another thing of its resource was made, while it still names what the object no
 * longer shows, as a release that is replaced does: it cannot be made any more from then on. 0: none. */
static const char put_away_sql[] = KEPT
	" SELECT coalesce(min(k.seq), 0) FROM kept AS k JOIN writes AS own USING (write) JOIN writes AS next ON next.seq = k.seq"
	"   AND next.verb = 'create' AND next.status = 201 AND next.apigroup = own.apigroup AND next.resource = own.resource"
	"   AND next.name <> own.name, made"
	"  WHERE EXISTS (SELECT 1 FROM json_each(jdiff(made.object, k.version)) AS d"
	"   WHERE json_extract(d.value, '$.field') NOT GLOB 'metadata.[rmg]*' AND length(json_extract(d.value, '$.old')) > 2"
	"    AND instr(k.object, json_extract(d.value, '$.old')))";

static const char upkeep_sql[] = KEPT " SELECT DISTINCT seq FROM kept WHERE seq < %llu";

/* The fields of one object that differ. */
struct fields {
	struct sql_session *run, *exact;
	const char *key, *tape; /* tape: its version; NULL: all is the program's */
	int64_t pace_ns;
	struct text_list sums; /* whose difference was not to be seen */
	bool seen;             /* whether the cause of another one was */
	int rc;
	struct err *err;
};

static int on_seq(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	(void)count;
	(void)err;
	*(uint64_t *)context = (uint64_t)v[0].integer;
	return 0;
}

static int find_given(const struct fields *f, const struct json_change *d, uint64_t *ret)
{
	const struct sql_sink sink = {.row = on_seq, .context = ret};
	char *name = slice_dup(d->field), *value = slice_dup(d->old_value);
	bool is_item = *value && *name && name[strlen(name) - 1] == ']';
	int rc =
		is_item ? sql_session_run_format(f->exact, &sink, f->err, item_sql, f->key, value, value) : 0;

	if (rc == 0 && !*ret)
		rc = sql_session_run_format(f->exact, &sink, f->err, given_sql, f->key, name);
	free(value);
	free(name);
	return rc;
}

/* How many of the events that a sum is made of were not to be seen, or had nothing to be answered then. */
struct summed {
	const struct fields *of;
	const char *text;
	int64_t unseen, undone;       /* undone: of the next ones */
	struct sweep_gathered *words; /* NULL: it is a number */
};

static int on_summed(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct summed *s = context;
	bool seen = false;
	int rc = s->undone ? 0
			   : sweep_was_seen(s->of->run, (uint64_t)v[0].integer, (uint64_t)v[4].integer,
				     s->text, false, s->of->pace_ns, &seen, err);

	(void)count;
	if (s->words)
		sweep_gathered_write(s->words, v[2].bytes, v[3].bytes, rc == 0 && !seen);
	if (rc || seen)
		return rc;
	s->unseen++;
	s->undone = s->undone ? s->undone - 1 : v[1].integer;
	return 0;
}

/* Also in a text, as annotations and ConfigMaps have it. */
static bool is_whole_number(struct slice s, int64_t *ret)
{
	char text[24], *end;

	if (s.len > 2 && *s.ptr == '"')
		s = (struct slice){s.ptr + 1, s.len - 2};
	if (!s.len || s.len >= sizeof(text))
		return false;
	memcpy(text, s.ptr, s.len);
	text[s.len] = '\0';
	*ret = strtoll(text, &end, 10);
	return !*end;
}

/* NULL where no path leads there, as to a name with a quote in it; the caller frees. */
static char *path_of(const struct json_change *d)
{
	char *path = slice_dup(d->path);
	struct slice value;

	if (json_get(slice_of("{}"), path, &value, NULL) >= 0)
		return path;
	free(path);
	return NULL;
}

static bool look_at_raises(struct fields *f, const struct json_change *d, struct summed *ret)
{
	const struct sql_sink sink = {.row = on_summed, .context = ret};
	char *name, *path = path_of(d);

	if (!path)
		return false;
	name = slice_dup(d->field);
	f->rc = sql_session_run_format(
		f->exact, &sink, f->err, summed_sql, f->key, name, path, (long long)SWEEP_NO_END);
	free(name);
	free(path);
	return f->rc == 0 && ret->unseen;
}

/* A number that differs by no more than the number of those events. */
static bool is_number_unseen(struct fields *f, const struct json_change *d, const char *text)
{
	struct summed s = {.of = f, .text = text};
	int64_t without, with;

	return is_whole_number(d->old_value, &without) && is_whole_number(d->new_value, &with) &&
	       with <= without && look_at_raises(f, d, &s) && s.unseen >= without - with;
}

/* A text that lacks what the answers to those events would have put there. */
static bool is_text_unseen(struct fields *f, const struct json_change *d, const char *text)
{
	struct summed s = {.of = f, .text = text};
	bool unseen;

	if (!slice_begins(d->old_value, "\"") || !slice_begins(d->new_value, "\""))
		return false;
	s.words = sweep_gathered_new(d->old_value, d->new_value);
	unseen = look_at_raises(f, d, &s) && sweep_gathered_is_unseen(s.words);
	sweep_gathered_free(s.words);
	return unseen;
}

/* An item that others put in, and the program only took out: no event was to be answered by it. */
static bool is_item_of_tape(const struct fields *f, const struct json_change *d)
{
	bool is_item = d->old_value.len && d->field.len && d->field.ptr[d->field.len - 1] == ']';
	char *value = is_item && f->tape ? slice_dup(d->old_value) : NULL;
	bool is = value && strstr(f->tape, value);

	free(value);
	return is;
}

/* Whether what the field answers to could be seen. */
static bool is_cause_seen(struct fields *f, const struct json_change *d, const char *text)
{
	uint64_t seq = 0;
	bool seen = true;

	if (is_item_of_tape(f, d))
		return true;
	f->rc = find_given(f, d, &seq);
	if (f->rc == 0 && seq)
		f->rc = sweep_was_seen(
			f->run, seq, SWEEP_NO_END, text, !d->old_value.len, f->pace_ns, &seen, f->err);
	return seen;
}

struct source {
	uint64_t seq, end_seq;
};

static int on_source(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	(void)count;
	(void)err;
	*(struct source *)context = (struct source){(uint64_t)v[0].integer, (uint64_t)v[1].integer};
	return 0;
}

/* Whether it could be seen in time what gave the field's value without the fault to that of which the field has it. */
static bool is_source_seen(struct fields *f, const struct json_change *d, const char *text)
{
	struct source from = {0};
	bool seen = true;
	const struct sql_sink sink = {.row = on_source, .context = &from};
	char *name = slice_dup(d->field), *value = slice_dup(d->old_value);

	if (d->old_value.len > LONE_TEXT_BYTES && *value == '"')
		f->rc = sql_session_run_format(f->exact, &sink, f->err, taken_over_sql, f->key, name, value);
	if (f->rc == 0 && from.seq)
		f->rc = sweep_was_seen(
			f->run, from.seq, from.end_seq, text, false, f->pace_ns, &seen, f->err);
	free(value);
	free(name);
	return seen;
}

/* The object and what the field had without the fault; the caller frees. */
static char *text_of(const struct fields *f, const struct json_change *d)
{
	return xasprintf("%s %.*s", f->key, (int)d->old_value.len, d->old_value.ptr ? d->old_value.ptr : "");
}

static bool look_for_sums(void *context, const struct json_change *d)
{
	struct fields *f = context;
	char *name = slice_dup(d->field), *text = text_of(f, d);

	if (is_number_unseen(f, d, text) || is_text_unseen(f, d, text))
		(void)text_list_keep(&f->sums, name);
	free(text);
	free(name);
	return f->rc;
}

/* From one of the sums. */
static bool is_computed(struct fields *f, const char *name, const struct json_change *d)
{
	bool computed = false;
	const struct sql_sink sink = {.row = on_truth, .context = &computed};
	char *value = d->new_value.len ? slice_dup(d->new_value) : NULL, *path = path_of(d);

	for (size_t i = 0; i < f->sums.count && path && !computed && f->rc == 0; i++)
		f->rc = sql_session_run_format(
			f->exact, &sink, f->err, computed_sql, f->key, name, path, value, f->sums.items[i]);
	free(path);
	free(value);
	return computed;
}

/* Stops at the first whose cause was to be seen. */
static bool look_at_field(void *context, const struct json_change *d)
{
	struct fields *f = context;
	char *name = slice_dup(d->field), *text = text_of(f, d);

	f->seen = !text_list_has(&f->sums, name) && is_cause_seen(f, d, text) && !is_computed(f, name, d) &&
		  is_source_seen(f, d, text);
	free(text);
	free(name);
	return f->rc || f->seen;
}

/* ---- all of it ---- */

/* What was looked into: the run, and the ground's in lock-step. */
struct unseen {
	struct sql_session *run, *exact; /* exact: NULL if the ground has none */
	const struct sweep_ground *ground;
	int64_t pace_ns;
};

/* What the thing became in answer to later events of the object that it was made for: who misses the first of them can make it at the
 * next. */
struct upkeep {
	const struct unseen *of;
	const char *text;
	bool seen;
};

static int on_upkeep(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct upkeep *u = context;

	(void)count;
	return u->seen ? 0
		       : sweep_was_seen(u->of->run, (uint64_t)v[0].integer, SWEEP_NO_END, u->text, false,
				 u->of->pace_ns, &u->seen, err);
}

static int is_upkeep_seen(const struct unseen *u, const struct sweep_effect *e, const char *text,
	uint64_t end_seq, bool *ret, struct err *err)
{
	struct upkeep k = {.of = u, .text = text};
	const struct sql_sink sink = {.row = on_upkeep, .context = &k};
	int rc = sql_session_run_format(u->exact, &sink, err, upkeep_sql, e->key,
		(unsigned long long)e->made_seq, (unsigned long long)end_seq);

	*ret = rc == 0 && k.seen;
	return rc;
}

/* SWEEP_NO_END: it is not. */
static int find_put_away(const struct unseen *u, const struct sweep_effect *e, uint64_t *ret, struct err *err)
{
	const struct sql_sink sink = {.row = on_seq, .context = ret};
	int rc = u->exact ? sql_session_run_format(u->exact, &sink, err, put_away_sql, e->key,
				    (unsigned long long)e->made_seq)
			  : 0;

	*ret = *ret ? *ret : SWEEP_NO_END;
	return rc;
}

/* A thing that only the ground has. */
static int is_thing_unseen(const struct unseen *u, const struct sweep_effect *e, bool *ret, struct err *err)
{
	char *text = xasprintf("%s %s", e->key, e->content);
	uint64_t end_seq = 0;
	bool seen = true;
	int rc = find_put_away(u, e, &end_seq, err);

	if (rc == 0 && e->made_seq)
		rc = sweep_was_seen(u->run, e->made_seq, end_seq, text, false, u->pace_ns, &seen, err);
	if (rc == 0 && !seen && u->exact)
		rc = is_upkeep_seen(u, e, text, end_seq, &seen, err);
	*ret = rc == 0 && !seen;
	free(text);
	return rc;
}

/* All that differs in one that both have. */
static int are_fields_unseen(const struct unseen *u, const struct sweep_effect *without,
	const struct sweep_effect *with, bool *ret, struct err *err)
{
	const struct sweep_effect *const sides[2] = {without, with};
	struct fields f = {.run = u->run,
		.exact = u->exact,
		.key = without->key,
		.tape = without->tape,
		.pace_ns = u->pace_ns,
		.seen = true,
		.err = err};

	if (u->exact && !sweep_content_each(&u->ground->measure, sides, look_for_sums, &f))
		(void)sweep_content_each(&u->ground->measure, sides, look_at_field, &f);
	text_list_release(&f.sums);
	*ret = f.rc == 0 && !f.seen;
	return f.rc;
}

static const struct sweep_effect *find_in(const struct sweep_answer *a, const char *key)
{
	return sweep_effect_find(a->effects, a->effect_count, key);
}

/* Whether the effect is there, and the same. */
static bool is_same(const struct sweep_answer *a, const struct sweep_effect *e)
{
	const struct sweep_effect *other = find_in(a, e->key);

	return other && strcmp(other->content, e->content) == 0;
}

static bool is_all_same(const struct sweep_ground *ground, const struct sweep_answer *answer)
{
	size_t i = 0;

	while (i < ground->answer.effect_count && is_same(answer, &ground->answer.effects[i]))
		i++;
	return i == ground->answer.effect_count;
}

static int find_all(const struct unseen *u, struct sweep_answer *answer, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < u->ground->answer.effect_count && rc == 0; i++) {
		const struct sweep_effect *e = &u->ground->answer.effects[i], *with = find_in(answer, e->key);
		bool unseen;

		if (is_same(answer, e))
			continue;
		rc = with ? are_fields_unseen(u, e, with, &unseen, err) : is_thing_unseen(u, e, &unseen, err);
		if (rc == 0 && unseen)
			text_list_add(&answer->unseen, e->key);
	}
	return rc;
}

/* Of a thing that is missing because what it answers to was not to be seen. */
static bool is_kin_missing(
	const struct unseen *u, const struct sweep_answer *answer, const struct sweep_effect *e)
{
	for (size_t i = 0; i < answer->unseen.count; i++) {
		const struct sweep_effect *missing = find_in(&u->ground->answer, answer->unseen.items[i]);

		if (missing && !find_in(answer, missing->key) && sweep_are_kin(missing, e))
			return true;
	}
	return false;
}

/* What the program went on to do with such a thing, it cannot do either. */
static void find_what_follows(const struct unseen *u, struct sweep_answer *answer)
{
	for (size_t i = 0; i < u->ground->answer.effect_count; i++) {
		const struct sweep_effect *e = &u->ground->answer.effects[i];

		if (!is_same(answer, e) && find_in(answer, e->key) &&
			!text_list_has(&answer->unseen, e->key) && is_kin_missing(u, answer, e))
			text_list_add(&answer->unseen, e->key);
	}
}

int sweep_unseen_find(const char *tape, const char *run, const char *exact, const struct sweep_ground *ground,
	int64_t pace_ns, struct sweep_answer *answer, struct err *err)
{
	struct unseen u = {.ground = ground, .pace_ns = pace_ns};
	int rc;

	if (!ground->is_exact || is_all_same(ground, answer))
		return 0;
	rc = sql_session_open_run(tape, run, &u.run, err);
	if (rc == 0 && exact)
		rc = sql_session_open_run(tape, exact, &u.exact, err);
	if (rc == 0 && u.exact)
		rc = sweep_numbered_find(u.run, u.exact, ground, pace_ns, answer, err);
	if (rc == 0)
		rc = find_all(&u, answer, err);
	if (rc == 0)
		find_what_follows(&u, answer);
	sql_session_close(u.exact);
	sql_session_close(u.run);
	return rc;
}
