/* selectable_fields.c: see selectable_fields.h. */
#include "replayer/request/selectable_fields.h"

#include "schema/base/count_of.h"
#include "schema/base/json_scan.h"

struct row {
	const char *label; /* as clients name it */
	struct selectable_field field;
};

#define AT(name)                                                                                             \
	{                                                                                                    \
		name,                                                                                        \
		{                                                                                            \
			SELECT_PATH, name, ""                                                                \
		}                                                                                            \
	}
#define AT_OR(name, unset)                                                                                   \
	{                                                                                                    \
		name,                                                                                        \
		{                                                                                            \
			SELECT_PATH, name, unset                                                             \
		}                                                                                            \
	}
#define AT_PATH(label, path)                                                                                 \
	{                                                                                                    \
		label,                                                                                       \
		{                                                                                            \
			SELECT_PATH, path, ""                                                                \
		}                                                                                            \
	}
#define NAME                                                                                                 \
	{                                                                                                    \
		"metadata.name",                                                                             \
		{                                                                                            \
			SELECT_NAME, NULL, ""                                                                \
		}                                                                                            \
	}
#define NAMESPACE                                                                                            \
	{                                                                                                    \
		"metadata.namespace",                                                                        \
		{                                                                                            \
			SELECT_NAMESPACE, NULL, ""                                                           \
		}                                                                                            \
	}
#define END                                                                                                  \
	{                                                                                                    \
		NULL,                                                                                        \
		{                                                                                            \
			SELECT_NEVER, NULL, NULL                                                             \
		}                                                                                            \
	}

static const struct row pods[] = {NAME, NAMESPACE, AT("spec.nodeName"), AT_PATH("spec.host", "spec.nodeName"),
	AT("spec.restartPolicy"), AT("spec.schedulerName"), AT("spec.serviceAccountName"),
	AT_OR("spec.hostNetwork", "false"), AT("status.phase"),
	AT_PATH("status.podIP", "status.podIPs[0].ip"), {"status.podIPs", {SELECT_NEVER, NULL, ""}},
	AT("status.nominatedNodeName"), END};
static const struct row core_events[] = {NAME, NAMESPACE, AT("involvedObject.kind"),
	AT("involvedObject.namespace"), AT("involvedObject.name"), AT("involvedObject.uid"),
	AT("involvedObject.apiVersion"), AT("involvedObject.resourceVersion"), AT("involvedObject.fieldPath"),
	AT("reason"), AT("reportingComponent"), {"source", {SELECT_EVENT_SOURCE, NULL, ""}}, AT("type"), END};
static const struct row events[] = {NAME, NAMESPACE, AT("regarding.kind"), AT("regarding.namespace"),
	AT("regarding.name"), AT("regarding.uid"), AT("regarding.apiVersion"),
	AT("regarding.resourceVersion"), AT("regarding.fieldPath"), AT("reason"), AT("reportingController"),
	AT("type"), END};
static const struct row namespaces[] = {NAME, AT("status.phase"), END};
static const struct row nodes[] = {NAME, AT_OR("spec.unschedulable", "false"), END};
static const struct row secrets[] = {NAME, NAMESPACE, AT("type"), END};
static const struct row services[] = {NAME, NAMESPACE, AT("spec.clusterIP"), AT("spec.type"), END};
static const struct row replication_controllers[] = {NAME, NAMESPACE, AT_OR("status.replicas", "0"), END};
static const struct row jobs[] = {NAME, NAMESPACE, AT_OR("status.successful", "0"), END};
static const struct row signer_only[] = {NAME, AT("spec.signerName"), END};
static const struct row pod_certificates[] = {
	NAME, AT("spec.signerName"), AT("spec.podName"), AT("spec.nodeName"), END};
static const struct row slices[] = {NAME, AT("spec.nodeName"), AT("spec.driver"), END};

/* The server's message for a field that a kind does not have differs between kinds. */
enum wording { WORDING_USUAL, WORDING_JOB, WORDING_SLICE };

