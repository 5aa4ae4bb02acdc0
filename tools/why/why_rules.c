/*
 * why_rules.c: what explains what. To add a rule: a row, where it is to be tried; its fact is one that a row before it
 * states as `next`, or "start", the object's last event.
 *
 * Statements name what they look for by uid, or by resource and namespace and time, so that the tape finds it without a
 * walk over all of it. A cause is looked for in the quarter of an hour before what it explains, unless it is what the
 * object was made with.
 */
#include "tools/out/container_sql.h"
#include "tools/why/why.h"

/* clang-format off */

#define IT(seq) EVENT_OR_STATE("seq, object, type, origin, resource", seq)
#define THIS "FROM " IT(":seq") " AS e WHERE true "
#define STATUSES "FROM " IT(":seq") " AS e, " CONTAINER_STATUSES("e.object") "WHERE true "
/* The container that failed last: one that is not ready comes first, and of one that is ready again only an end of the
 * last quarter of an hour counts. Its pod shows that end for as long as it lives. */
#define FAILED \
	"WITH f AS MATERIALIZED (SELECT e.seq, e.object, s.value AS status, jget(s.value, '$.name') AS name, " CONTAINER_ENDED " AS ended, " \
	"coalesce(jget(s.value, '$.restartCount'), 0) AS restarts " STATUSES "AND ended IS NOT NULL " \
	"AND (jget(ended, '$.exitCode') <> 0 OR jget(ended, '$.reason') = 'OOMKilled') AND (jget(s.value, '$.ready') IS NOT 1 " \
	"OR unixepoch(jget(ended, '$.finishedAt')) > :ns / 1000000000 - 900) " \
	"ORDER BY jget(s.value, '$.state.running') IS NOT NULL, jget(ended, '$.finishedAt') DESC LIMIT 1) "
#define ENDED_AT "coalesce(' at ' || jget(f.ended, '$.finishedAt'), '')"
#define CONDITION(type) \
	"FROM " IT(":seq") " AS e, json_each(coalesce(jget(e.object, '$.status.conditions'), '[]')) AS k " \
	"WHERE jget(k.value, '$.type') = '" type "' "
#define MESSAGE \
	"coalesce(nullif(trim(coalesce(jget(k.value, '$.reason'), '') || ': ' || coalesce(jget(k.value, '$.message'), ''), ': '), ''), " \
	"'its condition does not say why')"
/* Whether the node of the pod is not ready by the position: one that came back is not lost. */
#define NODE_IS_LOST \
	"EXISTS (SELECT 1 FROM (SELECT object FROM events WHERE resource = 'nodes' AND name = :node AND seq <= :until ORDER BY seq DESC LIMIT 1) AS l, " \
	"json_each(coalesce(jget(l.object, '$.status.conditions'), '[]')) AS r WHERE jget(r.value, '$.type') = 'Ready' AND jget(r.value, '$.status') <> 'True') "
#define CONTAINER "'container ' || jget(s.value, '$.name')"
#define SOON " AND c.time_ns > :ns - 900000000000 "
/* Streams are recorded beside each other: what one of them tells may be written down after what it caused in another
 * one. A resourceVersion that a watch told is a revision of the cluster's store, and so tells the order of both. */
#define LATE_NS "5000000000"
#define EARLIER(x, seq, ns, rv) \
	x ".time_ns < " ns " + " LATE_NS " AND CASE WHEN " rv " <> '' AND " x ".origin = 'watch' " \
	"THEN CAST(" x ".rv AS INTEGER) < CAST(" rv " AS INTEGER) ELSE " x ".seq < " seq " END "
#define BEFORE(x) EARLIER(x, ":seq", ":ns", ":rv")
#define FROM_TO "c.field || ' ' || coalesce(c.old, 'nothing') || ' -> ' || coalesce(c.new, 'nothing')"
#define NEWEST "ORDER BY c.seq DESC LIMIT 1"
/* The owner, and the owner's owner. */
#define OWNERS \
	"WITH o AS MATERIALIZED (SELECT object FROM events WHERE uid = :owner_uid AND seq <= :seq UNION ALL " \
	"SELECT object FROM objects(:begin) WHERE uid = :owner_uid AND :owner_uid <> '' AND CAST(:begin AS INTEGER) > 0 LIMIT 1), " \
	"t AS MATERIALIZED (SELECT :owner_uid AS uid UNION SELECT jget(r.value, '$.uid') FROM o, " \
	"json_each(coalesce(jget(o.object, '$.metadata.ownerReferences'), '[]')) AS r) "
#define TEMPLATE_CHANGED(condition) \
	OWNERS "SELECT c.seq, " FROM_TO ", c.field FROM t CROSS JOIN changes AS c ON c.uid = t.uid WHERE :owner_uid <> '' " \
	"AND " EARLIER("c", ":first", ":first_ns", ":first_rv") "AND c.type = 'MODIFIED' AND c.path LIKE '$.spec.template%' " \
	condition NEWEST

/* The uppermost owner that was made with it. */
#define OWNER_MADE \
	OWNERS "SELECT e.seq, 'was made', NULL FROM t CROSS JOIN events AS e ON e.uid = t.uid WHERE :owner_uid <> '' " \
	"AND " EARLIER("e", ":first", ":first_ns", ":first_rv") "AND e.type = 'ADDED' AND e.origin = 'watch' " \
	"AND e.time_ns > :first_ns - 900000000000 ORDER BY e.uid = :owner_uid, e.seq LIMIT 1"
