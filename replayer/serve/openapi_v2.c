/* openapi_v2.c: see openapi_v2.h. */
#include "replayer/serve/openapi_v2.h"

#include "replayer/json/json_tree.h"
#include "replayer/serve/openapi_proto.h"
#include "schema/base/count_of.h"

#include <stdlib.h>

#define V3_SCHEMAS "#/components/schemas/"
#define V2_SCHEMAS "#/definitions/"

struct openapi_v2 {
	cJSON *document, *paths, *definitions; /* the last two are in the first */
};

struct openapi_v2 *openapi_v2_new(void)
{
	struct openapi_v2 *v = xcalloc(1, sizeof(*v));

	v->document = cJSON_CreateObject();
	cJSON_AddStringToObject(v->document, "swagger", "2.0");
	json_tree_set(v->document, "info", cJSON_Parse("{\"title\":\"Kubernetes\",\"version\":\"\"}"));
	v->paths = cJSON_AddObjectToObject(v->document, "paths");
	v->definitions = cJSON_AddObjectToObject(v->document, "definitions");
	return v;
}

void openapi_v2_free(struct openapi_v2 *v)
{
	if (!v)
		return;
	cJSON_Delete(v->document);
	free(v);
}

/* ---- schemas ---- */

static void openapi_v2_drop(cJSON *object, const char *name)
{
	cJSON_DeleteItemFromObjectCaseSensitive(object, name);
}

/* Moves a member, if it is there. */
static void openapi_v2_move(cJSON *from, const char *name, cJSON *to, const char *new_name)
{
	cJSON *value = cJSON_DetachItemFromObjectCaseSensitive(from, name);

	if (value)
		json_tree_set(to, new_name, value);
}

/* Version 3 puts a reference beside other members into a list of its own. */
static void unwrap_reference(cJSON *schema)
{
	cJSON *all = cJSON_GetObjectItemCaseSensitive(schema, "allOf");

	if (cJSON_GetArraySize(all) != 1 || !cJSON_GetObjectItemCaseSensitive(all->child, "$ref"))
		return;
	openapi_v2_move(all->child, "$ref", schema, "$ref");
	openapi_v2_drop(schema, "allOf");
}

static void rename_reference(cJSON *schema)
{
	const char *reference = json_tree_text(schema, "$ref");
	char *renamed;

	if (strncmp(reference, V3_SCHEMAS, strlen(V3_SCHEMAS)) != 0)
		return;
	renamed = xasprintf(V2_SCHEMAS "%s", reference + strlen(V3_SCHEMAS));
	json_tree_set_text(schema, "$ref", renamed);
	free(renamed);
}

/* A value of one of several types is a string to version 2: a number or a text, a quantity. */
static void drop_choices(cJSON *schema)
{
	bool any_of_several = cJSON_GetObjectItemCaseSensitive(schema, "oneOf");

	openapi_v2_drop(schema, "oneOf");
	openapi_v2_drop(schema, "anyOf");
	openapi_v2_drop(schema, "not");
	if (any_of_several && !cJSON_GetObjectItemCaseSensitive(schema, "type"))
		cJSON_AddStringToObject(schema, "type", "string");
}

/* Of what may hold anything version 2 says nothing. */
static void drop_limits(cJSON *schema)
{
	static const char *const members[] = {
		"type", "properties", "items", "additionalProperties", "required"};
	bool open = cJSON_IsTrue(
		cJSON_GetObjectItemCaseSensitive(schema, "x-kubernetes-preserve-unknown-fields"));
	bool both = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(schema, "x-kubernetes-int-or-string"));

	for (size_t i = 0; (open || both) && i < COUNT_OF(members); i++)
		openapi_v2_drop(schema, members[i]);
}

static void convert_schema(cJSON *schema)
{
	cJSON *property;

	if (!cJSON_IsObject(schema))
		return;
	unwrap_reference(schema);
	rename_reference(schema);
	openapi_v2_drop(schema, "default");
	openapi_v2_drop(schema, "nullable");
	drop_limits(schema);
	drop_choices(schema);
	cJSON_ArrayForEach(property, cJSON_GetObjectItemCaseSensitive(schema, "properties"))
	{
		convert_schema(property);
	}
	convert_schema(cJSON_GetObjectItemCaseSensitive(schema, "items"));
	convert_schema(cJSON_GetObjectItemCaseSensitive(schema, "additionalProperties"));
}

/* ---- operations ---- */

/* What a parameter's schema says, the parameter itself says in version 2. */
static void convert_parameter(cJSON *parameter)
{
	cJSON *schema = cJSON_DetachItemFromObjectCaseSensitive(parameter, "schema");

	while (cJSON_IsObject(schema) && schema->child) {
		char *name = xstrdup(schema->child->string);

		openapi_v2_move(schema, name, parameter, name);
		free(name);
	}
	cJSON_Delete(schema);
}

