/* What is done to objects and lists with very many parts comes out as it does with few. */
#include "replayer/json/yaml_json.h"
#include "replayer/write/managed_fields.h"
#include "replayer/write/patch_json.h"
#include "replayer/write/patch_strategic.h"
#include "tests/unit/unit.h"

#include <stdio.h>

#define MANY    100000 /* looked up one by one, they take minutes */
#define ITEMS   STRATEGIC_LIST_MAX
#define MIRROR  200
#define POD     "api.core.v1.Pod"
#define OBJECTS "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"x\"},\"data\":"

static struct err err;

static cJSON *tree(struct slice text)
{
	cJSON *made = NULL;

	ck_assert_ok(json_tree_parse(text, &made, &err), &err);
	return made;
}

/* "BEGIN FORMAT,FORMAT,... END" with the numbers from first on, as a tree. */
static cJSON *numbered(const char *begin, const char *format, int first, int count, const char *end)
{
	struct buf text;
	cJSON *made;

	buf_init(&text, 64 << 20);
	ck_assert_ok(buf_append(&text, begin, strlen(begin), &err), &err);
	for (int i = first; i < first + count; i++) {
		char piece[200];

		snprintf(piece, sizeof(piece), format, i, i);
		ck_assert_ok(buf_printf(&text, &err, "%s%s", i > first ? "," : "", piece), &err);
	}
	ck_assert_ok(buf_append(&text, end, strlen(end), &err), &err);
	made = tree(buf_slice(&text));
	buf_release(&text);
	return made;
}

static cJSON *config_map(int first, int count)
{
	return numbered(OBJECTS "{", "\"k%d\":\"%d\"", first, count, "}}");
}

static int count_of(const cJSON *tree, const char *member)
{
	return cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(tree, member));
}

START_TEST(parser__tells_members_that_are_there_twice_among_many)
{
	cJSON *duplicates = cJSON_CreateArray(), *made = NULL;
	struct buf text;

	buf_init(&text, 64 << 20);
	for (int i = 0; i < 2 * MANY; i++)
		ck_assert_ok(
			buf_printf(&text, &err, "%s\"m%d\":%d", i ? "," : "{", i % (2 * MANY - 1), i), &err);
	ck_assert_ok(buf_append(&text, "}", 1, &err), &err);
	ck_assert_ok(json_tree_parse_strict(buf_slice(&text), &made, duplicates, &err), &err);
	ck_assert_int_eq(cJSON_GetArraySize(made), 2 * MANY - 1);
	ck_assert_int_eq(cJSON_GetArraySize(duplicates), 1);
	ck_assert_str_eq(duplicates->child->valuestring, "m0");
	ck_assert_int_eq(json_tree_at(made, "m0", NULL)->valueint, 2 * MANY - 1);
	buf_release(&text);
	cJSON_Delete(duplicates);
	cJSON_Delete(made);
}
END_TEST

START_TEST(merge_patch__of_many_members_changes_adds_and_removes)
{
	cJSON *object = numbered("{", "\"m%d\":%d", 0, MANY, "}"),
	      *patch = numbered("{", "\"m%d\":\"%d\"", MANY / 2, MANY, ",\"m0\":null}");

	patch_merge(object, patch);
	ck_assert_int_eq(cJSON_GetArraySize(object), MANY + MANY / 2 - 1);
	ck_assert_str_eq(object->child->prev->string, "m149999");
	ck_assert_str_eq(object->child->prev->valuestring, "149999");
	cJSON_Delete(object);
	cJSON_Delete(patch);
}
END_TEST

