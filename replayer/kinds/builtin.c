/* builtin.c: see builtin.h. */
#include "replayer/kinds/builtin.h"
#include "schema/base/count_of.h"

static const char *const groups[] = {"", "admissionregistration.k8s.io", "apiextensions.k8s.io",
	"apiregistration.k8s.io", "apps", "authentication.k8s.io", "authorization.k8s.io", "autoscaling",
	"batch", "certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io",
	"extensions", "flowcontrol.apiserver.k8s.io", "internal.apiserver.k8s.io", "networking.k8s.io",
	"node.k8s.io", "policy", "rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io",
	"storage.k8s.io", "storagemigration.k8s.io"};

static const struct {
	const char *group, *resource, *names;
} short_names[] = {
	{"", "componentstatuses", "cs"},
	{"", "configmaps", "cm"},
	{"", "endpoints", "ep"},
	{"", "events", "ev"},
	{"", "limitranges", "limits"},
	{"", "namespaces", "ns"},
	{"", "nodes", "no"},
	{"", "persistentvolumeclaims", "pvc"},
	{"", "persistentvolumes", "pv"},
	{"", "pods", "po"},
	{"", "replicationcontrollers", "rc"},
	{"", "resourcequotas", "quota"},
	{"", "serviceaccounts", "sa"},
	{"", "services", "svc"},
	{"apiextensions.k8s.io", "customresourcedefinitions", "crd,crds"},
	{"apps", "daemonsets", "ds"},
	{"apps", "deployments", "deploy"},
	{"apps", "replicasets", "rs"},
	{"apps", "statefulsets", "sts"},
	{"autoscaling", "horizontalpodautoscalers", "hpa"},
	{"batch", "cronjobs", "cj"},
	{"certificates.k8s.io", "certificatesigningrequests", "csr"},
	{"events.k8s.io", "events", "ev"},
	{"networking.k8s.io", "ingresses", "ing"},
	{"networking.k8s.io", "networkpolicies", "netpol"},
	{"policy", "poddisruptionbudgets", "pdb"},
	{"scheduling.k8s.io", "priorityclasses", "pc"},
	{"storage.k8s.io", "storageclasses", "sc"},
};

bool builtin_group(struct slice group)
{
	for (size_t i = 0; i < COUNT_OF(groups); i++) {
		if (slice_is(group, groups[i]))
			return true;
	}
	return false;
}

const struct write_resource *builtin_resource(struct slice group, struct slice version, struct slice resource)
{
	for (unsigned i = 0; i < write_resource_count; i++) {
		const struct write_resource *k = &write_resources[i];

		if (slice_is(resource, k->resource) && slice_is(group, k->group) &&
			slice_is(version, k->version))
			return k;
	}
	return NULL;
}

const char *builtin_short_names(struct slice group, struct slice resource)
{
	for (size_t i = 0; i < COUNT_OF(short_names); i++) {
		if (slice_is(group, short_names[i].group) && slice_is(resource, short_names[i].resource))
			return short_names[i].names;
	}
	return "";
}

bool builtin_is_in_all(struct slice group, struct slice resource)
{
	static const struct {
		const char *group, *resource;
	} all[] = {{"", "pods"}, {"", "replicationcontrollers"}, {"", "services"}, {"apps", "daemonsets"},
		{"apps", "deployments"}, {"apps", "replicasets"}, {"apps", "statefulsets"},
		{"autoscaling", "horizontalpodautoscalers"}, {"batch", "cronjobs"}, {"batch", "jobs"}};

	for (size_t i = 0; i < COUNT_OF(all); i++) {
		if (slice_is(group, all[i].group) && slice_is(resource, all[i].resource))
			return true;
	}
	return false;
}

bool builtin_is_lease(struct slice group, struct slice resource)
{
	return slice_is(resource, "leases") && slice_is(group, "coordination.k8s.io");
}

bool builtin_is_event(struct slice group, struct slice resource)
{
	return slice_is(resource, "events") && (group.len == 0 || slice_is(group, "events.k8s.io"));
}

bool builtin_is_aside(struct slice group, struct slice resource)
{
	return builtin_is_lease(group, resource) || builtin_is_event(group, resource);
}
