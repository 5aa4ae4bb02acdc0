/* field_type.c: see field_type.h. */
#include "replayer/write/field_type.h"

#include "replayer/kinds/builtin.h"

/* ---- the table: "name WORD WORD;name WORD", see write_table.h ---- */

struct field_type field_type_find(struct slice name)
{
	size_t low = 0, high = write_type_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = slice_compare(name, slice_of(write_types[middle].name));

		if (order == 0)
			return (struct field_type){.row = &write_types[middle]};
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return (struct field_type){0};
}

struct field_type field_type_of_resource(const char *group, const char *version, const char *resource)
{
	const struct write_resource *k =
		builtin_resource(slice_of(group), slice_of(version), slice_of(resource));

	return k ? field_type_find(slice_of(k->type)) : (struct field_type){0};
}

static void read_keys(struct slice names, struct field *ret)
{
	ret->list = LIST_MAP;
	while (names.len && ret->key_count < FIELD_KEYS_MAX) {
		struct slice value = slice_cut(&names, '+'), name = slice_cut(&value, '=');

		ret->keys[ret->key_count++] = (struct field_key){name, value, value.ptr != NULL};
	}
}

static void read_words(struct slice words, struct field *ret)
{
	bool each = false;

	while (words.len) {
		struct slice word = slice_cut(&words, ' ');

		if (slice_skip(&word, "map:")) {
			read_keys(word, ret);
		} else if (slice_skip(&word, "merge:")) {
			ret->merges = true;
			ret->merge_key = word;
		} else if (slice_skip(&word, "=")) {
			ret->type = field_type_find(word);
			ret->type.each = each;
		} else if (slice_is(word, "set")) {
			ret->list = LIST_SET;
		} else if (slice_is(word, "atomic")) {
			ret->atomic = true;
		} else if (slice_is(word, "each")) {
			each = true;
		}
	}
}

static void find_in_row(const struct write_type *row, struct slice name, struct field *ret)
{
	struct slice rest = slice_of(row->fields);

	while (rest.len) {
		struct slice words = slice_cut(&rest, ';');

		if (slice_equal(slice_cut(&words, ' '), name)) {
			read_words(words, ret);
			return;
		}
	}
}

/* ---- OpenAPI documents ---- */

#define REFERENCES_MAX 8 /* references that lead to references */

/* "#/components/schemas/NAME", also as the only part of an allOf. */
static const cJSON *resolve(const cJSON *schema, const cJSON *document)
{
	static const char prefix[] = "#/components/schemas/";

	for (int i = 0; i < REFERENCES_MAX; i++) {
		const cJSON *parts = json_tree_at(schema, "allOf", NULL);
		const cJSON *part = cJSON_IsArray(parts) && parts->child ? parts->child : schema;
		const char *reference = json_tree_text(part, "$ref");

		if (!document || strncmp(reference, prefix, sizeof(prefix) - 1) != 0)
			return part;
		schema =
			json_tree_at(document, "components", "schemas", reference + sizeof(prefix) - 1, NULL);
	}
	return NULL;
}

static void read_schema_keys(const cJSON *schema, const cJSON *items, struct field *ret)
{
	const cJSON *name;

	ret->list = LIST_MAP;
	cJSON_ArrayForEach(name, json_tree_at(schema, "x-kubernetes-list-map-keys", NULL))
	{
		const cJSON *value;

		if (!cJSON_IsString(name) || ret->key_count == FIELD_KEYS_MAX)
			continue;
		value = json_tree_at(items, "properties", name->valuestring, "default", NULL);
		ret->keys[ret->key_count++] = (struct field_key){slice_of(name->valuestring),
			slice_of(cJSON_IsString(value) ? value->valuestring : ""), cJSON_IsString(value)};
	}
}

/* `schema` is as it stands at the field: what is said there counts beside what its reference says. */
static void read_schema(const cJSON *schema, const cJSON *document, struct field *ret)
{
	const cJSON *whole = resolve(schema, document);
	const cJSON *items = resolve(json_tree_at(whole, "items", NULL), document);
	const char *list = json_tree_text(whole, "x-kubernetes-list-type");
	const char *strategy = json_tree_text(schema, "x-kubernetes-patch-strategy");

	ret->atomic = strcmp(json_tree_text(schema, "x-kubernetes-map-type"), "atomic") == 0 ||
		      strcmp(json_tree_text(whole, "x-kubernetes-map-type"), "atomic") == 0;
	ret->type = (struct field_type){.schema = items ? items : whole, .document = document};
	if (strcmp(list, "map") == 0)
		read_schema_keys(whole, items, ret);
	else if (strcmp(list, "set") == 0)
		ret->list = LIST_SET;
	ret->merges = strstr(strategy, "merge") != NULL;
	ret->merge_key = slice_of(json_tree_text(schema, "x-kubernetes-patch-merge-key"));
}

struct field_type field_type_of_schema(const cJSON *schema, const cJSON *document)
{
	return (struct field_type){.schema = resolve(schema, document), .document = document};
}

struct field_type field_type_of_custom(const cJSON *schema)
{
	return (struct field_type){.schema = schema, .custom_object = true, .untyped = !schema};
}

static void find_in_schema(struct field_type of, const char *name, struct field *ret)
{
	const cJSON *schema = json_tree_at(of.schema, "properties", name, NULL);

	ret->declared = schema != NULL;
	if (!schema)
		schema = json_tree_at(of.schema, "additionalProperties", NULL);
	if (cJSON_IsObject(schema))
		read_schema(schema, of.document, ret);
	ret->type.untyped = !cJSON_IsObject(schema);
}

/* ---- either ---- */

static bool is_atomic(struct field_type t)
{
	static const char word[] = "atomic";

	return t.row && !t.each && strncmp(t.row->fields, word, sizeof(word) - 1) == 0 &&
	       (!t.row->fields[sizeof(word) - 1] || t.row->fields[sizeof(word) - 1] == ';');
}

void field_find(struct field_type of, const char *name, struct field *ret)
{
	*ret = (struct field){.declared = !of.each && !of.untyped, .type.untyped = of.untyped};
	if (of.custom_object && strcmp(name, "metadata") == 0)
		ret->type = field_type_find(slice_of("apimachinery.pkg.apis.meta.v1.ObjectMeta"));
	else if (of.each)
		ret->type = (struct field_type){.row = of.row};
	else if (of.row)
		find_in_row(of.row, slice_of(name), ret);
	else if (of.schema)
		find_in_schema(of, name, ret);
	if (of.custom_object)
		ret->declared = true;
	ret->atomic = ret->atomic || is_atomic(ret->type);
}

void field_of_items(const struct field *list, struct field *ret)
{
	*ret = (struct field){.type = list->type, .atomic = is_atomic(list->type)};
	if (list->type.schema)
		ret->atomic =
			strcmp(json_tree_text(list->type.schema, "x-kubernetes-map-type"), "atomic") == 0;
}