static void convert_parameters(cJSON *parent)
{
	cJSON *parameter;

	cJSON_ArrayForEach(parameter, cJSON_GetObjectItemCaseSensitive(parent, "parameters"))
	{
		convert_parameter(parameter);
	}
}

/* The names of the media types; otherwise that one. */
static cJSON *media_types(const cJSON *content, const char *otherwise)
{
	cJSON *list = cJSON_CreateArray();
	const cJSON *type;

	cJSON_ArrayForEach(type, content)
	{
		cJSON_AddItemToArray(list, cJSON_CreateString(type->string));
	}
	if (!list->child && otherwise)
		cJSON_AddItemToArray(list, cJSON_CreateString(otherwise));
	return list;
}

/* All media types have the same schema. */
static void move_schema(cJSON *content, cJSON *to)
{
	cJSON *schema = content && content->child
				? cJSON_DetachItemFromObjectCaseSensitive(content->child, "schema")
				: NULL;

	if (!schema)
		return;
	convert_schema(schema);
	json_tree_set(to, "schema", schema);
}

static void convert_body(cJSON *operation)
{
	cJSON *body = cJSON_DetachItemFromObjectCaseSensitive(operation, "requestBody");
	cJSON *content = cJSON_GetObjectItemCaseSensitive(body, "content");
	cJSON *parameter, *all;

	json_tree_set(operation, "consumes", media_types(content, "*/*"));
	if (!body)
		return;
	parameter = cJSON_CreateObject();
	cJSON_AddStringToObject(parameter, "name", "body");
	cJSON_AddStringToObject(parameter, "in", "body");
	openapi_v2_move(body, "required", parameter, "required");
	move_schema(content, parameter);
	all = cJSON_GetObjectItemCaseSensitive(operation, "parameters");
	if (!all)
		all = cJSON_AddArrayToObject(operation, "parameters");
	cJSON_InsertItemInArray(all, 0, parameter);
	cJSON_Delete(body);
}

static void convert_responses(cJSON *operation)
{
	cJSON *response, *produces = NULL;

	cJSON_ArrayForEach(response, cJSON_GetObjectItemCaseSensitive(operation, "responses"))
	{
		cJSON *content = cJSON_DetachItemFromObjectCaseSensitive(response, "content");

		if (content && !produces)
			produces = media_types(content, NULL);
		move_schema(content, response);
		cJSON_Delete(content);
	}
	json_tree_set(operation, "produces", produces ? produces : media_types(NULL, "application/json"));
}

static void convert_path(cJSON *path)
{
	cJSON *operation;

	convert_parameters(path);
	cJSON_ArrayForEach(operation, path)
	{
		if (!cJSON_IsObject(operation))
			continue;
		convert_parameters(operation);
		convert_body(operation);
		convert_responses(operation);
		json_tree_set(operation, "schemes", cJSON_Parse("[\"https\"]"));
	}
}

/* ---- documents ---- */

/* Moves members that are not there yet, converted. */
static void take_members(cJSON *from, cJSON *to, void (*convert)(cJSON *member))
{
	while (cJSON_IsObject(from) && from->child) {
		cJSON *member = cJSON_DetachItemViaPointer(from, from->child);

		if (cJSON_GetObjectItemCaseSensitive(to, member->string)) {
			cJSON_Delete(member);
		} else {
			convert(member);
			cJSON_AddItemToObject(to, member->string, member);
		}
	}
}

/* Each scheme may be used by itself. */
static void take_security(struct openapi_v2 *v, cJSON *schemes)
{
	cJSON *security, *scheme;

	if (!schemes || cJSON_GetObjectItemCaseSensitive(v->document, "securityDefinitions")) {
		cJSON_Delete(schemes);
		return;
	}
	security = cJSON_AddArrayToObject(v->document, "security");
	cJSON_ArrayForEach(scheme, schemes)
	{
		cJSON *requirement = cJSON_CreateObject();

		cJSON_AddArrayToObject(requirement, scheme->string);
		cJSON_AddItemToArray(security, requirement);
	}
	json_tree_set(v->document, "securityDefinitions", schemes);
}

void openapi_v2_add(struct openapi_v2 *v, cJSON *v3)
{
	cJSON *components = cJSON_GetObjectItemCaseSensitive(v3, "components");

	openapi_v2_move(v3, "info", v->document, "info");
	take_members(cJSON_GetObjectItemCaseSensitive(v3, "paths"), v->paths, convert_path);
	take_members(cJSON_GetObjectItemCaseSensitive(components, "schemas"), v->definitions, convert_schema);
	take_security(v, cJSON_DetachItemFromObjectCaseSensitive(components, "securitySchemes"));
	cJSON_Delete(v3);
}

int openapi_v2_json(const struct openapi_v2 *v, struct buf *to, struct err *err)
{
	return json_tree_print(v->document, to, err);
}

int openapi_v2_protobuf(const struct openapi_v2 *v, struct buf *to, struct err *err)
{
	return openapi_proto_write(v->document, to, err);
}
