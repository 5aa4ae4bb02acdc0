/* get_views.c: see get_views.h. The words and sums are those that kubectl shows, as far as the object tells.
 */
#include "tools/get_views.h"

#define COUNT(path)   "coalesce(jget(object, '" path "'), 0)"
#define TEXT(path)    "coalesce(jget(object, '" path "'), '<none>')"
#define READY_OF_SPEC COUNT("$.status.readyReplicas") " || '/' || " COUNT("$.spec.replicas") " AS \"READY\", "

#define POD_STATUS                                                                                           \
	"CASE WHEN jget(object, '$.metadata.deletionTimestamp') IS NOT NULL THEN 'Terminating' "             \
	"ELSE coalesce((SELECT coalesce(jget(value, '$.state.waiting.reason'), "                             \
	"jget(value, '$.state.terminated.reason')) AS reason "                                               \
	"FROM json_each(object, '$.status.containerStatuses') WHERE reason IS NOT NULL LIMIT 1), "           \
	"jget(object, '$.status.reason'), " TEXT("$.status.phase") ") END AS \"STATUS\", "

#define POD_READY                                                                                            \
	"(SELECT count(*) FROM json_each(object, '$.status.containerStatuses') "                             \
	"WHERE jget(value, '$.ready')) || '/' || "                                                           \
	"coalesce(json_array_length(object, '$.spec.containers'), 0) AS \"READY\", "

#define POD_RESTARTS                                                                                         \
	"coalesce((SELECT sum(jget(value, '$.restartCount')) "                                               \
	"FROM json_each(object, '$.status.containerStatuses')), 0) AS \"RESTARTS\", "

#define NODE_STATUS                                                                                          \
	"coalesce((SELECT CASE jget(value, '$.status') WHEN 'True' THEN 'Ready' ELSE 'NotReady' END "        \
	"FROM json_each(object, '$.status.conditions') WHERE jget(value, '$.type') = 'Ready'), 'Unknown') "  \
	"|| iif(jget(object, '$.spec.unschedulable'), ',SchedulingDisabled', '') AS \"STATUS\", "

static const struct get_view views[] = {
	{"", "pods", POD_READY POD_STATUS POD_RESTARTS,
		TEXT("$.status.podIP") " AS \"IP\", " TEXT("$.spec.nodeName") " AS \"NODE\", "},
	{"", "nodes", NODE_STATUS, TEXT("$.status.nodeInfo.kubeletVersion") " AS \"VERSION\", "},
	{"apps", "deployments",
		READY_OF_SPEC COUNT("$.status.updatedReplicas") " AS \"UP-TO-DATE\", " COUNT(
			"$.status.availableReplicas") " AS \"AVAILABLE\", ",
		TEXT("$.spec.template.spec.containers[0].image") " AS \"IMAGE\", "},
	{"apps", "replicasets",
		COUNT("$.spec.replicas") " AS \"DESIRED\", " COUNT("$.status.replicas") " AS \"CURRENT\", " COUNT(
			"$.status.readyReplicas") " AS \"READY\", ",
		TEXT("$.spec.template.spec.containers[0].image") " AS \"IMAGE\", "},
	{"apps", "statefulsets", READY_OF_SPEC, ""},
	{"apps", "daemonsets",
		COUNT("$.status.desiredNumberScheduled") " AS \"DESIRED\", " COUNT(
			"$.status.currentNumberScheduled") " AS \"CURRENT\", " COUNT("$.status.numberReady") " AS \"READY\", ",
		""},
	{"batch", "jobs",
		COUNT("$.status.succeeded") " || '/' || coalesce(jget(object, '$.spec.completions'), 1) "
					    "AS \"COMPLETIONS\", ",
		""},
	{"", "services", TEXT("$.spec.type") " AS \"TYPE\", " TEXT("$.spec.clusterIP") " AS \"CLUSTER-IP\", ",
		""},
	{"", "namespaces", TEXT("$.status.phase") " AS \"STATUS\", ", ""},
	{"", "persistentvolumeclaims",
		TEXT("$.status.phase") " AS \"STATUS\", " TEXT("$.spec.volumeName") " AS \"VOLUME\", ", ""},
	{"", "events",
		TEXT("$.type") " AS \"TYPE\", " TEXT(
			"$.reason") " AS \"REASON\", "
				    "lower(jget(object, '$.involvedObject.kind')) || '/' || jget(object, '$.involvedObject.name') "
				    "AS \"OBJECT\", " TEXT("$.message") " AS \"MESSAGE\", ",
		""},
	{"events.k8s.io", "events",
		TEXT("$.type") " AS \"TYPE\", " TEXT(
			"$.reason") " AS \"REASON\", "
				    "lower(jget(object, '$.regarding.kind')) || '/' || jget(object, '$.regarding.name') "
				    "AS \"OBJECT\", " TEXT("$.note") " AS \"MESSAGE\", ",
		""},
	{"coordination.k8s.io", "leases", TEXT("$.spec.holderIdentity") " AS \"HOLDER\", ", ""},
};

const struct get_view *get_view_of(const struct tape_resource *resource)
{
	static const struct get_view plain = {"", "", "", ""};

	for (size_t i = 0; i < sizeof(views) / sizeof(*views); i++) {
		if (strcmp(views[i].apigroup, resource->apigroup) == 0 &&
			strcmp(views[i].resource, resource->resource) == 0)
			return &views[i];
	}
	return &plain;
}
