/* owners.c: see owners.h. */
#include "replayer/write/owners.h"

#include "replayer/write/awaited.h"
#include "schema/base/json_scan.h"

#include <stdlib.h>

enum owner_state { OWNER_THERE, OWNER_WAITS, OWNER_GONE };

/* The collection of that kind: of the version named if it is one of several. */
static struct collection *find_kind(struct world *world, struct slice api_version, struct slice kind)
{
	const char *slash = api_version.len ? memchr(api_version.ptr, '/', api_version.len) : NULL;
	size_t group_len = slash ? (size_t)(slash - api_version.ptr) : 0, skip = slash ? group_len + 1 : 0;
	struct slice group = {api_version.ptr, group_len};
	struct slice version = {api_version.ptr + skip, api_version.len - skip};
	struct collection *found = NULL;

	for (size_t i = 0; i < world->count; i++) {
		struct collection *c = &world->collections[i];

		if (!c->resource.resource || !slice_is(kind, c->resource.kind) ||
			!slice_is(group, c->resource.apigroup))
			continue;
		if (!found || slice_is(version, c->resource.version))
			found = c;
	}
	return found;
}

/* NULL also if an owner of that kind cannot be one from there: a namespaced one of an object that is in no namespace. */
static struct collection *find_collection(
	struct world *world, struct slice namespace, struct slice api_version, struct slice kind)
{
	struct collection *c = find_kind(world, api_version, kind);

	return c && c->resource.namespaced && !namespace.len ? NULL : c;
}

static struct slice inner_text(struct slice object, const char *member)
{
	struct slice value;

	if (json_get(object, member, &value, NULL) <= 0 || value.len < 2)
		return (struct slice){NULL, 0};
	return (struct slice){value.ptr + 1, value.len - 2};
}

bool owners_place(struct world *world, struct slice namespace, struct slice reference, struct object_ref *ret)
{
	struct collection *c = find_collection(
		world, namespace, inner_text(reference, "apiVersion"), inner_text(reference, "kind"));
	struct slice none = {NULL, 0};

	if (!c)
		return false;
	*ret = (struct object_ref){c->resource.id, slice_dup(c->resource.namespaced ? namespace : none),
		slice_dup(inner_text(reference, "name"))};
	return true;
}

/* ---- what has become of one ---- */

static enum owner_state state_of_object(struct world *world, uint64_t seq, const char *uid)
{
	struct slice object, finalizers;
	struct object_meta meta;

	if (world_object(world, seq, &object, NULL) || json_scan_object(object, &meta, NULL))
		return OWNER_THERE; /* it cannot be read: nobody knows */
	if (!slice_is(meta.uid, uid))
		return OWNER_GONE;
	if (json_get(object, "metadata.deletionTimestamp", &finalizers, NULL) > 0 &&
		json_get(object, "metadata.finalizers", &finalizers, NULL) > 0 &&
		memmem(finalizers.ptr, finalizers.len, "\"" FINALIZER_FOREGROUND "\"",
			sizeof(FINALIZER_FOREGROUND) + 1))
		return OWNER_WAITS;
	return OWNER_THERE;
}

/* Whether it is known of an object that does not exist in the collection that it does not exist. */
static bool is_known_gone(const struct world *world, const struct collection *c, struct slice namespace,
	struct slice name, bool is_written)
{
	if (live_set_find(&c->written, namespace, name))
		return true;
	return is_written && c->served && (c->resource.id < world->recorded_count || c->custom);
}

static enum owner_state state_of(struct world *world, const struct write *w, const cJSON *reference)
{
	const char *uid = json_tree_text(reference, "uid");
	struct slice name = slice_of(json_tree_text(reference, "name")), namespace = w->namespace;
	struct collection *c =
		find_collection(world, namespace, slice_of(json_tree_text(reference, "apiVersion")),
			slice_of(json_tree_text(reference, "kind")));
	const struct overlay_version *absorbed;
	const struct live *l;
	bool is_written = live_set_find(&w->c->written, w->namespace, slice_of(w->name)) != NULL;

	if (!c)
		return OWNER_THERE;
	if (!c->resource.namespaced)
	namespace = (struct slice){NULL, 0};
	if (awaited_is_to_come(w->call->api->awaited, c, namespace, name, uid))
		return OWNER_THERE;
	l = live_set_find(&c->live, namespace, name);
	absorbed = l ? NULL : world_remembered(world, c, namespace, name);
	if (absorbed && absorbed->type != EVENT_DELETED)
		return state_of_object(world, absorbed->seq, uid);
	if (l && state_of_object(world, l->seq, uid) != OWNER_GONE)
		return state_of_object(world, l->seq, uid);
	return is_known_gone(world, c, namespace, name, is_written) ? OWNER_GONE : OWNER_THERE;
}

/* ---- all of an object ---- */

static cJSON *list_of(const cJSON *object)
{
	return json_tree_at(object, "metadata", "ownerReferences", NULL);
}

void owners_find(struct world *world, const struct write *w, struct owners_count *ret)
{
	const cJSON *reference;

	*ret = (struct owners_count){0};
	cJSON_ArrayForEach(reference, list_of(w->old))
	{
		enum owner_state state = state_of(world, w, reference);

		ret->there += state == OWNER_THERE;
		ret->waiting += state == OWNER_WAITS;
		ret->gone += state == OWNER_GONE;
	}
}

static void drop_reference(cJSON *object, cJSON *reference)
{
	cJSON *list = list_of(object);

	cJSON_Delete(cJSON_DetachItemViaPointer(list, reference));
	if (!list->child)
		json_tree_set(json_tree_object(object, "metadata"), "ownerReferences", NULL);
}

cJSON *owners_without_lost(struct world *world, const struct write *w)
{
	cJSON *object = cJSON_Duplicate(w->old, true), *reference = list_of(object)->child;

	while (reference) {
		cJSON *next = reference->next;

		if (state_of(world, w, reference) != OWNER_THERE)
			drop_reference(object, reference);
		reference = next;
	}
	return object;
}

void owners_drop(cJSON *object, const char *uid)
{
	cJSON *list = list_of(object), *reference = list ? list->child : NULL;

	while (reference) {
		cJSON *next = reference->next;

		if (strcmp(json_tree_text(reference, "uid"), uid) == 0)
			drop_reference(object, reference);
		reference = next;
	}
}

bool owners_blocks(const cJSON *object, const char *uid)
{
	const cJSON *reference;

	cJSON_ArrayForEach(reference, list_of(object))
	{
		if (strcmp(json_tree_text(reference, "uid"), uid) == 0 &&
			cJSON_IsTrue(json_tree_at(reference, "blockOwnerDeletion", NULL)))
			return true;
	}
	return false;
}
