/*
 * default_values.c: see default_values.h. Only those defaults are here that Kubernetes has had since long and
 * that do not hang on how a cluster is configured: a replay can be of any release.
 */
#include "replayer/write/default_values.h"

#include "replayer/json/json_tree.h"
#include "schema/base/base64.h"
#include "schema/base/count_of.h"
#include "schema/base/limits.h"

#include <string.h>

/* A path of members; "[]" after one: in each item of the list. What leads to the last is not made. */
struct default_value {
	const char *path, *value;
};

static const struct {
	const char *group, *resource;
	struct default_value of;
} values[] = {
	{"", "replicationcontrollers", {"spec.replicas", "1"}},
	{"", "pods", {"spec.enableServiceLinks", "true"}},
	{"", "persistentvolumeclaims", {"spec.volumeMode", "\"Filesystem\""}},
	{"", "services", {"spec.type", "\"ClusterIP\""}},
	{"", "services", {"spec.sessionAffinity", "\"None\""}},
	{"", "services", {"spec.ports[].protocol", "\"TCP\""}},
	{"apps", "daemonsets", {"spec.revisionHistoryLimit", "10"}},
	{"apps", "deployments", {"spec.replicas", "1"}},
	{"apps", "deployments", {"spec.revisionHistoryLimit", "10"}},
	{"apps", "deployments", {"spec.progressDeadlineSeconds", "600"}},
	{"apps", "replicasets", {"spec.replicas", "1"}},
	{"apps", "statefulsets", {"spec.replicas", "1"}},
	{"apps", "statefulsets", {"spec.podManagementPolicy", "\"OrderedReady\""}},
	{"apps", "statefulsets", {"spec.revisionHistoryLimit", "10"}},
	{"batch", "cronjobs", {"spec.concurrencyPolicy", "\"Allow\""}},
	{"batch", "cronjobs", {"spec.suspend", "false"}},
	{"batch", "cronjobs", {"spec.successfulJobsHistoryLimit", "3"}},
	{"batch", "cronjobs", {"spec.failedJobsHistoryLimit", "1"}},
	{"batch", "jobs", {"spec.parallelism", "1"}},
	{"batch", "jobs", {"spec.backoffLimit", "6"}},
	{"batch", "jobs", {"spec.completionMode", "\"NonIndexed\""}},
	{"batch", "jobs", {"spec.suspend", "false"}},
};

/* How they are updated: in a rolling way, which has parameters. Go sends what is not said of it as {}. */
static const struct rolling {
	const char *resource, *member, *parameters[2], *values[2];
} rollings[] = {
	{"daemonsets", "updateStrategy", {"maxUnavailable", "maxSurge"}, {"1", "0"}},
	{"deployments", "strategy", {"maxUnavailable", "maxSurge"}, {"\"25%\"", "\"25%\""}},
	{"statefulsets", "updateStrategy", {"partition"}, {"0"}},
};

static const struct default_value of_pods[] = {
	{"restartPolicy", "\"Always\""},
	{"terminationGracePeriodSeconds", "30"},
	{"dnsPolicy", "\"ClusterFirst\""},
	{"securityContext", "{}"},
	{"schedulerName", "\"default-scheduler\""},
	{"volumes[].secret.defaultMode", "420"},
	{"volumes[].configMap.defaultMode", "420"},
	{"volumes[].downwardAPI.defaultMode", "420"},
	{"volumes[].downwardAPI.items[].fieldRef.apiVersion", "\"v1\""},
	{"volumes[].projected.defaultMode", "420"},
	{"volumes[].projected.sources[].serviceAccountToken.expirationSeconds", "3600"},
	{"volumes[].projected.sources[].downwardAPI.items[].fieldRef.apiVersion", "\"v1\""},
	{"volumes[].hostPath.type", "\"\""},
};

/* Programs compare a template with that of what they made from it, to which they add these themselves. */
static const struct default_value of_containers[] = {
	{"terminationMessagePath", "\"/dev/termination-log\""},
	{"terminationMessagePolicy", "\"File\""},
	{"resources", "{}"},
	{"ports[].protocol", "\"TCP\""},
	{"env[].valueFrom.fieldRef.apiVersion", "\"v1\""},
};