#define TEMPLATE_CHANGED_WITH_IT TEMPLATE_CHANGED("AND c.time_ns > :first_ns - 900000000000 ")

/* Warnings of Kubernetes about the object, up to the position. That something is tried again later is no cause. */
#define ABOUT_IT(e) \
	e ".resource = 'events' AND " e ".namespace = CASE WHEN :namespace = '' THEN 'default' ELSE :namespace END AND " e ".seq <= :until " \
	"AND " e ".time_ns BETWEEN :ns - 900000000000 AND :ns + 60000000000 " \
	"AND coalesce(jget(" e ".object, '$.involvedObject.uid'), jget(" e ".object, '$.regarding.uid')) = :uid "
#define SAYS(e) \
	"coalesce(jget(" e ".object, '$.reason'), '?') || ': ' || coalesce(jget(" e ".object, '$.message'), jget(" e ".object, '$.note'), '')"
#define EVENT(condition) \
	"SELECT e.seq, 'an Event says: ' || " SAYS("e") ", NULL FROM events AS e WHERE " ABOUT_IT("e") condition \
	"ORDER BY e.seq DESC LIMIT 1"
#define IS_WARNING "AND jget(e.object, '$.type') = 'Warning' AND jget(e.object, '$.reason') <> 'BackOff' "
#define SAYS_PROBE(kind) "coalesce(jget(e.object, '$.message'), jget(e.object, '$.note')) LIKE '" kind " probe%' "

#define NOT_READY(p) \
	"EXISTS (SELECT 1 FROM json_each(coalesce(jget(" p ".object, '$.status.conditions'), '[]')) AS k " \
	"WHERE jget(k.value, '$.type') IN ('Ready', 'PodScheduled') AND jget(k.value, '$.status') = 'False') " \
	"AND jget(" p ".object, '$.status.phase') IS NOT 'Succeeded' AND jget(" p ".object, '$.metadata.deletionTimestamp') IS NULL "
#define DISRUPTED_BY(reasons) \
	"EXISTS (SELECT 1 FROM events AS d, json_each(coalesce(jget(d.object, '$.status.conditions'), '[]')) AS k WHERE d.seq = :seq " \
	"AND jget(k.value, '$.type') = 'DisruptionTarget' AND jget(k.value, '$.reason') IN (" reasons ")) "
#define UNDER_PRESSURE(condition) \
	"SELECT n.seq, 'had ' || jget(k.value, '$.type') || ': ' || coalesce(jget(k.value, '$.message'), ''), NULL FROM events AS n, " \
	"json_each(coalesce(jget(n.object, '$.status.conditions'), '[]')) AS k WHERE n.resource = 'nodes' AND n.name = :node AND n.seq <= :until " \
	"AND n.time_ns BETWEEN :ns - 900000000000 AND :ns + 60000000000 AND jget(k.value, '$.type') LIKE '%Pressure' " \
	"AND jget(k.value, '$.status') = 'True' " condition "ORDER BY abs(n.time_ns - :ns) LIMIT 1"
#define NODE_LOST(condition) \
	"SELECT n.seq, 'is not ready: ' || " MESSAGE ", NULL FROM events AS n, " \
	"json_each(coalesce(jget(n.object, '$.status.conditions'), '[]')) AS k WHERE n.resource = 'nodes' AND n.name = :node " \
	"AND " BEFORE("n") "AND n.time_ns > :ns - 900000000000 AND jget(k.value, '$.type') = 'Ready' AND jget(k.value, '$.status') <> 'True' " \
	condition "ORDER BY n.seq LIMIT 1"
#define NODE_TAINTED(condition) \
	"SELECT c.seq, 'it ran there, and that repels what does not tolerate it: ' || " FROM_TO ", c.field FROM changes AS c " \
	"WHERE c.resource = 'nodes' AND c.name = :node AND " BEFORE("c") SOON "AND c.path LIKE '$.spec.taints%' " \
	"AND c.new LIKE '%NoExecute%' " condition NEWEST
/* :told is the event that says what is missing: the pod's own, or an Event. */
#define MISSING \
	"SELECT d.seq, 'was deleted', NULL FROM events AS e, events AS d WHERE e.seq = :told " \
	"AND d.resource IN ('configmaps', 'secrets', 'persistentvolumeclaims', 'serviceaccounts') AND d.namespace = :namespace " \
	"AND d.type = 'DELETED' AND d.seq < :told AND instr(e.object, '\\\"' || d.name || '\\\" not found') ORDER BY d.seq DESC LIMIT 1"
/* A key that a ConfigMap or Secret no longer has, and that the event says is not there. The kubelet names the object if a
 * variable needs the key, and the key alone if a volume does: then the pod has to name the object. */
#define KIND_OF(t) "CASE " t ".resource WHEN 'secrets' THEN 'Secret ' ELSE 'ConfigMap ' END"
#define KEY_WORDS(t, key) "'find key ' || " key " || ' in ' || " KIND_OF(t) " || " t ".namespace || '/' || " t ".name"
#define VOLUME_KEY_WORDS(t, key) \
	"'non-existent ' || CASE " t ".resource WHEN 'secrets' THEN 'secret' ELSE 'config' END || ' key: ' || " key
#define HAS_WORDS(words) \
	"(instr(e.object, " words ") AND substr(e.object, instr(e.object, " words ") + length(" words "), 1) NOT GLOB '[-._a-zA-Z0-9]')"
