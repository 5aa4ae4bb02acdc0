/* Patches and apply in small; tests/interop/patches holds them against Kubernetes with random ones. */
#include "replayer/write/managed_fields.h"
#include "replayer/write/patch_json.h"
#include "replayer/write/patch_strategic.h"
#include "tests/unit/unit.h"

#include <stdio.h>

#define POD "api.core.v1.Pod"

static cJSON *tree(const char *text)
{
	struct err err = {0};
	cJSON *made = NULL;

	ck_assert_ok(json_tree_parse(slice_of(text), &made, &err), &err);
	return made;
}

static void is_tree(const cJSON *found, const char *expected)
{
	cJSON *other = tree(expected);
	char *text = cJSON_PrintUnformatted(found);

	ck_assert_msg(json_tree_equal(found, other), "found %s, expected %s", text, expected);
	cJSON_free(text);
	cJSON_Delete(other);
}

/* ---- json_tree ---- */

static void prints_as(const char *text, const char *expected)
{
	cJSON *made = tree(text);
	struct err err = {0};
	struct buf out;

	buf_init(&out, 1000);
	ck_assert_ok(json_tree_print(made, &out, &err), &err);
	ck_assert_slice_eq(buf_slice(&out), expected);
	buf_release(&out);
	cJSON_Delete(made);
}

START_TEST(json_tree__keeps_what_a_double_or_a_c_string_would_lose)
{
	prints_as(" [18446744073709551615, 9007199254740993, 1.50] ",
		"[18446744073709551615,9007199254740993,1.5]");
	prints_as("[\"a\\u0000b\"]", "[\"a\\u0000b\"]");
	prints_as("{\"a\":1,\"b\":2,\"a\":3}", "{\"b\":2,\"a\":3}");
}
END_TEST

START_TEST(json_tree__refuses_what_is_no_json_and_leaves_its_output_alone)
{
	static const char *const bad[] = {"", " ", "{", "[1,]", "{\"a\":01}", "[1}", "nul", "[-]", "[1.]",
		"[1e]", "{\"a\":1}}", "[\"\x01\"]", "{\"a\\u0000\":1}"};
	cJSON *untouched = NULL;
	struct err err;

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		err = (struct err){0};
		ck_assert_msg(
			json_tree_parse(slice_of(bad[i]), &untouched, &err) < 0, "'%s' was taken", bad[i]);
		ck_assert_ptr_null(untouched);
		ck_assert(err.text[0]);
	}
}
END_TEST

START_TEST(json_tree__stops_at_a_depth)
{
	char text[2 * JSON_TREE_DEPTH_MAX + 8];
	cJSON *made = NULL;

	memset(text, '[', JSON_TREE_DEPTH_MAX + 1);
	memset(text + JSON_TREE_DEPTH_MAX + 1, ']', JSON_TREE_DEPTH_MAX + 1);
	text[2 * JSON_TREE_DEPTH_MAX + 2] = 0;
	ck_assert_int_eq(json_tree_parse(slice_of(text), &made, NULL), 0);
	cJSON_Delete(made);
	memset(text, '[', JSON_TREE_DEPTH_MAX + 2);
	memset(text + JSON_TREE_DEPTH_MAX + 2, ']', JSON_TREE_DEPTH_MAX + 2);
	text[2 * JSON_TREE_DEPTH_MAX + 4] = 0;
	ck_assert_int_eq(json_tree_parse(slice_of(text), &made, NULL), ERR_TOO_LARGE);
}
END_TEST

/* ---- JSON patch and merge patch ---- */

static void patches_to(const char *document, const char *patch, const char *expected)
{
	cJSON *made = tree(document), *operations = tree(patch);
	struct err err = {0};

	ck_assert_ok(patch_json(&made, operations, &err), &err);
	is_tree(made, expected);
	cJSON_Delete(made);
	cJSON_Delete(operations);
}

static void fails_with(const char *patch, int code)
{
	cJSON *made = tree("{\"a\":[1,2],\"o\":{}}"), *operations = tree(patch);
	struct err err = {0};

	ck_assert_msg(patch_json(&made, operations, &err) == code, "%s: '%s'", patch, err.text);
	cJSON_Delete(made);
	cJSON_Delete(operations);
}