static const struct default_value of_probes[] = {
	{"timeoutSeconds", "1"},
	{"periodSeconds", "10"},
	{"successThreshold", "1"},
	{"failureThreshold", "3"},
	{"httpGet.path", "\"/\""},
	{"httpGet.scheme", "\"HTTP\""},
};

/* Where the spec of a pod is. */
static const struct {
	const char *group, *resource;
	const char *path[6];
} pod_specs[] = {
	{"", "pods", {"spec"}},
	{"", "podtemplates", {"template", "spec"}},
	{"", "replicationcontrollers", {"spec", "template", "spec"}},
	{"apps", "daemonsets", {"spec", "template", "spec"}},
	{"apps", "deployments", {"spec", "template", "spec"}},
	{"apps", "replicasets", {"spec", "template", "spec"}},
	{"apps", "statefulsets", {"spec", "template", "spec"}},
	{"batch", "cronjobs", {"spec", "jobTemplate", "spec", "template", "spec"}},
	{"batch", "jobs", {"spec", "template", "spec"}},
};

#define NAME_BYTES 64

static bool is_kind(const char *group, const char *resource, const char *of_group, const char *of_resource)
{
	return strcmp(group, of_group) == 0 && strcmp(resource, of_resource) == 0;
}

static void fill_path(cJSON *object, const char *path, const char *value)
{
	size_t length = strcspn(path, ".[");
	char name[NAME_BYTES];
	cJSON *item, *at;

	if (!cJSON_IsObject(object) || length >= sizeof(name))
		return;
	memcpy(name, path, length);
	name[length] = 0;
	at = json_tree_at(object, name, NULL);
	if (path[length] == '.') {
		fill_path(at, path + length + 1, value);
	} else if (path[length] == '[' && cJSON_IsArray(at)) {
		cJSON_ArrayForEach(item, at) fill_path(item, path + length + strlen("[]."), value);
	} else if (!path[length] && (!at || cJSON_IsNull(at))) {
		json_tree_set(object, name, cJSON_Parse(value));
	}
}

static void fill_each(cJSON *object, const struct default_value *of, size_t count)
{
	for (size_t i = 0; i < count; i++)
		fill_path(object, of[i].path, of[i].value);
}

/* An image that has no tag is the latest one, unless it is told by its digest. */
static bool is_latest(const char *image)
{
	const char *name = strrchr(image, '/'), *tag = strchr(name ? name : image, ':');

	return *image && !strchr(image, '@') && (!tag || strcmp(tag, ":latest") == 0);
}

static void fill_container(cJSON *container)
{
	static const char *const probes[] = {"livenessProbe", "readinessProbe", "startupProbe"};

	fill_each(container, of_containers, COUNT_OF(of_containers));
	for (size_t i = 0; i < COUNT_OF(probes); i++)
		fill_each(json_tree_at(container, probes[i], NULL), of_probes, COUNT_OF(of_probes));
	fill_path(container, "imagePullPolicy",
		is_latest(json_tree_text(container, "image")) ? "\"Always\"" : "\"IfNotPresent\"");
}

/* Both names of it are written. */
static void fill_service_account(cJSON *spec)
{
	const char *name = json_tree_text(spec, "serviceAccountName"),
		   *deprecated = json_tree_text(spec, "serviceAccount");

	if (*name && !*deprecated)
		json_tree_set_text(spec, "serviceAccount", name);
	else if (*deprecated && !*name)
		json_tree_set_text(spec, "serviceAccountName", deprecated);
}

static void fill_one_pod_spec(cJSON *spec)
{
	static const char *const lists[] = {"containers", "initContainers", "ephemeralContainers"};
	cJSON *container;

	fill_each(spec, of_pods, COUNT_OF(of_pods));
	for (size_t i = 0; i < COUNT_OF(lists); i++)
		cJSON_ArrayForEach(container, json_tree_at(spec, lists[i], NULL)) fill_container(container);
	fill_service_account(spec);
}

