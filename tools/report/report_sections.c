/* report_sections.c: what a report tells, in order. To add a section: a row. */
#include "tools/report/report.h"

/* clang-format off */

#define IN_RANGE(t) t ".seq > :from AND " t ".seq <= :until AND (:namespace = '' OR " t ".namespace = :namespace) "
#define OBJECT(t) t ".resource || ' ' || CASE WHEN " t ".namespace = '' THEN '' ELSE " t ".namespace || '/' END || " t ".name"
#define BY "CASE WHEN c.user IS NOT NULL THEN c.user || ' (audit log)' ELSE c.manager END"
#define FROM_TO "c.field || ' ' || coalesce(c.old, 'nothing') || ' -> ' || coalesce(c.new, 'nothing')"
#define MOST " LIMIT :most"
#define WORKLOADS "c.resource IN ('deployments', 'statefulsets', 'daemonsets', 'cronjobs') "
#define STATUSES(status) \
	"events AS e, json_each(coalesce(jget(e.object, '$.status.containerStatuses'), '[]')) AS s " \
	"WHERE e.resource = 'pods' AND " IN_RANGE("e") "AND e.type <> 'DELETED' AND instr(e.object, '" status "') "
/* One row for each end of a container: the same end shows in many versions of its pod. */
#define ENDED \
	"WITH t AS MATERIALIZED (SELECT e.seq, e.time, e.resource, e.namespace, e.name, e.uid, jget(s.value, '$.name') AS container, " \
	"jget(s.value, '$.restartCount') AS restarts, " \
	"coalesce(jget(s.value, '$.state.terminated'), jget(s.value, '$.lastState.terminated')) AS ended FROM " STATUSES("\"terminated\"") \
	"AND ended IS NOT NULL), ends AS MATERIALIZED (SELECT min(seq) AS seq, time, resource, namespace, name, container, max(restarts) AS restarts, " \
	"jget(ended, '$.exitCode') AS code, jget(ended, '$.reason') AS reason, jget(ended, '$.message') AS message FROM t " \
	"GROUP BY uid, container, coalesce(jget(ended, '$.containerID'), jget(ended, '$.finishedAt'), restarts)) "
#define ENDED_TEXT \
	"'container ' || t.container || ': exit code ' || coalesce(t.code, '?') || coalesce(' (' || t.reason || ')', '') || " \
	"'; restarts ' || coalesce(t.restarts, 0) || coalesce('; ' || t.message, '')"

