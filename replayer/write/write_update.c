/* write_update.c: PUT, and what it shares with patches; see write_internal.h. */
#include "replayer/write/default_values.h"
#include "replayer/write/write_internal.h"
#include "schema/base/count_of.h"

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

#define IN(name, list) is_one_of(name, list, COUNT_OF(list))

/* Kinds that a PUT creates when they are not there. */
static bool is_created_by_put(const struct write *w)
{
	static const char *const names[] = {"leases", "events", "endpoints", "services", "limitranges",
		"podtemplates", "roles", "rolebindings", "clusterroles", "clusterrolebindings"};

	return !w->c->custom && IN(w->c->resource.resource, names);
}

/* Kinds that take no update without a resourceVersion. */
static bool wants_version(const struct write *w)
{
	static const char *const names[] = {"leases", "poddisruptionbudgets", "apiservices",
		"customresourcedefinitions", "flowschemas", "prioritylevelconfigurations"};

	return w->c->custom || IN(w->c->resource.resource, names);
}

bool write_counts_generation(const struct write *w)
{
	static const char *const groups[] = {"apps", "batch", "admissionregistration.k8s.io",
		"apiextensions.k8s.io", "flowcontrol.apiserver.k8s.io", "discovery.k8s.io", "policy"};
	static const char *const names[] = {"pods", "replicationcontrollers", "ingresses", "networkpolicies"};

	return w->c->custom || IN(w->c->resource.apigroup, groups) || IN(w->c->resource.resource, names);
}

/* ---- what an update may change ---- */

static void keep_member(const cJSON *from, cJSON *to, const char *name)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(from, name);

	json_tree_set(to, name, value ? cJSON_Duplicate(value, true) : NULL);
}

/* What only the API server changes. */
static void keep_metadata(const cJSON *old, cJSON *object)
{
	static const char *const own[] = {"uid", "creationTimestamp", "deletionTimestamp",
		"deletionGracePeriodSeconds", "generation", "selfLink", "generateName", "resourceVersion"};
	const cJSON *from = json_tree_at(old, "metadata", NULL);
	cJSON *to = json_tree_object(object, "metadata");

	for (size_t i = 0; i < COUNT_OF(own); i++)
		keep_member(from, to, own[i]);
}

/* Labels and annotations of most older built-in kinds may come with the status: so does a deployment's
 * revision. */
static bool status_carries_metadata(const struct write *w)
{
	static const char *const groups[] = {"", "apps", "batch", "policy", "autoscaling"};
	static const char *const names[] = {"ingresses", "certificatesigningrequests"};

	return !w->c->custom && (IN(w->c->resource.apigroup, groups) || IN(w->c->resource.resource, names));
}

/* Of an update of the status nothing else counts, but for what it carries. */
static cJSON *with_status_of(const struct write *w, const cJSON *object)
{
	cJSON *made = cJSON_Duplicate(w->old, true);

	keep_member(object, made, "status");
	if (status_carries_metadata(w)) {
		cJSON *metadata = json_tree_object(made, "metadata");

		if (strcmp(w->c->resource.resource, "deployments") != 0)
			keep_member(json_tree_at(object, "metadata", NULL), metadata, "labels");
		keep_member(json_tree_at(object, "metadata", NULL), metadata, "annotations");
	}
	return made;
}

/* Without metadata, status, and what says the kind. */
static cJSON *spec_of(const cJSON *object)
{
	cJSON *copy = cJSON_Duplicate(object, true);

	cJSON_DeleteItemFromObjectCaseSensitive(copy, "metadata");
	cJSON_DeleteItemFromObjectCaseSensitive(copy, "status");
	return copy;
}

void write_count_generation(const struct write *w, cJSON *object)
{
	cJSON *before, *after, *metadata = json_tree_object(object, "metadata");
	const cJSON *count = json_tree_at(w->old, "metadata", "generation", NULL);

	if (!write_counts_generation(w) && !count)
		return;
	before = spec_of(w->old);
	after = spec_of(object);
	if (!json_tree_equal(before, after))
		json_tree_set(metadata, "generation",
			cJSON_CreateNumber((cJSON_IsNumber(count) ? count->valuedouble : 0) + 1));
	cJSON_Delete(before);
	cJSON_Delete(after);
}

bool write_is_asked_to_end(const cJSON *object)
{
	return json_tree_at(object, "metadata", "deletionTimestamp", NULL);
}

void write_count_end(cJSON *metadata)
{
	const cJSON *generation = json_tree_at(metadata, "generation", NULL);

	if (cJSON_IsNumber(generation) && generation->valuedouble > 0)
		json_tree_set(metadata, "generation", cJSON_CreateNumber(generation->valuedouble + 1));
}

static int check_version(struct write *w, const cJSON *object, bool rv_required)
{
	const cJSON *metadata = json_tree_at(object, "metadata", NULL);
	const char *uid = json_tree_text(metadata, "uid"), *rv = json_tree_text(metadata, "resourceVersion");
	const char *has = json_tree_text(json_tree_at(w->old, "metadata", NULL), "resourceVersion");
	int rc = w->verb == VERB_PATCH ? 0 : write_check_uid(w, uid);

	if (rc)
		return rc;
	if (!*rv && rv_required && wants_version(w))
		return write_invalid(w, w->c->resource.resource, "FieldValueInvalid",
			"metadata.resourceVersion", "Invalid value: 0x0: must be specified for an update");
	if (*rv && strcmp(rv, has) != 0)
		return write_conflict(w,
			"the object has been modified; please apply your changes to the latest version and try again");
	return 0;
}