#define LACKS_KEY(t, key) \
	"(" HAS_WORDS(KEY_WORDS(t, key)) " OR (" HAS_WORDS(VOLUME_KEY_WORDS(t, key)) " AND instr(p.object, '\"' || " t ".name || '\"'))) "
#define KEY_OF(path) "replace(substr(" path ", instr(" path ", 'ata.') + 4), '\"', '')"
#define KEY_GONE \
	"SELECT c.seq, 'lost the key ' || k.key, c.field FROM " IT(":told") " AS e, " IT(":seq") " AS p, changes AS c, " \
	"json_each(CASE WHEN c.path IN ('$.data', '$.binaryData') THEN coalesce(c.old_json, '{}') " \
	"ELSE json_object(" KEY_OF("c.path") ", 1) END) AS k " \
	"WHERE c.resource IN ('configmaps', 'secrets') AND c.namespace = :namespace AND c.seq < :told AND c.type = 'MODIFIED' " \
	"AND c.new IS NULL AND (c.path LIKE '$.data%' OR c.path LIKE '$.binaryData%') AND " LACKS_KEY("c", "k.key") NEWEST
/* One that does not have it, and did not lose it on the tape. */
#define AFTER(word) "substr(e.object, instr(e.object, '" word "') + length('" word "'))"
#define UP_TO(text, word) "substr(" text ", 1, instr(" text " || '" word "', '" word "') - 1)"
#define NAMED_KEY \
	"CASE WHEN instr(e.object, 'find key ') THEN " UP_TO(AFTER("find key "), " in ") \
	" WHEN instr(e.object, 'references non-existent ') THEN " UP_TO(AFTER(" key: "), "\"") " END"
#define KEY_LACKING \
	"SELECT o.seq, CASE WHEN o.origin = 'watch' AND o.type = 'ADDED' THEN 'was made without the key ' ELSE 'does not have the key ' END " \
	"|| m.value || coalesce('; it has ' || (SELECT group_concat(h.key, ', ') FROM (SELECT key FROM " \
	"json_each(coalesce(jget(o.object, '$.data'), '{}')) LIMIT 10) AS h), ''), NULL " \
	"FROM " IT(":told") " AS e, " IT(":seq") " AS p, json_each(json_array(" NAMED_KEY ")) AS m, objects(:told) AS o " \
	"WHERE o.resource IN ('configmaps', 'secrets') AND o.namespace = :namespace AND m.value <> '' " \
	"AND NOT EXISTS (SELECT 1 FROM json_each(json_array(json(coalesce(jget(o.object, '$.data'), '{}')), " \
	"json(coalesce(jget(o.object, '$.binaryData'), '{}')))) AS d, json_each(d.value) AS h WHERE h.key = m.value) " \
	"AND " LACKS_KEY("o", "m.value") "ORDER BY o.seq DESC LIMIT 1"
#define AUTOSCALED(condition) \
	"SELECT c.seq, 'scales it: ' || " FROM_TO ", c.field FROM changes AS c WHERE c.resource = 'horizontalpodautoscalers' " \
	"AND c.namespace = :namespace AND c.seq <= min(:seq + 20, :until) " SOON "AND c.path = '$.status.desiredReplicas' " \
	"AND jget(c.object, '$.spec.scaleTargetRef.name') = :name AND c.new = (SELECT jget(object, '$.spec.replicas') FROM events " \
	"WHERE seq = :seq) " condition NEWEST

#define OWNER_CHANGED \
	"SELECT c.seq, " FROM_TO ", c.field FROM changes AS c WHERE c.uid = :owner_uid AND :owner_uid <> '' AND " BEFORE("c") SOON \
	"AND c.type = 'MODIFIED' AND (c.path = '$.spec.replicas' OR c.path LIKE '$.spec.template%') " NEWEST

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)
/* The life of the container is told by the id of its runtime. Empty lines tell nothing. */
const char why_log_sql[] =
	FAILED ", t AS MATERIALIZED (SELECT g.line, g.text, g.reason FROM f, logs AS g WHERE g.uid = :uid AND g.container = f.name "
	"AND g.container_id = jget(f.ended, '$.containerID')) "
	"SELECT (SELECT group_concat(text, char(10)) FROM (SELECT line, CASE WHEN length(text) > " TEXT(WHY_LOG_CHARACTERS) " THEN "
	"substr(text, 1, " TEXT(WHY_LOG_CHARACTERS) ") || '...' ELSE text END AS text FROM (SELECT line, text FROM t WHERE trim(text) <> '' "
	"ORDER BY line DESC LIMIT " TEXT(WHY_LOG_LINES) ") ORDER BY line)), (SELECT max(reason) FROM t)";

