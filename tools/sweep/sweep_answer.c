/*
 * sweep_answer.c: what a run came to. See sweep.h.
 *
 * Two programs that do their work well need not write the same things: who missed a state writes nothing
 * about it. So not the writes are compared, but what is left of them at the end: of each object the last
 * content, and nothing of objects that are gone by then, whether the tape deleted them or the program did.
 * Leases and Events do not count, nor does what the server fills in, and what differs by itself (sweep_normal.h).
 */
#include "tools/sweep/sweep.h"

#include "replayer/run/pace.h"
#include "schema/run/run_schema.h"
#include "tools/sweep/sweep_ignored.h"
#include "tools/sweep/sweep_normal.h"
#include "tools/sweep/sweep_oracle.h"

#include <stdlib.h>

/* What is left, one row for each object (and subresource, where writes are absorbed). Of an update that was
 * absorbed only what it changes counts: the rest is the version that the program happened to see. What belongs to an
 * owner that the tape deletes, a cluster's garbage collector takes away. Finalizers hold an object that anybody deletes: it
 * is left until the last of them is taken. The collector takes its own, which do not count. */
#define IS_HELD                                                                                              \
	"EXISTS (SELECT 1 FROM json_each(iif(json_valid(object), object, '{}'), '$.metadata.finalizers')"    \
	" WHERE value NOT IN ('orphan', 'foregroundDeletion'))"
/* Nothing holds it, and only others are waited for, such as the collector or a kubelet; and without a grace nobody is. */
#define IS_LET_GO "(json_extract(object, '$.metadata.deletionTimestamp') IS NOT NULL AND NOT " IS_HELD ")"
#define HAS_ENDED                                                                                            \
	"(" IS_LET_GO " AND coalesce(json_extract(object, '$.metadata.deletionGracePeriodSeconds'), 0) = 0)"

/* What lies over the tape at the end is there, though the tape may have deleted it: it leaves that to programs, or a finalizer
 * of theirs holds it. */
static const char there_sql[] =
	"WITH RECURSIVE start AS (SELECT CAST(value AS INTEGER) AS seq FROM run WHERE name = 'first_seq'),"
	" there AS MATERIALIZED (SELECT substr(of, 1, instr(of || '.', '.') - 1) AS resource, substr(of, instr(of || '.', '.') + 1)"
	"   AS apigroup, namespace, name, uid, object FROM (SELECT json_extract(j.value, '$[0]') AS of, json_extract(j.value, '$[1]')"
	"   AS namespace, json_extract(j.value, '$[2]') AS name, json_extract(j.value, '$[3]') AS uid, json_extract(j.value, '$[4]') AS object"
	"   FROM run, json_each(run.value) AS j WHERE run.name = 'left'))";

