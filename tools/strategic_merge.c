/* strategic_merge.c: see strategic_merge.h. */
#include "tools/strategic_merge.h"

#include "replayer/json/json_tree.h"
#include "schema/base/buf.h"

#include <stdio.h>
#include <string.h>

#define ORDER  "$setElementOrder/"
#define DELETE "$deleteFromPrimitiveList/"

static cJSON *member(const cJSON *object, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(object, name);
}

static bool directive_is(const cJSON *item, const char *what)
{
	const char *text = cJSON_IsObject(item) ? cJSON_GetStringValue(member(item, "$patch")) : NULL;

	return text && strcmp(text, what) == 0;
}

static bool same(const cJSON *a, const cJSON *b)
{
	return a && b && json_tree_equal(a, b);
}

/* ---- lists ---- */

/* The member that tells items apart: NULL for lists of plain values, and where nothing says. */
static const char *key_of(const cJSON *order, const cJSON *list)
{
	const cJSON *item = order ? order->child : NULL, *part;

	if (cJSON_IsObject(item) && item->child)
		return item->child->string;
	cJSON_ArrayForEach(item, list)
	{
		if (!cJSON_IsObject(item) || !member(item, "$patch"))
			continue;
		cJSON_ArrayForEach(part, item)
		{
			if (part->string[0] != '$')
				return part->string;
		}
	}
	return NULL;
}

static cJSON *find_item(const cJSON *list, const cJSON *like, const char *key)
{
	cJSON *item;

	cJSON_ArrayForEach(item, list)
	{
		if (key ? same(member(item, key), member(like, key)) : same(item, like))
			return item;
	}
	return NULL;
}

static cJSON *copy_of(const cJSON *value)
{
	cJSON *copy;

	if (!cJSON_IsObject(value))
		return cJSON_Duplicate(value, true);
	copy = cJSON_CreateObject();
	strategic_merge(copy, value);
	return copy;
}

static void merge_items(cJSON *list, const cJSON *patch, const char *key)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, patch)
	{
		cJSON *have = find_item(list, item, key);

		if (directive_is(item, "delete") && have)
			cJSON_Delete(cJSON_DetachItemViaPointer(list, have));
		else if (have && cJSON_IsObject(have))
			strategic_merge(have, item);
		else if (!have && !directive_is(item, "delete"))
			cJSON_AddItemToArray(list, copy_of(item));
	}
}

/* Those that are named come in the order of the names, in front of those that are not. */
static void put_in_order(cJSON *list, const cJSON *order, const char *key)
{
	cJSON *sorted = cJSON_CreateArray(), *rest;
	const cJSON *name;

	cJSON_ArrayForEach(name, order)
	{
		cJSON *item = find_item(list, name, key);

		if (item)
			cJSON_AddItemToArray(sorted, cJSON_DetachItemViaPointer(list, item));
	}
	while ((rest = cJSON_DetachItemFromArray(list, 0)))
		cJSON_AddItemToArray(sorted, rest);
	list->child = sorted->child;
	sorted->child = NULL;
	cJSON_Delete(sorted);
}

static cJSON *list_at(cJSON *object, const char *name)
{
	cJSON *list = member(object, name);

	if (cJSON_IsArray(list))
		return list;
	cJSON_DeleteItemFromObjectCaseSensitive(object, name);
	list = cJSON_CreateArray();
	cJSON_AddItemToObject(object, name, list);
	return list;
}

static void strategic_merge_replace(cJSON *object, const char *name, const cJSON *value)
{
	cJSON *copy = copy_of(value);

	if (member(object, name))
		cJSON_ReplaceItemInObjectCaseSensitive(object, name, copy);
	else
		cJSON_AddItemToObject(object, name, copy);
}

/* `list`: what the patch has of it, NULL when only its order changed. */
static void merge_list(cJSON *object, const char *name, const cJSON *list, const cJSON *order)
{
	const char *key = key_of(order, list);
	cJSON *have;

	if (!order && !key) {
		strategic_merge_replace(object, name, list);
		return;
	}
	have = list_at(object, name);
	merge_items(have, list, key);
	if (order)
		put_in_order(have, order, key);
}

static void delete_values(cJSON *object, const char *name, const cJSON *values)
{
	cJSON *list = member(object, name);
	const cJSON *value;

	cJSON_ArrayForEach(value, values)
	{
		cJSON *have = find_item(list, value, NULL);

		if (have)
			cJSON_Delete(cJSON_DetachItemViaPointer(list, have));
	}
}

/* ---- objects ---- */

static void strategic_merge_clear(cJSON *object)
{
	while (object->child)
		cJSON_Delete(cJSON_DetachItemViaPointer(object, object->child));
}

static void retain(cJSON *object, const cJSON *names)
{
	cJSON *next;

	for (cJSON *part = object->child; part; part = next) {
		bool wanted = false;
		const cJSON *name;

		next = part->next;
		cJSON_ArrayForEach(name, names) wanted |=
			cJSON_IsString(name) && strcmp(name->valuestring, part->string) == 0;
		if (!wanted)
			cJSON_Delete(cJSON_DetachItemViaPointer(object, part));
	}
}

static void merge_member(cJSON *object, const cJSON *patch, const cJSON *part)
{
	cJSON *have = member(object, part->string);
	char order[256];

	snprintf(order, sizeof(order), ORDER "%s", part->string);
	if (cJSON_IsNull(part))
		cJSON_DeleteItemFromObjectCaseSensitive(object, part->string);
	else if (cJSON_IsArray(part))
		merge_list(object, part->string, part, member(patch, order));
	else if (cJSON_IsObject(part) && cJSON_IsObject(have))
		strategic_merge(have, part);
	else
		strategic_merge_replace(object, part->string, part);
}

static void follow_directive(cJSON *object, const cJSON *patch, const cJSON *part)
{
	if (strcmp(part->string, "$retainKeys") == 0)
		retain(object, part);
	else if (slice_begins(slice_of(part->string), DELETE))
		delete_values(object, part->string + strlen(DELETE), part);
	else if (slice_begins(slice_of(part->string), ORDER) && !member(patch, part->string + strlen(ORDER)))
		merge_list(object, part->string + strlen(ORDER), NULL, part);
}

void strategic_merge(cJSON *object, const cJSON *patch)
{
	const cJSON *part;

	if (directive_is(patch, "replace") || directive_is(patch, "delete"))
		strategic_merge_clear(object);
	cJSON_ArrayForEach(part, patch)
	{
		if (part->string[0] == '$')
			follow_directive(object, patch, part);
		else
			merge_member(object, patch, part);
	}
}