START_TEST(patch_json__does_every_operation_at_every_place)
{
	patches_to("{\"a\":[1,2]}",
		"[{\"op\":\"add\",\"path\":\"/a/1\",\"value\":9},{\"op\":\"add\",\"path\":\"/a/-\",\"value\":8}]",
		"{\"a\":[1,9,2,8]}");
	patches_to("{\"a/b\":1,\"c~d\":2}",
		"[{\"op\":\"remove\",\"path\":\"/a~1b\"},{\"op\":\"replace\",\"path\":\"/c~0d\",\"value\":[]}]",
		"{\"c~d\":[]}");
	patches_to("{\"a\":{\"b\":1}}",
		"[{\"op\":\"move\",\"from\":\"/a/b\",\"path\":\"/c\"},{\"op\":\"copy\",\"from\":\"/c\",\"path\":\"/a/d\"}]",
		"{\"a\":{\"d\":1},\"c\":1}");
	patches_to("{\"a\":1}",
		"[{\"op\":\"test\",\"path\":\"\",\"value\":{\"a\":1}},{\"op\":\"replace\",\"path\":\"\",\"value\":{}}]",
		"{}");
}
END_TEST

START_TEST(patch_json__is_as_kind_as_the_api_server)
{
	patches_to("{\"a\":{}}",
		"[{\"op\":\"test\",\"path\":\"/a/b\",\"value\":null},{\"op\":\"add\",\"path\":\"/a/b\",\"value\":[\"f\"]}]",
		"{\"a\":{\"b\":[\"f\"]}}");
	patches_to("{\"a\":{}}", "[{\"op\":\"replace\",\"path\":\"/a/b\",\"value\":1}]", "{\"a\":{\"b\":1}}");
	patches_to("{}", "[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/b\"}]", "{\"b\":null}");
	patches_to("{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"/a\"}]", "{\"a\":null}");
	patches_to("{\"a\":[1,2,3]}",
		"[{\"op\":\"remove\",\"path\":\"/a/-3\"},{\"op\":\"add\",\"path\":\"/a/-1\",\"value\":4},"
		"{\"op\":\"replace\",\"path\":\"/a/00\",\"value\":0}]",
		"{\"a\":[0,3,4]}");
}
END_TEST

START_TEST(patch_json__tells_bad_patches_from_ones_that_do_not_fit)
{
	fails_with("{}", ERR_USAGE);
	fails_with("[1]", ERR_USAGE);
	fails_with("[{\"op\":\"fly\",\"path\":\"/a\"}]", ERR_FAILED);
	fails_with("[{\"op\":\"remove\"}]", ERR_FAILED);
	fails_with("[{\"op\":\"remove\",\"path\":\"a\"}]", ERR_FAILED);
	fails_with("[{\"op\":\"remove\",\"path\":\"\"}]", ERR_FAILED);
	fails_with("[{\"op\":\"add\",\"path\":\"\",\"value\":{}}]", ERR_FAILED);
	fails_with("[{\"op\":\"move\",\"from\":\"/o\",\"path\":\"/o/x\"}]", ERR_FAILED);
	fails_with("[{\"op\":\"remove\",\"path\":\"/o/x\"}]", ERR_FAILED);
	fails_with("[{\"op\":\"remove\",\"path\":\"/a/-3\"}]", ERR_FAILED);
	fails_with("[{\"op\":\"remove\",\"path\":\"/a/-\"}]", ERR_FAILED);
	fails_with("[{\"op\":\"remove\",\"path\":\"/a/\"}]", ERR_FAILED);
	fails_with("[{\"op\":\"test\",\"path\":\"/o/x\",\"value\":1}]", ERR_FAILED);
	fails_with("[{\"op\":\"test\",\"path\":\"/o\",\"value\":null}]", ERR_FAILED);
	fails_with("[{\"op\":\"remove\",\"path\":\"/a/2\"}]", ERR_FAILED);
	fails_with("[{\"op\":\"remove\",\"path\":\"/a/ 1\"}]", ERR_FAILED);
	fails_with("[{\"op\":\"add\",\"path\":\"/a/4\",\"value\":1}]", ERR_FAILED);
	fails_with("[{\"op\":\"add\",\"path\":\"/none/x\",\"value\":1}]", ERR_FAILED);
	fails_with("[{\"op\":\"test\",\"path\":\"/a/0\",\"value\":2}]", ERR_FAILED);
}
END_TEST

START_TEST(patch_merge__sets_replaces_and_removes)
{
	cJSON *made = tree("{\"a\":{\"b\":1,\"c\":2},\"d\":[1],\"e\":1}");
	cJSON *patch = tree(
		"{\"a\":{\"b\":null,\"n\":{\"x\":null,\"y\":1}},\"d\":{\"z\":null},\"e\":null,\"f\":null}");

	patch_merge(made, patch);
	is_tree(made, "{\"a\":{\"c\":2,\"n\":{\"y\":1}},\"d\":{}}");
	cJSON_Delete(made);
	cJSON_Delete(patch);
}
END_TEST

