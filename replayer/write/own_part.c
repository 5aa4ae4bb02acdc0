/* own_part.c: see own_part.h. */
#include "replayer/write/own_part.h"

#include "schema/base/count_of.h"

#include <stdlib.h>

/* ---- the text: {"fields": FieldsV1, "ways": {"SUBRESOURCE/MANAGER": true}, "ending": true} ---- */

static cJSON *part_parse(const char *text)
{
	cJSON *part;

	return json_tree_parse(slice_of(text), &part, NULL) ? cJSON_CreateObject() : part;
}

/* Takes it over. */
static char *part_print(cJSON *part)
{
	char *text = cJSON_PrintUnformatted(part), *copy = xstrdup(text);

	cJSON_free(text);
	cJSON_Delete(part);
	return copy;
}

static cJSON *changed_fields(const cJSON *old, const cJSON *new, struct field_type type)
{
	static const char *const servers[] = {"f:resourceVersion", "f:generation", "f:managedFields"};
	struct field_changes c;
	cJSON *changed, *metadata;

	field_walk_compare(old, new, type, &c);
	changed = field_set_combine(c.modified, c.added, FIELD_SET_UNION);
	field_set_change(&changed, c.removed, FIELD_SET_UNION);
	field_changes_release(&c);
	metadata = field_set_below(changed, "f:metadata");
	for (size_t i = 0; i < COUNT_OF(servers); i++)
		cJSON_DeleteItemFromObjectCaseSensitive(metadata, servers[i]);
	return changed;
}

static void add_way(cJSON *part, const char *manager, const char *subresource)
{
	char *way = xasprintf("%s/%s", subresource, manager);

	json_tree_set(json_tree_object(part, "ways"), way, cJSON_CreateTrue());
	free(way);
}

char *own_part_await(const char *text, const char *manager, const char *subresource)
{
	cJSON *part = part_parse(text);

	add_way(part, manager, subresource);
	return part_print(part);
}

char *own_part_add(const char *text, const cJSON *old, const cJSON *new, struct field_type type,
	const char *manager, const char *subresource)
{
	cJSON *part = part_parse(text), *fields = changed_fields(old, new, type);
	cJSON *before = field_set_decode(json_tree_at(part, "fields", NULL));

	field_set_change(&fields, before, FIELD_SET_UNION);
	json_tree_set(part, "fields", field_set_encode(fields));
	add_way(part, manager, subresource);
	cJSON_Delete(before);
	cJSON_Delete(fields);
	return part_print(part);
}

static char *finalizer_step(const char *finalizer)
{
	return xasprintf("v:\"%s\"", finalizer);
}

char *own_part_hold(const char *text, const char *finalizer)
{
	cJSON *part = part_parse(text), *fields = json_tree_object(part, "fields");
	cJSON *list = json_tree_object(json_tree_object(fields, "f:metadata"), "f:finalizers");
	char *step = finalizer_step(finalizer);

	json_tree_set(list, step, cJSON_CreateObject());
	free(step);
	return part_print(part);
}

char *own_part_end(const char *text)
{
	cJSON *part = part_parse(text);

	json_tree_set(part, "ending", cJSON_CreateTrue());
	return part_print(part);
}

bool own_part_is_ending(const char *text)
{
	cJSON *part = part_parse(text ? text : OWN_PART_NONE);
	bool is = json_tree_at(part, "ending", NULL) != NULL;

	cJSON_Delete(part);
	return is;
}

/* ---- fields ---- */

static bool has_steps(const cJSON *set)
{
	return set->child && (set->child->next || !field_set_has(set));
}

/* Whether an item's set has more than the item itself and its keys, which stand in its name. */
static bool has_more_than_keys(const cJSON *item)
{
	cJSON *keys;
	bool has = false;

	if (json_tree_parse(slice_of(item->string + 2), &keys, NULL))
		return has_steps(item);
	for (const cJSON *child = item->child; child && !has; child = child->next)
		has = strcmp(child->string, ".") != 0 &&
		      (strncmp(child->string, "f:", 2) != 0 || !json_tree_at(keys, child->string + 2, NULL));
	cJSON_Delete(keys);
	return has;
}

/* The keys of an item stay, or nobody could tell which item it is. */
static void spare_keys(cJSON *item)
{
	cJSON *keys, *key;

	if (json_tree_parse(slice_of(item->string + 2), &keys, NULL))
		return;
	cJSON_ArrayForEach(key, keys)
	{
		char *step = xasprintf("f:%s", key->string);

		cJSON_DeleteItemFromObjectCaseSensitive(item, step);
		free(step);
	}
	cJSON_Delete(keys);
}