START_TEST(strategic_patch__of_many_members_and_of_a_long_list_keeps_the_wanted_order)
{
	cJSON *object = numbered("{\"metadata\":{\"labels\":{", "\"m%d\":\"%d\"", 0, MANY, "}}}"),
	      *patch = numbered("{\"metadata\":{\"labels\":{", "\"m%d\":\"x%d\"", 0, MANY, "}}}"),
	      *pod = numbered("{\"spec\":{\"containers\":[", "{\"name\":\"c%d\"}", 0, ITEMS, "]}}"),
	      *images = numbered(
		      "{\"spec\":{\"$setElementOrder/containers\":[{\"name\":\"c4999\"},{\"name\":\"c0\"}],"
		      "\"containers\":[",
		      "{\"name\":\"c%d\",\"image\":\"i\"}", ITEMS - 1, 1, "]}}");
	const cJSON *list;

	ck_assert_ok(patch_strategic(object, patch, field_type_find(slice_of(POD)), &err), &err);
	ck_assert_str_eq(json_tree_at(object, "metadata", "labels", "m99999", NULL)->valuestring, "x99999");
	ck_assert_ok(patch_strategic(pod, images, field_type_find(slice_of(POD)), &err), &err);
	list = json_tree_at(pod, "spec", "containers", NULL);
	ck_assert_int_eq(cJSON_GetArraySize(list), ITEMS);
	ck_assert_str_eq(json_tree_text(list->child->prev, "name"), "c0");
	cJSON_Delete(object);
	cJSON_Delete(patch);
	cJSON_Delete(pod);
	cJSON_Delete(images);
}
END_TEST

/* Applies one operation and frees it. */
static void operate(cJSON **document, const char *op, const char *path, int at, int value)
{
	char text[200];
	cJSON *patch;

	snprintf(text, sizeof(text), "[{\"op\":\"%s\",\"path\":\"%s/%d\",\"value\":%d,\"from\":\"%s/%d\"}]",
		op, path, at, value, path, value);
	patch = tree(slice_of(text));
	ck_assert_ok(patch_json(document, patch, &err), &err);
	cJSON_Delete(patch);
}

/* The same done in one patch, and one by one in as many. */
START_TEST(json_patch__of_many_operations_does_what_as_many_patches_do)
{
	static const char *const ops[] = {"add", "remove", "replace", "move", "copy"};
	cJSON *one = numbered("{\"a\":[", "%d", 0, MIRROR, "],\"o\":{}}"),
	      *other = cJSON_Duplicate(one, true);
	cJSON *patch = cJSON_CreateArray();

	for (int i = 0; i < 2000; i++) {
		const char *op = ops[i * 7 % 5];
		int at = i * 31 % (MIRROR / 2), value = i * 17 % (MIRROR / 2);
		char path[32], from[32];
		cJSON *operation = cJSON_CreateObject();

		snprintf(path, sizeof(path), "/a/%d", at);
		snprintf(from, sizeof(from), "/a/%d", value);
		cJSON_AddStringToObject(operation, "op", op);
		cJSON_AddStringToObject(operation, "path", path);
		cJSON_AddStringToObject(operation, "from", from);
		cJSON_AddNumberToObject(operation, "value", value);
		cJSON_AddItemToArray(patch, operation);
		operate(&other, op, "/a", at, value);
	}
	ck_assert_ok(patch_json(&one, patch, &err), &err);
	ck_assert(json_tree_equal(one, other));
	cJSON_Delete(one);
	cJSON_Delete(other);
	cJSON_Delete(patch);
}
END_TEST

