/* json_index.c: see json_index.h. */
#include "replayer/write/json_index.h"

#include "schema/base/hash.h"

#include <stdlib.h>
#include <sys/random.h>

#define FIRST_CAP 64

/* Its address stands where a removed member stood. */
static const cJSON removed_member;

static size_t slot_of(const struct json_index *x, const char *name)
{
	uint64_t hash = hash_add(HASH_EMPTY ^ x->seed, slice_of(name));

	hash = (hash ^ hash >> 32) * UINT64_C(0x9e3779b97f4a7c15);
	return (size_t)(hash >> 32) & (x->cap - 1);
}

static void put(struct json_index *x, cJSON *member)
{
	size_t at = slot_of(x, member->string);

	while (x->slots[at])
		at = (at + 1) & (x->cap - 1);
	x->slots[at] = member;
	x->used++;
}

/* Makes a table for all members that the object has now. Each has its own seed, so that nobody finds names
 * beforehand that fall on the same slot. */
static void build(struct json_index *x)
{
	cJSON *member;
	size_t count = 0;

	if (getrandom(&x->seed, sizeof(x->seed), 0) != (ssize_t)sizeof(x->seed))
		x->seed = (uintptr_t)x;
	cJSON_ArrayForEach(member, x->object) count++;
	free(x->slots);
	for (x->cap = FIRST_CAP; x->cap < 4 * count;)
		x->cap *= 2;
	x->slots = xcalloc(x->cap, sizeof(cJSON *));
	x->used = 0;
	cJSON_ArrayForEach(member, x->object) put(x, member);
}

void json_index_init(struct json_index *x, const cJSON *object)
{
	const cJSON *member;

	*x = (struct json_index){.object = cJSON_IsObject(object) ? object : NULL};
	cJSON_ArrayForEach(member, x->object)
	{
		if (++x->count == JSON_INDEX_LEAST) {
			build(x);
			return;
		}
	}
}

void json_index_release(struct json_index *x)
{
	free(x->slots);
	*x = (struct json_index){0};
}

static size_t find_slot(const struct json_index *x, const char *name)
{
	size_t at = slot_of(x, name);

	while (x->slots[at] && (x->slots[at] == &removed_member || strcmp(x->slots[at]->string, name) != 0))
		at = (at + 1) & (x->cap - 1);
	return at;
}

cJSON *json_index_find(const struct json_index *x, const char *name)
{
	if (!x->slots)
		return x->object ? cJSON_GetObjectItemCaseSensitive(x->object, name) : NULL;
	return x->slots[find_slot(x, name)];
}

void json_index_add(struct json_index *x, cJSON *member)
{
	if (!x->slots && ++x->count < JSON_INDEX_LEAST)
		return;
	if (!x->slots || 2 * (x->used + 1) > x->cap)
		build(x);
	else
		put(x, member);
}

void json_index_remove(struct json_index *x, const cJSON *member)
{
	size_t at;

	if (!x->slots) {
		x->count--;
		return;
	}
	at = find_slot(x, member->string);
	if (x->slots[at] == member)
		x->slots[at] = (cJSON *)(uintptr_t)&removed_member;
}

void json_index_set(struct json_index *x, cJSON *object, const char *name, cJSON *value)
{
	cJSON *old = json_index_find(x, name);

	if (old)
		json_index_remove(x, old);
	if (!value) {
		cJSON_Delete(old ? cJSON_DetachItemViaPointer(object, old) : NULL);
		return;
	}
	if (old) {
		char *own = strdup(name);

		cJSON_free(value->string);
		value->string = own;
		value->type &= ~cJSON_StringIsConst;
		cJSON_ReplaceItemViaPointer(object, old, value);
	} else {
		cJSON_AddItemToObject(object, name, value);
	}
	json_index_add(x, value);
}
