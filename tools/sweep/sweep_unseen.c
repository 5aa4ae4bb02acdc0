/* sweep_unseen.c: see sweep_unseen.h. */
#include "tools/sweep/sweep_unseen.h"

#include "schema/sql/session.h"

#include <sqlite3.h>
#include <stdlib.h>

/* 0: not to be seen. `telling` are the versions of the object that show what the event changed (one that is to go does not
 * show what there was to do before), `views` those that the program was shown, and for how long each was its newest,
 * until it was killed or something it asked for was refused.
 * `others` are objects that the effect names and that are deleted later: it answers to the event and to these together. */
static const char seen_sql[] =
	"WITH cause AS (SELECT * FROM events WHERE seq = %llu), effect AS (SELECT %Q AS text),"
	" ends AS (SELECT (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'last_seq') AS seq,"
	"  (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'end_ns') AS time_ns),"
	" later AS MATERIALIZED (SELECT e.seq, e.type, e.uid, e.object,"
	"  json_extract(e.object, '$.metadata.deletionTimestamp') IS NOT NULL AS is_ending FROM events AS e, cause AS c, ends"
	"  WHERE e.apigroup = c.apigroup AND e.resource = c.resource AND e.namespace IS c.namespace"
	"  AND e.name = c.name AND e.seq BETWEEN c.seq AND ends.seq),"
	" changed AS MATERIALIZED (SELECT path FROM changes, cause AS c WHERE changes.seq = c.seq AND c.type = 'MODIFIED'),"
	" telling AS MATERIALIZED (SELECT l.seq FROM later AS l, cause AS c WHERE c.type = 'DELETED'"
	"  OR (l.type <> 'DELETED' AND l.uid IS c.uid"
	"   AND l.is_ending <= (SELECT is_ending FROM later WHERE seq = c.seq) AND (c.type <> 'MODIFIED' OR EXISTS (SELECT path FROM changed"
	"   EXCEPT SELECT json_extract(d.value, '$.path') FROM json_each(jdiff(c.object, l.object)) AS d)))),"
	" shown AS (SELECT d.seq, d.out_ns AS at, 0 AS killed FROM deliveries AS d JOIN later USING (seq)"
	"  UNION ALL SELECT (SELECT max(l.seq) FROM later AS l WHERE l.seq <= r.seq), r.time_ns, 0 FROM requests AS r, cause AS c"
	"   WHERE r.status = 200 AND r.apigroup = c.apigroup AND r.resource = c.resource AND r.seq >= c.seq"
	"   AND (r.verb = 'list' OR (r.verb = 'get' AND r.name = c.name AND coalesce(r.namespace, '') = coalesce(c.namespace, '')))"
	"   AND NOT EXISTS (SELECT 1 FROM faults AS f WHERE f.request = r.request AND f.what IN ('stale_view', 'stale_list'))"
	"  UNION ALL SELECT NULL, time_ns, step = 'restart' FROM faults"
	"   WHERE step = 'restart' OR (step = 'request' AND what NOT IN ('stale_view', 'stale_list'))),"
	" views AS (SELECT seq, lead(at, 1, (SELECT time_ns FROM ends)) OVER w - at AS lasted_ns,"
	"  lead(killed, 1, 0) OVER w AS killed FROM shown WINDOW w AS (ORDER BY at, seq)),"
	" others AS MATERIALIZED (SELECT e.seq FROM events AS e, cause AS c, effect, ends WHERE e.type = 'DELETED'"
	"  AND e.seq > c.seq AND e.seq <= ends.seq AND e.uid IS NOT c.uid AND (instr(text, e.uid)"
	"   OR (e.name <> c.name AND " SWEEP_NAMES("text",
		"e") "))),"
		     " passed AS (SELECT seq, (SELECT min(at) FROM (SELECT out_ns AS at FROM deliveries WHERE seq >= o.seq"
		     "  UNION ALL SELECT time_ns FROM requests WHERE seq >= o.seq)) AS at FROM others AS o)"
		     " SELECT NOT EXISTS (SELECT 1 FROM cause) OR (((SELECT max(seq) FROM later) IN (SELECT seq FROM telling)"
		     "   OR EXISTS (SELECT 1 FROM views JOIN telling USING (seq) WHERE NOT killed AND lasted_ns >= %lld))"
		     "  AND NOT EXISTS (SELECT 1 FROM passed WHERE at < %lld + coalesce((SELECT min(at) FROM shown JOIN telling USING (seq)),"
		     "   (SELECT time_ns FROM ends))))";

static int on_seen(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	(void)count;
	(void)err;
	*(bool *)context = v[0].integer;
	return 0;
}

static int was_seen(
	struct sql_session *s, const struct sweep_effect *e, int64_t pace_ns, bool *ret, struct err *err)
{
	const struct sql_sink sink = {.row = on_seen, .context = ret};
	char *text = xasprintf("%s %s", e->key, e->content);
	char *sql = sqlite3_mprintf(
		seen_sql, (unsigned long long)e->made_seq, text, (long long)pace_ns, (long long)pace_ns);
	int rc;

	*ret = true;
	rc = sql ? sql_session_run(s, slice_of(sql), &sink, err) : err_set(err, ERR_FAILED, "out of memory");
	sqlite3_free(sql);
	free(text);
	return rc;
}

static bool lacks(const struct sweep_answer *a, const char *key)
{
	return !sweep_effect_find(a->effects, a->effect_count, key);
}

static bool lacks_any(const struct sweep_ground *ground, const struct sweep_answer *answer)
{
	for (size_t i = 0; i < ground->answer.effect_count; i++) {
		if (lacks(answer, ground->answer.effects[i].key))
			return true;
	}
	return false;
}

static int find_all(struct sql_session *s, const struct sweep_ground *ground, int64_t pace_ns,
	struct sweep_answer *answer, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < ground->answer.effect_count && rc == 0; i++) {
		const struct sweep_effect *e = &ground->answer.effects[i];
		bool seen;

		if (!e->made_seq || !lacks(answer, e->key))
			continue;
		rc = was_seen(s, e, pace_ns, &seen, err);
		if (rc == 0 && !seen)
			text_list_add(&answer->unseen, e->key);
	}
	return rc;
}

int sweep_unseen_find(const char *tape, const char *run, const struct sweep_ground *ground, int64_t pace_ns,
	struct sweep_answer *answer, struct err *err)
{
	struct sql_session *s = NULL;
	int rc;

	if (!ground->is_exact || !lacks_any(ground, answer))
		return 0;
	rc = sql_session_open(tape, &s, err);
	if (rc == 0)
		rc = sql_session_add_run(s, run, err);
	if (rc == 0)
		rc = find_all(s, ground, pace_ns, answer, err);
	sql_session_close(s);
	return rc;
}