static const char left_sql[] =
	", w AS (SELECT write, seq, verb, apigroup, resource, coalesce(subresource, '') AS part,"
	"  coalesce(namespace, '') AS namespace, coalesce(name, '') AS name, policy, body, object,"
	"  coalesce(nullif(uid, ''), iif(json_valid(object), json_extract(object, '$.details.uid'), NULL)) AS uid,"
	"  coalesce(iif(verb = 'create' AND json_valid(body), json_extract(body, '$.metadata.generateName'), NULL),"
	"   '') AS prefix, policy = 'overlay' AND verb = 'delete' AND json_valid(object) AND " IS_HELD
	" AS is_held, status = 201 AND policy = 'overlay' AS is_made"
	"  FROM writes WHERE status BETWEEN 200 AND 299 AND coalesce(dry_run, 0) = 0"
	"  AND resource NOT IN ('leases', 'events')),"
	" deleted AS (SELECT apigroup, resource, namespace, name, max(write) AS at, seq, policy, uid FROM w"
	"  WHERE verb = 'delete' AND part = '' AND NOT is_held GROUP BY 1, 2, 3, 4),"
	" made AS MATERIALIZED (SELECT apigroup, resource, namespace, name FROM w WHERE part = '' GROUP BY 1, 2, 3, 4"
	"  HAVING min(iif(is_made, write, NULL)) < coalesce(min(iif(verb = 'delete', write, NULL)), 1 << 62)),"
	" after AS (SELECT w.* FROM w LEFT JOIN deleted USING (apigroup, resource, namespace, name)"
	"  WHERE (w.verb NOT LIKE 'delete%' OR is_held) AND w.write > coalesce(deleted.at, 0)),"
	/* an object that is left was made by the last creation of its name */
	" born AS (SELECT *, max(iif(is_made, write, 0)) OVER (PARTITION BY apigroup, resource, namespace, name) AS born FROM after),"
	" left AS (SELECT max(write) AS at, * FROM (SELECT *, min(iif(write >= born, seq, NULL)) OVER (PARTITION BY apigroup,"
	"   resource, namespace, name, iif(policy = 'overlay', '', part)) AS made_seq FROM born)"
	"  GROUP BY apigroup, resource, namespace, name, iif(policy = 'overlay', '', part)),"
	" lives AS (SELECT max(write) AS at, json_extract(object, '$.metadata.uid') AS uid, object FROM w"
	"  WHERE policy = 'overlay' AND verb NOT LIKE 'delete%' GROUP BY 2),"
	" owned AS (SELECT uid, json_extract(o.value, '$.uid') AS owner"
	"  FROM lives, json_each(object, '$.metadata.ownerReferences') AS o"
	"  WHERE (json_extract(o.value, '$.controller') OR json_array_length(object, '$.metadata.ownerReferences') = 1)),"
	" gone(uid) AS (SELECT uid FROM events WHERE EXISTS (SELECT 1 FROM owned) AND type = 'DELETED'"
	"   AND uid IS NOT NULL AND seq <= (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'last_seq')"
	"   AND uid NOT IN (SELECT uid FROM there)"
	"  UNION SELECT o.uid FROM gone JOIN owned AS o ON o.owner = gone.uid),"
	/* namespaces that the tape deletes take along what is in them */
	" emptied AS (SELECT name, max(seq) AS seq FROM events WHERE resource = 'namespaces' AND apigroup = ''"
	"  AND type = 'DELETED' AND seq <= (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'last_seq')"
	"  AND uid NOT IN (SELECT uid FROM there WHERE resource = 'namespaces') GROUP BY name)";

/* A garbage collector would have taken these with their owners, which the tape has deleted. */
static const char orphans_sql[] =
	" SELECT count(*), min(resource || iif(apigroup = '', '', '.' || apigroup) || ' '"
	"  || iif(coalesce(namespace, '') = '', '', namespace || '/') || name) FROM there"
	" WHERE uid IN (SELECT uid FROM owned) AND uid IN (SELECT uid FROM gone)";

/* What is kept, and what is deleted. The deletion of an object that the program had made itself is not told: the object is
 * as if it had never been, unless the program had deleted another one of that name before. */
static const char effects_sql[] =
	", effects AS (SELECT 'kept' AS what, made_seq, seq, apigroup, resource, namespace, name, part, policy, verb, body, object,"
	"   (SELECT prefix FROM after AS a WHERE a.apigroup = l.apigroup AND a.resource = l.resource"
	"    AND a.namespace = l.namespace AND a.name = l.name AND prefix <> '') AS prefix, NULL AS uid FROM left AS l"
	"   WHERE (policy <> 'overlay'"
	"    OR NOT (" HAS_ENDED " OR (NOT " IS_HELD
	" AND coalesce(json_extract(object, '$.metadata.uid'), '') IN (SELECT uid FROM gone)))) AND NOT EXISTS (SELECT 1"
	"    FROM emptied AS n WHERE n.name = l.namespace AND n.seq > l.seq)"
	"  UNION ALL SELECT 'deleted', seq, seq, apigroup, resource, namespace, name, '', policy, 'delete', NULL, NULL, NULL, uid"
	"   FROM deleted AS d WHERE NOT EXISTS (SELECT 1 FROM after AS a WHERE a.apigroup = d.apigroup"
	"    AND a.resource = d.resource AND a.namespace = d.namespace AND a.name = d.name)"
	"    AND (apigroup, resource, namespace, name) NOT IN made"
	"  UNION ALL SELECT 'deleted', seq, seq, apigroup, resource, namespace, name, '', policy, 'delete', NULL, NULL, NULL,"
	"   json_extract(object, '$.metadata.uid')"
	"   FROM left WHERE policy = 'overlay' AND (apigroup, resource, namespace, name) NOT IN made AND (" HAS_ENDED
	" OR (" IS_LET_GO " AND json_extract(object, '$.metadata.uid') IN (SELECT uid FROM gone)))"
	"  UNION ALL SELECT DISTINCT 'deleted', 0, 0, apigroup, resource, namespace, '(all)', '', policy, 'delete', NULL,"
	"   NULL, NULL, NULL FROM w WHERE verb = 'deletecollection')";

