/* write_create.c: POST on a collection; see write_internal.h. */
#include "replayer/kinds/builtin.h"
#include "replayer/write/awaited.h"
#include "replayer/write/default_values.h"
#include "replayer/write/write_internal.h"
#include "schema/base/count_of.h"
#include "schema/base/json_scan.h"
#include "schema/base/uuid.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#define SUFFIX_CHARACTERS 5
#define GENERATE_MAX      (63 - SUFFIX_CHARACTERS) /* of the given part, before the suffix */

/* Letters that make no words, as in the names that the API server makes up. */
static char *generate_name(const char *prefix)
{
	static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
	unsigned char random[SUFFIX_CHARACTERS];
	char suffix[SUFFIX_CHARACTERS + 1] = "";

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		memset(random, 0, sizeof(random));
	for (size_t i = 0; i < SUFFIX_CHARACTERS; i++)
		suffix[i] = letters[random[i] % (sizeof(letters) - 1)];
	return xasprintf("%.*s%s", GENERATE_MAX, prefix, suffix);
}

/* Makes a name where one is wanted. */
static void find_name(struct write *w, cJSON *metadata)
{
	const char *prefix = json_tree_text(metadata, "generateName");

	if (!*json_tree_text(metadata, "name") && *prefix) {
		char *name = generate_name(prefix);

		json_tree_set_text(metadata, "name", name);
		free(name);
	}
	free(w->name);
	w->name = xstrdup(json_tree_text(metadata, "name"));
}

static int refuse_terminating(struct write *w)
{
	const struct tape_resource *r = &w->c->resource;

	write_set_details(w, r->resource);
	status_add_cause(&w->st, "NamespaceTerminating",
		xasprintf("namespace %.*s is being terminated", (int)w->namespace.len, w->namespace.ptr),
		"metadata.namespace");
	return status_set(&w->st, 403, "Forbidden",
		"%s%s%s \"%s\" is forbidden: unable to create new content in namespace %.*s because it is being terminated",
		r->resource, *r->apigroup ? "." : "", r->apigroup, w->name, (int)w->namespace.len,
		w->namespace.ptr);
}

static bool is_terminating(const struct write *w, uint64_t namespace_seq)
{
	struct slice object, phase;

	return world_object(w->call->api->world, namespace_seq, &object, NULL) == 0 &&
	       json_get(object, "status.phase", &phase, NULL) > 0 && slice_is(phase, "\"Terminating\"");
}

/* A namespace that is known not to exist holds nothing, and one that ends nothing new. Where namespaces are not on the tape, all
 * exist. */
static int check_namespace(void *context)
{
	struct write *w = context;
	const struct slice none = {NULL, 0};
	struct collection *namespaces =
		world_find(w->call->api->world, none, slice_of("v1"), slice_of("namespaces"));
	const struct live *l;

	if (!w->namespace.len || !namespaces || !namespaces->served || namespaces->live.count == 0)
		return 0;
	l = live_set_find(&namespaces->live, none, w->namespace);
	if (l)
		return is_terminating(w, l->seq) ? refuse_terminating(w) : 0;
	if (live_set_find(&namespaces->absorbed, none, w->namespace))
		return 0;
	return status_not_found(&w->st, (struct slice){NULL, 0}, slice_of("namespaces"), w->namespace);
}

static int check_metadata(struct write *w, cJSON *metadata)
{
	const char *namespace = json_tree_text(metadata, "namespace");

	if (*namespace && !slice_is(w->namespace, namespace))
		return status_bad_request(&w->st,
			"the namespace of the provided object does not match the namespace sent on the request");
	if (w->verb == VERB_CREATE && *json_tree_text(metadata, "resourceVersion") && !w->dry_run)
		return status_set(&w->st, 500, "InternalError",
			"Internal error occurred: resourceVersion should not be set on objects to be created");
	find_name(w, metadata);
	return 0;
}

/* 1 when a program has written the object, 0 when not. */
static int was_written(void *context)
{
	const struct write *w = context;

	return live_set_find(&w->c->written, w->namespace, slice_of(w->name)) != NULL;
}

static int check_absent(struct write *w)
{
	const struct tape_resource *r = &w->c->resource;
	bool may_hide =
		builtin_is_event(slice_of(r->apigroup), slice_of(r->resource)) && w->policy == WRITE_OVERLAY;
	int rc = write_load(w, slice_of(w->name));

	if (rc || !w->old || (may_hide && write_in_world(w, was_written, w) == 0))
		return rc;
	write_set_details(w, r->resource);
	return status_set(&w->st, 409, "AlreadyExists", "%s%s%s \"%s\" already exists", r->resource,
		*r->apigroup ? "." : "", r->apigroup, w->name);
}

