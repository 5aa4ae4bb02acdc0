/* test_openapi.c: the OpenAPI document of version 2 that is made of those of version 3, as JSON and as
 * protobuf. */
#include "replayer/json/json_tree.h"
#include "replayer/request/accept.h"
#include "replayer/serve/openapi_proto.h"
#include "replayer/serve/openapi_v2.h"
#include "tests/unit/unit.h"

static struct err err;

static cJSON *parsed(const char *json)
{
	cJSON *tree;

	ck_assert_ok(json_tree_parse(slice_of(json), &tree, &err), &err);
	return tree;
}

static void assert_json(const cJSON *found, const char *expected)
{
	cJSON *tree = parsed(expected);
	struct buf b;

	buf_init(&b, 100000);
	ck_assert_ok(json_tree_print(found, &b, &err), &err);
	ck_assert_msg(json_tree_equal(found, tree), "found %.*s, expected %s", (int)b.len, b.ptr, expected);
	buf_release(&b);
	cJSON_Delete(tree);
}

/* What version 2 makes of documents of version 3, the last of which is NULL. The caller frees. */
static cJSON *made_of(const char *const *v3)
{
	struct openapi_v2 *v = openapi_v2_new();
	struct buf b;
	cJSON *tree;

	for (; *v3; v3++)
		openapi_v2_add(v, parsed(*v3));
	buf_init(&b, 100000);
	ck_assert_ok(openapi_v2_json(v, &b, &err), &err);
	ck_assert_ok(json_tree_parse(buf_slice(&b), &tree, &err), &err);
	buf_release(&b);
	openapi_v2_free(v);
	return tree;
}

static void assert_schema(const char *v3, const char *v2)
{
	char *document = xasprintf("{\"components\":{\"schemas\":{\"X\":%s}}}", v3);
	cJSON *made = made_of((const char *const[]){document, NULL});

	assert_json(json_tree_at(made, "definitions", "X", NULL), v2);
	cJSON_Delete(made);
	free(document);
}

START_TEST(schema__loses_what_version_2_does_not_have)
{
	assert_schema(
		"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"default\":\"x\",\"nullable\":true}}}",
		"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}");
	assert_schema(
		"{\"type\":\"array\",\"items\":{\"default\":{},\"allOf\":[{\"$ref\":\"#/components/schemas/Y\"}]}}",
		"{\"type\":\"array\",\"items\":{\"$ref\":\"#/definitions/Y\"}}");
	assert_schema("{\"description\":\"d\",\"allOf\":[{\"$ref\":\"#/components/schemas/Y\"}]}",
		"{\"description\":\"d\",\"$ref\":\"#/definitions/Y\"}");
	assert_schema("{\"type\":\"object\",\"additionalProperties\":{\"$ref\":\"#/components/schemas/Y\"}}",
		"{\"type\":\"object\",\"additionalProperties\":{\"$ref\":\"#/definitions/Y\"}}");
	assert_schema(
		"{\"oneOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}],\"format\":\"int-or-string\"}",
		"{\"type\":\"string\",\"format\":\"int-or-string\"}");
	assert_schema("{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true,\"properties\":{}}",
		"{\"x-kubernetes-preserve-unknown-fields\":true}");
	assert_schema("true", "true");
}
END_TEST

START_TEST(operation__has_its_body_among_its_parameters)
{
	cJSON *made = made_of((const char *const[]){
		"{\"paths\":{\"/x\":{\"parameters\":[{\"name\":\"ns\",\"in\":\"path\",\"required\":true,\"schema\":"
		"{\"type\":\"string\",\"uniqueItems\":true}}],\"put\":{\"parameters\":[{\"name\":\"dryRun\",\"in\":\"query\","
		"\"description\":\"outer\",\"schema\":{\"type\":\"string\",\"description\":\"inner\"}}],\"requestBody\":"
		"{\"required\":true,\"content\":{\"*/*\":{\"schema\":{\"$ref\":\"#/components/schemas/X\"}}}},\"responses\":"
		"{\"200\":{\"description\":\"OK\",\"content\":{\"application/json\":{\"schema\":{\"type\":\"string\"}},"
		"\"application/yaml\":{}}},\"401\":{\"description\":\"no\"}},\"x-kubernetes-action\":\"put\"}}}}",
		NULL});

	assert_json(json_tree_at(made, "paths", "/x", NULL),
		"{\"parameters\":[{\"name\":\"ns\",\"in\":\"path\",\"required\":true,\"type\":\"string\",\"uniqueItems\":true}],"
		"\"put\":{\"consumes\":[\"*/*\"],\"produces\":[\"application/json\",\"application/yaml\"],\"schemes\":[\"https\"],"
		"\"parameters\":[{\"name\":\"body\",\"in\":\"body\",\"required\":true,\"schema\":{\"$ref\":\"#/definitions/X\"}},"
		"{\"name\":\"dryRun\",\"in\":\"query\",\"description\":\"inner\",\"type\":\"string\"}],\"responses\":{\"200\":"
		"{\"description\":\"OK\",\"schema\":{\"type\":\"string\"}},\"401\":{\"description\":\"no\"}},"
		"\"x-kubernetes-action\":\"put\"}}");
	cJSON_Delete(made);
}
END_TEST

