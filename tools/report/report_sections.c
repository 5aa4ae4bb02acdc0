/* report_sections.c: what a report tells, in order. To add a section: a row. */
#include "tools/out/container_sql.h"
#include "tools/report/report.h"

/* clang-format off */

#define IN_RANGE(t) t ".seq > :from AND " t ".seq <= :until AND (:namespace = '' OR " t ".namespace = :namespace) "
#define OBJECT(t) t ".resource || ' ' || CASE WHEN " t ".namespace = '' THEN '' ELSE " t ".namespace || '/' END || " t ".name"
#define BY "CASE WHEN c.user IS NOT NULL THEN c.user || ' (audit log)' ELSE c.manager END"
#define FROM_TO "c.field || ' ' || coalesce(c.old, 'nothing') || ' -> ' || coalesce(c.new, 'nothing')"
#define MOST " LIMIT :most"
#define WORKLOADS "c.resource IN ('deployments', 'statefulsets', 'daemonsets', 'cronjobs') "
#define IN_NAMESPACE(t) "(:namespace = '' OR " t ".namespace = :namespace) "
#define STATUSES(status) \
	"events AS e, " CONTAINER_STATUSES("e.object") \
	"WHERE e.resource = 'pods' AND " IN_RANGE("e") "AND e.type <> 'DELETED' AND instr(e.object, '" status "') "
/* What a first list shows was so before. */
#define BEFORE_IT(t) "CASE " t ".origin WHEN 'list' THEN ' (before the recording began)' ELSE '' END"
/* One row for each end of a container: the same end shows in many versions of its pod, and for as long as the pod lives.
 * What ends because its pod is being deleted has not crashed. */
#define ENDED_KEY \
	"e.uid || '/' || jget(s.value, '$.name') || '/' || coalesce(jget(" CONTAINER_ENDED ", '$.containerID'), " \
	"jget(" CONTAINER_ENDED ", '$.finishedAt'), jget(s.value, '$.restartCount'), '')"
#define ENDED \
	"WITH old AS MATERIALIZED (SELECT " ENDED_KEY " AS id FROM objects(:from) AS e, " CONTAINER_STATUSES("e.object") \
	"WHERE e.resource = 'pods' AND " IN_NAMESPACE("e") "AND " CONTAINER_ENDED " IS NOT NULL), " \
	"t AS MATERIALIZED (SELECT e.seq, e.time, e.origin, e.resource, e.namespace, e.name, jget(s.value, '$.name') AS container, " \
	"jget(s.value, '$.restartCount') AS restarts, " ENDED_KEY " AS id, " CONTAINER_ENDED " AS ended FROM " STATUSES("\"terminated\"") \
	"AND ended IS NOT NULL AND jget(e.object, '$.metadata.deletionTimestamp') IS NULL), " \
	"ends AS MATERIALIZED (SELECT min(seq) AS seq, time, origin, resource, namespace, name, container, restarts, " \
	"jget(ended, '$.exitCode') AS code, jget(ended, '$.reason') AS reason, jget(ended, '$.message') AS message, " \
	"jget(ended, '$.finishedAt') AS finished FROM t WHERE id NOT IN (SELECT id FROM old) GROUP BY id) "
#define ENDED_TEXT \
	"'container ' || t.container || ': exit code ' || coalesce(t.code, '?') || coalesce(' (' || t.reason || ')', '') || " \
	"coalesce(' at ' || t.finished, '') || " BEFORE_IT("t") " || '; restarts ' || coalesce(t.restarts, 0) || coalesce('; ' || t.message, '')"
#define WAITING "jget(s.value, '$.state.waiting.reason')"
/* Versions of pods in the stretch, and what they were when it began. */
#define PODS \
	"(SELECT seq, time, resource, namespace, name, uid, object FROM events AS e WHERE e.resource = 'pods' AND " IN_RANGE("e") \
	"AND e.type <> 'DELETED' UNION ALL SELECT seq, time, resource, namespace, name, uid, object FROM objects(:from) AS e " \
	"WHERE e.resource = 'pods' AND " IN_NAMESPACE("e") ") AS e "