START_TEST(json_patch__finds_its_way_in_large_containers_that_come_and_go)
{
	cJSON *object = numbered("{\"a\":{", "\"m%d\":%d", 0, MANY, "},\"b\":[]}"), *patch;
	static const char text[] = "[{\"op\":\"replace\",\"path\":\"/a/m99999\",\"value\":1},"
				   "{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/b/0\"},"
				   "{\"op\":\"remove\",\"path\":\"/b/0/m5\"},"
				   "{\"op\":\"replace\",\"path\":\"/a\",\"value\":{\"m99999\":2}},"
				   "{\"op\":\"test\",\"path\":\"/a/m99999\",\"value\":2},"
				   "{\"op\":\"test\",\"path\":\"/b/0/m99999\",\"value\":1},"
				   "{\"op\":\"test\",\"path\":\"/b/0/m5\",\"value\":null},"
				   "{\"op\":\"move\",\"from\":\"/b/0\",\"path\":\"/a/inner\"},"
				   "{\"op\":\"add\",\"path\":\"/a/inner/m5\",\"value\":6},"
				   "{\"op\":\"test\",\"path\":\"/a/inner/m5\",\"value\":6},"
				   "{\"op\":\"remove\",\"path\":\"/a\"}]";

	patch = tree(slice_of(text));
	ck_assert_ok(patch_json(&object, patch, &err), &err);
	ck_assert_int_eq(cJSON_GetArraySize(object), 1);
	cJSON_Delete(object);
	cJSON_Delete(patch);
}
END_TEST

static const struct field_writer somebody = {
	.name = "m", .api_version = "v1", .subresource = "", .now = "2026-01-01T00:00:00Z"};

static cJSON *apply(const cJSON *live, cJSON *object, const char *manager)
{
	struct field_writer who = somebody;
	cJSON *made = NULL, *conflicts = NULL;

	who.name = manager;
	ck_assert_ok(managed_apply(live, object, &who, true, &made, &conflicts, &err), &err);
	ck_assert_ptr_nonnull(made);
	cJSON_Delete(object);
	return made;
}

START_TEST(apply__of_as_many_fields_as_are_told_one_by_one_adds_takes_over_and_removes)
{
	cJSON *one = apply(NULL, config_map(0, FIELD_WALK_MAX - 1), "a");
	cJSON *two = apply(one, config_map(1000, FIELD_WALK_MAX - 1000), "b");
	cJSON *three = apply(two, config_map(0, 10), "a");
	const cJSON *managers = json_tree_at(three, "metadata", "managedFields", NULL);

	ck_assert_int_eq(count_of(two, "data"), FIELD_WALK_MAX);
	ck_assert_int_eq(count_of(three, "data"), FIELD_WALK_MAX - 990);
	ck_assert_int_eq(cJSON_GetArraySize(managers), 2);
	ck_assert_int_eq(count_of(json_tree_at(managers->child, "fieldsV1", NULL), "f:data"), 10);
	cJSON_Delete(one);
	cJSON_Delete(two);
	cJSON_Delete(three);
}
END_TEST

START_TEST(apply__of_more_tells_them_as_one)
{
	cJSON *one = apply(NULL, config_map(0, MANY), "a"), *two = apply(one, config_map(5, MANY), "b");

	ck_assert_int_eq(count_of(two, "data"), MANY);
	cJSON_Delete(one);
	cJSON_Delete(two);
}
END_TEST

START_TEST(managed_fields__of_more_managers_than_make_sense_are_not_taken)
{
	static const char begin[] = OBJECTS "{},\"metadata\":{\"name\":\"x\",\"managedFields\":[";
	static const char entry[] = "{\"manager\":\"m%d\",\"operation\":\"Update\",\"apiVersion\":\"v1\","
				    "\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:x%d\":{}}}";
	cJSON *few = numbered(begin, entry, 0, MANAGED_ENTRIES_MAX, "]}}"),
	      *many = numbered(begin, entry, 0, 20000, "]}}");

	managed_update(NULL, few, &somebody);
	managed_update(NULL, many, &somebody);
	ck_assert_int_eq(cJSON_GetArraySize(json_tree_at(few, "metadata", "managedFields", NULL)),
		MANAGED_UPDATERS_MAX);
	ck_assert_int_eq(cJSON_GetArraySize(json_tree_at(many, "metadata", "managedFields", NULL)), 1);
	cJSON_Delete(few);
	cJSON_Delete(many);
}
END_TEST

