/* sweep_unseen.c: see sweep_unseen.h. */
#include "tools/sweep/sweep_unseen_internal.h"

#include "tools/sweep/sweep_kin.h"
#include "tools/sweep/sweep_numbered.h"

#include "schema/base/clock.h"

#include <stdlib.h>

#define LIFE_NS (200 * NS_PER_MS) /* a program that is killed sooner had no time to act on what came */

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

int sweep_unseen_on_truth(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	(void)count;
	(void)err;
	*(bool *)context = v[0].integer;
	return 0;
}

int sweep_was_seen(struct sql_session *run, uint64_t seq, uint64_t end_seq, const char *text, bool undone,
	int64_t pace_ns, bool *ret, struct err *err)
{
	const struct sql_sink sink = {.row = sweep_unseen_on_truth, .context = ret};
	/* In lock-step it has acted on each version when the next one comes. */
	int64_t life_ns = pace_ns ? 0 : LIFE_NS;

	*ret = true;
	return sql_session_run_format(run, &sink, err, seen_sql, (unsigned long long)seq, text,
		(unsigned long long)end_seq, (int)undone, (long long)pace_ns, (long long)life_ns,
		(long long)pace_ns);
}

/* ---- things ---- */

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

int sweep_unseen_on_seq(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	(void)count;
	(void)err;
	*(uint64_t *)context = (uint64_t)v[0].integer;
	return 0;
}

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
	const struct sql_sink sink = {.row = sweep_unseen_on_seq, .context = ret};
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
		rc = with ? sweep_unseen_fields(u, e, with, &unseen, err)
			  : is_thing_unseen(u, e, &unseen, err);
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

static char *join_unsteady(const struct text_list *unsteady)
{
	char *all = xstrdup("\n");

	for (size_t i = 0; i < unsteady->count; i++) {
		char *longer = xasprintf("%s%s\n", all, unsteady->items[i]);

		free(all);
		all = longer;
	}
	return all;
}

int sweep_unseen_find(const char *tape, const char *run, const char *exact, const struct sweep_ground *ground,
	int64_t pace_ns, struct sweep_answer *answer, struct err *err)
{
	struct unseen u = {.ground = ground, .pace_ns = pace_ns};
	int rc;

	if (!ground->is_exact || is_all_same(ground, answer))
		return 0;
	u.unsteady = join_unsteady(&ground->measure.unsteady);
	rc = sql_session_open_run(tape, run, &u.run, err);
	if (rc == 0 && exact)
		rc = sql_session_open_run(tape, exact, &u.exact, err);
	if (rc == 0 && u.exact)
		rc = sweep_numbered_find(u.run, u.exact, ground, pace_ns, answer, err);
	if (rc == 0)
		rc = find_all(&u, answer, err);
	if (rc == 0)
		find_what_follows(&u, answer);
	free(u.unsteady);
	sql_session_close(u.exact);
	sql_session_close(u.run);
	return rc;
}