#define CONDITIONS(t) "json_each(coalesce(jget(" t ".object, '$.status.conditions'), '[]')) AS k "
#define DISRUPTED(t) \
	"(jget(" t ".object, '$.status.reason') = 'Evicted' OR EXISTS (SELECT 1 FROM " CONDITIONS(t) \
	"WHERE jget(k.value, '$.type') = 'DisruptionTarget' AND jget(k.value, '$.status') = 'True')) "
#define MESSAGE(object) "coalesce(jget(" object ", '$.message'), jget(" object ", '$.note'), '')"
#define ABOUT(object, member) "coalesce(jget(" object ", '$.involvedObject." member "'), jget(" object ", '$.regarding." member "'), '?')"
#define ABOUT_WHAT(t) \
	ABOUT(t ".object", "kind") " || ' ' || CASE WHEN " t ".namespace = '' THEN '' ELSE " t ".namespace || '/' END || " ABOUT(t ".object", "name")
#define ABOUT_BY(t) "coalesce(jget(" t ".object, '$.source.component'), jget(" t ".object, '$.reportingController'), jget(" t ".object, '$.reportingComponent'))"
/* An Event counts how often it came; newer ones do so in a series. */
#define TIMES(object) \
	"coalesce(nullif(jget(" object ", '$.count'), 0), nullif(jget(" object ", '$.deprecatedCount'), 0), jget(" object ", '$.series.count'), 1)"
#define HIDDEN "coalesce(g.modified, 0) + coalesce(g.added, 0) + coalesce(g.deleted, 0) + coalesce(g.recreated, 0)"
#define TIMES_OF(n) n " || CASE " n " WHEN 1 THEN ' time' ELSE ' times' END"
/* What nobody else's deletion takes along. */
#define UNOWNED(t) \
	"coalesce(jget(" t ".object, '$.metadata.ownerReferences'), '[]') = '[]' " \
	"AND " t ".resource NOT IN ('events', 'leases', 'endpoints', 'endpointslices', 'controllerrevisions') "
/* A namespace is one of its own objects here. */
#define IN_RANGE_OR_IS(t) \
	t ".seq > :from AND " t ".seq <= :until AND (:namespace = '' OR " t ".namespace = :namespace " \
	"OR (" t ".resource = 'namespaces' AND " t ".name = :namespace)) "

