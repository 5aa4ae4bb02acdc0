/* write_delete.c: DELETE of one object and of a collection; see write_internal.h. */
#include "replayer/request/list_options.h"
#include "replayer/request/selectors.h"
#include "replayer/serve/list.h"
#include "replayer/write/write_internal.h"
#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/base/timestamp.h"

#include <stdio.h>
#include <stdlib.h>

#define POD_GRACE_S    30
#define TRIES_MAX      5   /* for an object that somebody else writes to meanwhile */
#define OBJECTS_A_STEP 200 /* that are looked at before the loop goes on */

static bool is_pod(const struct write *w)
{
	return strcmp(w->c->resource.resource, "pods") == 0 && !*w->c->resource.apigroup;
}

bool write_is_of_namespaces(const struct collection *c)
{
	return strcmp(c->resource.resource, "namespaces") == 0 && !*c->resource.apigroup;
}

/* Pods on a node end when the node says so; elsewhere nothing has to be waited for. */
static int64_t grace_of(const struct write *w, const cJSON *options)
{
	const cJSON *asked = json_tree_at(options, "gracePeriodSeconds", NULL);
	const cJSON *own = json_tree_at(w->old, "spec", "terminationGracePeriodSeconds", NULL);
	const char *phase = json_tree_text(json_tree_at(w->old, "status", NULL), "phase");

	if (!is_pod(w) || !*json_tree_text(json_tree_at(w->old, "spec", NULL), "nodeName"))
		return 0;
	if (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0)
		return 0;
	if (cJSON_IsNumber(asked))
		return asked->valuedouble < 0 ? 1 : (int64_t)asked->valuedouble;
	return cJSON_IsNumber(own) ? (int64_t)own->valuedouble : POD_GRACE_S;
}

static void mark(cJSON *object, int64_t grace_s)
{
	cJSON *metadata = json_tree_object(object, "metadata");
	char when[TIMESTAMP_BYTES];

	write_timestamp(when, grace_s);
	json_tree_set_text(metadata, "deletionTimestamp", when);
	json_tree_set(metadata, "deletionGracePeriodSeconds", cJSON_CreateNumber((double)grace_s));
	write_count_end(metadata);
}

static int64_t marked_grace(const cJSON *object)
{
	const cJSON *grace = json_tree_at(object, "metadata", "deletionGracePeriodSeconds", NULL);

	return cJSON_IsNumber(grace) ? (int64_t)grace->valuedouble : 0;
}

/* A pod that is ending already ends earlier: counted from when it was first asked to. */
static void shorten(cJSON *object, int64_t grace_s)
{
	cJSON *metadata = json_tree_object(object, "metadata");
	char *when = xstrdup(json_tree_text(metadata, "deletionTimestamp"));

	if (timestamp_parse(slice_of(when), NULL))
		timestamp_shift(when, strlen(when), (grace_s - marked_grace(object)) * NS_PER_S);
	json_tree_set_text(metadata, "deletionTimestamp", when);
	json_tree_set(metadata, "deletionGracePeriodSeconds", cJSON_CreateNumber((double)grace_s));
	free(when);
}

/* Kinds of which a deletion is answered with the object itself, where others give a Status. */
static bool is_returned(const struct write *w)
{
	static const char *const names[] = {"pods", "services", "serviceaccounts", "persistentvolumes",
		"persistentvolumeclaims", "podtemplates", "resourcequotas", "csidrivers", "csinodes",
		"storageclasses", "volumeattachments", "volumeattributesclasses"};
	const struct tape_resource *r = &w->c->resource;

	if (strcmp(r->apigroup, "resource.k8s.io") == 0)
		return true;
	if (*r->apigroup && strcmp(r->apigroup, "storage.k8s.io") != 0)
		return false;
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		if (strcmp(r->resource, names[i]) == 0)
			return true;
	}
	return false;
}

/* 409; names the kind where other conflicts name the resource. */
static int refuse_precondition(
	struct write *w, const char *what, const char *asked, const char *has, const char *likely)
{
	const struct tape_resource *r = &w->c->resource;

