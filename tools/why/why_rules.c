/*
 * why_rules.c: what explains what. To add a rule: a row, where it is to be tried; its fact is one that a row before it
 * states as `next`, or "start", the object's last event.
 *
 * Statements name what they look for by uid, or by resource and namespace and time, so that the tape finds it without a
 * walk over all of it. A cause is looked for in the quarter of an hour before what it explains, unless it is what the
 * object was made with.
 */
#include "tools/why/why.h"

/* clang-format off */

#define THIS "FROM events AS e WHERE e.seq = :seq "
#define STATUSES \
	"FROM events AS e, json_each(coalesce(jget(e.object, '$.status.containerStatuses'), '[]')) AS s WHERE e.seq = :seq "
#define CONDITION(type) \
	"FROM events AS e, json_each(coalesce(jget(e.object, '$.status.conditions'), '[]')) AS k WHERE e.seq = :seq " \
	"AND jget(k.value, '$.type') = '" type "' "
#define MESSAGE "jget(k.value, '$.reason') || ': ' || coalesce(jget(k.value, '$.message'), '')"
#define TERMINATED "coalesce(jget(s.value, '$.state.terminated'), jget(s.value, '$.lastState.terminated'))"
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
	"WITH o AS MATERIALIZED (SELECT object FROM events WHERE uid = :owner_uid AND seq <= :seq ORDER BY seq DESC LIMIT 1), " \
	"t AS MATERIALIZED (SELECT :owner_uid AS uid UNION SELECT jget(r.value, '$.uid') FROM o, " \
	"json_each(coalesce(jget(o.object, '$.metadata.ownerReferences'), '[]')) AS r) "
#define TEMPLATE_CHANGED(condition) \
	OWNERS "SELECT c.seq, " FROM_TO ", c.field FROM t CROSS JOIN changes AS c ON c.uid = t.uid WHERE :owner_uid <> '' " \
	"AND " EARLIER("c", ":first", ":first_ns", ":first_rv") "AND c.type = 'MODIFIED' AND c.path LIKE '$.spec.template%' " \
	condition NEWEST

