/* json_index.c: see json_index.h. */
#include "replayer/json/json_index.h"

#include "schema/base/buf.h"

static void map_all(struct json_index *x)
{
	cJSON *member;

	x->is_mapped = true;
	cJSON_ArrayForEach(member, x->object) text_map_put(&x->map, member->string, member);
}

void json_index_init(struct json_index *x, const cJSON *object)
{
	const cJSON *member;

	*x = (struct json_index){.object = cJSON_IsObject(object) ? object : NULL};
	cJSON_ArrayForEach(member, x->object)
	{
		if (++x->count == JSON_INDEX_LEAST) {
			map_all(x);
			return;
		}
	}
}

void json_index_release(struct json_index *x)
{
	text_map_release(&x->map);
	*x = (struct json_index){0};
}

cJSON *json_index_find(const struct json_index *x, const char *name)
{
	if (x->is_mapped)
		return text_map_get(&x->map, name);
	return x->object ? cJSON_GetObjectItemCaseSensitive(x->object, name) : NULL;
}

void json_index_add(struct json_index *x, cJSON *member)
{
	if (x->is_mapped)
		text_map_put(&x->map, member->string, member);
	else if (++x->count >= JSON_INDEX_LEAST)
		map_all(x);
}

void json_index_remove(struct json_index *x, const cJSON *member)
{
	if (x->is_mapped)
		text_map_remove(&x->map, member->string);
	else
		x->count--;
}

static void json_index_replace(cJSON *object, cJSON *old, const char *name, cJSON *value)
{
	char *own = xstrdup(name);

	cJSON_free(value->string);
	value->string = own;
	cJSON_ReplaceItemViaPointer(object, old, value);
}

void json_index_set(struct json_index *x, cJSON *object, const char *name, cJSON *value)
{
	cJSON *old = json_index_find(x, name);

	if (old)
		json_index_remove(x, old);
	if (old && value)
		json_index_replace(object, old, name, value);
	else if (value)
		cJSON_AddItemToObject(object, name, value);
	else if (old)
		cJSON_Delete(cJSON_DetachItemViaPointer(object, old));
	if (value)
		json_index_add(x, value);
}
