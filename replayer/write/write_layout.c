/* write_layout.c: members where the API server has them; see write_internal.h. */
#include "replayer/protobuf/protobuf_fields.h"
#include "replayer/write/default_values.h"
#include "replayer/write/write_internal.h"
#include "schema/base/count_of.h"

#include <limits.h>
#include <stdlib.h>

struct ranked {
	unsigned rank;
	size_t place; /* of those of the same rank and name */
	cJSON *member;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	int names = strcmp(x->member->string, y->member->string);

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (names)
		return names;
	return x->place < y->place ? -1 : x->place > y->place;
}

/* Puts the members in the order of their ranks, and by name where these are the same. */
static void sort_members(
	cJSON *object, unsigned (*rank)(unsigned message, const cJSON *member), unsigned message)
{
	size_t count = (size_t)cJSON_GetArraySize(object);
	struct ranked *members = xcalloc(count + 1, sizeof(*members));

	for (size_t i = 0; i < count; i++) {
		cJSON *member = cJSON_DetachItemViaPointer(object, object->child);

		members[i] = (struct ranked){rank ? rank(message, member) : 0, i, member};
	}
	qsort(members, count, sizeof(*members), compare_ranked);
	for (size_t i = 0; i < count; i++)
		cJSON_AddItemToArray(object, members[i].member);
	free(members);
}

/* A custom resource is a map to the API server, with maps in it. */
static void sort_all(cJSON *value)
{
	cJSON *item;

	if (cJSON_IsObject(value))
		sort_members(value, NULL, 0);
	cJSON_ArrayForEach(item, value) sort_all(item);
}

/* What the type does not have goes to the end. */
static unsigned rank_in_message(unsigned message, const cJSON *member)
{
	struct protobuf_member m;

	return protobuf_find_member(message, member->string, &m) ? m.rank : UINT_MAX;
}

static void sort_typed(cJSON *object, unsigned message);

/* Null is an empty text in a map of texts. */
static void fill_texts(cJSON *map)
{
	for (cJSON *member = map->child, *next; member; member = next) {
		next = member->next;
		if (cJSON_IsNull(member))
			json_tree_set_text(map, member->string, "");
	}
}

static void sort_member(cJSON *value, const struct protobuf_member *m)
{
	cJSON *item;

	if (m->is_map && cJSON_IsObject(value))
		sort_members(value, NULL, 0);
	if (m->is_map && m->value == VALUE_STRING)
		fill_texts(value);
	if (m->value != VALUE_MESSAGE)
		return;
	if (!m->is_map && !m->is_list) {
		sort_typed(value, m->message);
		return;
	}
	cJSON_ArrayForEach(item, value) sort_typed(item, m->message);
}

/* As the fields of the Go type stand. */
static void sort_typed(cJSON *object, unsigned message)
{
	cJSON *member;

	if (!cJSON_IsObject(object))
		return;
	sort_members(object, rank_in_message, message);
	cJSON_ArrayForEach(member, object)
	{
		struct protobuf_member m;

		if (protobuf_find_member(message, member->string, &m))
			sort_member(member, &m);
	}
}

/* What an object is stands first. */
static void put_head_first(cJSON *object)
{
	static const char *const names[] = {"metadata", "apiVersion", "kind"};

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		cJSON *member = cJSON_DetachItemFromObjectCaseSensitive(object, names[i]);

		if (member)
			cJSON_InsertItemInArray(object, 0, member);
	}
}

void write_drop_empty(cJSON *object)
{
	cJSON *metadata = json_tree_object(object, "metadata");
	static const char *const names[] = {
		"labels", "annotations", "ownerReferences", "finalizers", "managedFields"};

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		const cJSON *value = cJSON_GetObjectItemCaseSensitive(metadata, names[i]);

		if (value && !value->child && !cJSON_IsString(value))
			json_tree_set(metadata, names[i], NULL);
	}
}

void write_normalize(const struct write *w, cJSON *object)
{
	char version[API_VERSION_MAX];
	struct protobuf_member metadata;
	unsigned message;

	default_values_agree(object, w->c->resource.apigroup, w->c->resource.resource);
	write_drop_empty(object);
	if (w->c->custom) {
		sort_all(object);
		return;
	}
	if (protobuf_find_message(
		    slice_of(view_api_version(w->c, version)), slice_of(w->c->resource.kind), &message))
		sort_typed(object, message);
	else if (protobuf_find_message(slice_of("v1"), slice_of("ConfigMap"), &message) &&
		 protobuf_find_member(message, "metadata", &metadata))
		sort_typed(json_tree_object(object, "metadata"), metadata.message);
	put_head_first(object);
}