/* What a status begins with is for the API server to say. Nodes bring their own. */
static void begin_status(struct write *w, cJSON *object)
{
	const char *resource = w->c->resource.resource;
	bool pending = strcmp(resource, "pods") == 0 || strcmp(resource, "persistentvolumes") == 0 ||
		       strcmp(resource, "persistentvolumeclaims") == 0;
	const char *phase = pending ? "Pending" : strcmp(resource, "namespaces") == 0 ? "Active" : NULL;

	if (!write_has_subresource(w, "status") || strcmp(resource, "nodes") == 0)
		return;
	if (w->c->custom) {
		json_tree_set(object, "status", NULL);
		return;
	}
	json_tree_set(object, "status", cJSON_CreateObject());
	if (phase && !*w->c->resource.apigroup)
		json_tree_set_text(json_tree_object(object, "status"), "phase", phase);
}

static void begin_spec(struct write *w, cJSON *object)
{
	const char *kubernetes = "kubernetes";

	if (write_is_of_namespaces(w->c))
		json_tree_set(json_tree_object(object, "spec"), "finalizers",
			cJSON_CreateStringArray(&kubernetes, 1));
}

/* What only the API server sets: the object does not have it, and nobody owns it. */
static void wipe_metadata(cJSON *metadata)
{
	static const char *const names[] = {
		"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"};

	for (size_t i = 0; i < COUNT_OF(names); i++)
		json_tree_set(metadata, names[i], NULL);
}

struct uid_for {
	struct write *w;
	const cJSON *owners;
	char *text; /* owned */
};

/* 1 if the tape makes the object as well, and its UID fits. */
static int find_awaited(void *context)
{
	struct uid_for *u = context;
	const struct write *w = u->w;
	const char *uid =
		awaited_uid(w->call->api->awaited, w->c, w->namespace, slice_of(w->name), u->owners);

	u->text = uid ? xstrdup(uid) : NULL;
	return uid != NULL;
}

static void begin_uid(struct write *w, cJSON *metadata)
{
	struct uid_for u = {.w = w, .owners = json_tree_at(metadata, "ownerReferences", NULL)};
	char made[UUID_TEXT_BYTES];

	w->is_awaited = w->policy == WRITE_OVERLAY && write_in_world(w, find_awaited, &u) > 0;
	if (!w->is_awaited)
		uuid_new(made);
	json_tree_set_text(metadata, "uid", w->is_awaited ? u.text : made);
	free(u.text);
}

static void begin_metadata(struct write *w, cJSON *metadata)
{
	char now[TIMESTAMP_BYTES], *namespace = slice_dup(w->namespace), rv[24];

	write_timestamp(now, 0);
	snprintf(rv, sizeof(rv), "%llu", (unsigned long long)w->rv);
	if (w->namespace.len)
		json_tree_set_text(metadata, "namespace", namespace);
	begin_uid(w, metadata);
	json_tree_set_text(metadata, "resourceVersion", rv);
	json_tree_set_text(metadata, "creationTimestamp", now);
	json_tree_set(metadata, "generation", write_counts_generation(w) ? cJSON_CreateNumber(1) : NULL);
	free(namespace);
}

int write_create_object(struct write *w, cJSON *object)
{
	cJSON *metadata = json_tree_object(object, "metadata");
	int rc = check_metadata(w, metadata);

	if (rc == 0)
		rc = write_check_crd(w);
	if (rc == 0)
		rc = write_in_world(w, check_namespace, w);
	if (rc == 0)
		rc = write_check_custom_kind(w, object);
	if (rc == 0)
		default_values_settle(object, w->c->resource.apigroup, w->c->resource.resource);
	if (rc == 0)
		rc = write_check_metadata(w, object, false);
	if (rc == 0)
		rc = check_absent(w);
	if (rc == 0) {
		/* A recorded event of that name is hidden by the new one. */
		cJSON_Delete(w->old);
		w->old = NULL;
		wipe_metadata(metadata);
		write_keep_managers(w, object);
		begin_metadata(w, metadata);
		begin_status(w, object);
		begin_spec(w, object);
		default_values_fill(object, w->c->resource.apigroup, w->c->resource.resource);
		rc = write_settle_service(w, object);
	}
	if (rc == 0)
		rc = write_begin_crd(w, object);
	if (rc == 0)
		rc = write_store(w, EVENT_ADDED, object);
	if (rc == 0)
		rc = write_establish_crd(w, object);
	if (rc) {
		cJSON_Delete(object);
		return rc;
	}
	w->answer = object;
	w->code = 201;
	return 0;
}

int write_create(struct write *w)
{
	cJSON *object;
	int rc = write_read_object(w, &object);

	if (rc == 0 && (rc = write_check_values(w, object, VALUES_OF_BODY)) != 0)
		cJSON_Delete(object);
	return rc ? rc : write_create_object(w, object);
}