bool write_is_over(const struct write *w, const cJSON *object)
{
	const cJSON *metadata = json_tree_at(object, "metadata", NULL);
	const cJSON *grace = json_tree_at(metadata, "deletionGracePeriodSeconds", NULL);
	bool is_namespace = write_is_of_namespaces(w->c);

	return json_tree_at(metadata, "deletionTimestamp", NULL) &&
	       cJSON_GetArraySize(json_tree_at(metadata, "finalizers", NULL)) == 0 &&
	       !(cJSON_IsNumber(grace) && grace->valuedouble > 0) &&
	       !(is_namespace && cJSON_GetArraySize(json_tree_at(object, "spec", "finalizers", NULL)));
}

int write_store_changed(struct write *w, cJSON *object)
{
	cJSON *last;
	int rc;

	if (!write_is_over(w, object))
		return write_store(w, EVENT_MODIFIED, object);
	last = cJSON_Duplicate(w->old, true); /* which still shows the finalizer whose removal ends it */
	rc = write_store(w, EVENT_DELETED, last);
	cJSON_Delete(last);
	return rc;
}

static bool is_status(const struct write *w)
{
	return slice_is(w->sub, "status") || slice_is(w->sub, "approval");
}

/* Who leaves a field out gets its default again; but an object that was recorded, or made up, without defaults stays so. */
static void fill_again(const struct write *w, cJSON *object)
{
	const struct tape_resource *r = &w->c->resource;
	cJSON *filled;

	if (w->c->custom || w->sub.len || !default_values_known(r->apigroup, r->resource))
		return;
	filled = cJSON_Duplicate(w->old, true);
	default_values_fill(filled, r->apigroup, r->resource);
	if (json_tree_equal(w->old, filled))
		default_values_fill(object, r->apigroup, r->resource);
	cJSON_Delete(filled);
}

int write_replace(struct write *w, cJSON *object, bool rv_required)
{
	int rc = write_check_kind(w, object, w->verb == VERB_PATCH);

	if (rc == 0)
		rc = write_check_place(w, object);
	if (rc == 0)
		rc = check_version(w, object, rv_required);
	if (rc == 0)
		rc = write_check_custom_kind(w, object);
	if (rc == 0 && !w->sub.len)
		rc = write_check_metadata(w, object, true);
	if (rc == 0 && !w->sub.len)
		rc = write_settle_service(w, object);
	if (rc) {
		cJSON_Delete(object);
		return rc;
	}
	if (is_status(w)) {
		cJSON *made = with_status_of(w, object);

		cJSON_Delete(object);
		object = made;
	} else if (write_has_subresource(w, "status") && !slice_is(w->sub, "binding")) {
		keep_member(w->old, object, "status");
	}
	keep_metadata(w->old, object);
	default_values_settle(object, w->c->resource.apigroup, w->c->resource.resource);
	write_drop_empty(object);
	write_keep_managers(w, object);
	fill_again(w, object);
	write_count_generation(w, object);
	write_normalize(w, object);
	w->answer = object;
	w->code = 200;
	/* What changes nothing makes no version. */
	return json_tree_equal(w->old, object) ? 0 : write_store_changed(w, object);
}

/* One that has a UID is meant for an object that is gone; the storage says so. */
static int check_absent(struct write *w, const char *uid)
{
	const char *name = w->c->resource.resource;
	bool is_below_services = strcmp(name, "services") == 0 || strcmp(name, "endpoints") == 0;

	if (!*uid)
		return 0;
	return write_conflict(w,
		"StorageError: invalid object, Code: 4, Key: /registry/%s%s/%.*s%s%s, ResourceVersion: 0, AdditionalErrorMsg: "
		"Precondition failed: UID in precondition: %s, UID in object meta: ",
		is_below_services ? "services/" : "", strcmp(name, "services") == 0 ? "specs" : name,
		(int)w->namespace.len, w->namespace.ptr, w->namespace.len ? "/" : "", w->name, uid);
}

/* Takes the object over. */
static int create_by_put(struct write *w, cJSON *object)
{
	int rc = check_absent(w, json_tree_text(json_tree_at(object, "metadata", NULL), "uid"));

	if (rc == 0)
		return write_create_object(w, object);
	cJSON_Delete(object);
	return rc;
}

int write_update(struct write *w)
{
	cJSON *object;
	int rc = write_read_object(w, &object);

	if (rc)
		return rc;
	rc = w->c->custom ? write_check_place(w, object) : 0;
	if (rc == 0)
		rc = write_load_named(w, object);
	if (rc == 0)
		rc = write_check_values(w, object, VALUES_OF_BODY);
	if (rc == 0)
		rc = write_check_place(w, object);
	if (rc == 0 && !w->old && is_created_by_put(w) && !w->sub.len)
		return create_by_put(w, object);
	if (rc == 0 && !w->old)
		rc = write_load_existing(w);
	if (rc == 0)
		return write_replace(w, object, true);
	cJSON_Delete(object);
	return rc;
}