START_TEST(document__has_each_definition_once_and_the_scheme_of_tokens)
{
	cJSON *made = made_of((const char *const[]){
		"{\"info\":{\"title\":\"K\",\"version\":\"1\"},\"components\":{\"schemas\":{\"A\":{\"type\":\"string\"}},"
		"\"securitySchemes\":{\"T\":{\"type\":\"apiKey\"}}}}",
		"{\"components\":{\"schemas\":{\"A\":{\"type\":\"integer\"},\"B\":{}},\"securitySchemes\":{\"U\":{}}}}",
		"[]", "{\"paths\":7,\"components\":{\"schemas\":[]}}", NULL});

	assert_json(made,
		"{\"swagger\":\"2.0\",\"info\":{\"title\":\"K\",\"version\":\"1\"},\"paths\":{},\"definitions\":"
		"{\"A\":{\"type\":\"string\"},\"B\":{}},\"security\":[{\"T\":[]}],\"securityDefinitions\":"
		"{\"T\":{\"type\":\"apiKey\"}}}");
	cJSON_Delete(made);
}
END_TEST

static void assert_protobuf(const char *json, struct slice expected)
{
	cJSON *tree = parsed(json);
	struct buf b;

	buf_init(&b, 100000);
	ck_assert_ok(openapi_proto_write(tree, &b, &err), &err);
	ck_assert_msg(slice_equal(buf_slice(&b), expected), "%s: found %zu bytes, expected %zu", json, b.len,
		expected.len);
	buf_release(&b);
	cJSON_Delete(tree);
}

#define ASSERT_PROTOBUF(json, bytes) assert_protobuf(json, (struct slice){bytes, sizeof(bytes) - 1})

START_TEST(protobuf__is_openapi_v2_document)
{
	ASSERT_PROTOBUF("{\"swagger\":\"2.0\",\"odd\":1,\"x-a\":[1]}", "\x0a\x03"
								       "2.0"
								       "\x82\x01\x0d\x0a\x03"
								       "x-a"
								       "\x12\x06\x12\x04[1]\n");
	ASSERT_PROTOBUF("{\"definitions\":{\"P\":{\"type\":\"string\",\"$ref\":\"r\"},\"Q\":true}}",
		"\x4a\x15\x0a\x13\x0a\x01P\x12\x0e\xb2\x01\x08\x0a\x06string\x0a\x01r");
	ASSERT_PROTOBUF(
		"{\"definitions\":{\"P\":{\"items\":{\"maxLength\":300},\"additionalProperties\":true}}}",
		"\x4a\x14\x0a\x12\x0a\x01P\x12\x0d\xba\x01\x05\x0a\x03\x58\xac\x02\xaa\x01\x02\x10\x01");
	ASSERT_PROTOBUF(
		"{\"definitions\":{\"P\":{\"maximum\":2,\"readOnly\":true,\"required\":[\"a\",\"b\"]}}}",
		"\x4a\x1b\x0a\x19\x0a\x01P\x12\x14\x39\0\0\0\0\0\0\0\x40\xd8\x01\x01\x9a\x01\x01"
		"a\x9a\x01\x01"
		"b");
	ASSERT_PROTOBUF("{\"security\":[{\"T\":[]}],\"securityDefinitions\":{\"T\":{\"type\":\"apiKey\"}}}",
		"\x62\x07\x0a\x05\x0a\x01T\x12\x00\x6a\x11\x0a\x0f\x0a\x01T\x12\x0a\x12\x08\x0a\x06"
		"apiKey");
}
END_TEST

START_TEST(protobuf__has_parameters_of_each_kind_in_their_messages)
{
	ASSERT_PROTOBUF("{\"paths\":{\"/\":{\"get\":{\"parameters\":[{\"in\":\"body\",\"name\":\"b\"}]}}}}",
		"\x42\x18\x12\x16\x0a\x01/\x12\x11\x12\x0f\x42\x0d\x0a\x0b\x0a\x09\x1a\x04"
		"body\x12\x01"
		"b");
	ASSERT_PROTOBUF(
		"{\"paths\":{\"/\":{\"parameters\":[{\"in\":\"query\",\"type\":\"t\"},{\"in\":\"odd\"}]}}}",
		"\x42\x19\x12\x17\x0a\x01/\x12\x12\x4a\x10\x0a\x0e\x12\x0c\x1a\x0a\x12\x05query\x32\x01t");
}
END_TEST

START_TEST(accept__chooses_among_types_as_the_clauses_go)
{
	static const char *const types[] = {"application/json", "application/x+protobuf"};
	static const struct {
		const char *header;
		int chosen;
	} rows[] = {{"", 0}, {"*/*", 0}, {"application/*", 0}, {"application/x+protobuf", 1},
		{"text/html", -1}, {"text/html, */*;q=0.1", 0},
		{"application/json;q=0.5,application/x+protobuf", 1}, {"*", 0}, {",", -1}};

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		ck_assert_msg(accept_choose(slice_of(rows[i].header), types, 2) == rows[i].chosen, "'%s'",
			rows[i].header);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		schema__loses_what_version_2_does_not_have,
		operation__has_its_body_among_its_parameters,
		document__has_each_definition_once_and_the_scheme_of_tokens,
		protobuf__is_openapi_v2_document,
		protobuf__has_parameters_of_each_kind_in_their_messages,
		accept__chooses_among_types_as_the_clauses_go,
	};

	return unit_main("openapi", tests, COUNT_OF(tests));
}
