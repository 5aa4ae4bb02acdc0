/* write_delete.c: DELETE of one object and of a collection; see write_internal.h. */
#include "replayer/request/list_options.h"
#include "replayer/request/selectors.h"
#include "replayer/write/write_internal.h"

#include <stdio.h>
#include <stdlib.h>

#define POD_GRACE_S    30
#define TRIES_MAX      5   /* for an object that somebody else writes to meanwhile */
#define OBJECTS_A_STEP 200 /* that are looked at before the loop goes on */

/* Pods on a node end when the node says so; elsewhere nothing has to be waited for. */
static int64_t grace_of(const struct write *w, const cJSON *options)
{
	const cJSON *asked = json_tree_at(options, "gracePeriodSeconds", NULL);
	const cJSON *own = json_tree_at(w->old, "spec", "terminationGracePeriodSeconds", NULL);
	const char *phase = json_tree_text(json_tree_at(w->old, "status", NULL), "phase");
	bool is_pod = strcmp(w->c->resource.resource, "pods") == 0 && !*w->c->resource.apigroup;

	if (!is_pod || !*json_tree_text(json_tree_at(w->old, "spec", NULL), "nodeName"))
		return 0;
	if (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0)
		return 0;
	if (cJSON_IsNumber(asked))
		return (int64_t)asked->valuedouble;
	return cJSON_IsNumber(own) ? (int64_t)own->valuedouble : POD_GRACE_S;
}

/* What stays for a while: its finalizers, or its node, end it later. */
static int mark_deleted(struct write *w, int64_t grace_s)
{
	cJSON *object = cJSON_Duplicate(w->old, true);
	cJSON *metadata = json_tree_object(object, "metadata");
	const cJSON *before = json_tree_at(metadata, "deletionGracePeriodSeconds", NULL);
	bool marked = json_tree_at(metadata, "deletionTimestamp", NULL) != NULL;
	char when[TIMESTAMP_BYTES];

	w->answer = object;
	w->code = 200;
	if (marked && !(cJSON_IsNumber(before) && grace_s < (int64_t)before->valuedouble))
		return 0;
	write_timestamp(when, grace_s);
	json_tree_set_text(metadata, "deletionTimestamp", when);
	json_tree_set(metadata, "deletionGracePeriodSeconds", cJSON_CreateNumber((double)grace_s));
	if (strcmp(w->c->resource.resource, "namespaces") == 0)
		json_tree_set_text(json_tree_object(object, "status"), "phase", "Terminating");
	return write_store(w, EVENT_MODIFIED, object);
}

static int remove_now(struct write *w)
{
	cJSON *last = cJSON_Duplicate(w->old, true);
	int rc = write_store(w, EVENT_DELETED, last);

	if (rc == 0)
		write_answer_success(w, 200, last);
	cJSON_Delete(last);
	return rc;
}

int write_remove(struct write *w, const cJSON *options)
{
	const cJSON *preconditions = json_tree_at(options, "preconditions", NULL);
	int64_t grace_s = grace_of(w, options);
	cJSON *marked;
	bool lasts;
	int rc = write_check_preconditions(
		w, json_tree_text(preconditions, "uid"), json_tree_text(preconditions, "resourceVersion"));

	if (rc)
		return rc;
	marked = cJSON_Duplicate(w->old, true);
	json_tree_set_text(json_tree_object(marked, "metadata"), "deletionTimestamp", "now");
	json_tree_set(json_tree_object(marked, "metadata"), "deletionGracePeriodSeconds",
		cJSON_CreateNumber((double)grace_s));
	lasts = !write_is_over(w, marked);
	cJSON_Delete(marked);
	return lasts ? mark_deleted(w, grace_s) : remove_now(w);
}

static int check_options(struct write *w, const cJSON *options)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, json_tree_at(options, "dryRun", NULL))
	{
		if (cJSON_IsString(item) && strcmp(item->valuestring, "All") == 0)
			w->dry_run = true;
	}
	return 0;
}