static void fill_pod_spec(cJSON *object, const char *group, const char *resource)
{
	for (size_t i = 0; i < COUNT_OF(pod_specs); i++) {
		cJSON *spec = object;

		if (!is_kind(group, resource, pod_specs[i].group, pod_specs[i].resource))
			continue;
		for (const char *const *name = pod_specs[i].path; *name; name++)
			spec = json_tree_at(spec, *name, NULL);
		if (cJSON_IsObject(spec))
			fill_one_pod_spec(spec);
	}
}

static void fill_rolling(cJSON *spec, const struct rolling *r)
{
	cJSON *strategy = cJSON_IsObject(spec) ? json_tree_object(spec, r->member) : NULL;

	fill_path(strategy, "type", "\"RollingUpdate\"");
	if (!strategy || strcmp(json_tree_text(strategy, "type"), "RollingUpdate") != 0)
		return;
	for (size_t i = 0; i < COUNT_OF(r->parameters) && r->parameters[i]; i++)
		fill_path(json_tree_object(strategy, "rollingUpdate"), r->parameters[i], r->values[i]);
}

/* Go has no way to send none: 0 says it. */
static bool has_target(const cJSON *port)
{
	const cJSON *target = json_tree_at(port, "targetPort", NULL);

	return cJSON_IsNumber(target) ? target->valuedouble != 0
				      : target && *json_tree_text(port, "targetPort");
}

/* A port without a target is its own. */
static void fill_target_ports(const cJSON *spec)
{
	cJSON *port, *number;

	cJSON_ArrayForEach(port, json_tree_at(spec, "ports", NULL))
	{
		number = json_tree_at(port, "port", NULL);
		if (number && !has_target(port))
			json_tree_set(port, "targetPort", cJSON_Duplicate(number, true));
	}
}

static void add_text(cJSON *object, const char *name, const char *text)
{
	if (!json_tree_at(object, name, NULL))
		cJSON_AddStringToObject(object, name, text);
}

/* A job selects its pods by its UID, which nobody can know beforehand. */
static void fill_job(cJSON *object)
{
	const cJSON *metadata = json_tree_at(object, "metadata", NULL);
	const char *uid = json_tree_text(metadata, "uid"), *name = json_tree_text(metadata, "name");
	cJSON *spec = json_tree_at(object, "spec", NULL), *template = json_tree_at(spec, "template", NULL),
	      *labels;

	if (cJSON_IsTrue(json_tree_at(spec, "manualSelector", NULL)) || !cJSON_IsObject(template) ||
		json_tree_at(spec, "selector", NULL))
		return;
	labels = json_tree_object(json_tree_object(template, "metadata"), "labels");
	add_text(labels, "batch.kubernetes.io/controller-uid", uid);
	add_text(labels, "batch.kubernetes.io/job-name", name);
	add_text(labels, "controller-uid", uid);
	add_text(labels, "job-name", name);
	json_tree_set_text(json_tree_object(json_tree_object(spec, "selector"), "matchLabels"),
		"batch.kubernetes.io/controller-uid", uid);
}

/* A job without labels bears those of its template. */
static void fill_job_labels(cJSON *object)
{
	const cJSON *labels = json_tree_at(object, "spec", "template", "metadata", "labels", NULL);
	cJSON *metadata = json_tree_at(object, "metadata", NULL);

	if (cJSON_GetArraySize(labels) && cJSON_IsObject(metadata) &&
		!cJSON_GetArraySize(json_tree_at(metadata, "labels", NULL)))
		json_tree_set(metadata, "labels", cJSON_Duplicate(labels, true));
}

/* The oldest kind of workload selects by the labels of its template, and bears them, where nothing is said.
 */
static void fill_replication_controller(cJSON *object)
{
	cJSON *spec = json_tree_at(object, "spec", NULL), *metadata = json_tree_at(object, "metadata", NULL);
	const cJSON *labels = json_tree_at(spec, "template", "metadata", "labels", NULL);

	if (!cJSON_IsObject(labels))
		return;
	if (!json_tree_at(spec, "selector", NULL))
		json_tree_set(spec, "selector", cJSON_Duplicate(labels, true));
	if (cJSON_IsObject(metadata) && !json_tree_at(metadata, "labels", NULL))
		json_tree_set(metadata, "labels", cJSON_Duplicate(labels, true));
}