	write_set_details(w, r->kind);
	return status_set(&w->st, 409, "Conflict",
		"Operation cannot be fulfilled on %s%s%s \"%s\": the %s in the precondition (%s) does not match the %s "
		"in record (%s). The object might have been %s",
		r->kind, *r->apigroup ? "." : "", r->apigroup, w->name, what, asked, what, has, likely);
}

/* The UID and the version that the object must still have. */
static int check_preconditions(struct write *w, const cJSON *asked)
{
	const cJSON *metadata = json_tree_at(w->old, "metadata", NULL);
	const char *uid = json_tree_text(asked, "uid"), *has_uid = json_tree_text(metadata, "uid");
	const char *rv = json_tree_text(asked, "resourceVersion"),
		   *has_rv = json_tree_text(metadata, "resourceVersion");

	if (*uid && strcmp(uid, has_uid) != 0)
		return refuse_precondition(w, "UID", uid, has_uid, "deleted and then recreated");
	if (*rv && strcmp(rv, has_rv) != 0)
		return refuse_precondition(w, "ResourceVersion", rv, has_rv, "modified");
	return 0;
}

/* What a deletion makes of an object. */
struct departure {
	cJSON *object;    /* as it is then */
	bool is_graceful; /* a pod, which is asked to end before it does */
	bool is_pending;  /* it was asked already, and for no later: nothing changes */
};

static void ask_to_end(struct write *w, const cJSON *options, struct departure *d)
{
	int64_t grace_s = grace_of(w, options);
	bool is_asked = cJSON_IsNumber(json_tree_at(options, "gracePeriodSeconds", NULL));

	if (!write_is_asked_to_end(w->old)) {
		mark(d->object, grace_s);
		d->is_graceful = true;
	} else if (marked_grace(w->old) > 0) {
		d->is_graceful = is_asked && grace_s < marked_grace(w->old);
		d->is_pending = !d->is_graceful;
		if (d->is_graceful)
			shorten(d->object, grace_s);
	}
}

/* Finalizers hold every object, and those of its spec a namespace. */
static bool is_held(const struct write *w, const cJSON *object)
{
	return cJSON_GetArraySize(json_tree_at(object, "metadata", "finalizers", NULL)) > 0 ||
	       (write_is_of_namespaces(w->c) &&
		       cJSON_GetArraySize(json_tree_at(object, "spec", "finalizers", NULL)) > 0);
}

/* What stays for a while: its finalizers, or its node, end it later. */
static int keep_ending(struct write *w, cJSON *object)
{
	w->answer = object;
	w->code = 200;
	return json_tree_equal(w->old, object) ? 0 : write_store(w, EVENT_MODIFIED, object);
}

static int remove_now(struct write *w, const struct departure *d)
{
	bool is_told = d->is_graceful && w->policy != WRITE_ABSORB;
	int rc = is_told ? write_store(w, EVENT_MODIFIED, d->object) : 0;

	if (rc == 0)
		rc = write_store(w, EVENT_DELETED, d->object);
	if (rc == 0 && is_returned(w)) {
		w->answer = d->object;
		w->code = 200;
		return 0;
	}
	if (rc == 0)
		write_answer_success(w, 200, d->object);
	cJSON_Delete(d->object);
	return rc;
}

/* Held by finalizers alone: it is asked to end, at once. */
static void mark_held(const struct write *w, cJSON *object)
{
	mark(object, 0);
	if (!write_is_of_namespaces(w->c))
		return;
	json_tree_set(json_tree_object(object, "metadata"), "deletionGracePeriodSeconds", NULL);
	json_tree_set_text(json_tree_object(object, "status"), "phase", "Terminating");
}