const struct report_section report_sections[] = {
	{"Images changed", "deployments statefulsets daemonsets cronjobs",
		"SELECT c.seq, c.time, " OBJECT("c") ", " FROM_TO ", " BY " FROM changes AS c WHERE " WORKLOADS "AND " IN_RANGE("c")
		"AND c.type = 'MODIFIED' AND c.path LIKE '$.spec.%' AND c.field LIKE '%.image' ORDER BY c.seq" MOST, REPORT_OF_CHANGES},
	{"Scaled", "deployments statefulsets",
		"SELECT c.seq, c.time, " OBJECT("c") ", " FROM_TO ", " BY " FROM changes AS c WHERE c.resource IN ('deployments', 'statefulsets') "
		"AND " IN_RANGE("c") "AND c.type = 'MODIFIED' AND c.path = '$.spec.replicas' ORDER BY c.seq" MOST, REPORT_OF_CHANGES},
	{"Killed for their memory", "pods",
		ENDED "SELECT t.seq, t.time, " OBJECT("t") ", " ENDED_TEXT ", NULL FROM ends AS t WHERE t.reason = 'OOMKilled' ORDER BY t.seq" MOST, REPORT_OF_STATES},
	{"Crashes", "pods",
		ENDED "SELECT t.seq, t.time, " OBJECT("t") ", " ENDED_TEXT ", NULL FROM ends AS t WHERE t.code <> 0 AND t.reason IS NOT 'OOMKilled' "
		"ORDER BY t.seq" MOST, REPORT_OF_STATES},
	{"Containers that wait", "pods",
		"SELECT min(e.seq), e.time, " OBJECT("e") ", 'container ' || jget(s.value, '$.name') || ': ' || " WAITING " || "
		"coalesce(': ' || jget(s.value, '$.state.waiting.message'), ''), NULL FROM " PODS ", " CONTAINER_STATUSES("e.object")
		"WHERE instr(e.object, '\"waiting\"') AND " WAITING " NOT IN ('ContainerCreating', 'PodInitializing') "
		"GROUP BY e.uid, jget(s.value, '$.name'), " WAITING " ORDER BY 1" MOST, REPORT_OF_STATES},
	{"Evicted and disrupted", "pods",
		"WITH old AS MATERIALIZED (SELECT e.uid FROM objects(:from) AS e WHERE e.resource = 'pods' AND " IN_NAMESPACE("e") "AND " DISRUPTED("e") ") "
		"SELECT min(e.seq), e.time, " OBJECT("e") ", coalesce((SELECT jget(k.value, '$.reason') || ': ' || coalesce(jget(k.value, '$.message'), '') "
		"FROM " CONDITIONS("e") "WHERE jget(k.value, '$.type') = 'DisruptionTarget'), "
		"jget(e.object, '$.status.reason') || ': ' || coalesce(jget(e.object, '$.status.message'), '')) || " BEFORE_IT("e") ", NULL "
		"FROM events AS e WHERE e.resource = 'pods' AND " IN_RANGE("e") "AND " DISRUPTED("e")
		"AND e.uid NOT IN (SELECT uid FROM old) GROUP BY e.uid ORDER BY 1" MOST, REPORT_OF_STATES},
	{"Refused by quota, webhook or admission", "replicasets deployments statefulsets daemonsets jobs",
		"SELECT min(e.seq), e.time, " OBJECT("e") ", jget(k.value, '$.reason') || ': ' || coalesce(jget(k.value, '$.message'), '') || " BEFORE_IT("e") ", NULL "
		"FROM events AS e, " CONDITIONS("e")
		"WHERE e.resource IN ('replicasets', 'deployments', 'statefulsets', 'daemonsets', 'jobs') AND " IN_RANGE("e")
		"AND jget(k.value, '$.type') = 'ReplicaFailure' AND jget(k.value, '$.status') = 'True' GROUP BY e.uid, jget(k.value, '$.message') "
		/* Only ReplicaSets have that condition. */
		"UNION ALL SELECT min(e.seq), e.time, " ABOUT_WHAT("e") ", jget(e.object, '$.reason') || ': ' || " MESSAGE("e.object") " || " BEFORE_IT("e") ", "
		ABOUT_BY("e") " FROM events AS e WHERE e.resource = 'events' AND e.type <> 'DELETED' AND " IN_RANGE("e")
		"AND jget(e.object, '$.reason') = 'FailedCreate' AND " ABOUT("e.object", "kind") " IN ('StatefulSet', 'DaemonSet', 'Job') "
		"GROUP BY " ABOUT("e.object", "uid") ", " MESSAGE("e.object") " ORDER BY 1" MOST, REPORT_OF_STATES},
	{"Written in turns by several managers", NULL,
		"SELECT max(c.seq), max(c.time), " OBJECT("c") ", c.field || ' ' || count(*) || ' times in ' || duration(max(c.time_ns) - min(c.time_ns)), "
		"group_concat(DISTINCT c.manager) FROM changes AS c WHERE " IN_RANGE("c") "AND c.type = 'MODIFIED' AND c.manager IS NOT NULL "
		"AND c.path NOT LIKE '$.status%' AND c.path <> '$.metadata.generation' AND c.resource NOT IN ('leases', 'events', 'endpoints', 'endpointslices') "
		"GROUP BY c.uid, c.path HAVING count(*) >= 4 AND count(DISTINCT c.manager) > 1 AND count(DISTINCT c.new) <= count(*) / 2 ORDER BY 1" MOST, REPORT_OF_CHANGES},
	{"Nodes that were not ready", "nodes",
		"SELECT c.seq, c.time, " OBJECT("c") ", 'Ready ' || coalesce(c.old, 'nothing') || ' -> ' || c.new || ': ' || coalesce((SELECT "
		"jget(k.value, '$.message') FROM " CONDITIONS("c")
		"WHERE jget(k.value, '$.type') = 'Ready'), ''), " BY " FROM changes AS c WHERE c.resource = 'nodes' AND c.seq > :from AND c.seq <= :until "
		"AND c.field = 'status.conditions[Ready].status' AND c.new <> 'True' "
		"UNION ALL SELECT e.seq, e.time, " OBJECT("e") ", 'Ready was ' || jget(k.value, '$.status') || ' already: ' || "
		"coalesce(jget(k.value, '$.message'), ''), NULL FROM (SELECT seq, time, resource, namespace, name, object FROM objects(:from) "
		"WHERE resource = 'nodes' UNION ALL SELECT seq, time, resource, namespace, name, object FROM events WHERE resource = 'nodes' "
		"AND origin = 'list' AND seq > :from AND seq <= :until) AS e, " CONDITIONS("e") "WHERE jget(k.value, '$.type') = 'Ready' AND jget(k.value, '$.status') <> 'True' ORDER BY 1" MOST, REPORT_OF_STATES},
	{"Names that another object took", NULL,
		"SELECT d.seq, d.time, " OBJECT("d") ", 'was deleted, and made again', d.user || ' (audit log)' FROM events AS d WHERE " IN_RANGE("d")
		"AND d.type = 'DELETED' AND d.resource NOT IN ('events', 'leases') AND EXISTS (SELECT 1 FROM events AS a WHERE a.resource = d.resource "
		"AND a.apigroup = d.apigroup AND a.namespace = d.namespace AND a.name = d.name AND a.seq > d.seq AND a.seq <= :until "
		"AND a.type = 'ADDED' AND a.uid <> d.uid) ORDER BY d.seq" MOST, REPORT_OF_CHANGES},
	{"Deleted", NULL,
		"SELECT d.seq, d.time, " OBJECT("d") ", CASE WHEN d.origin = 'inferred' THEN 'while nobody watched' "
		"WHEN d.resource = 'namespaces' AND :namespace = '' THEN 'with all that was in it' ELSE '' END, d.user || ' (audit log)' "
		"FROM events AS d WHERE " IN_RANGE_OR_IS("d") "AND d.type = 'DELETED' AND (" UNOWNED("d") "OR d.resource IN ('deployments', 'statefulsets', "
		"'daemonsets', 'services', 'persistentvolumeclaims')) "
		/* What goes with its namespace would hide that one. */
		"AND (:namespace <> '' OR NOT EXISTS (SELECT 1 FROM events AS n WHERE n.resource = 'namespaces' AND n.name = d.namespace "
		"AND n.seq <= d.seq AND jget(n.object, '$.metadata.deletionTimestamp') IS NOT NULL)) "
		"UNION ALL SELECT c.seq, c.time, " OBJECT("c") ", 'is being deleted, and was not gone by the end', " BY " FROM changes AS c "
		"WHERE " IN_RANGE_OR_IS("c") "AND c.path = '$.metadata.deletionTimestamp' AND c.op = 'add' AND " UNOWNED("c")
		"AND NOT EXISTS (SELECT 1 FROM events AS g WHERE g.uid = c.uid AND g.type = 'DELETED' AND g.seq <= :until) ORDER BY 1" MOST, REPORT_OF_CHANGES},
	{"Warnings", "events",
		"WITH old AS MATERIALIZED (SELECT e.uid, " TIMES("e.object") " AS times FROM objects(:from) AS e WHERE e.resource = 'events' AND " IN_NAMESPACE("e") "), "
		"v AS MATERIALIZED (SELECT max(e.seq) AS seq, e.time, e.uid, " ABOUT_WHAT("e") " AS what, jget(e.object, '$.reason') AS reason, "
		MESSAGE("e.object") " AS message, " ABOUT_BY("e") " AS component, " TIMES("e.object") " AS times, "
		"total(CASE e.origin WHEN 'list' THEN " TIMES("e.object") " END) AS before FROM events AS e "
		"WHERE e.resource = 'events' AND e.type <> 'DELETED' AND " IN_RANGE("e") "AND jget(e.object, '$.type') = 'Warning' GROUP BY e.uid), "
		"w AS (SELECT max(v.seq) AS seq, v.time, what, reason, message, component, CAST(sum(v.before) AS INTEGER) AS before, "
		"CAST(sum(v.times - v.before - coalesce(old.times, 0)) AS INTEGER) AS now FROM v LEFT JOIN old USING (uid) GROUP BY what, reason) "
		"SELECT seq, time, what, reason || CASE WHEN now > 0 THEN ', ' || " TIMES_OF("now") " ELSE '' END "
		"|| CASE WHEN before > 0 THEN ', ' || " TIMES_OF("before") " || ' before the recording began' ELSE '' END || ': ' || message, "
		"component FROM w WHERE now > 0 OR before > 0 ORDER BY 1" MOST, REPORT_OF_STATES},
	{"Slowest to be ready", "pods",
		"WITH made AS MATERIALIZED (SELECT e.uid, e.time_ns FROM events AS e WHERE e.resource = 'pods' AND " IN_RANGE("e")
		"AND e.type = 'ADDED' AND e.origin = 'watch'), ready AS MATERIALIZED (SELECT min(e.seq) AS seq, e.time, e.time_ns, e.resource, e.namespace, "
		"e.name, e.uid FROM events AS e, json_each(coalesce(jget(e.object, '$.status.conditions'), '[]')) AS k WHERE e.resource = 'pods' AND "
		IN_RANGE("e") "AND e.type = 'MODIFIED' AND jget(k.value, '$.type') = 'Ready' AND jget(k.value, '$.status') = 'True' GROUP BY e.uid) "
		"SELECT r.seq, r.time, " OBJECT("r") ", 'ready after ' || duration(r.time_ns - m.time_ns), NULL FROM ready AS r JOIN made AS m USING (uid) "
		"ORDER BY r.time_ns - m.time_ns DESC LIMIT min(:most, 5)", REPORT_OF_CHANGES},
	{"Not watched", NULL,
		"SELECT g.begin_seq, g.begin, g.resource || CASE WHEN g.namespace = '' THEN '' ELSE ' in ' || g.namespace END, g.reason || ', ' || "
		"coalesce('for ' || duration(coalesce(g.duration_ns, g.end_ns - g.begin_ns)) || ', ended by ' || g.how_ended, 'to the end') || "
		"CASE " HIDDEN " WHEN 0 THEN '' WHEN 1 THEN '; hid 1 change' ELSE '; hid ' || (" HIDDEN ") || ' changes' END, NULL FROM gaps AS g WHERE g.how_ended IS NOT 'filled' AND g.begin_ns <= :until_ns AND (g.end_ns IS NULL OR g.end_ns > :from_ns) "
		"AND (:namespace = '' OR g.namespace IN ('', :namespace)) "
		"UNION ALL SELECT NULL, NULL, u.resource || CASE WHEN u.namespace = '' THEN '' ELSE ' in ' || u.namespace END, "
		"CASE u.certainty WHEN 'untold' THEN 'not known: imported, which does not tell when they were watched' ELSE 'never listed: what there was is not known' END, "
		"NULL FROM coverage AS u WHERE u.certainty IN ('untold', 'unlisted') "
		"AND (:namespace = '' OR u.namespace IN ('', :namespace)) ORDER BY 2" MOST, REPORT_OF_STATES},
	{0},
};
