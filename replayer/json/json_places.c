/* json_places.c: see json_places.h. */
#include "replayer/json/json_places.h"

#include "replayer/json/json_tree.h"

#include <stdlib.h>

static void table_release(struct json_place_table *t)
{
	json_index_release(&t->members);
	free(t->items);
	*t = (struct json_place_table){0};
}

void json_places_release(struct json_places *p)
{
	for (size_t i = 0; i < JSON_PLACES_KEPT; i++)
		table_release(&p->kept[i]);
}

static bool is_large(const cJSON *container)
{
	const cJSON *child = container->child;

	for (size_t n = 0; child && n < JSON_INDEX_LEAST; n++)
		child = child->next;
	return child != NULL;
}

static void read_items(struct json_place_table *t)
{
	cJSON *item;

	t->cap = (size_t)cJSON_GetArraySize(t->container);
	t->items = xcalloc(t->cap + 1, sizeof(cJSON *));
	cJSON_ArrayForEach(item, t->container) t->items[t->count++] = item;
}

/* NULL for small containers, which are walked. */
static struct json_place_table *table_of(struct json_places *p, cJSON *container)
{
	struct json_place_table *t;

	for (size_t i = 0; i < JSON_PLACES_KEPT; i++) {
		if (p->kept[i].container == container)
			return &p->kept[i];
	}
	if (!is_large(container))
		return NULL;
	t = &p->kept[p->next];
	p->next = (p->next + 1) % JSON_PLACES_KEPT;
	table_release(t);
	t->container = container;
	json_index_init(&t->members, container);
	if (cJSON_IsArray(container))
		read_items(t);
	return t;
}

size_t json_places_count(struct json_places *p, cJSON *array)
{
	const struct json_place_table *t = table_of(p, array);

	return t ? t->count : (size_t)cJSON_GetArraySize(array);
}

cJSON *json_places_member(struct json_places *p, cJSON *object, const char *name)
{
	const struct json_place_table *t = table_of(p, object);

	return t ? json_index_find(&t->members, name) : cJSON_GetObjectItemCaseSensitive(object, name);
}

cJSON *json_places_item(struct json_places *p, cJSON *array, size_t at)
{
	const struct json_place_table *t = table_of(p, array);

	if (!t)
		return cJSON_GetArrayItem(array, (int)at);
	return at < t->count ? t->items[at] : NULL;
}

void json_places_set(struct json_places *p, cJSON *object, const char *name, cJSON *value)
{
	struct json_place_table *t;
	const cJSON *old = json_places_member(p, object, name);

	if (old)
		json_places_forget(p, old);
	t = table_of(p, object);
	if (t)
		json_index_set(&t->members, object, name, value);
	else
		json_tree_set(object, name, value);
}

/* cJSON_InsertItemInArray of cJSON 1.7.15 forgets what is put between two items. */
static void link_before(cJSON *array, cJSON *item, cJSON *value)
{
	value->next = item;
	value->prev = item->prev;
	item->prev = value;
	if (array->child == item)
		array->child = value;
	else
		value->prev->next = value;
}

void json_places_insert(struct json_places *p, cJSON *array, size_t at, cJSON *value)
{
	struct json_place_table *t = table_of(p, array);
	cJSON *item = json_places_item(p, array, at);

	if (item)
		link_before(array, item, value);
	else
		cJSON_AddItemToArray(array, value);
	if (!t)
		return;
	if (t->count == t->cap) {
		t->cap *= 2;
		t->items = xrealloc(t->items, (t->cap + 1) * sizeof(cJSON *));
	}
	memmove(&t->items[at + 1], &t->items[at], (t->count - at) * sizeof(cJSON *));
	t->items[at] = value;
	t->count++;
}

void json_places_detach(struct json_places *p, cJSON *container, cJSON *child, size_t at)
{
	struct json_place_table *t = table_of(p, container);

	if (t && cJSON_IsObject(container)) {
		json_index_remove(&t->members, child);
	} else if (t) {
		t->count--;
		memmove(&t->items[at], &t->items[at + 1], (t->count - at) * sizeof(cJSON *));
	}
	cJSON_DetachItemViaPointer(container, child);
}

void json_places_forget(struct json_places *p, const cJSON *value)
{
	const cJSON *child;

	if (!value->child)
		return;
	for (size_t i = 0; i < JSON_PLACES_KEPT; i++) {
		if (p->kept[i].container == value)
			table_release(&p->kept[i]);
	}
	cJSON_ArrayForEach(child, value) json_places_forget(p, child);
}