#define OWNER_CHANGED \
	"SELECT c.seq, " FROM_TO ", c.field FROM changes AS c WHERE c.uid = :owner_uid AND :owner_uid <> '' AND " BEFORE("c") SOON \
	"AND c.type = 'MODIFIED' AND (c.path = '$.spec.replicas' OR c.path LIKE '$.spec.template%') " NEWEST

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
		"SELECT e.seq, 'is being deleted: ' || " MESSAGE ", NULL " CONDITION("NamespaceContentRemaining")
		"AND jget(k.value, '$.status') = 'True'", "deleted"},
	{"start", "namespace-terminates", "namespaces", WHY_CERTAIN,
		"SELECT e.seq, 'is being deleted since ' || jget(e.object, '$.metadata.deletionTimestamp'), NULL " THIS
		"AND jget(e.object, '$.metadata.deletionTimestamp') IS NOT NULL", "deleted"},
	{"start", "evicted", "pods", WHY_CERTAIN,
		"SELECT e.seq, 'was evicted by its kubelet: ' || coalesce(jget(e.object, '$.status.message'), ''), NULL " THIS
		"AND jget(e.object, '$.status.reason') = 'Evicted'", "evicted"},
	{"start", "oom-killed", "pods", WHY_CERTAIN,
		"SELECT e.seq, " CONTAINER " || ' was killed because it took more memory than it may (OOMKilled, exit code ' || "
		"coalesce(jget(" TERMINATED ", '$.exitCode'), '?') || '); restarts: ' || coalesce(jget(s.value, '$.restartCount'), 0) || "
		"coalesce('; its limit: ' || (SELECT jget(c.value, '$.resources.limits.memory') FROM "
		"json_each(coalesce(jget(e.object, '$.spec.containers'), '[]')) AS c "
		"WHERE jget(c.value, '$.name') = jget(s.value, '$.name')), ''), NULL "
		STATUSES "AND jget(" TERMINATED ", '$.reason') = 'OOMKilled' LIMIT 1", "oom"},
	{"start", "image", "pods", WHY_CERTAIN,
		"SELECT e.seq, " CONTAINER " || ' waits for its image ' || coalesce(jget(s.value, '$.image'), '?') || ' (' || "
		"jget(s.value, '$.state.waiting.reason') || coalesce(': ' || jget(s.value, '$.state.waiting.message'), '') || ')', NULL "
		STATUSES "AND jget(s.value, '$.state.waiting.reason') IN ('ErrImagePull', 'ImagePullBackOff', 'InvalidImageName', "
		"'ErrImageNeverPull', 'ImageInspectError') LIMIT 1", "image"},
	{"start", "config", "pods", WHY_CERTAIN,
		"SELECT e.seq, " CONTAINER " || ' cannot be made (' || jget(s.value, '$.state.waiting.reason') || "
		"coalesce(': ' || jget(s.value, '$.state.waiting.message'), '') || ')', NULL "
		STATUSES "AND jget(s.value, '$.state.waiting.reason') IN ('CreateContainerConfigError', 'CreateContainerError', "
		"'RunContainerError') LIMIT 1", "crash"},
	{"start", "crashed", "pods", WHY_CERTAIN,
		"SELECT e.seq, " CONTAINER " || ' ended with exit code ' || jget(" TERMINATED ", '$.exitCode') || "
		"coalesce(' (' || jget(" TERMINATED ", '$.reason') || ')', '') || coalesce(': ' || jget(" TERMINATED ", '$.message'), '') || "
		"'; restarts: ' || coalesce(jget(s.value, '$.restartCount'), 0), NULL "
		STATUSES "AND jget(" TERMINATED ", '$.exitCode') <> 0 LIMIT 1", "crash"},
	{"start", "unschedulable", "pods", WHY_CERTAIN,
		"SELECT e.seq, 'has no node: ' || " MESSAGE ", NULL " CONDITION("PodScheduled")
		"AND jget(k.value, '$.status') = 'False'", "unschedulable"},
	{"start", "node-of-the-pod-lost", "pods", WHY_CERTAIN,
		"SELECT e.seq, 'is not ready: ' || " MESSAGE ", NULL " CONDITION("Ready")
		"AND jget(k.value, '$.reason') = 'NodeNotReady'", "on-lost-node"},
	{"start", "node-lost", "nodes", WHY_CERTAIN,
		"SELECT e.seq, 'is not ready: ' || " MESSAGE ", NULL " CONDITION("Ready")
		"AND jget(k.value, '$.status') <> 'True'", "node-lost"},
	{"start", "cannot-make-pods", NULL, WHY_CERTAIN,
		"SELECT e.seq, 'cannot make its pods: ' || " MESSAGE ", NULL " CONDITION("ReplicaFailure")
		"AND jget(k.value, '$.status') = 'True'", "refused"},
	{"start", "fought-over", NULL, WHY_LIKELY,
		"SELECT max(c.seq), group_concat(DISTINCT c.manager) || ' write ' || c.field || ' in turns, ' || count(*) || ' times in ' || "
		"duration(max(c.time_ns) - min(c.time_ns)), c.field FROM changes AS c WHERE c.uid = :uid AND c.seq <= :seq " SOON
		"AND c.type = 'MODIFIED' AND c.manager IS NOT NULL AND c.path NOT LIKE '$.status%' AND c.path NOT LIKE '$.metadata.generation' "
		"GROUP BY c.path HAVING count(*) >= 4 AND count(DISTINCT c.manager) > 1 AND count(DISTINCT c.new) <= count(*) / 2 "
		"ORDER BY count(*) DESC LIMIT 1", NULL},
	{"start", "scaled-to-zero", NULL, WHY_CERTAIN,
		"SELECT c.seq, " FROM_TO ", c.field FROM changes AS c WHERE c.uid = :uid AND c.seq <= :seq AND c.path = '$.spec.replicas' "
		"AND c.new = 0 AND (SELECT jget(object, '$.spec.replicas') FROM events WHERE seq = :seq) = 0 " NEWEST, "scaled"},
	{"start", "pod-in-trouble", "deployments", WHY_LIKELY,
		"WITH r AS MATERIALIZED (SELECT o.uid, o.seq, o.object FROM objects(:until) AS o WHERE o.resource = 'replicasets' "
		"AND o.namespace = :namespace AND jget(o.object, '$.metadata.ownerReferences[0].uid') = :uid) "
		"SELECT p.seq, 'is not ready', NULL FROM objects(:until) AS p WHERE p.resource = 'pods' AND p.namespace = :namespace "
		"AND jget(p.object, '$.metadata.ownerReferences[0].uid') IN (SELECT uid FROM r) "
		"AND EXISTS (SELECT 1 FROM json_each(coalesce(jget(p.object, '$.status.conditions'), '[]')) AS k "
		"WHERE jget(k.value, '$.type') IN ('Ready', 'PodScheduled') AND jget(k.value, '$.status') = 'False') "
		"ORDER BY p.seq DESC LIMIT 1", "start"},
	{"start", "replicaset-in-trouble", "deployments", WHY_LIKELY,
		"SELECT o.seq, 'cannot make its pods', NULL FROM objects(:until) AS o WHERE o.resource = 'replicasets' "
		"AND o.namespace = :namespace AND jget(o.object, '$.metadata.ownerReferences[0].uid') = :uid "
		"AND EXISTS (SELECT 1 FROM json_each(coalesce(jget(o.object, '$.status.conditions'), '[]')) AS k "
		"WHERE jget(k.value, '$.type') = 'ReplicaFailure' AND jget(k.value, '$.status') = 'True') LIMIT 1", "start"},
	{"start", "pod-of-set-in-trouble", NULL, WHY_LIKELY,
		"SELECT p.seq, 'is not ready', NULL FROM objects(:until) AS p WHERE p.resource = 'pods' AND p.namespace = :namespace "
		"AND :uid <> '' AND jget(p.object, '$.metadata.ownerReferences[0].uid') = :uid "
		"AND EXISTS (SELECT 1 FROM json_each(coalesce(jget(p.object, '$.status.conditions'), '[]')) AS k "
		"WHERE jget(k.value, '$.type') IN ('Ready', 'PodScheduled') AND jget(k.value, '$.status') = 'False') "
		"ORDER BY p.seq DESC LIMIT 1", "start"},
	{"start", "recreated", NULL, WHY_CERTAIN,
		"SELECT e.seq, 'was deleted, and its name taken by another one at once', NULL FROM events AS e WHERE e.resource = :resource "
		"AND e.namespace = :namespace AND e.name = :name AND e.seq < :first AND e.type = 'DELETED' "
		"AND e.time_ns > :ns - 900000000000 ORDER BY e.seq DESC LIMIT 1", "deleted"},
	{"start", "changed", NULL, WHY_CERTAIN,
		"SELECT c.seq, " FROM_TO ", c.field FROM changes AS c WHERE c.uid = :uid AND c.seq <= :seq AND c.type = 'MODIFIED' "
		"AND c.path LIKE '$.spec%' AND c.op <> 'add' " NEWEST, "changed"},
	{"start", "appeared", NULL, WHY_CERTAIN,
		"SELECT e.seq, CASE WHEN e.origin = 'list' THEN 'was there when the recording began' ELSE 'was made' END, NULL "
		"FROM events AS e WHERE e.seq = :first", "made"},

	/* ---- why it was deleted ---- */
	{"deleted", "disrupted", "pods", WHY_CERTAIN,
		"SELECT e.seq, 'the control plane says: ' || " MESSAGE ", NULL " CONDITION("DisruptionTarget")
		"AND jget(k.value, '$.status') = 'True'", "on-lost-node"},
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

	/* ---- why it was scaled ---- */
	{"scaled", "autoscaled", NULL, WHY_LIKELY,
		"SELECT c.seq, 'scales it: ' || " FROM_TO ", c.field FROM changes AS c WHERE c.resource = 'horizontalpodautoscalers' "
		"AND c.namespace = :namespace AND c.seq <= :seq + 20 " SOON "AND c.path = '$.status.desiredReplicas' "
		"AND jget(c.object, '$.spec.scaleTargetRef.name') = :name AND c.new = (SELECT jget(object, '$.spec.replicas') FROM events "
		"WHERE seq = :seq) " NEWEST, NULL},
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
	{"crash", "template-changed", "pods", WHY_LIKELY, TEMPLATE_CHANGED(""), "changed"},
	{"unschedulable", "template-changed", "pods", WHY_LIKELY, TEMPLATE_CHANGED("AND c.field LIKE '%resources%' "), "changed"},
	{"evicted", "node-under-pressure", "pods", WHY_LIKELY,
		"SELECT n.seq, 'had ' || jget(k.value, '$.type') || ': ' || coalesce(jget(k.value, '$.message'), ''), NULL FROM events AS n, "
		"json_each(coalesce(jget(n.object, '$.status.conditions'), '[]')) AS k WHERE n.resource = 'nodes' AND n.name = :node "
		"AND n.time_ns BETWEEN :ns - 900000000000 AND :ns + 60000000000 AND jget(k.value, '$.type') LIKE '%Pressure' "
		"AND jget(k.value, '$.status') = 'True' ORDER BY abs(n.time_ns - :ns) LIMIT 1", NULL},

	/* ---- why a node is lost ---- */
	{"on-lost-node", "node-lost", "pods", WHY_LIKELY,
		"SELECT n.seq, 'is not ready: ' || " MESSAGE ", NULL FROM events AS n, "
		"json_each(coalesce(jget(n.object, '$.status.conditions'), '[]')) AS k WHERE n.resource = 'nodes' AND n.name = :node "
		"AND " BEFORE("n") "AND n.time_ns > :ns - 900000000000 AND jget(k.value, '$.type') = 'Ready' AND jget(k.value, '$.status') <> 'True' "
		"ORDER BY n.seq LIMIT 1", "node-lost"},
	{"on-lost-node", "node-tainted", "pods", WHY_LIKELY,
		"SELECT c.seq, 'it ran there, and that repels what does not tolerate it: ' || " FROM_TO ", c.field FROM changes AS c "
		"WHERE c.resource = 'nodes' AND c.name = :node AND " BEFORE("c") SOON "AND c.path LIKE '$.spec.taints%' "
		"AND c.new LIKE '%NoExecute%' " NEWEST, "changed"},
	{"node-lost", "lease-stopped", "nodes", WHY_LIKELY,
		"SELECT l.seq, 'was renewed for the last time, ' || duration(:ns - l.time_ns) || ' before', NULL FROM events AS l "
		"WHERE l.resource = 'leases' AND l.namespace = 'kube-node-lease' AND l.name = :name AND l.seq < :seq ORDER BY l.seq DESC LIMIT 1",
		NULL},

	/* ---- who refused ---- */
	{"refused", "quota", NULL, WHY_LIKELY,
		"SELECT q.seq, 'allows ' || coalesce(jget(q.object, '$.spec.hard'), '?'), NULL FROM objects(:until) AS q, events AS e "
		"WHERE e.seq = :seq AND q.resource = 'resourcequotas' AND q.namespace = :namespace "
		"AND e.object LIKE '%exceeded quota: ' || q.name || ',%' LIMIT 1", "changed-quota"},
	{"refused", "webhook", NULL, WHY_LIKELY,
		"SELECT w.seq, 'sends them to ' || coalesce(jget(h.value, '$.clientConfig.service.namespace') || '/' || "
		"jget(h.value, '$.clientConfig.service.name'), jget(h.value, '$.clientConfig.url'), '?') || ', and refuses them when that fails', NULL "
		"FROM events AS e, objects(:until) AS w, json_each(coalesce(jget(w.object, '$.webhooks'), '[]')) AS h "
		"WHERE e.seq = :seq AND w.resource IN ('validatingwebhookconfigurations', 'mutatingwebhookconfigurations') "
		"AND instr(e.object, 'webhook \\\"' || jget(h.value, '$.name') || '\\\"') LIMIT 1", "changed-webhook"},
	{"changed-quota", "quota-changed", "resourcequotas", WHY_CERTAIN,
		"SELECT c.seq, " FROM_TO ", c.field FROM changes AS c WHERE c.uid = :uid AND c.type = 'MODIFIED' "
		"AND c.path LIKE '$.spec.hard%' " NEWEST, "changed"},
	{"changed-webhook", "webhook-changed", NULL, WHY_CERTAIN,
		"SELECT c.seq, CASE WHEN c.path = '$' THEN 'was made' ELSE " FROM_TO " END, c.field FROM changes AS c WHERE c.uid = :uid "
		"AND c.origin <> 'list' " NEWEST, "changed"},

	/* ---- what Kubernetes itself says, where nothing else is found ---- */
	{"*", "event", NULL, WHY_CERTAIN,
		"SELECT e.seq, 'an Event says: ' || coalesce(jget(e.object, '$.reason'), '?') || ': ' || "
		"coalesce(jget(e.object, '$.message'), jget(e.object, '$.note'), ''), NULL FROM events AS e WHERE e.resource = 'events' "
		"AND e.namespace = CASE WHEN :namespace = '' THEN 'default' ELSE :namespace END AND e.time_ns BETWEEN :ns - 900000000000 AND :ns + 60000000000 "
		"AND jget(e.object, '$.type') = 'Warning' "
		"AND coalesce(jget(e.object, '$.involvedObject.uid'), jget(e.object, '$.regarding.uid')) = :uid ORDER BY e.seq DESC LIMIT 1", NULL},
	{0},
};