const struct why_rule why_rules[] = {
	/* ---- what is the matter with it ---- */
	{"start", "deleted", NULL, WHY_CERTAIN,
		"SELECT e.seq, CASE WHEN e.origin = 'inferred' THEN 'was deleted while nobody watched' ELSE 'was deleted' END, NULL "
		THIS "AND e.type = 'DELETED'", "deleted"},
	{"start", "waits-for-finalizers", NULL, WHY_CERTAIN,
		"SELECT e.seq, 'is being deleted since ' || jget(e.object, '$.metadata.deletionTimestamp') || coalesce("
		"', and waits for ' || jget(e.object, '$.metadata.finalizers'), ''), NULL " THIS
		"AND jget(e.object, '$.metadata.deletionTimestamp') IS NOT NULL AND e.resource <> 'namespaces'", "deleted"},
	{"start", "namespace-waits", "namespaces", WHY_CERTAIN,
		"SELECT min(e.seq), 'is being deleted: ' || group_concat(" MESSAGE ", '; '), NULL FROM " IT(":seq") " AS e, "
		"json_each(coalesce(jget(e.object, '$.status.conditions'), '[]')) AS k WHERE jget(k.value, '$.status') = 'True' "
		"AND jget(k.value, '$.type') IN ('NamespaceContentRemaining', 'NamespaceFinalizersRemaining', 'NamespaceDeletionDiscoveryFailure', "
		"'NamespaceDeletionContentFailure', 'NamespaceDeletionGroupVersionParsingFailure') HAVING count(*) > 0", "deleted"},
	{"start", "namespace-terminates", "namespaces", WHY_CERTAIN,
		"SELECT e.seq, 'is being deleted since ' || jget(e.object, '$.metadata.deletionTimestamp'), NULL " THIS
		"AND jget(e.object, '$.metadata.deletionTimestamp') IS NOT NULL", "deleted"},
	{"start", "evicted", "pods", WHY_CERTAIN,
		"SELECT e.seq, 'was evicted by its kubelet: ' || coalesce(jget(e.object, '$.status.message'), ''), NULL " THIS
		"AND jget(e.object, '$.status.reason') = 'Evicted'", "evicted"},
	{"start", "image", "pods", WHY_CERTAIN,
		"SELECT e.seq, " CONTAINER " || ' waits for its image ' || coalesce(jget(s.value, '$.image'), '?') || ' (' || "
		"jget(s.value, '$.state.waiting.reason') || coalesce(': ' || jget(s.value, '$.state.waiting.message'), '') || ')', NULL "
		STATUSES "AND jget(s.value, '$.state.waiting.reason') IN ('ErrImagePull', 'ImagePullBackOff', 'InvalidImageName', "
		"'ErrImageNeverPull', 'ImageInspectError') LIMIT 1", "image"},
	{"start", "config", "pods", WHY_CERTAIN,
		"SELECT e.seq, " CONTAINER " || ' cannot be made (' || jget(s.value, '$.state.waiting.reason') || "
		"coalesce(': ' || jget(s.value, '$.state.waiting.message'), '') || ')', NULL "
		STATUSES "AND jget(s.value, '$.state.waiting.reason') IN ('CreateContainerConfigError', 'CreateContainerError', "
		"'RunContainerError') LIMIT 1", "config"},
	{"start", "oom-killed", "pods", WHY_CERTAIN,
		FAILED "SELECT f.seq, 'container ' || f.name || ' was killed because it took more memory than it may (OOMKilled, exit code ' || "
		"coalesce(jget(f.ended, '$.exitCode'), '?') || ')' || " ENDED_AT " || '; restarts: ' || f.restarts || "
		"coalesce('; its limit: ' || (SELECT jget(c.value, '$.resources.limits.memory') FROM json_each(json_array("
		"json(coalesce(jget(f.object, '$.spec.initContainers'), '[]')), json(coalesce(jget(f.object, '$.spec.containers'), '[]')))) AS l, "
		"json_each(l.value) AS c WHERE jget(c.value, '$.name') = f.name), ''), NULL FROM f WHERE jget(f.ended, '$.reason') = 'OOMKilled'", "oom"},
	{"start", "crashed", "pods", WHY_CERTAIN,
		FAILED "SELECT f.seq, 'container ' || f.name || ' ended with exit code ' || jget(f.ended, '$.exitCode') || "
		"coalesce(' (' || jget(f.ended, '$.reason') || ')', '') || " ENDED_AT " || coalesce(': ' || jget(f.ended, '$.message'), '') || "
		"'; restarts: ' || f.restarts, NULL FROM f", "crash"},
	{"start", "unschedulable", "pods", WHY_CERTAIN,
		"SELECT e.seq, 'has no node: ' || " MESSAGE ", NULL " CONDITION("PodScheduled")
		"AND jget(k.value, '$.status') = 'False'", "unschedulable"},
	{"start", "node-of-the-pod-lost", "pods", WHY_CERTAIN,
		"SELECT e.seq, 'is not ready: ' || " MESSAGE ", NULL " CONDITION("Ready")
		"AND jget(k.value, '$.reason') = 'NodeNotReady'", "on-lost-node"},
	{"start", "node-lost", "nodes", WHY_CERTAIN,
		"SELECT e.seq, 'is not ready: ' || " MESSAGE ", NULL " CONDITION("Ready")
		"AND jget(k.value, '$.status') <> 'True'", "node-lost"},
	{"start", "not-ready", "pods", WHY_CERTAIN,
		"SELECT e.seq, 'is not ready: ' || " MESSAGE ", NULL " CONDITION("Ready")
		"AND jget(k.value, '$.status') = 'False' AND jget(e.object, '$.status.phase') IN ('Pending', 'Running')", "not-ready"},
	/* Its first event that says so: what was done about it since is no cause. */
	{"start", "cannot-make-pods", NULL, WHY_CERTAIN,
		"SELECT coalesce((SELECT min(f.seq) FROM events AS f, json_each(coalesce(jget(f.object, '$.status.conditions'), '[]')) AS o "
		"WHERE f.uid = :uid AND f.seq <= :seq AND jget(o.value, '$.type') = 'ReplicaFailure' "
		"AND jget(o.value, '$.message') IS jget(k.value, '$.message')), e.seq), 'cannot make its pods: ' || " MESSAGE ", NULL "
		CONDITION("ReplicaFailure") "AND jget(k.value, '$.status') = 'True'", "refused"},
	{"start", "cannot-make-pods-event", NULL, WHY_CERTAIN,
		"SELECT min(f.seq), 'an Event says: ' || " SAYS("e") ", NULL FROM events AS e, events AS f, " IT(":seq") " AS o WHERE " ABOUT_IT("e")
		IS_WARNING "AND jget(e.object, '$.reason') = 'FailedCreate' AND f.uid = e.uid AND f.seq <= :until "
		"AND CASE :resource WHEN 'daemonsets' THEN coalesce(jget(o.object, '$.status.numberReady'), 0) < "
		"coalesce(jget(o.object, '$.status.desiredNumberScheduled'), 0) WHEN 'jobs' THEN coalesce(jget(o.object, '$.status.active'), 0) + "
		"coalesce(jget(o.object, '$.status.succeeded'), 0) = 0 ELSE coalesce(jget(o.object, '$.status.readyReplicas'), 0) < "
		"coalesce(jget(o.object, '$.spec.replicas'), 1) END GROUP BY e.uid ORDER BY max(e.seq) DESC LIMIT 1", "refused"},
	{"start", "job-failed", "jobs", WHY_CERTAIN,
		"SELECT e.seq, 'failed: ' || " MESSAGE ", NULL " CONDITION("Failed") "AND jget(k.value, '$.status') = 'True'", "job-failed"},
	{"start", "fought-over", NULL, WHY_LIKELY,
		"SELECT max(c.seq), group_concat(DISTINCT c.manager) || ' write ' || c.field || ' in turns, ' || count(*) || ' times in ' || "
		"duration(max(c.time_ns) - min(c.time_ns)), c.field FROM changes AS c WHERE c.uid = :uid AND c.seq <= :seq " SOON
		"AND c.type = 'MODIFIED' AND c.manager IS NOT NULL AND c.path NOT LIKE '$.status%' AND c.path NOT LIKE '$.metadata.generation' "
		"GROUP BY c.path HAVING count(*) >= 4 AND count(DISTINCT c.manager) > 1 AND count(DISTINCT c.new) <= count(*) / 2 "
		"ORDER BY count(*) DESC LIMIT 1", NULL},
	{"start", "scaled-to-zero", NULL, WHY_CERTAIN,
		"SELECT c.seq, " FROM_TO ", c.field FROM changes AS c WHERE c.uid = :uid AND c.seq <= :seq AND c.path = '$.spec.replicas' "
		"AND c.new = 0 AND (SELECT jget(object, '$.spec.replicas') FROM " IT(":seq") ") = 0 " NEWEST, "scaled"},
	{"start", "pod-in-trouble", "deployments", WHY_LIKELY,
		"WITH r AS MATERIALIZED (SELECT o.uid, o.seq, o.object FROM objects(:until) AS o WHERE o.resource = 'replicasets' "
		"AND o.namespace = :namespace AND jget(o.object, '$.metadata.ownerReferences[0].uid') = :uid) "
		"SELECT p.seq, 'is not ready', NULL FROM objects(:until) AS p WHERE p.resource = 'pods' AND p.namespace = :namespace "
		"AND jget(p.object, '$.metadata.ownerReferences[0].uid') IN (SELECT uid FROM r) AND " NOT_READY("p")
		"ORDER BY p.seq DESC LIMIT 1", "start"},
	{"start", "replicaset-in-trouble", "deployments", WHY_LIKELY,
		"SELECT o.seq, 'cannot make its pods', NULL FROM objects(:until) AS o WHERE o.resource = 'replicasets' "
		"AND o.namespace = :namespace AND jget(o.object, '$.metadata.ownerReferences[0].uid') = :uid "
		"AND EXISTS (SELECT 1 FROM json_each(coalesce(jget(o.object, '$.status.conditions'), '[]')) AS k "
		"WHERE jget(k.value, '$.type') = 'ReplicaFailure' AND jget(k.value, '$.status') = 'True') LIMIT 1", "start"},
	{"start", "pod-of-set-in-trouble", NULL, WHY_LIKELY,
		"SELECT p.seq, 'is not ready', NULL FROM objects(:until) AS p WHERE p.resource = 'pods' AND p.namespace = :namespace "
		"AND :uid <> '' AND jget(p.object, '$.metadata.ownerReferences[0].uid') = :uid AND " NOT_READY("p")
		"ORDER BY p.seq DESC LIMIT 1", "start"},
	{"start", "warned", NULL, WHY_CERTAIN, EVENT(IS_WARNING "AND :resource <> 'pods' "), "^warned"},
	{"start", "recreated", NULL, WHY_CERTAIN,
		"SELECT e.seq, 'was deleted, and its name taken by another one at once', NULL FROM events AS e WHERE e.resource = :resource "
		"AND e.namespace = :namespace AND e.name = :name AND e.seq < :first AND e.type = 'DELETED' "
		"AND e.time_ns > :ns - 900000000000 ORDER BY e.seq DESC LIMIT 1", "deleted"},
	{"start", "changed", NULL, WHY_CERTAIN,
		"SELECT c.seq, " FROM_TO ", c.field FROM changes AS c WHERE c.uid = :uid AND c.seq <= :seq AND c.type = 'MODIFIED' "
		"AND c.path LIKE '$.spec%' AND c.op <> 'add' " NEWEST, "changed"},
	{"start", "appeared", NULL, WHY_CERTAIN,
		"SELECT e.seq, CASE WHEN e.origin = 'list' OR e.seq <= :begin THEN 'was there when the recording began' ELSE 'was made' END, NULL "
		"FROM " IT(":first") " AS e", "made"},

	/* ---- why it was deleted ---- */
	{"deleted", "evicted-before", "pods", WHY_CERTAIN,
		"SELECT min(e.seq), 'was evicted by its kubelet: ' || coalesce(jget(e.object, '$.status.message'), ''), NULL FROM events AS e "
		"WHERE e.uid = :uid AND e.seq <= :seq AND jget(e.object, '$.status.reason') = 'Evicted' HAVING count(*) > 0", "evicted"},
	{"deleted", "disrupted", "pods", WHY_CERTAIN,
		"SELECT e.seq, 'the control plane says: ' || " MESSAGE ", NULL " CONDITION("DisruptionTarget")
		"AND jget(k.value, '$.status') = 'True'", "disrupted"},
	{"deleted", "namespace-deleted", NULL, WHY_LIKELY,
		"SELECT n.seq, 'holds it, and was being deleted', NULL FROM events AS n WHERE n.resource = 'namespaces' AND n.name = :namespace "
		"AND :resource <> 'namespaces' AND " BEFORE("n") "AND n.time_ns > :ns - 900000000000 "
		"AND jget(n.object, '$.metadata.deletionTimestamp') IS NOT NULL ORDER BY n.seq LIMIT 1", "deleted"},
	{"deleted", "owner-deleted", NULL, WHY_LIKELY,
		"SELECT e.seq, 'owns it, and was deleted', NULL FROM events AS e WHERE e.uid = :owner_uid AND :owner_uid <> '' AND " BEFORE("e")
		"AND (e.type = 'DELETED' OR jget(e.object, '$.metadata.deletionTimestamp') IS NOT NULL) ORDER BY e.seq LIMIT 1", "deleted"},
	{"deleted", "owner-scaled-down", NULL, WHY_LIKELY,
		"SELECT c.seq, 'owns it, and was scaled: ' || " FROM_TO ", c.field FROM changes AS c WHERE c.uid = :owner_uid AND :owner_uid <> '' "
		"AND " BEFORE("c") SOON "AND c.path = '$.spec.replicas' AND c.new < c.old " NEWEST, "scaled"},
	{"deleted", "owner-replaced-it", "pods", WHY_LIKELY,
		TEMPLATE_CHANGED("") , "changed"},
	{"deleted", "on-a-lost-node", "pods", WHY_LIKELY,
		"SELECT n.seq, 'it ran there, and the node was not ready', NULL FROM events AS n WHERE n.resource = 'nodes' AND n.name = :node "
		"AND " BEFORE("n") "AND n.time_ns > :ns - 900000000000 AND EXISTS (SELECT 1 FROM json_each(coalesce(jget(n.object, '$.status.conditions'), '[]')) AS k "
		"WHERE jget(k.value, '$.type') = 'Ready' AND jget(k.value, '$.status') <> 'True') ORDER BY n.seq LIMIT 1", "node-lost"},

	/* ---- why it was disrupted ---- */
	{"disrupted", "node-under-pressure", "pods", WHY_LIKELY, UNDER_PRESSURE("AND " DISRUPTED_BY("'TerminationByKubelet'")), NULL},
	/* A drain may take long: what counts is that the node was still cordoned. */
	{"disrupted", "node-cordoned", "pods", WHY_LIKELY,
		"SELECT c.seq, 'it ran there, and was cordoned: ' || " FROM_TO ", c.field FROM changes AS c WHERE c.resource = 'nodes' AND c.name = :node "
		"AND " BEFORE("c") "AND c.type = 'MODIFIED' AND c.path = '$.spec.unschedulable' AND c.new_json = 'true' "
		"AND NOT EXISTS (SELECT 1 FROM changes AS u WHERE u.resource = 'nodes' AND u.name = :node AND u.seq > c.seq AND u.seq < :seq "
		"AND u.path = '$.spec.unschedulable') AND " DISRUPTED_BY("'EvictionByEvictionAPI'") NEWEST, "changed"},
	{"disrupted", "preempted", "pods", WHY_CERTAIN, EVENT("AND jget(e.object, '$.reason') = 'Preempted' "), NULL},
	{"disrupted", "node-lost", "pods", WHY_LIKELY, NODE_LOST("AND " DISRUPTED_BY("'DeletionByTaintManager', 'DeletionByPodGC'")), "node-lost"},
	{"disrupted", "node-tainted", "pods", WHY_LIKELY, NODE_TAINTED("AND " DISRUPTED_BY("'DeletionByTaintManager'")), "changed"},
	{"disrupted", "node-deleted", "pods", WHY_LIKELY,
		"SELECT n.seq, 'it ran there, and the node was deleted', NULL FROM events AS n WHERE n.resource = 'nodes' AND n.name = :node "
		"AND n.type = 'DELETED' AND " BEFORE("n") "AND n.time_ns > :ns - 900000000000 ORDER BY n.seq DESC LIMIT 1", "deleted"},

	/* ---- why it was scaled ---- */
	{"scaled", "autoscaled", NULL, WHY_LIKELY, AUTOSCALED(""), NULL},
	{"changed", "autoscaled", NULL, WHY_LIKELY,
		AUTOSCALED("AND EXISTS (SELECT 1 FROM changes AS r WHERE r.seq = :seq AND r.path = '$.spec.replicas') "), NULL},
	{"scaled", "owner-changed", NULL, WHY_LIKELY, OWNER_CHANGED, "changed"},
	{"changed", "owner-changed", NULL, WHY_LIKELY, OWNER_CHANGED, "changed"},

	/* ---- why it was made ---- */
	{"made", "takes-a-place", "pods", WHY_LIKELY,
		"SELECT p.seq, 'has the same owner, and went: its place is taken', NULL FROM events AS p WHERE p.resource = 'pods' "
		"AND p.namespace = :namespace AND :owner_uid <> '' AND p.seq < :seq AND p.time_ns > :ns - 60000000000 "
		"AND (p.type = 'DELETED' OR jget(p.object, '$.metadata.deletionTimestamp') IS NOT NULL) "
		"AND jget(p.object, '$.metadata.ownerReferences[0].uid') = :owner_uid AND NOT EXISTS (SELECT 1 FROM changes AS c "
		"WHERE c.uid = :owner_uid AND c.path = '$.spec.replicas' AND c.seq > p.seq AND c.seq < :seq) ORDER BY p.seq DESC LIMIT 1", "deleted"},
	{"made", "owner-scaled-up", NULL, WHY_LIKELY,
		"SELECT c.seq, 'owns it, and was scaled: ' || " FROM_TO ", c.field FROM changes AS c WHERE c.uid = :owner_uid AND :owner_uid <> '' "
		"AND " BEFORE("c") SOON "AND c.path = '$.spec.replicas' AND c.new > c.old " NEWEST, "scaled"},
	{"made", "owner-made", NULL, WHY_LIKELY,
		"SELECT e.seq, 'owns it, and was made', NULL FROM events AS e WHERE e.uid = :owner_uid AND :owner_uid <> '' AND " BEFORE("e")
		"AND e.type = 'ADDED' AND e.origin = 'watch' AND e.time_ns > :ns - 900000000000 ORDER BY e.seq DESC LIMIT 1", "made"},
	{"made", "owner-changed", NULL, WHY_LIKELY, OWNER_CHANGED, "changed"},

	/* ---- why its containers fail ---- */
	{"oom", "limit-changed", "pods", WHY_LIKELY, TEMPLATE_CHANGED("AND c.field LIKE '%resources%' "), "changed"},
	{"oom", "template-changed", "pods", WHY_LIKELY, TEMPLATE_CHANGED(""), "changed"},
	{"image", "image-changed", "pods", WHY_LIKELY, TEMPLATE_CHANGED("AND c.field LIKE '%.image' "), "changed"},
	{"image", "came-with", "pods", WHY_LIKELY, OWNER_MADE, "made"},
	{"config", "missing", "pods", WHY_LIKELY, MISSING, "deleted"},
	{"config", "key-gone", "pods", WHY_LIKELY, KEY_GONE, "changed"},
	{"config", "key-lacking", "pods", WHY_LIKELY, KEY_LACKING, "^lacking"},
	{"config", "template-changed", "pods", WHY_LIKELY, TEMPLATE_CHANGED(""), "changed"},
	{"config", "came-with", "pods", WHY_LIKELY, OWNER_MADE, "made"},
	{"lacking", "template-changed", "pods", WHY_LIKELY, TEMPLATE_CHANGED(""), "changed"},
	{"lacking", "came-with", "pods", WHY_LIKELY, OWNER_MADE, "made"},
	{"crash", "missing", "pods", WHY_LIKELY, MISSING, "deleted"},
	{"crash", "probe", "pods", WHY_LIKELY,
		EVENT("AND jget(e.object, '$.reason') = 'Unhealthy' AND (" SAYS_PROBE("Liveness") "OR " SAYS_PROBE("Startup") ") "
		"AND EXISTS (SELECT 1 FROM " IT(":seq") " AS o, " CONTAINER_STATUSES("o.object")
		"WHERE jget(" CONTAINER_ENDED ", '$.exitCode') IN (137, 143)) "), "^told"},
	{"crash", "template-changed", "pods", WHY_LIKELY, TEMPLATE_CHANGED(""), "changed"},
	{"crash", "came-with", "pods", WHY_LIKELY, OWNER_MADE, "made"},
	{"unschedulable", "template-changed", "pods", WHY_LIKELY, TEMPLATE_CHANGED("AND c.field LIKE '%resources%' "), "changed"},
	{"unschedulable", "made", "pods", WHY_LIKELY,
		"SELECT e.seq, 'was made', NULL FROM events AS e WHERE e.seq = :first AND e.type = 'ADDED' AND e.origin = 'watch'", "made"},
	{"evicted", "node-under-pressure", "pods", WHY_LIKELY, UNDER_PRESSURE(""), NULL},
	{"job-failed", "pod-of-job", "jobs", WHY_LIKELY,
		"SELECT e.seq, " CONTAINER " || ' ended with exit code ' || jget(" CONTAINER_ENDED ", '$.exitCode') || "
		"coalesce(' (' || jget(" CONTAINER_ENDED ", '$.reason') || ')', '') || coalesce(': ' || jget(" CONTAINER_ENDED ", '$.message'), ''), NULL "
		"FROM events AS e, " CONTAINER_STATUSES("e.object") "WHERE e.resource = 'pods' AND e.namespace = :namespace AND e.seq <= :until "
		"AND e.type <> 'DELETED' AND jget(e.object, '$.metadata.ownerReferences[0].uid') = :uid "
		"AND jget(" CONTAINER_ENDED ", '$.exitCode') <> 0 ORDER BY e.seq DESC LIMIT 1", "crash"},

	/* ---- why it is not ready ---- */
	{"not-ready", "node-lost", "pods", WHY_LIKELY, NODE_LOST("AND " NODE_IS_LOST), "node-lost"},
	{"not-ready", "event", "pods", WHY_CERTAIN, EVENT(IS_WARNING), "^told"},
	/* Nothing is wrong with it yet. */
	{"not-ready", "starting", "pods", WHY_LIKELY,
		"SELECT e.seq, 'was made ' || duration(u.time_ns - :first_ns) || ' before', NULL FROM events AS e, events AS u WHERE e.seq = :first "
		"AND e.type = 'ADDED' AND e.origin = 'watch' AND u.seq = :until AND u.time_ns - :first_ns < 60000000000", "made"},
	{"not-ready", "template-changed", "pods", WHY_LIKELY, TEMPLATE_CHANGED_WITH_IT, "changed"},
	{"not-ready", "came-with", "pods", WHY_LIKELY, OWNER_MADE, "made"},
	{"told", "missing", "pods", WHY_LIKELY, MISSING, "deleted"},
	{"told", "key-gone", "pods", WHY_LIKELY, KEY_GONE, "changed"},
	{"told", "key-lacking", "pods", WHY_LIKELY, KEY_LACKING, "^lacking"},
	{"told", "template-changed", "pods", WHY_LIKELY, TEMPLATE_CHANGED_WITH_IT, "changed"},
	{"told", "came-with", "pods", WHY_LIKELY, OWNER_MADE, "made"},
	{"warned", "changed", NULL, WHY_LIKELY,
		"SELECT c.seq, " FROM_TO ", c.field FROM changes AS c WHERE c.uid = :uid AND c.seq <= :told " SOON "AND c.type = 'MODIFIED' "
		"AND c.path LIKE '$.spec%' " NEWEST, "changed"},
	{"warned", "appeared", NULL, WHY_LIKELY,
		"SELECT e.seq, 'was made', NULL FROM events AS e WHERE e.seq = :first AND e.type = 'ADDED' AND e.origin = 'watch' "
		"AND :first_ns > :ns - 900000000000", "made"},

	/* ---- why a node is lost ---- */
	{"on-lost-node", "node-lost", "pods", WHY_LIKELY, NODE_LOST(""), "node-lost"},
	{"on-lost-node", "node-tainted", "pods", WHY_LIKELY, NODE_TAINTED(""), "changed"},
	{"node-lost", "lease-stopped", "nodes", WHY_LIKELY,
		"SELECT l.seq, 'was renewed for the last time, ' || duration(:ns - l.time_ns) || ' before', NULL FROM events AS l "
		"WHERE l.resource = 'leases' AND l.namespace = 'kube-node-lease' AND l.name = :name AND l.seq < :seq ORDER BY l.seq DESC LIMIT 1",
		NULL},

	/* ---- who refused ---- */
	{"refused", "quota", NULL, WHY_LIKELY,
		"SELECT q.seq, 'allows ' || coalesce(jget(q.object, '$.spec.hard'), '?'), NULL FROM events AS e, events AS q "
		"WHERE e.seq = :seq AND q.resource = 'resourcequotas' AND q.namespace = :namespace AND q.type <> 'DELETED' AND " BEFORE("q")
		"AND e.object LIKE '%exceeded quota: ' || q.name || ',%' ORDER BY q.seq DESC LIMIT 1", "changed-quota"},
	{"refused", "webhook", NULL, WHY_LIKELY,
		"SELECT w.seq, 'sends them to ' || coalesce(jget(h.value, '$.clientConfig.service.namespace') || '/' || "
		"jget(h.value, '$.clientConfig.service.name'), jget(h.value, '$.clientConfig.url'), '?') || ', and refuses them when that fails', NULL "
		"FROM events AS e, events AS w, json_each(coalesce(jget(w.object, '$.webhooks'), '[]')) AS h "
		"WHERE e.seq = :seq AND w.resource IN ('validatingwebhookconfigurations', 'mutatingwebhookconfigurations') AND w.type <> 'DELETED' "
		"AND " BEFORE("w") "AND instr(e.object, 'webhook \\\"' || jget(h.value, '$.name') || '\\\"') ORDER BY w.seq DESC LIMIT 1", "changed-webhook"},
	{"changed-quota", "quota-changed", "resourcequotas", WHY_CERTAIN,
		"SELECT c.seq, " FROM_TO ", c.field FROM changes AS c WHERE c.uid = :uid AND c.seq <= :seq AND c.type = 'MODIFIED' "
		"AND c.path LIKE '$.spec.hard%' " NEWEST, "changed"},
	{"changed-webhook", "webhook-changed", NULL, WHY_CERTAIN,
		"SELECT c.seq, CASE WHEN c.path = '$' THEN 'was made' ELSE " FROM_TO " END, c.field FROM changes AS c WHERE c.uid = :uid "
		"AND c.seq <= :seq AND c.origin <> 'list' " NEWEST, "changed"},

	/* ---- what Kubernetes itself says, where nothing else is found ---- */
	{"*", "event", NULL, WHY_CERTAIN, EVENT(IS_WARNING), NULL},
	{0},
};