/* ---- strategic merge patch ---- */

static void merges_to(const char *document, const char *patch, const char *expected)
{
	cJSON *made = tree(document), *changes = tree(patch);
	struct err err = {0};

	ck_assert_ok(patch_strategic(made, changes, field_type_find(slice_of(POD)), &err), &err);
	is_tree(made, expected);
	cJSON_Delete(made);
	cJSON_Delete(changes);
}

START_TEST(patch_strategic__merges_by_keys_and_replaces_all_other_lists)
{
	merges_to(
		"{\"spec\":{\"containers\":[{\"name\":\"a\",\"args\":[\"x\"],\"image\":\"1\"},{\"name\":\"b\"}]}}",
		"{\"spec\":{\"containers\":[{\"name\":\"a\",\"args\":[\"y\"]},{\"name\":\"b\",\"$patch\":\"delete\"}]}}",
		"{\"spec\":{\"containers\":[{\"name\":\"a\",\"args\":[\"y\"],\"image\":\"1\"}]}}");
	merges_to("{\"spec\":{\"containers\":[{\"name\":\"a\"}],\"tolerations\":[{\"key\":\"t\"}]}}",
		"{\"spec\":{\"containers\":[{\"$patch\":\"replace\"},{\"name\":\"n\"}],\"tolerations\":[{\"key\":\"u\"}]}}",
		"{\"spec\":{\"containers\":[{\"name\":\"n\"}],\"tolerations\":[{\"key\":\"u\"}]}}");
	merges_to("{\"metadata\":{\"finalizers\":[\"a\",\"b\"]}}",
		"{\"metadata\":{\"finalizers\":[\"b\",\"c\"]}}",
		"{\"metadata\":{\"finalizers\":[\"a\",\"b\",\"c\"]}}");
}
END_TEST

/* As in Kubernetes: two new items of one key are merged, but what replaces a list is not looked at. */
START_TEST(patch_strategic__leaves_the_items_of_a_list_that_is_replaced_as_they_are)
{
	merges_to("{\"spec\":{\"containers\":[{\"name\":\"a\"}]}}",
		"{\"spec\":{\"containers\":[{\"name\":\"n\",\"env\":[{\"name\":null}]},{\"$patch\":\"replace\"},"
		"{\"name\":\"n\",\"env\":[{\"name\":\"B\"}]}]}}",
		"{\"spec\":{\"containers\":[{\"name\":\"n\",\"env\":[{}]},{\"name\":\"n\",\"env\":[{\"name\":\"B\"}]}]}}");
}
END_TEST