/* Whether the last state of the spec was observed; NULL: that is not told. */
#define IS_OBSERVED(object) object "->'$.status.observedGeneration'=" object "->'$.metadata.generation'"

/* What a server fills in, and who wrote what. A generation counts the states of a spec that there were: what is compared is whether
 * the last one was observed. */
#define WITHOUT_NOISE(object, is_observed)                                                                   \
	"json_remove(" object                                                                                \
	", '$.metadata.resourceVersion', '$.metadata.managedFields', '$.metadata.uid',"                      \
	" '$.metadata.creationTimestamp', '$.metadata.generation', '$.metadata.selfLink',"                   \
	" iif(" is_observed ", '$.status.observedGeneration', '$.metadata.selfLink'),"                       \
	" iif(coalesce(prefix, '') = '', '$.metadata.selfLink', '$.metadata.name'))"

/* Who observes the spec may be on the tape, where it never saw what the program changed: its status is the same in both. */
#define IS_OBSERVED_IN_BOTH                                                                                  \
	IS_OBSERVED("tape") " AND iif(json_valid(content), coalesce(" IS_OBSERVED("content") ", 1), 1)"

/* The object's own UID and a drawn name, which a run gives out, may stand anywhere: a Job's are labels of its pods. */
#define NAMELESS(content)                                                                                    \
	"replace(replace(" content ", iif(length(own_uid) >= 32, own_uid, ''), '(its UID)'),"                \
	" iif(coalesce(prefix, '') = '', '', name), coalesce(prefix, '') || '*')"

/* What answered a binding or an eviction tells nothing of the object. A binding is told as what it does to the pod. */
#define IS_STATUS "coalesce(json_valid(object) AND json_extract(object, '$.kind') = 'Status', 0)"
#define BOUND     "json_object('spec', json_object('nodeName', json_extract(body, '$.target.name')))"

/* Beside these what programs hold and none has written. And the last that the tape says of each name. */
static const char last_sql[] =
	", held AS (SELECT 'kept', 0, e.seq, apigroup, resource, t.namespace, name, '', 'overlay', 'update', NULL, e.object, NULL,"
	"   t.uid FROM there AS t JOIN events AS e USING (apigroup, resource, name) WHERE coalesce(e.namespace, '') = t.namespace"
	"   AND e.uid = t.uid AND e.type = 'DELETED' AND e.seq <= (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'last_seq')"
	"   AND NOT EXISTS (SELECT 1 FROM left AS l WHERE l.policy = 'overlay' AND l.apigroup = t.apigroup"
	"    AND l.resource = t.resource AND l.namespace = t.namespace AND l.name = t.name)),"
	" last AS (SELECT *, (SELECT max(seq) FROM events AS e WHERE e.apigroup = f.apigroup"
	"   AND e.resource = f.resource AND coalesce(e.namespace, '') = f.namespace AND e.name = f.name"
	"   AND e.seq <= (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'last_seq')) AS last_seq"
	"   FROM (SELECT * FROM effects UNION ALL SELECT * FROM held) AS f),";

