/* field_check.c: see field_check.h. */
#include "replayer/write/field_check.h"

#include "replayer/protobuf/protobuf_fields.h"

#include <stdlib.h>

static void field_check_tell(cJSON *unknown, const char *place)
{
	if (cJSON_GetArraySize(unknown) < UNKNOWN_FIELDS_MAX)
		cJSON_AddItemToArray(unknown, cJSON_CreateString(place));
}

char *field_member_place(const char *place, const char *name)
{
	return xasprintf("%s%s%s", place, *place ? "." : "", name);
}

/* ---- by the fields of the built-in kinds ---- */

static void check_message(const cJSON *value, unsigned message, const char *place, cJSON *unknown);

static void check_each(const cJSON *parts, unsigned message, const char *place, cJSON *unknown)
{
	const cJSON *part;
	int i = 0;

	cJSON_ArrayForEach(part, parts)
	{
		char *inner = part->string ? field_member_place(place, part->string)
					   : xasprintf("%s[%d]", place, i++);

		check_message(part, message, inner, unknown);
		free(inner);
	}
}

static bool is_type_name(const char *place, const char *name)
{
	return !*place && (strcmp(name, "kind") == 0 || strcmp(name, "apiVersion") == 0);
}

static void check_message(const cJSON *value, unsigned message, const char *place, cJSON *unknown)
{
	const cJSON *member;

	if (cJSON_IsArray(value)) {
		check_each(value, message, place, unknown);
		return;
	}
	for (member = cJSON_IsObject(value) ? value->child : NULL; member; member = member->next) {
		struct protobuf_member m;
		char *inner;

		if (is_type_name(place, member->string))
			continue;
		inner = field_member_place(place, member->string);
		if (!protobuf_find_member(message, member->string, &m))
			field_check_tell(unknown, inner);
		else if (m.value == VALUE_MESSAGE && m.is_map)
			check_each(member, m.message, inner, unknown);
		else if (m.value == VALUE_MESSAGE)
			check_message(member, m.message, inner, unknown);
		free(inner);
	}
}

/* ---- by a schema ---- */

static bool takes_all(const cJSON *schema)
{
	return cJSON_IsTrue(json_tree_at(schema, "x-kubernetes-preserve-unknown-fields", NULL)) ||
	       cJSON_IsTrue(json_tree_at(schema, "x-kubernetes-embedded-resource", NULL)) ||
	       !json_tree_at(schema, "properties", NULL);
}

/* Every object has these, whatever its document says. */
static bool is_head(const char *place, const char *name)
{
	return is_type_name(place, name) || (!*place && strcmp(name, "metadata") == 0);
}

/* What is done with members that are not declared. */
struct finding {
	cJSON *unknown;
	bool drop;
};

static void check_typed(cJSON *value, struct field_type type, const char *place, const struct finding *to);

static void check_items(cJSON *list, struct field_type type, const char *place, const struct finding *to)
{
	cJSON *item;
	int i = 0;

	cJSON_ArrayForEach(item, list)
	{
		char *inner = xasprintf("%s[%d]", place, i++);

		check_typed(item, type, inner, to);
		free(inner);
	}
}

static void check_member(
	cJSON *object, cJSON *member, struct field_type type, const char *place, const struct finding *to)
{
	char *inner = field_member_place(place, member->string);
	struct field f;

	field_find(type, member->string, &f);
	if (f.declared || takes_all(type.schema)) {
		if (cJSON_IsArray(member))
			check_items(member, f.type, inner, to);
		else
			check_typed(member, f.type, inner, to);
	} else if (!is_head(place, member->string)) {
		field_check_tell(to->unknown, inner);
		if (to->drop)
			cJSON_Delete(cJSON_DetachItemViaPointer(object, member));
	}
	free(inner);
}

static void check_typed(cJSON *value, struct field_type type, const char *place, const struct finding *to)
{
	cJSON *member = type.schema && cJSON_IsObject(value) ? value->child : NULL;

	for (cJSON *next; member; member = next) {
		next = member->next;
		check_member(value, member, type, place, to);
	}
}

/* ---- either ---- */

/* The schema of a CRD says nothing of the metadata. */
static void check_custom(cJSON *object, struct field_type type, const struct finding *to)
{
	cJSON *member = object->child;

	type.custom_object = false;
	for (cJSON *next; member; member = next) {
		next = member->next;
		if (!is_head("", member->string))
			check_member(object, member, type, "", to);
	}
}

void field_check(cJSON *object, struct field_type type, cJSON *unknown, bool drop)
{
	const struct finding to = {unknown, drop};
	unsigned message;

	if (type.custom_object && type.schema)
		check_custom(object, type, &to);
	else if (type.schema)
		check_typed(object, type, "", &to);
	else if (!type.custom_object && protobuf_find_message(slice_of(json_tree_text(object, "apiVersion")),
						slice_of(json_tree_text(object, "kind")), &message))
		check_message(object, message, "", unknown);
}
