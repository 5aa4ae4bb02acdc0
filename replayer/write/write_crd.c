/* write_crd.c: what an API server makes of a CustomResourceDefinition; see write_internal.h and world/crd.h, which serves what it
 * defines. */
#include "replayer/world/crd.h"
#include "replayer/write/write_internal.h"
#include "schema/base/json_scan.h"

#include <ctype.h>
#include <stdlib.h>

bool write_is_crd(const struct collection *c)
{
	return strcmp(c->resource.resource, "customresourcedefinitions") == 0 &&
	       strcmp(c->resource.apigroup, "apiextensions.k8s.io") == 0;
}

/* ---- as it is created ---- */

static int check_name(struct write *w, const cJSON *spec)
{
	char *want = xasprintf("%s.%s", json_tree_text(json_tree_at(spec, "names", NULL), "plural"),
		json_tree_text(spec, "group"));
	int rc = 0;

	if (strcmp(want, w->name) != 0)
		rc = write_invalid(w, "CustomResourceDefinition", "FieldValueInvalid", "metadata.name",
			"Invalid value: \"%s\": must be spec.names.plural+\".\"+spec.group", w->name);
	free(want);
	return rc;
}

static int check_versions(struct write *w, const cJSON *spec)
{
	const cJSON *version;
	int stored = 0;

	cJSON_ArrayForEach(version, json_tree_at(spec, "versions", NULL)) stored +=
		cJSON_IsTrue(json_tree_at(version, "storage", NULL));
	if (stored == 1)
		return 0;
	return write_invalid(w, "CustomResourceDefinition", "FieldValueInvalid", "spec.versions",
		"Invalid value: \"\": must have exactly one version marked as storage version");
}

static void fill_names(cJSON *names)
{
	const char *kind = json_tree_text(names, "kind");
	char *singular = xstrdup(kind), *list = xasprintf("%sList", kind);

	for (char *c = singular; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	if (!*json_tree_text(names, "singular"))
		json_tree_set_text(names, "singular", singular);
	if (!*json_tree_text(names, "listKind"))
		json_tree_set_text(names, "listKind", list);
	free(singular);
	free(list);
}

static cJSON *stored_versions(const cJSON *spec)
{
	cJSON *list = cJSON_CreateArray(), *version;

	cJSON_ArrayForEach(version, json_tree_at(spec, "versions", NULL))
	{
		if (cJSON_IsTrue(json_tree_at(version, "storage", NULL)))
			cJSON_AddItemToArray(list, cJSON_CreateString(json_tree_text(version, "name")));
	}
	return list;
}

int write_begin_crd(struct write *w, cJSON *object)
{
	cJSON *spec, *status, *accepted;
	int rc;

	if (!write_is_crd(w->c))
		return 0;
	spec = json_tree_object(object, "spec");
	rc = check_name(w, spec);
	if (rc == 0)
		rc = check_versions(w, spec);
	if (rc)
		return rc;
	fill_names(json_tree_object(spec, "names"));
	if (!json_tree_at(spec, "conversion", NULL))
		json_tree_set_text(json_tree_object(spec, "conversion"), "strategy", "None");
	status = json_tree_object(object, "status");
	accepted = json_tree_object(status, "acceptedNames");
	json_tree_set_text(accepted, "plural", "");
	json_tree_set_text(accepted, "kind", "");
	json_tree_set(status, "conditions", cJSON_CreateNull());
	json_tree_set(status, "storedVersions", stored_versions(spec));
	return 0;
}

/* ---- once its names are accepted ---- */

static void set_condition(cJSON *object, const char *type, const char *reason, const char *message)
{
	cJSON *status = json_tree_object(object, "status"), *list = json_tree_at(status, "conditions", NULL),
	      *made = cJSON_CreateObject();
	char now[TIMESTAMP_BYTES];

	if (!cJSON_IsArray(list)) {
		list = cJSON_CreateArray();
		json_tree_set(status, "conditions", list);
	}
	write_timestamp(now, 0);
	cJSON_AddStringToObject(made, "type", type);
	cJSON_AddStringToObject(made, "status", "True");
	cJSON_AddStringToObject(made, "lastTransitionTime", now);
	cJSON_AddStringToObject(made, "reason", reason);
	cJSON_AddStringToObject(made, "message", message);
	cJSON_AddItemToArray(list, made);
}

int write_establish_crd(struct write *w, const cJSON *object)
{
	cJSON *made;
	int rc;

	if (!write_is_crd(w->c) || w->dry_run)
		return 0;
	made = cJSON_Duplicate(object, true);
	json_tree_set(json_tree_object(made, "status"), "acceptedNames",
		cJSON_Duplicate(json_tree_at(made, "spec", "names", NULL), true));
	set_condition(made, "NamesAccepted", "NoConflicts", "no conflicts found");
	set_condition(made, "Established", "InitialNamesAccepted", "the initial names have been accepted");
	rc = write_store(w, EVENT_MODIFIED, made);
	cJSON_Delete(made);
	return rc;
}

/* ---- as it ends ---- */

void write_end_crd(const struct write *w, cJSON *object)
{
	cJSON *metadata = json_tree_object(object, "metadata");
	char now[TIMESTAMP_BYTES];

	if (!write_is_crd(w->c) || w->policy != WRITE_OVERLAY || write_has_finalizer(object, FINALIZER_CRD) ||
		json_tree_at(metadata, "deletionTimestamp", NULL))
		return;
	if (!cJSON_IsArray(json_tree_at(metadata, "finalizers", NULL)))
		json_tree_set(metadata, "finalizers", cJSON_CreateArray());
	cJSON_AddItemToArray(json_tree_at(metadata, "finalizers", NULL), cJSON_CreateString(FINALIZER_CRD));
	write_timestamp(now, 0);
	json_tree_set_text(metadata, "deletionTimestamp", now);
	set_condition(object, "Terminating", "InstanceDeletionPending",
		"CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon");
}

struct ending_question {
	const struct write *w;
	bool ends;
};

static int ask_ending(void *context)
{
	struct ending_question *q = context;
	struct slice crd, when;

	q->ends = crd_find(q->w->call->api->world, q->w->c, &crd) &&
		  json_get(crd, "metadata.deletionTimestamp", &when, NULL) > 0;
	return 0;
}

int write_check_crd(struct write *w)
{
	struct ending_question q = {w, false};
	const struct tape_resource *r = &w->c->resource;

	if (!w->c->custom)
		return 0;
	(void)!write_in_world(w, ask_ending, &q);
	if (!q.ends)
		return 0;
	write_set_details(w, r->resource);
	return status_set(&w->st, 403, "Forbidden",
		"%s.%s \"%s\" is forbidden: create not allowed while custom resource definition is terminating",
		r->resource, r->apigroup, w->name);
}