static const struct {
	const char *group, *resource;
	const struct row *rows;
	enum wording wording;
} kinds[] = {
	{"", "pods", pods, WORDING_USUAL},
	{"", "events", core_events, WORDING_USUAL},
	{"events.k8s.io", "events", events, WORDING_USUAL},
	{"", "namespaces", namespaces, WORDING_USUAL},
	{"", "nodes", nodes, WORDING_USUAL},
	{"", "secrets", secrets, WORDING_USUAL},
	{"", "services", services, WORDING_USUAL},
	{"", "replicationcontrollers", replication_controllers, WORDING_USUAL},
	{"batch", "jobs", jobs, WORDING_JOB},
	{"certificates.k8s.io", "certificatesigningrequests", signer_only, WORDING_USUAL},
	{"certificates.k8s.io", "clustertrustbundles", signer_only, WORDING_USUAL},
	{"certificates.k8s.io", "podcertificaterequests", pod_certificates, WORDING_USUAL},
	{"resource.k8s.io", "resourceslices", slices, WORDING_SLICE},
};

static const struct row plain[] = {NAME, NAMESPACE, END};

static const struct row *find_row(const struct row *rows, struct slice label)
{
	for (; rows->label; rows++) {
		if (slice_is(label, rows->label))
			return rows;
	}
	return NULL;
}

/* Whether [{"jsonPath":".spec.color"}] names the field. */
static bool crd_has(struct slice fields, struct slice label)
{
	struct json_iter it;
	struct slice key, item, path;

	if (fields.len == 0 || json_iter_begin(fields, &it, NULL))
		return false;
	while (json_iter_next(&it, &key, &item, NULL) > 0) {
		if (json_get(item, "jsonPath", &path, NULL) <= 0 || path.len < 3)
			continue;
		path = (struct slice){path.ptr + 1, path.len - 2};
		if (path.ptr[0] == '.')
			path = (struct slice){path.ptr + 1, path.len - 1};
		if (slice_equal(path, label))
			return true;
	}
	return false;
}

static int unknown_field(
	const struct selectable_kind *kind, enum wording wording, struct slice label, struct err *err)
{
	switch (wording) {
	case WORDING_JOB:
		return err_set(err, ERR_PROTOCOL, "field label \"%.*s\" not supported for Job",
			(int)label.len, label.ptr);
	case WORDING_SLICE:
		return err_set(err, ERR_PROTOCOL,
			"field label not supported for %.*s/%.*s, Kind=ResourceSlice: %.*s",
			(int)kind->group.len, kind->group.ptr, (int)kind->version.len, kind->version.ptr,
			(int)label.len, label.ptr);
	case WORDING_USUAL: break;
	}
	return err_set(err, ERR_PROTOCOL, "field label not supported: %.*s", (int)label.len, label.ptr);
}

static int find_custom(const struct selectable_kind *kind, struct slice label, struct selectable_field *ret,
	char **ret_path, struct err *err)
{
	const struct row *row = find_row(plain, label);

	if (row && (kind->namespaced || row->field.how == SELECT_NAME)) {
		*ret = row->field;
		return 0;
	}
	if (!crd_has(kind->crd_fields, label))
		return unknown_field(kind, WORDING_USUAL, label, err);
	*ret_path = slice_dup(label);
	*ret = (struct selectable_field){SELECT_PATH, *ret_path, ""};
	return 0;
}

int selectable_field_find(const struct selectable_kind *kind, struct slice label,
	struct selectable_field *ret, char **ret_path, struct err *err)
{
	const struct row *rows = plain, *row;
	enum wording wording = WORDING_USUAL;

	*ret_path = NULL;
	if (kind->custom)
		return find_custom(kind, label, ret, ret_path, err);
	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		if (slice_is(kind->group, kinds[i].group) && slice_is(kind->resource, kinds[i].resource)) {
			rows = kinds[i].rows;
			wording = kinds[i].wording;
		}
	}
	row = find_row(rows, label);
	if (!row && rows == plain)
		return err_set(err, ERR_PROTOCOL,
			"\"%.*s\" is not a known field selector: only \"metadata.name\", "
			"\"metadata.namespace\"",
			(int)label.len, label.ptr);
	if (!row)
		return unknown_field(kind, wording, label, err);
	*ret = row->field;
	return 0;
}