/* A map, a struct or an item (of a list with keys) is not written as a whole because some of its members are. */
static void leave_members(cJSON *set)
{
	for (cJSON *child = set->child; child; child = child->next) {
		bool is_item = strncmp(child->string, "k:", 2) == 0;

		if (is_item ? has_more_than_keys(child)
			    : strncmp(child->string, "f:", 2) == 0 && has_steps(child))
			cJSON_DeleteItemFromObjectCaseSensitive(child, ".");
		leave_members(child);
		if (strncmp(child->string, "k:", 2) == 0 && !field_set_has(child))
			spare_keys(child);
	}
}

/* The same for what is to be taken out beside fields that stay. */
static void leave_above(cJSON *set, const cJSON *stay)
{
	for (cJSON *child = set->child; child; child = child->next) {
		const cJSON *below = field_set_below(stay, child->string);

		if (!below || strcmp(child->string, ".") == 0)
			continue;
		cJSON_DeleteItemFromObjectCaseSensitive(child, ".");
		leave_above(child, below);
		if (strncmp(child->string, "k:", 2) == 0)
			spare_keys(child);
	}
}

/* Of the object only those fields. */
static cJSON *only(const cJSON *object, const cJSON *fields, struct field_type type)
{
	cJSON *copy = cJSON_Duplicate(object, true), *others = field_walk_set(object, type);

	field_set_change(&others, fields, FIELD_SET_DIFFERENCE);
	leave_above(others, fields);
	field_walk_remove(copy, others, type);
	field_walk_drop_emptied(copy);
	cJSON_Delete(others);
	return copy;
}

/* ---- managers ---- */

static bool is_way(const cJSON *part, const cJSON *entry)
{
	char *way =
		xasprintf("%s/%s", json_tree_text(entry, "subresource"), json_tree_text(entry, "manager"));
	bool is = json_tree_at(part, "ways", way, NULL) != NULL;

	free(way);
	return is;
}

static void add_ways(const cJSON *part, const cJSON *object, cJSON **fields)
{
	const cJSON *entry;

	cJSON_ArrayForEach(entry, json_tree_at(object, "metadata", "managedFields", NULL))
	{
		cJSON *set = is_way(part, entry) ? field_set_decode(json_tree_at(entry, "fieldsV1", NULL))
						 : cJSON_CreateObject();

		field_set_change(fields, set, FIELD_SET_UNION);
		cJSON_Delete(set);
	}
}

/* An entry of the tape without what programs have written since; NULL if nothing is left. */
static cJSON *lessen(const cJSON *entry, const cJSON *fields)
{
	cJSON *set = field_set_decode(json_tree_at(entry, "fieldsV1", NULL)), *copy = NULL;

	field_set_change(&set, fields, FIELD_SET_DIFFERENCE);
	if (!field_set_is_empty(set)) {
		copy = cJSON_Duplicate(entry, true);
		json_tree_set(copy, "fieldsV1", field_set_encode(set));
	}
	cJSON_Delete(set);
	return copy;
}

static cJSON *join_managers(const cJSON *part, const cJSON *object, const cJSON *said, const cJSON *fields)
{
	cJSON *list = cJSON_CreateArray();
	const cJSON *entry;

	cJSON_ArrayForEach(entry, json_tree_at(object, "metadata", "managedFields", NULL))
	{
		if (is_way(part, entry))
			cJSON_AddItemToArray(list, cJSON_Duplicate(entry, true));
	}
	cJSON_ArrayForEach(entry, json_tree_at(said, "metadata", "managedFields", NULL))
	{
		cJSON *less = is_way(part, entry) ? NULL : lessen(entry, fields);

		if (less)
			cJSON_AddItemToArray(list, less);
	}
	if (list->child)
		return list;
	cJSON_Delete(list);
	return NULL;
}

/* ---- all of it ---- */

void own_part_read(const char *text, const cJSON *object, const cJSON *said, struct own_part *ret)
{
	cJSON *part = part_parse(text);

	ret->fields = field_set_decode(json_tree_at(part, "fields", NULL));
	add_ways(part, object, &ret->fields);
	add_ways(part, said, &ret->fields);
	ret->managers = join_managers(part, object, said, ret->fields);
	leave_members(ret->fields);
	cJSON_Delete(part);
}

bool own_part_has_finalizer(const struct own_part *p, const char *finalizer)
{
	const cJSON *list = json_tree_at(p->fields, "f:metadata", "f:finalizers", NULL);
	char *step = finalizer_step(finalizer);
	bool has = field_set_below(list, step) != NULL;

	free(step);
	return has;
}

void own_part_release(struct own_part *p)
{
	cJSON_Delete(p->fields);
	cJSON_Delete(p->managers);
}

void own_part_lay_over(const struct own_part *p, const cJSON *object, cJSON *said, struct field_type type)
{
	cJSON *own = only(object, p->fields, type);

	field_walk_remove(said, p->fields, type);
	field_walk_merge(said, own, type);
	field_walk_drop_emptied(said);
	json_tree_set(json_tree_object(said, "metadata"), "managedFields",
		p->managers ? cJSON_Duplicate(p->managers, true) : NULL);
	cJSON_Delete(own);
}