/* What the tape had of an object of its own that writes lie over, and the content that counts. What was done to such an
 * object is no more when the tape has deleted it and made another one of that name; unless it is there all the same. */
static const char told_sql[] =
	" placed AS (SELECT *, (SELECT type FROM events AS e WHERE e.seq = last_seq) AS last_type,"
	"   (SELECT e.uid FROM events AS e WHERE e.seq = last_seq) AS last_uid, CASE WHEN what = 'deleted' THEN uid"
	"   WHEN " IS_STATUS
	" THEN (SELECT e.uid FROM events AS e WHERE e.apigroup = l.apigroup AND e.resource = l.resource"
	"    AND coalesce(e.namespace, '') = l.namespace AND e.name = l.name AND e.seq <= l.seq ORDER BY e.seq DESC LIMIT 1)"
	"   WHEN json_valid(object) THEN json_extract(object, '$.metadata.uid') END AS own_uid FROM last AS l),"
	" succeeded AS (SELECT *, coalesce(last_uid <> own_uid, 0) AND (what = 'deleted' OR (EXISTS (SELECT 1 FROM events AS e"
	"   WHERE e.apigroup = p.apigroup AND e.resource = p.resource AND coalesce(e.namespace, '') = p.namespace"
	"   AND e.name = p.name AND e.uid = own_uid AND e.type = 'DELETED' AND e.seq <= last_seq)"
	"   AND coalesce(json_array_length(object, '$.metadata.finalizers'), 0) = 0)) AS is_succeeded FROM placed AS p),"
	" found AS (SELECT p.*, t.uid IS NOT NULL AS is_there, t.object AS final FROM succeeded AS p LEFT JOIN there AS t ON"
	"   what = 'kept' AND policy = 'overlay' AND t.apigroup = p.apigroup AND t.resource = p.resource"
	"   AND t.namespace = p.namespace AND t.name = p.name AND t.uid = own_uid),"
	" beside AS (SELECT *, CASE WHEN what = 'kept' AND policy = 'overlay' THEN"
	"   (SELECT e.object FROM events AS e WHERE e.apigroup = p.apigroup"
	"    AND e.resource = p.resource AND coalesce(e.namespace, '') = p.namespace AND e.name = p.name AND e.seq <= iif(final IS NULL, p.seq, (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'ended_seq'))"
	"    AND e.uid = own_uid AND e.type <> 'DELETED' ORDER BY e.seq DESC LIMIT 1) END AS tape FROM found AS p),"
	" told AS (SELECT *, CASE WHEN what = 'deleted' THEN ''"
	"   WHEN final IS NOT NULL THEN final"
	"   WHEN part = 'binding' AND json_valid(body) THEN iif(tape IS NULL, " BOUND
	", json_patch(tape, " BOUND "))"
	"   WHEN policy = 'overlay' THEN object"
	"   WHEN verb = 'update' THEN coalesce((SELECT jdiff(e.object, p.object) FROM events AS e"
	"    WHERE e.apigroup = p.apigroup AND e.resource = p.resource AND coalesce(e.namespace, '') = p.namespace"
	"    AND e.name = p.name AND e.rv = json_extract(p.body, '$.metadata.resourceVersion') LIMIT 1), body)"
	"   WHEN json_valid(body) AND json_type(body) = 'array' THEN (SELECT json_group_array(json(o.value))"
	"    FROM json_each(body) AS o WHERE coalesce(json_extract(o.value, '$.op'), '') <> 'test')"
	"   ELSE body END AS content FROM beside AS p"
	"  WHERE is_there OR (coalesce(last_type, '') <> 'DELETED' AND (what = 'kept' OR last_type IS NOT NULL"
	"   OR name = '(all)') AND NOT (is_succeeded AND (what = 'kept' OR policy = 'overlay'))))";