int write_remove(struct write *w, const cJSON *options)
{
	struct departure d = {0};
	int rc = check_preconditions(w, json_tree_at(options, "preconditions", NULL));

	if (rc)
		return rc;
	d.object = cJSON_Duplicate(w->old, true);
	if (is_pod(w))
		ask_to_end(w, options, &d);
	if (d.is_pending)
		return keep_ending(w, d.object);
	write_propagate(w, options, d.object);
	write_end_crd(w, d.object);
	if (is_held(w, d.object) && !write_is_asked_to_end(d.object))
		mark_held(w, d.object);
	if (is_held(w, d.object) || marked_grace(d.object) > 0)
		return keep_ending(w, d.object);
	return remove_now(w, &d);
}

int write_delete(struct write *w)
{
	cJSON *options = NULL;
	int rc = write_delete_options(w, &options);

	if (rc == 0)
		rc = write_load_existing(w);
	if (rc == 0)
		rc = write_remove(w, options);
	cJSON_Delete(options);
	return rc;
}

/* ---- many ---- */

/* The deletion of a collection, or of a page of it: names first, because deleting changes the set. Some are
 * looked at at a time, from where the last ones ended. */
struct removal {
	struct write *w;
	struct list_options options;
	struct continue_token token;
	char *from;   /* the key of the next one that is looked at; NULL: the first */
	char **names; /* pairs of namespace and name */
	size_t count, cap;
	char *next;        /* the token of the next page; NULL when there is none */
	int64_t remaining; /* of items after the page; -1 not known */
};

static void release_removal(struct removal *r)
{
	for (size_t i = 0; i < r->count; i++)
		free(r->names[i]);
	free(r->names);
	free(r->from);
	free(r->next);
	continue_token_release(&r->token);
	list_options_release(&r->options);
}

static int read_removal(void *context)
{
	struct removal *r = context;
	struct write *w = r->w;
	const struct selectable_kind kind = api_selectable_kind(w->call->api, w->c);
	struct err err;
	int rc = list_options_parse(&w->call->query, false, &kind, &r->options, &w->st);

	if (rc == 0 && *r->options.continue_token &&
		continue_token_parse(slice_of(r->options.continue_token), &r->token, &err))
		rc = status_bad_request(&w->st, "invalid continue token: %s", err.text);
	return rc;
}

static bool is_selected(struct write *w, const struct list_options *o, const struct live *l)
{
	struct slice object = {NULL, 0};

	if (selectors_read_object(o->labels, o->fields) &&
		world_object(w->call->api->world, l->seq, &object, NULL))
		return false;
	return selectors_match(o->labels, o->fields, live_namespace(l), live_name(l), object);
}

static void add_names(struct removal *r, const struct live *l)
{
	if (r->count == r->cap) {
		r->cap = r->cap ? 2 * r->cap : 64;
		r->names = xrealloc(r->names, r->cap * sizeof(char *));
	}
	r->names[r->count++] = slice_dup(live_namespace(l));
	r->names[r->count++] = slice_dup(live_name(l));
}

static bool is_full(const struct removal *r)
{
	return r->options.limit && r->count >= 2 * (size_t)r->options.limit;
}

/* The page is full, and the set goes on from `at` to `end`. */
static void leave_rest(struct removal *r, size_t at, size_t end)
{
	const struct collection *c = r->w->c;
	const struct live *last = c->live.items[at - 1];

	r->next = continue_token_make((int64_t)c->rv, r->w->namespace.len ? live_name(last) : live_key(last),
		!collection_is_uncached(c));
	if (!r->options.labels && !r->options.fields)
		r->remaining = (int64_t)(end - at);
}

/* 1 if there is more to look at. */
static int select_some(void *context)
{
	struct removal *r = context;
	const struct live_set *set = &r->w->c->live;
	size_t at, end, left = r->w->is_beside ? OBJECTS_A_STEP : SIZE_MAX;

	live_set_range(set, r->w->namespace, &at, &end);
	at = r->from ? live_set_lower_bound(set, slice_of(r->from))
		     : list_page_begin(set, r->w->namespace, &r->token, at);
	for (; at < end && left > 0 && !is_full(r); at++, left--) {
		if (is_selected(r->w, &r->options, set->items[at]))
			add_names(r, set->items[at]);
	}
	free(r->from);
	r->from = at < end ? slice_dup(live_key(set->items[at])) : NULL;
	if (at < end && is_full(r))
		leave_rest(r, at, end);
	return at < end && !is_full(r);
}