START_TEST(patch_strategic__does_what_directives_say)
{
	merges_to("{\"spec\":{\"volumes\":[{\"name\":\"v\",\"secret\":{\"secretName\":\"s\"}}]}}",
		"{\"spec\":{\"volumes\":[{\"name\":\"v\",\"$retainKeys\":[\"name\",\"emptyDir\"],\"emptyDir\":{}}]}}",
		"{\"spec\":{\"volumes\":[{\"name\":\"v\",\"emptyDir\":{}}]}}");
	merges_to("{\"metadata\":{\"labels\":{\"a\":\"1\"},\"annotations\":{\"b\":\"2\"}}}",
		"{\"metadata\":{\"labels\":{\"$patch\":\"replace\",\"c\":\"3\"},\"annotations\":{\"$patch\":\"delete\"}}}",
		"{\"metadata\":{\"labels\":{\"c\":\"3\"},\"annotations\":{}}}");
	merges_to("{\"metadata\":{\"finalizers\":[\"a\",\"b\",\"c\"]}}",
		"{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":[\"b\"],\"$setElementOrder/finalizers\":[\"c\",\"a\"]}}",
		"{\"metadata\":{\"finalizers\":[\"c\",\"a\"]}}");
}
END_TEST

START_TEST(patch_strategic__takes_members_that_merely_look_like_directives)
{
	merges_to("{\"x\":{\"$ref\":\"a\"}}", "{\"x\":{\"$ref\":\"b\"},\"y\":{\"$schema\":\"c\"}}",
		"{\"x\":{\"$ref\":\"b\"},\"y\":{\"$schema\":\"c\"}}");
}
END_TEST

/* ---- apply ---- */

static const struct field_writer me = {
	.name = "me", .api_version = "v1", .subresource = "", .now = "2026-01-01T00:00:00Z"};

static cJSON *apply(cJSON *live, const char *object, const char *name)
{
	struct field_writer who = me;
	cJSON *made = NULL, *conflicts = NULL, *applied = tree(object);
	struct err err = {0};

	who.name = name;
	who.type = field_type_find(slice_of(POD));
	ck_assert_ok(managed_apply(live, applied, &who, false, &made, &conflicts, &err), &err);
	cJSON_Delete(live);
	cJSON_Delete(applied);
	return made ? made : conflicts;
}

START_TEST(managed_apply__takes_back_what_only_this_manager_applied)
{
	cJSON *live = apply(NULL,
		"{\"spec\":{\"containers\":[{\"name\":\"a\"},{\"name\":\"b\"}],\"hostname\":\"h\"}}", "me");

	live = apply(live, "{\"spec\":{\"containers\":[{\"name\":\"b\"}]}}", "you");
	live = apply(live, "{\"spec\":{\"containers\":[{\"name\":\"c\"}]}}", "me");
	is_tree(json_tree_at(live, "spec", NULL), "{\"containers\":[{\"name\":\"b\"},{\"name\":\"c\"}]}");
	cJSON_Delete(live);
}
END_TEST

START_TEST(managed_apply__tells_conflicts_by_manager_and_field)
{
	cJSON *live = apply(NULL,
		"{\"spec\":{\"hostname\":\"h\",\"containers\":[{\"name\":\"a\",\"image\":\"1\"}]}}", "me");

	live = apply(live,
		"{\"spec\":{\"hostname\":\"h\",\"containers\":[{\"name\":\"a\",\"image\":\"2\"}]}}", "you");
	is_tree(live, "[{\"manager\":\"\\\"me\\\"\",\"field\":\".spec.containers[name=\\\"a\\\"].image\"}]");
	cJSON_Delete(live);
}
END_TEST

START_TEST(managed_apply__refuses_items_that_cannot_be_told_apart)
{
	cJSON *applied = tree("{\"spec\":{\"containers\":[{\"name\":\"a\"},{\"name\":\"a\"}]}}"),
	      *made = NULL, *conflicts = NULL;
	struct field_writer who = me;
	struct err err = {0};

	who.type = field_type_find(slice_of(POD));
	ck_assert_int_eq(managed_apply(NULL, applied, &who, true, &made, &conflicts, &err), ERR_FAILED);
	ck_assert_str_eq(err.text, ".spec.containers: duplicate entries for key {\"name\":\"a\"}");
	ck_assert_ptr_null(made);
	cJSON_Delete(applied);
}
END_TEST

START_TEST(managed_update__keeps_no_more_than_ten_updaters)
{
	cJSON *old = NULL, *new;
	char text[80], name[16];
	struct field_writer who = me;

	for (int i = 0; i < 14; i++) {
		snprintf(name, sizeof(name), "m%02d", i);
		snprintf(text, sizeof(text), "{\"metadata\":{\"labels\":{\"a\":\"%d\",\"l%d\":\"\"}}}", i, i);
		who.name = name;
		new = tree(text);
		managed_update(old, new, &who);
		cJSON_Delete(old);
		old = new;
	}
	new = json_tree_at(old, "metadata", "managedFields", NULL);
	ck_assert_int_le(cJSON_GetArraySize(new), 10);
	ck_assert_str_eq(
		json_tree_text(cJSON_GetArrayItem(new, cJSON_GetArraySize(new) - 1), "manager"), "m13");
	cJSON_Delete(old);
}
END_TEST

UNIT_MAIN("patches", json_tree__keeps_what_a_double_or_a_c_string_would_lose,
	json_tree__refuses_what_is_no_json_and_leaves_its_output_alone, json_tree__stops_at_a_depth,
	patch_json__does_every_operation_at_every_place, patch_json__is_as_kind_as_the_api_server,
	patch_json__tells_bad_patches_from_ones_that_do_not_fit, patch_merge__sets_replaces_and_removes,
	patch_strategic__merges_by_keys_and_replaces_all_other_lists,
	patch_strategic__leaves_the_items_of_a_list_that_is_replaced_as_they_are,
	patch_strategic__does_what_directives_say,
	patch_strategic__takes_members_that_merely_look_like_directives,
	managed_apply__takes_back_what_only_this_manager_applied,
	managed_apply__tells_conflicts_by_manager_and_field,
	managed_apply__refuses_items_that_cannot_be_told_apart,
	managed_update__keeps_no_more_than_ten_updaters)