/* The same as keys and contents, the tape's beside them. */
static const char keys_sql[] =
	" SELECT iif(what = 'deleted', 'deletion of ', '') || resource || iif(apigroup = '', '', '.' || apigroup)"
	"  || iif(part = '' OR policy = 'overlay', '', '/' || part) || ' '"
	"  || iif(namespace = '', '', namespace || '/') || iif(coalesce(prefix, '') = '', name, prefix || '*'),"
	" resource || iif(apigroup = '', '', '.' || apigroup), " NAMELESS(
		"iif(json_valid(content) AND json_type(content) ="
		"  'object', " WITHOUT_NOISE("content",
			IS_OBSERVED(
				"content")) ", content)") ", made_seq * (made_seq > (SELECT seq FROM start)),"
							  " iif(json_valid(tape), " WITHOUT_NOISE("tape",
								  IS_OBSERVED_IN_BOTH) ", NULL) FROM told";

#define STRIKES                                                                                              \
	" FROM faults WHERE rule = 1 AND (step IN ('watch', 'frame', 'write', 'restart')"                    \
	"  OR (step = 'request' AND what IN ('stale_view', 'stale_list', 'slow', 'http', 'refuse')))"

/* A change that was taken, of what a program does not write about itself. */
#define IS_CHANGE                                                                                            \
	"status = 200 AND verb NOT LIKE 'delete%' AND coalesce(dry_run, 0) = 0 AND resource NOT IN ('leases', 'events')"
/* Whether the program asks for objects of that resource as well. */
#define IS_READ                                                                                              \
	"EXISTS (SELECT 1 FROM requests AS r WHERE r.apigroup = w.apigroup AND r.resource = w.resource"      \
	" AND r.verb IN ('get', 'list', 'watch'))"

static const char facts_sql[] =
	"SELECT (SELECT value FROM run WHERE name = 'ended_by'),"
	" (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'exit_code'),"
	" (SELECT count(*) FROM requests WHERE " RUN_IS_WATCH
	"  AND seq <= (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'first_seq')),"
	" (SELECT count(*)" STRIKES "),"
	" (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'begin_ns'),"
	" (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'end_ns'),"
	" (SELECT count(*) FROM writes WHERE policy = 'absorb' AND status BETWEEN 200 AND 299),"
	" (SELECT coalesce((SELECT value FROM run WHERE name = 'probe'), '') || '(exit code ' || value || ')' FROM run"
	"  WHERE name = 'probe_exit_code'),"
	" coalesce((SELECT max(begun) FROM (SELECT min(time_ns) AS begun FROM requests WHERE verb IN ('list', 'watch')"
	"  AND seq <= (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'first_seq') GROUP BY apigroup, resource)),"
	"  (SELECT min(time_ns) FROM requests), 0),"
	" (SELECT max(pause) FROM (SELECT time_ns - lag(time_ns) OVER (ORDER BY time_ns) AS pause FROM requests"
	"  WHERE coalesce(resource, '') NOT IN ('leases', 'events'))),"
	" (SELECT count(DISTINCT seq) FROM deliveries),"
	" (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'probe_exit_code'),"
	" (SELECT min(time_ns)" STRIKES "),"
	" EXISTS (SELECT 1 FROM writes AS w WHERE w.policy = 'absorb' AND " IS_READ
	"  AND (w.status = 201 OR " IS_CHANGE ") AND coalesce(w.subresource, '') = '')"
	"  OR EXISTS (SELECT 1 FROM writes AS w WHERE w.policy = 'absorb' AND " IS_READ
	" AND w.subresource = 'status' AND " IS_CHANGE
	"   GROUP BY apigroup, resource, namespace, name HAVING count(*) > 1),"
	" EXISTS (SELECT 1 FROM run WHERE name = 'rebased'),"
	" (SELECT max(seq) FROM requests), (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'last_seq'),"
	" (SELECT count(*) FROM (SELECT DISTINCT apigroup, resource, namespace, name FROM writes WHERE " IS_CHANGE
	")),"
	" (SELECT count(*) FROM writes WHERE " IS_CHANGE "),"
	" (SELECT count(*) FROM writes WHERE " IS_CHANGE
	" AND seq < (SELECT max(seq) FROM deliveries WHERE seq < 1 << 62))";

