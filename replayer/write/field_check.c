/* field_check.c: see field_check.h. */
#include "replayer/write/field_check.h"

#include "replayer/protobuf/protobuf_fields.h"

#include <stdlib.h>

static void tell(cJSON *unknown, const char *place)
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
			tell(unknown, inner);
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

static void check_typed(const cJSON *value, struct field_type type, const char *place, cJSON *unknown);

static void check_member(const cJSON *member, struct field_type type, const char *place, cJSON *unknown)
{
	char *inner = field_member_place(place, member->string);
	const cJSON *item;
	struct field f;
	int i = 0;

	field_find(type, member->string, &f);
	if (!f.declared && !takes_all(type.schema))
		tell(unknown, inner);
	else if (!cJSON_IsArray(member))
		check_typed(member, f.type, inner, unknown);
	for (item = cJSON_IsArray(member) ? member->child : NULL; item; item = item->next) {
		char *deeper = xasprintf("%s[%d]", inner, i++);

		check_typed(item, f.type, deeper, unknown);
		free(deeper);
	}
	free(inner);
}

static void check_typed(const cJSON *value, struct field_type type, const char *place, cJSON *unknown)
{
	const cJSON *member = type.schema && cJSON_IsObject(value) ? value->child : NULL;

	for (; member; member = member->next)
		check_member(member, type, place, unknown);
}

/* ---- either ---- */

static void check_custom(const cJSON *object, struct field_type type, cJSON *unknown)
{
	static const char *const always[] = {"kind", "apiVersion", "metadata"};
	const cJSON *member;

	type.custom_object = false;
	cJSON_ArrayForEach(member, object)
	{
		bool known = false;

		for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
			known = known || strcmp(member->string, always[i]) == 0;
		if (!known)
			check_member(member, type, "", unknown);
	}
}

void field_check(const cJSON *object, struct field_type type, cJSON *unknown)
{
	unsigned message;

	if (type.custom_object && type.schema)
		check_custom(object, type, unknown);
	else if (type.schema)
		check_typed(object, type, "", unknown);
	else if (!type.custom_object && protobuf_find_message(slice_of(json_tree_text(object, "apiVersion")),
						slice_of(json_tree_text(object, "kind")), &message))
		check_message(object, message, "", unknown);
}
