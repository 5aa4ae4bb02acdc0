/* field_set.c: see field_set.h. */
#include "replayer/write/field_set.h"

#include "replayer/json/json_index.h"

#include <stdlib.h>

#define SELF "."

static bool is_self(const cJSON *child)
{
	return strcmp(child->string, SELF) == 0;
}

/* ---- one field ---- */

bool field_set_has(const cJSON *set)
{
	return cJSON_GetObjectItemCaseSensitive(set, SELF) != NULL;
}

void field_set_mark(cJSON *set)
{
	if (!field_set_has(set))
		cJSON_AddObjectToObject(set, SELF);
}

cJSON *field_set_below(const cJSON *set, const char *step)
{
	return cJSON_GetObjectItemCaseSensitive(set, step);
}

cJSON *field_set_step(cJSON *set, const char *step)
{
	cJSON *below = field_set_below(set, step);

	return below ? below : cJSON_AddObjectToObject(set, step);
}

/* The last step below the set if it is that one; a new one otherwise. */
static cJSON *last_step(cJSON *set, const char *step)
{
	cJSON *last = set->child ? set->child->prev : NULL;

	return last && strcmp(last->string, step) == 0 ? last : cJSON_AddObjectToObject(set, step);
}

static cJSON *field_set_walk(cJSON *set, const struct field_path *path)
{
	return path ? last_step(field_set_walk(set, path->up), path->step) : set;
}

void field_set_append(cJSON *set, const struct field_path *path)
{
	field_set_mark(field_set_walk(set, path));
}

bool field_set_is_empty(const cJSON *set)
{
	const cJSON *child;

	if (!set)
		return true;
	cJSON_ArrayForEach(child, set)
	{
		if (is_self(child) || !field_set_is_empty(child))
			return false;
	}
	return true;
}

/* ---- FieldsV1 ---- */

cJSON *field_set_decode(const cJSON *fields)
{
	cJSON *set = cJSON_CreateObject();
	const cJSON *child;

	cJSON_ArrayForEach(child, fields)
	{
		cJSON *below;

		if (!child->string || !cJSON_IsObject(child) || is_self(child))
			continue;
		below = field_set_decode(child);
		if (!child->child)
			field_set_mark(below);
		cJSON_AddItemToObject(set, child->string, below);
	}
	if (cJSON_IsObject(fields) && field_set_has(fields))
		field_set_mark(set);
	return set;
}

static int compare_steps(const void *a, const void *b)
{
	const cJSON *const *x = a, *const *y = b;

	return strcmp((*x)->string, (*y)->string);
}

/* By name: that is also the order in which Kubernetes writes them, but for numbers in keys. */
static void sort_steps(cJSON *set)
{
	size_t count = (size_t)cJSON_GetArraySize(set);
	cJSON **children = xcalloc(count + 1, sizeof(cJSON *));

	for (size_t i = 0; i < count; i++)
		children[i] = cJSON_DetachItemViaPointer(set, set->child);
	qsort(children, count, sizeof(cJSON *), compare_steps);
	for (size_t i = 0; i < count; i++)
		cJSON_AddItemToArray(set, children[i]);
	free(children);
}

cJSON *field_set_encode(const cJSON *set)
{
	cJSON *fields = cJSON_CreateObject();
	const cJSON *child;

	cJSON_ArrayForEach(child, set)
	{
		if (!is_self(child) && !field_set_is_empty(child))
			cJSON_AddItemToObject(fields, child->string, field_set_encode(child));
	}
	if (fields->child && field_set_has(set))
		field_set_mark(fields);
	sort_steps(fields);
	return fields;
}

/* ---- operations ---- */

static bool is_kept(bool a, bool b, enum field_set_operation operation)
{
	switch (operation) {
	case FIELD_SET_UNION: return a || b;
	case FIELD_SET_DIFFERENCE: return a && !b;
	case FIELD_SET_INTERSECTION: return a && b;
	}
	return false;
}

/* What is made of the steps of `a`. */
static void combine_steps(const cJSON *a, const cJSON *b, enum field_set_operation operation, cJSON *to)
{
	struct json_index of_b;
	const cJSON *child;

	json_index_init(&of_b, b);
	cJSON_ArrayForEach(child, a)
	{
		cJSON *below;

		if (is_self(child))
			continue;
		below = field_set_combine(child, json_index_find(&of_b, child->string), operation);
		if (field_set_is_empty(below))
			cJSON_Delete(below);
		else
			cJSON_AddItemToObject(to, child->string, below);
	}
	json_index_release(&of_b);
}

/* The steps of `b` that `a` does not have. */
static void add_other_steps(const cJSON *a, const cJSON *b, cJSON *to)
{
	struct json_index of_a;
	const cJSON *child;

	json_index_init(&of_a, a);
	cJSON_ArrayForEach(child, b)
	{
		if (!is_self(child) && !json_index_find(&of_a, child->string) && !field_set_is_empty(child))
			cJSON_AddItemToObject(to, child->string, cJSON_Duplicate(child, true));
	}
	json_index_release(&of_a);
}

cJSON *field_set_combine(const cJSON *a, const cJSON *b, enum field_set_operation operation)
{
	cJSON *made = cJSON_CreateObject();

	if (is_kept(a && field_set_has(a), b && field_set_has(b), operation))
		field_set_mark(made);
	combine_steps(a, b, operation, made);
	if (operation == FIELD_SET_UNION)
		add_other_steps(a, b, made);
	return made;
}

void field_set_change(cJSON **set, const cJSON *by, enum field_set_operation operation)
{
	cJSON *made = field_set_combine(*set, by, operation);

	cJSON_Delete(*set);
	*set = made;
}

/* ---- for people ---- */

/* ".NAME", "[key=value,...]", "[=value]", "[N]" */
static char *step_text(const char *step)
{
	cJSON *keys, *key;
	char *text, *longer, *value;

	if (strncmp(step, "f:", 2) == 0)
		return xasprintf(".%s", step + 2);
	if (strncmp(step, "k:", 2) != 0)
		return xasprintf("[%s%s]", *step == 'v' ? "=" : "", *step ? step + 2 : "");
	if (json_tree_parse(slice_of(step + 2), &keys, NULL))
		return xasprintf("[%s]", step + 2);
	text = xstrdup("[");
	cJSON_ArrayForEach(key, keys)
	{
		value = cJSON_PrintUnformatted(key);
		longer = xasprintf("%s%s%s=%s", text, key == keys->child ? "" : ",", key->string, value);
		cJSON_free(value);
		free(text);
		text = longer;
	}
	cJSON_Delete(keys);
	longer = xasprintf("%s]", text);
	free(text);
	return longer;
}

static void add_paths(const cJSON *set, const char *prefix, cJSON *to)
{
	const cJSON *child;

	if (*prefix && field_set_has(set))
		cJSON_AddItemToArray(to, cJSON_CreateString(prefix));
	cJSON_ArrayForEach(child, set)
	{
		char *step, *path;

		if (is_self(child))
			continue;
		step = step_text(child->string);
		path = xasprintf("%s%s", prefix, step);
		add_paths(child, path, to);
		free(step);
		free(path);
	}
}

cJSON *field_set_paths(const cJSON *set)
{
	cJSON *paths = cJSON_CreateArray();

	add_paths(set, "", paths);
	return paths;
}