struct reading {
	struct sweep_answer *to;
	const struct compare_rules *ignored; /* NULL: none */
	struct sweep_normal normal;
	char ended_by[16];
};

/* ---- reading ---- */

static int on_facts(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct reading *r = context;

	(void)count;
	(void)err;
	if (v[0].type == SQL_TEXT && v[0].bytes.len < sizeof(r->ended_by))
		memcpy(r->ended_by, v[0].bytes.ptr, v[0].bytes.len);
	r->to->exit_code = v[1].integer;
	r->to->watches = (uint64_t)v[2].integer;
	r->to->hits = (uint64_t)v[3].integer;
	r->normal.begin_ns = v[4].integer;
	r->normal.end_ns = v[5].integer;
	r->to->absorbed = (uint64_t)v[6].integer;
	if (v[8].integer > r->normal.begin_ns)
		r->to->start_ns = v[8].integer - r->normal.begin_ns;
	r->to->delivered = (uint64_t)v[10].integer;
	r->to->pause_ns = v[9].type == SQL_INTEGER ? v[9].integer : 0;
	if (v[7].type == SQL_TEXT)
		r->to->probe = slice_dup(v[7].bytes);
	r->to->probe_code = v[11].integer;
	r->to->reads_back = v[13].integer;
	r->normal.rebased = v[14].integer;
	r->to->at_seq = (uint64_t)v[15].integer;
	r->to->last_seq = (uint64_t)v[16].integer;
	r->to->changed = v[17].integer;
	r->to->changes = v[18].integer;
	r->to->early = v[19].integer;
	if (v[12].type == SQL_INTEGER && r->normal.end_ns > v[12].integer)
		r->to->trouble_ns = r->normal.end_ns - v[12].integer;
	return 0;
}

static char *text_of(const struct sql_value *v)
{
	return v->type == SQL_TEXT || v->type == SQL_BLOB ? slice_dup(v->bytes) : xstrdup("");
}

static int on_effect(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct reading *r = context;
	struct sweep_answer *to = r->to;

	(void)count;
	(void)err;
	if (sweep_ignores(r->ignored, v[1].bytes))
		return 0;
	to->effects = xrealloc(to->effects, (to->effect_count + 1) * sizeof(*to->effects));
	to->effects[to->effect_count++] = (struct sweep_effect){.key = text_of(&v[0]),
		.resource = text_of(&v[1]),
		.content = sweep_normal_text(&r->normal, v[2].bytes),
		.tape = v[4].type == SQL_TEXT ? sweep_normal_text(&r->normal, v[4].bytes) : NULL,
		.made_seq = v[3].type == SQL_INTEGER ? (uint64_t)v[3].integer : 0};
	return 0;
}

static int on_orphans(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct sweep_answer *to = context;

	(void)count;
	(void)err;
	to->orphans = (uint64_t)v[0].integer;
	to->orphan = v[1].type == SQL_TEXT ? slice_dup(v[1].bytes) : NULL;
	return 0;
}

static int read_orphans(struct sql_session *s, struct sweep_answer *to, struct err *err)
{
	const struct sql_sink orphans = {.row = on_orphans, .context = to};
	char *sql = xasprintf("%s%s%s", there_sql, left_sql, orphans_sql);
	int rc = sql_session_run(s, slice_of(sql), &orphans, err);

	free(sql);
	return rc;
}

static int on_request(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	(void)count;
	(void)err;
	pace_note(context, v[0].integer);
	return 0;
}

static int read_pace(struct sql_session *s, struct sweep_answer *to, struct err *err)
{
	struct pace pace = {0};
	const struct sql_sink requests = {.row = on_request, .context = &pace};
	int rc =
		sql_session_run(s, slice_of("SELECT time_ns FROM requests ORDER BY time_ns"), &requests, err);

	to->rest_ns = pace_rest_ns(&pace);
	return rc;
}