const struct report_section report_sections[] = {
	{"Images changed", "deployments statefulsets daemonsets cronjobs",
		"SELECT c.seq, c.time, " OBJECT("c") ", " FROM_TO ", " BY " FROM changes AS c WHERE " WORKLOADS "AND " IN_RANGE("c")
		"AND c.type = 'MODIFIED' AND c.path LIKE '$.spec.%' AND c.field LIKE '%.image' ORDER BY c.seq" MOST},
	{"Scaled", "deployments statefulsets",
		"SELECT c.seq, c.time, " OBJECT("c") ", " FROM_TO ", " BY " FROM changes AS c WHERE c.resource IN ('deployments', 'statefulsets') "
		"AND " IN_RANGE("c") "AND c.type = 'MODIFIED' AND c.path = '$.spec.replicas' ORDER BY c.seq" MOST},
	{"Killed for their memory", "pods",
		ENDED "SELECT t.seq, t.time, " OBJECT("t") ", " ENDED_TEXT ", NULL FROM ends AS t WHERE t.reason = 'OOMKilled' ORDER BY t.seq" MOST},
	{"Crashes", "pods",
		ENDED "SELECT t.seq, t.time, " OBJECT("t") ", " ENDED_TEXT ", NULL FROM ends AS t WHERE t.code <> 0 AND t.reason IS NOT 'OOMKilled' "
		"ORDER BY t.seq" MOST},
	{"Containers that wait", "pods",
		"SELECT min(e.seq), e.time, " OBJECT("e") ", 'container ' || jget(s.value, '$.name') || ': ' || jget(s.value, '$.state.waiting.reason') || "
		"coalesce(': ' || jget(s.value, '$.state.waiting.message'), ''), NULL FROM " STATUSES("\"waiting\"")
		"AND jget(s.value, '$.state.waiting.reason') NOT IN ('ContainerCreating', 'PodInitializing') "
		"GROUP BY e.uid, jget(s.value, '$.name'), jget(s.value, '$.state.waiting.reason') ORDER BY 1" MOST},
	{"Evicted and disrupted", "pods",
		"SELECT min(e.seq), e.time, " OBJECT("e") ", coalesce(jget(k.value, '$.reason') || ': ' || coalesce(jget(k.value, '$.message'), ''), "
		"jget(e.object, '$.status.reason') || ': ' || coalesce(jget(e.object, '$.status.message'), '')), NULL "
		"FROM events AS e LEFT JOIN json_each(coalesce(jget(e.object, '$.status.conditions'), '[]')) AS k "
		"ON jget(k.value, '$.type') = 'DisruptionTarget' WHERE e.resource = 'pods' AND " IN_RANGE("e")
		"AND (jget(e.object, '$.status.reason') = 'Evicted' OR k.value IS NOT NULL) GROUP BY e.uid ORDER BY 1" MOST},
	{"Refused by quota, webhook or admission", "replicasets deployments statefulsets daemonsets jobs",
		"SELECT min(e.seq), e.time, " OBJECT("e") ", jget(k.value, '$.reason') || ': ' || coalesce(jget(k.value, '$.message'), ''), NULL "
		"FROM events AS e, json_each(coalesce(jget(e.object, '$.status.conditions'), '[]')) AS k "
		"WHERE e.resource IN ('replicasets', 'deployments', 'statefulsets', 'daemonsets', 'jobs') AND " IN_RANGE("e")
		"AND jget(k.value, '$.type') = 'ReplicaFailure' AND jget(k.value, '$.status') = 'True' "
		"GROUP BY e.uid, jget(k.value, '$.message') ORDER BY 1" MOST},
	{"Written in turns by several managers", NULL,
		"SELECT max(c.seq), max(c.time), " OBJECT("c") ", c.field || ' ' || count(*) || ' times in ' || duration(max(c.time_ns) - min(c.time_ns)), "
		"group_concat(DISTINCT c.manager) FROM changes AS c WHERE " IN_RANGE("c") "AND c.type = 'MODIFIED' AND c.manager IS NOT NULL "
		"AND c.path LIKE '$.spec%' AND c.resource NOT IN ('leases', 'events', 'endpoints', 'endpointslices') "
		"GROUP BY c.uid, c.path HAVING count(*) >= 4 AND count(DISTINCT c.manager) > 1 AND count(DISTINCT c.new) <= count(*) / 2 ORDER BY 1" MOST},
	{"Nodes that were not ready", "nodes",
		"SELECT c.seq, c.time, " OBJECT("c") ", 'Ready ' || coalesce(c.old, 'nothing') || ' -> ' || c.new || ': ' || coalesce((SELECT "
		"jget(k.value, '$.message') FROM json_each(coalesce(jget(c.object, '$.status.conditions'), '[]')) AS k "
		"WHERE jget(k.value, '$.type') = 'Ready'), ''), " BY " FROM changes AS c WHERE c.resource = 'nodes' AND c.seq > :from AND c.seq <= :until "
		"AND c.field = 'status.conditions[Ready].status' AND c.new <> 'True' ORDER BY c.seq" MOST},
	{"Names that another object took", NULL,
		"SELECT d.seq, d.time, " OBJECT("d") ", 'was deleted, and made again', d.user || ' (audit log)' FROM events AS d WHERE " IN_RANGE("d")
		"AND d.type = 'DELETED' AND d.resource NOT IN ('events', 'leases') AND EXISTS (SELECT 1 FROM events AS a WHERE a.resource = d.resource "
		"AND a.apigroup = d.apigroup AND a.namespace = d.namespace AND a.name = d.name AND a.seq > d.seq AND a.seq <= :until "
		"AND a.type = 'ADDED' AND a.uid <> d.uid) ORDER BY d.seq" MOST},
	{"Deleted", NULL,
		"SELECT d.seq, d.time, " OBJECT("d") ", CASE WHEN d.origin = 'inferred' THEN 'while nobody watched' ELSE '' END, d.user || ' (audit log)' "
		"FROM events AS d WHERE " IN_RANGE("d") "AND d.type = 'DELETED' AND d.resource IN ('namespaces', 'deployments', 'statefulsets', "
		"'daemonsets', 'services', 'persistentvolumeclaims', 'nodes', 'customresourcedefinitions') ORDER BY d.seq" MOST},
	{"Warnings", "events",
		"SELECT max(e.seq), max(e.time), coalesce(jget(e.object, '$.involvedObject.kind'), jget(e.object, '$.regarding.kind'), '?') || ' ' || "
		"CASE WHEN e.namespace = '' THEN '' ELSE e.namespace || '/' END || coalesce(jget(e.object, '$.involvedObject.name'), "
		"jget(e.object, '$.regarding.name'), '?'), jget(e.object, '$.reason') || ', ' || count(*) || ' times: ' || "
		"coalesce(jget(e.object, '$.message'), jget(e.object, '$.note'), ''), "
		"coalesce(jget(e.object, '$.source.component'), jget(e.object, '$.reportingController')) "
		"FROM events AS e WHERE e.resource = 'events' AND e.type <> 'DELETED' AND " IN_RANGE("e")
		"AND jget(e.object, '$.type') = 'Warning' GROUP BY 3, jget(e.object, '$.reason') ORDER BY 1" MOST},
	{"Slowest to be ready", "pods",
		"WITH made AS MATERIALIZED (SELECT e.uid, e.time_ns FROM events AS e WHERE e.resource = 'pods' AND " IN_RANGE("e")
		"AND e.type = 'ADDED' AND e.origin = 'watch'), ready AS MATERIALIZED (SELECT min(e.seq) AS seq, e.time, e.time_ns, e.resource, e.namespace, "
		"e.name, e.uid FROM events AS e, json_each(coalesce(jget(e.object, '$.status.conditions'), '[]')) AS k WHERE e.resource = 'pods' AND "
		IN_RANGE("e") "AND e.type = 'MODIFIED' AND jget(k.value, '$.type') = 'Ready' AND jget(k.value, '$.status') = 'True' GROUP BY e.uid) "
		"SELECT r.seq, r.time, " OBJECT("r") ", 'ready after ' || duration(r.time_ns - m.time_ns), NULL FROM ready AS r JOIN made AS m USING (uid) "
		"ORDER BY r.time_ns - m.time_ns DESC LIMIT min(:most, 5)"},
	{"Not watched", NULL,
		"SELECT g.begin_seq, g.begin, g.resource || CASE WHEN g.namespace = '' THEN '' ELSE ' in ' || g.namespace END, g.reason || ', ' || "
		"coalesce('for ' || duration(coalesce(g.duration_ns, g.end_ns - g.begin_ns)) || ', ended by ' || g.how_ended, 'to the end') || "
		"coalesce('; hid ' || nullif(coalesce(g.modified, 0) + coalesce(g.added, 0) + coalesce(g.deleted, 0) + coalesce(g.recreated, 0), 0) || "
		"' changes', ''), NULL FROM gaps AS g WHERE g.begin_ns <= :until_ns AND (g.end_ns IS NULL OR g.end_ns > :from_ns) "
		"AND (:namespace = '' OR g.namespace IN ('', :namespace)) ORDER BY g.begin_ns" MOST},
	{0},
};