bool default_values_known(const char *group, const char *resource)
{
	for (size_t i = 0; i < COUNT_OF(values); i++) {
		if (is_kind(group, resource, values[i].group, values[i].resource))
			return true;
	}
	for (size_t i = 0; i < COUNT_OF(pod_specs); i++) {
		if (is_kind(group, resource, pod_specs[i].group, pod_specs[i].resource))
			return true;
	}
	return false;
}

void default_values_fill(cJSON *object, const char *group, const char *resource)
{
	cJSON *spec = json_tree_at(object, "spec", NULL);
	bool is_job = strcmp(group, "batch") == 0 && strcmp(resource, "jobs") == 0;

	/* Completions are one where nothing is said of either; parallel workers that share a queue have none.
	 */
	if (is_job && !json_tree_at(spec, "parallelism", NULL) && !json_tree_at(spec, "completions", NULL))
		fill_path(object, "spec.completions", "1");
	for (size_t i = 0; i < COUNT_OF(values); i++) {
		if (is_kind(group, resource, values[i].group, values[i].resource))
			fill_path(object, values[i].of.path, values[i].of.value);
	}
	for (size_t i = 0; i < COUNT_OF(rollings); i++) {
		if (strcmp(group, "apps") == 0 && strcmp(rollings[i].resource, resource) == 0)
			fill_rolling(spec, &rollings[i]);
	}
	fill_pod_spec(object, group, resource);
	if (!*group && strcmp(resource, "services") == 0)
		fill_target_ports(spec);
	if (!*group && strcmp(resource, "replicationcontrollers") == 0)
		fill_replication_controller(object);
	if (is_job) {
		fill_job(object);
		fill_job_labels(object);
	}
}

/* Takes them over others of the same name. */
static void settle_secret_texts(cJSON *secret)
{
	cJSON *texts = cJSON_DetachItemFromObjectCaseSensitive(secret, "stringData"), *text;
	struct buf encoded;

	buf_init(&encoded, 2 * LIMIT_OBJECT_BYTES);
	cJSON_ArrayForEach(text, texts)
	{
		const char *value = cJSON_IsString(text) ? text->valuestring : "";

		buf_clear(&encoded);
		if (base64_encode(slice_of(value), &encoded, NULL) || buf_append(&encoded, "", 1, NULL))
			continue;
		json_tree_set_text(json_tree_object(secret, "data"), text->string, encoded.ptr);
	}
	buf_release(&encoded);
	cJSON_Delete(texts);
}

void default_values_settle(cJSON *object, const char *group, const char *resource)
{
	cJSON *metadata = json_tree_at(object, "metadata", NULL);
	const char *name = json_tree_text(metadata, "name");

	if (*group)
		return;
	if (strcmp(resource, "secrets") == 0) {
		settle_secret_texts(object);
		if (!*json_tree_text(object, "type"))
			json_tree_set_text(object, "type", "Opaque");
	} else if (strcmp(resource, "namespaces") == 0 && *name) {
		json_tree_set_text(json_tree_object(metadata, "labels"), "kubernetes.io/metadata.name", name);
	}
}

void default_values_agree(cJSON *object, const char *group, const char *resource)
{
	cJSON *status = json_tree_at(object, "status", NULL), *list = json_tree_at(status, "podIPs", NULL),
	      *first;
	const char *one = json_tree_text(status, "podIP");

	if (*group || strcmp(resource, "pods") != 0 || !cJSON_IsObject(status))
		return;
	if (!*one) {
		first = cJSON_IsArray(list) ? list->child : NULL;
		one = json_tree_text(first, "ip");
		if (*one)
			json_tree_set_text(status, "podIP", one);
		return;
	}
	if (cJSON_IsArray(list) && list->child && strcmp(json_tree_text(list->child, "ip"), one) == 0)
		return;
	list = cJSON_CreateArray();
	first = cJSON_CreateObject();
	cJSON_AddStringToObject(first, "ip", one);
	cJSON_AddItemToArray(list, first);
	json_tree_set(status, "podIPs", list);
}
