/* Trees of JSON however large and deep: comparing them, and finding members. */
#include "replayer/json/json_index.h"
#include "replayer/json/json_tree.h"
#include "tests/unit/unit.h"

#include <stdio.h>

#define MANY 100000

static cJSON *tree(const char *text)
{
	struct err err = {0};
	cJSON *made = NULL;

	ck_assert_ok(json_tree_parse(slice_of(text), &made, &err), &err);
	return made;
}

static bool are_equal(const char *a, const char *b)
{
	cJSON *x = tree(a), *y = tree(b);
	bool same = json_tree_equal(x, y);

	ck_assert_int_eq(same, json_tree_equal(y, x));
	cJSON_Delete(x);
	cJSON_Delete(y);
	return same;
}

/* {"a":{"a": ... 1 ...}} */
static cJSON *make_nest(int depth, int innermost)
{
	cJSON *nest = cJSON_CreateNumber(innermost);

	for (int i = 0; i < depth; i++) {
		cJSON *outer = cJSON_CreateObject();

		cJSON_AddItemToObject(outer, "a", nest);
		nest = outer;
	}
	return nest;
}

static void add_numbered(cJSON *to, int number)
{
	char name[16];

	snprintf(name, sizeof(name), "m%d", number);
	cJSON_AddNumberToObject(to, name, number);
}

/* m0, m1, ...; or the other way round. */
static cJSON *make_members(int count, bool backwards)
{
	cJSON *object = cJSON_CreateObject();

	for (int i = 0; i < count; i++)
		add_numbered(object, backwards ? count - 1 - i : i);
	return object;
}

START_TEST(comparing__takes_no_time_that_doubles_with_each_level)
{
	cJSON *a = make_nest(JSON_TREE_DEPTH_MAX, 1), *b = make_nest(JSON_TREE_DEPTH_MAX, 1),
	      *other = make_nest(JSON_TREE_DEPTH_MAX, 2);

	ck_assert(json_tree_equal(a, b));
	ck_assert(!json_tree_equal(a, other));
	cJSON_Delete(a);
	cJSON_Delete(b);
	cJSON_Delete(other);
}
END_TEST

START_TEST(comparing__looks_members_up_that_stand_in_another_order)
{
	cJSON *a = make_members(MANY, false), *b = make_members(MANY, true);

	ck_assert(json_tree_equal(a, b));
	cJSON_SetNumberValue(b->child, -1);
	ck_assert(!json_tree_equal(a, b));
	cJSON_Delete(a);
	cJSON_Delete(b);
}
END_TEST

START_TEST(comparing__asks_for_the_same_members_items_and_kinds)
{
	ck_assert(are_equal("{\"a\":1,\"b\":[1,2],\"c\":null}", "{\"c\":null,\"b\":[1,2],\"a\":1}"));
	ck_assert(!are_equal("{\"a\":1}", "{\"a\":1,\"b\":1}"));
	ck_assert(!are_equal("{\"a\":1,\"c\":1}", "{\"a\":1,\"b\":1}"));
	ck_assert(!are_equal("[1,2]", "[2,1]"));
	ck_assert(!are_equal("[1,2]", "[1]"));
	ck_assert(!are_equal("[]", "{}"));
	ck_assert(!are_equal("true", "false"));
	ck_assert(!are_equal("null", "0"));
	ck_assert(!are_equal("\"1\"", "1"));
	ck_assert(!are_equal("\"a\"", "\"A\""));
	ck_assert(!are_equal("{\"a\":1}", "{\"A\":1}"));
	ck_assert(json_tree_equal(NULL, NULL));
	ck_assert(are_equal("\"a\\u0000b\"", "\"a\\u0000b\""));
	ck_assert(!are_equal("\"a\\u0000b\"", "\"a\\u0000c\""));
}
END_TEST

START_TEST(comparing__tells_integers_apart_by_all_their_digits)
{
	ck_assert(are_equal("1", "1.0"));
	ck_assert(are_equal("0", "-0"));
	ck_assert(are_equal("18446744073709551615", "18446744073709551615"));
	ck_assert(!are_equal("18446744073709551615", "18446744073709551614"));
	ck_assert(!are_equal("999999999999998", "999999999999999"));
	ck_assert(are_equal("1e18", "1000000000000000000"));
	ck_assert(are_equal("10000000000000000.0", "10000000000000000"));
	ck_assert(!are_equal("0.1", "0.10000000000001"));
}
END_TEST

START_TEST(index__follows_what_is_added_set_and_removed)
{
	cJSON *object = make_members(JSON_INDEX_LEAST - 5, false), *m;
	struct json_index x;
	char name[16];

	json_index_init(&x, object);
	for (int i = JSON_INDEX_LEAST - 5; i < 1000; i++) {
		add_numbered(object, i);
		json_index_add(&x, object->child->prev);
	}
	for (int i = 0; i < 1000; i += 2) {
		snprintf(name, sizeof(name), "m%d", i);
		json_index_set(&x, object, name, i % 4 ? NULL : cJSON_CreateString("new"));
	}
	json_index_set(&x, object, "further", cJSON_CreateTrue());
	ck_assert_int_eq(cJSON_GetArraySize(object), 751);
	cJSON_ArrayForEach(m, object) ck_assert_ptr_eq(json_index_find(&x, m->string), m);
	ck_assert_ptr_null(json_index_find(&x, "m2"));
	ck_assert_int_eq(json_index_find(&x, "m1")->valueint, 1);
	ck_assert_str_eq(json_index_find(&x, "m996")->valuestring, "new");
	json_index_release(&x);
	cJSON_Delete(object);
}
END_TEST

START_TEST(index__of_few_members_or_of_no_object_is_as_good)
{
	cJSON *object = tree("{\"a\":1}"), *array = tree("[1]");
	struct json_index x;

	json_index_init(&x, object);
	json_index_set(&x, object, "b", cJSON_CreateNumber(2));
	json_index_set(&x, object, "a", NULL);
	ck_assert_ptr_null(json_index_find(&x, "a"));
	ck_assert_int_eq(json_index_find(&x, "b")->valueint, 2);
	json_index_release(&x);
	json_index_init(&x, array);
	ck_assert_ptr_null(json_index_find(&x, "a"));
	json_index_init(&x, NULL);
	ck_assert_ptr_null(json_index_find(&x, "a"));
	cJSON_Delete(object);
	cJSON_Delete(array);
}
END_TEST

UNIT_MAIN("json_tree", comparing__takes_no_time_that_doubles_with_each_level,
	comparing__looks_members_up_that_stand_in_another_order,
	comparing__asks_for_the_same_members_items_and_kinds,
	comparing__tells_integers_apart_by_all_their_digits, index__follows_what_is_added_set_and_removed,
	index__of_few_members_or_of_no_object_is_as_good)