static int by_key(const void *left, const void *right)
{
	const struct sweep_effect *a = left, *b = right;
	int order = strcmp(a->key, b->key);

	return order ? order : strcmp(a->content, b->content);
}

const struct sweep_effect *sweep_effect_find(const struct sweep_effect *items, size_t count, const char *key)
{
	size_t first = 0, end = count;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (strcmp(items[middle].key, key) < 0)
			first = middle + 1;
		else
			end = middle;
	}
	return first < count && strcmp(items[first].key, key) == 0 ? &items[first] : NULL;
}

void sweep_effects_sort(struct sweep_effect *items, size_t count)
{
	if (count)
		qsort(items, count, sizeof(*items), by_key);
}

void sweep_answer_sort(struct sweep_answer *a)
{
	sweep_effects_sort(a->effects, a->effect_count);
}

static int read_all(struct sql_session *s, const char *run, struct reading *r, struct err *err)
{
	const struct sql_sink facts = {.row = on_facts, .context = r};
	const struct sql_sink effects = {.row = on_effect, .context = r};
	char *sql = xasprintf("%s%s%s%s%s%s", there_sql, left_sql, effects_sql, last_sql, told_sql, keys_sql);
	int rc = sql_session_add_run(s, run, err);

	if (rc == 0)
		rc = sql_session_run(s, slice_of(facts_sql), &facts, err);
	if (rc == 0)
		rc = sweep_normal_read(s, &r->normal, err);
	if (rc == 0)
		rc = sql_session_run(s, slice_of(sql), &effects, err);
	free(sql);
	if (rc == 0)
		rc = sweep_counts_read(s, r->ignored, &r->to->counts, err);
	return rc;
}

int sweep_answer_read(const char *tape, const char *run, const struct sweep_asked *asked,
	struct sweep_answer *ret, struct err *err)
{
	struct sweep_answer answer = {0};
	struct reading r = {.to = &answer, .ignored = asked->ignored};
	struct sql_session *s = NULL;
	int rc = sql_session_open(tape, &s, err);

	if (rc == 0)
		rc = read_all(s, run, &r, err);
	if (rc == 0 && asked->invariants)
		rc = sweep_oracle_read(s, asked->invariants, asked->log, &answer.alarms, err);
	if (rc == 0 && asked->invariants)
		rc = sweep_health_read(s, asked->settle_ns, &answer.health, err);
	if (rc == 0 && asked->without)
		rc = read_orphans(s, &answer, err);
	if (rc == 0 && asked->without)
		rc = read_pace(s, &answer, err);
	if (rc == 0 && asked->without)
		rc = sweep_recorded_read(s, &answer.recorded, err);
	sql_session_close(s);
	sweep_normal_release(&r.normal);
	if (asked->timed_out || strcmp(r.ended_by, "limit") == 0)
		answer.end = SWEEP_TIMEOUT;
	else if (strcmp(r.ended_by, "quiet") == 0)
		answer.end = SWEEP_QUIET;
	else if (rc == 0 && (!*r.ended_by || strcmp(r.ended_by, "failure") == 0))
		rc = err_set(err, ERR_NOT_FOUND, "the replay of '%s' failed, or was killed", run);
	sweep_answer_sort(&answer);
	if (rc)
		sweep_answer_release(&answer);
	else
		*ret = answer;
	return rc;
}

void sweep_effects_free(struct sweep_effect *items, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(items[i].key);
		free(items[i].own_key);
		free(items[i].resource);
		free(items[i].content);
		free(items[i].tape);
	}
	free(items);
}

void sweep_answer_release(struct sweep_answer *a)
{
	sweep_effects_free(a->effects, a->effect_count);
	sweep_health_release(&a->health);
	sweep_recorded_release(&a->recorded);
	free((void *)a->unseen.items);
	free((void *)a->made_again.items);
	free((void *)a->exchanged.items);
	sweep_counts_release(&a->counts);
	free(a->alarms);
	free(a->orphan);
	free(a->probe);
	*a = (struct sweep_answer){0};
}