/* The object as it was. A list of a built-in kind says once what its items are. */
static cJSON *as_item(const struct write *w)
{
	cJSON *item = cJSON_Duplicate(w->old, true);

	if (!w->c->custom) {
		cJSON_DeleteItemFromObjectCaseSensitive(item, "kind");
		cJSON_DeleteItemFromObjectCaseSensitive(item, "apiVersion");
	}
	return item;
}

/* One of many. */
static int remove_one(
	struct write *w, const char *namespace, const char *name, const cJSON *options, cJSON *items)
{
	struct slice path = w->namespace;
	int rc;

	free(w->name);
	w->name = xstrdup(name);
	w->namespace = slice_of(namespace);
	rc = write_load(w, slice_of(name));
	for (int tries = 0; rc == 0 && w->old; tries++) {
		rc = write_remove(w, options);
		if (rc == 0 || !w->is_stale || tries == TRIES_MAX)
			break;
		rc = write_load(w, slice_of(name));
	}
	if (rc == 0 && w->old) {
		cJSON_Delete(w->answer);
		w->answer = NULL;
		w->is_status = false;
		cJSON_AddItemToArray(items, as_item(w));
	}
	w->namespace = path;
	return rc;
}

static int read_rv(void *context)
{
	struct write *w = context;

	w->rv = w->c->rv;
	return 0;
}

static int answer_list(struct removal *r, const cJSON *items)
{
	struct write *w = r->w;
	char version[API_VERSION_MAX], rv[24];
	cJSON *list, *metadata;
	char *kind;
	int rc = write_in_world(w, read_rv, w);

	if (rc)
		return rc;
	list = cJSON_CreateObject();
	kind = xasprintf("%sList", w->c->resource.kind);
	snprintf(rv, sizeof(rv), "%llu", (unsigned long long)w->rv);
	cJSON_AddStringToObject(list, "kind", kind);
	cJSON_AddStringToObject(list, "apiVersion", view_api_version(w->c, version));
	metadata = cJSON_AddObjectToObject(list, "metadata");
	cJSON_AddStringToObject(metadata, "resourceVersion", rv);
	if (r->next)
		cJSON_AddStringToObject(metadata, "continue", r->next);
	if (r->remaining >= 0)
		cJSON_AddNumberToObject(metadata, "remainingItemCount", (double)r->remaining);
	cJSON_AddItemToObject(list, "items", cJSON_Duplicate(items, true));
	free(kind);
	w->answer = list;
	w->is_status = true;
	w->code = 200;
	return 0;
}

static int catch_up(void *context)
{
	const struct write *w = context;

	world_catch_up(w->call->api->world, w->c);
	return 0;
}

static int remove_selected(struct removal *r, const cJSON *options)
{
	struct write *w = r->w;
	cJSON *items = cJSON_CreateArray();
	int rc = write_in_world(w, catch_up, w);

	while (rc == 0 && (rc = write_in_world(w, select_some, r)) > 0)
		rc = 0;
	for (size_t i = 0; i < r->count && rc == 0; i += 2)
		rc = remove_one(w, r->names[i], r->names[i + 1], options, items);
	if (rc == 0)
		rc = answer_list(r, items);
	cJSON_Delete(items);
	return rc;
}

int write_delete_collection(struct write *w)
{
	struct removal r = {.w = w, .remaining = -1};
	cJSON *options = NULL;
	int rc;

	if (strcmp(w->c->resource.resource, "namespaces") == 0 ||
		(w->c->resource.namespaced && !w->namespace.len))
		return status_no_method(&w->st);
	rc = write_in_world(w, read_removal, &r);
	if (rc == 0)
		rc = write_delete_options(w, &options);
	if (rc == 0)
		rc = remove_selected(&r, options);
	cJSON_Delete(options);
	release_removal(&r);
	return rc;
}