START_TEST(yaml__of_many_keys_is_read_as_it_stands)
{
	struct buf text;
	cJSON *made;
	char *json;

	buf_init(&text, 64 << 20);
	for (int i = 0; i < 2 * MANY; i++)
		ck_assert_ok(buf_printf(&text, &err, "k%d: %d\n", i, i), &err);
	ck_assert_ok(yaml_to_json(buf_slice(&text), &json, &err), &err);
	made = tree(slice_of(json));
	ck_assert_int_eq(cJSON_GetArraySize(made), 2 * MANY);
	ck_assert_int_eq(made->child->prev->valueint, 2 * MANY - 1);
	free(json);
	cJSON_Delete(made);
	buf_release(&text);
}
END_TEST

static void yaml_is(const char *text, const char *expected)
{
	char *json;

	ck_assert_ok(yaml_to_json(slice_of(text), &json, &err), &err);
	ck_assert_str_eq(json, expected);
	free(json);
}

START_TEST(yaml__becomes_json_by_the_form_of_its_scalars)
{
	yaml_is("a: 1\nb: \"1\"\nc: !!str 1\nd: 1e3\ne: 0x1f\nf: 1.\n",
		"{\"a\":1,\"b\":\"1\",\"c\":\"1\",\"d\":1e3,\"e\":\"0x1f\",\"f\":\"1.\"}");
	yaml_is("a:\nb: ~\nc: Null\nd: True\ne: yes\nf: 'null'\n",
		"{\"a\":null,\"b\":null,\"c\":null,\"d\":true,\"e\":\"yes\",\"f\":\"null\"}");
	yaml_is("1: a\nnull: b\n", "{\"1\":\"a\",\"null\":\"b\"}");
	yaml_is("- a\n-\n- b: [1, {c: }]\n- []\n- {}\n", "[\"a\",null,{\"b\":[1,{\"c\":null}]},[],{}]");
	yaml_is("a: |\n  x\n  y\n---\nb: 2\n", "{\"a\":\"x\\ny\\n\"}");
}
END_TEST

START_TEST(yaml__is_refused_that_is_deep_or_refers_to_itself_or_is_none)
{
	static const char *const bad[] = {
		"", "a: &a 1\nb: *a\n", "? [a]\n: b\n", "{\"a\": 1} x", "a: [", "\x80"};
	char deep[100000], *json;

	for (size_t i = 0; i < COUNT_OF(bad); i++)
		ck_assert_int_eq(yaml_to_json(slice_of(bad[i]), &json, &err), ERR_PROTOCOL);
	memset(deep, '[', sizeof(deep));
	ck_assert_int_eq(yaml_to_json((struct slice){deep, sizeof(deep)}, &json, &err), ERR_TOO_LARGE);
	ck_assert_int_eq(yaml_to_json((struct slice){deep, 300}, &json, &err), ERR_TOO_LARGE);
	for (size_t i = 0; i < sizeof(deep); i++)
		deep[i] = i % 2 ? ' ' : '-';
	ck_assert_int_eq(yaml_to_json((struct slice){deep, sizeof(deep)}, &json, &err), ERR_TOO_LARGE);
}
END_TEST

UNIT_MAIN("large_trees", parser__tells_members_that_are_there_twice_among_many,
	merge_patch__of_many_members_changes_adds_and_removes,
	strategic_patch__of_many_members_and_of_a_long_list_keeps_the_wanted_order,
	json_patch__of_many_operations_does_what_as_many_patches_do,
	json_patch__finds_its_way_in_large_containers_that_come_and_go,
	apply__of_as_many_fields_as_are_told_one_by_one_adds_takes_over_and_removes,
	apply__of_more_tells_them_as_one, managed_fields__of_more_managers_than_make_sense_are_not_taken,
	yaml__of_many_keys_is_read_as_it_stands, yaml__becomes_json_by_the_form_of_its_scalars,
	yaml__is_refused_that_is_deep_or_refers_to_itself_or_is_none)