int write_delete(struct write *w)
{
	cJSON *options;
	int rc = write_body_options(w->call, &options, &w->st);

	if (rc == 0)
		rc = check_options(w, options);
	if (rc == 0)
		rc = write_load_existing(w);
	if (rc == 0)
		rc = write_remove(w, options);
	cJSON_Delete(options);
	return rc;
}

/* ---- many ---- */

static bool is_selected(struct write *w, const struct list_options *o, const struct live *l)
{
	struct slice object = {NULL, 0};

	if (selectors_read_object(o->labels, o->fields) &&
		world_object(w->call->api->world, l->seq, &object, NULL))
		return false;
	return selectors_match(o->labels, o->fields, live_namespace(l), live_name(l), object);
}

/* What is to be deleted: names first, because deleting changes the set. Some are looked at at a time, from where the
 * last ones ended. */
struct selecting {
	struct write *w;
	const struct list_options *options;
	char *from; /* the key of the next one; NULL: the first */
	char **names;
	size_t count, cap;
	bool is_over;
};

static void add_names(struct selecting *s, const struct live *l)
{
	if (s->count == s->cap) {
		s->cap = s->cap ? 2 * s->cap : 64;
		s->names = xrealloc(s->names, s->cap * sizeof(char *));
	}
	s->names[s->count++] = slice_dup(live_namespace(l));
	s->names[s->count++] = slice_dup(live_name(l));
}

static int select_some(void *context)
{
	struct selecting *s = context;
	const struct live_set *set = &s->w->c->live;
	size_t at, end, left = s->w->is_beside ? OBJECTS_A_STEP : SIZE_MAX;

	live_set_range(set, s->w->namespace, &at, &end);
	if (s->from)
		at = live_set_lower_bound(set, slice_of(s->from));
	for (; at < end && left > 0; at++, left--) {
		if (is_selected(s->w, s->options, set->items[at]))
			add_names(s, set->items[at]);
	}
	free(s->from);
	s->from = at < end ? slice_dup(live_key(set->items[at])) : NULL;
	return at < end;
}

static void selecting_release(struct selecting *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->names[i]);
	free(s->names);
	free(s->from);
}

/* One of many; the list shows it as it was. */
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
		cJSON_AddItemToArray(items, cJSON_Duplicate(w->old, true));
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

static int answer_list(struct write *w, cJSON *items)
{
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
	cJSON_AddItemToObject(list, "items", cJSON_Duplicate(items, true));
	free(kind);
	w->answer = list;
	w->is_status = true;
	w->code = 200;
	return 0;
}

static int remove_selected(struct write *w, const struct list_options *o, const cJSON *options)
{
	struct selecting s = {.w = w, .options = o};
	cJSON *items = cJSON_CreateArray();
	int rc;

	do
		rc = write_in_world(w, select_some, &s);
	while (rc > 0);
	for (size_t i = 0; i < s.count && rc == 0; i += 2)
		rc = remove_one(w, s.names[i], s.names[i + 1], options, items);
	if (rc == 0)
		rc = answer_list(w, items);
	cJSON_Delete(items);
	selecting_release(&s);
	return rc;
}

struct list_question {
	struct write *w;
	struct list_options options;
};

static int parse_selectors(void *context)
{
	struct list_question *q = context;
	struct write *w = q->w;
	const struct selectable_kind kind = api_selectable_kind(w->call->api, w->c);

	return list_options_parse(&w->call->query, false, &kind, &q->options, &w->st);
}

int write_delete_collection(struct write *w)
{
	struct list_question q = {.w = w};
	cJSON *options = NULL;
	int rc = 0;

	if (strcmp(w->c->resource.resource, "namespaces") == 0 ||
		(w->c->resource.namespaced && !w->namespace.len))
		return status_no_method(&w->st);
	rc = write_in_world(w, parse_selectors, &q);
	if (rc == 0)
		rc = write_body_options(w->call, &options, &w->st);
	if (rc == 0)
		rc = check_options(w, options);
	if (rc == 0)
		rc = remove_selected(w, &q.options, options);
	cJSON_Delete(options);
	list_options_release(&q.options);
	return rc;
}
