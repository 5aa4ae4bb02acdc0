/* test_yaml_out.c: YAML that we write means what the JSON meant, as another library reads it. */
#include "schema/base/yaml_out.h"
#include "tests/unit/unit.h"

#include <libfyaml.h>
#include <stdio.h>

static char *yaml_of(const char *json)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);
	struct err err;

	ck_assert_ok(yaml_out(to, slice_of(json), 0, &err), &err);
	fclose(to);
	return text;
}

/* One line of JSON, members in their order, as libfyaml writes it. */
static char *normal_form(const char *text)
{
	struct fy_document *document = fy_document_build_from_string(NULL, text, FY_NT);
	char *json;

	ck_assert_msg(document, "cannot read %s", text);
	json = fy_emit_document_to_string(document, FYECF_MODE_JSON_ONELINE);
	fy_document_destroy(document);
	return json;
}

static void check(const char *json)
{
	char *yaml = yaml_of(json), *have = normal_form(yaml), *want = normal_form(json);

	ck_assert_msg(strcmp(have, want) == 0, "%s became\n%s which means %s", json, yaml, have);
	free(yaml);
	free(have);
	free(want);
}

START_TEST(yaml_out__means_what_the_json_meant)
{
	static const char *const texts[] = {
		"{\"a\":1,\"b\":-2.5,\"c\":true,\"d\":null,\"e\":\"text\"}",
		"{\"a\":{\"b\":{\"c\":[]},\"d\":{}},\"e\":[{\"f\":1,\"g\":[1,2,[3,[]]]},\"x\",[]]}",
		"[{\"a\":{\"b\":1}},[{\"c\":[{\"d\":2}]}]]",
		"{\"a\":[[1,2],[{\"x\":{\"y\":0}}]]}",
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++)
		check(texts[i]);
}
END_TEST

START_TEST(yaml_out__keeps_texts_that_look_like_something_else)
{
	static const char *const texts[] = {"true", "No", "null", "~", "", " ", "1", "1e3", "0x1f", "1_000",
		"-", "- a", "a: b", "a:b", "a #b", "a#b", "#a", "[a]", "{a}", "&a", "*a", "!a", "|", ">",
		"> a", "'a'", "%a", "@a", "`a", "a,b", ",a", "a:", ":a", "?a", "? a", "2026-11-21",
		"12:30:45", ".5", ".inf", "+1", "=", "<<", "10.0.0.1", "a b", " a", "a ", "\\u00e9", "\\t",
		"a\\tb", "\\\"", "\\\\", "\\u0000", "\\u007f", "\\u0085", "line\\nline", "line\\n",
		"line\\n\\n", "\\nline", "  indented\\nline", "a\\n\\nb", "a\\n  b\\n", "a \\nb", "a\\r\\nb",
		"---", "...", "---\\na", "y", "on", "registry.example/web:2"};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		char json[200];

		snprintf(json, sizeof(json), "{\"k\":\"%s\",\"l\":[\"%s\"],\"m\":{\"%s\":{\"n\":\"%s\"}}}",
			texts[i], texts[i], texts[i], texts[i]);
		check(json);
	}
}
END_TEST

START_TEST(yaml_out__is_laid_out_as_kubectl_does)
{
	char *yaml =
		yaml_of("{\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":\"5\",\"finalizers\":[\"a\"]},"
			"\"spec\":{\"containers\":[{\"name\":\"c\",\"env\":[]}],\"script\":\"a\\nb\\n\"}}");

	ck_assert_str_eq(yaml, "kind: Pod\nmetadata:\n  finalizers:\n  - a\n  resourceVersion: \"5\"\nspec:\n"
			       "  containers:\n  - env: []\n    name: c\n  script: |\n    a\n    b\n");
	free(yaml);
}
END_TEST

START_TEST(yaml_out__sorts_members_by_name_and_numbers_in_names_by_value)
{
	char *yaml =
		yaml_of("{\"b\":1,\"a10\":1,\"a9\":1,\"a\":1,\"B\":1,\"a-1\":1,\".\":1,\"f:a\":1,\"a01\":1}");

	ck_assert_str_eq(yaml, ".: 1\nB: 1\na: 1\na-1: 1\na01: 1\na9: 1\na10: 1\nb: 1\nf:a: 1\n");
	free(yaml);
}
END_TEST

#define LONG_WORDS                                                                                           \
	"these words together are longer than eighty characters so that they cannot stand in one line"
#define TEN       "abcdefghij"
#define LONG_NAME TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

START_TEST(yaml_out__writes_texts_in_the_styles_that_kubectl_has)
{
	static const struct {
		const char *json, *yaml;
	} texts[] = {{"{\"a\":\"2026-11-22T20:00:00Z\"}", "a: \"2026-11-22T20:00:00Z\"\n"},
		{"{\"a\":\"2026-02-30\"}", "a: 2026-02-30\n"}, {"{\"a\":\"60m\"}", "a: 60m\n"},
		{"{\"a\":\"1_0\"}", "a: \"1_0\"\n"}, {"{\"a\":\"it's: b\"}", "a: 'it''s: b'\n"},
		{"{\"a\":\"x\\ty\"}", "a: \"x\\ty\"\n"}, {"{\"a\":\" x\\n\"}", "a: |2\n   x\n"},
		{"{\"a\":\"x \\ny\"}", "a: \"x \\ny\"\n"},
		{"{\"a\":\"\xf0\x9f\x98\x80\"}", "a: \"\\U0001F600\"\n"},
		{"{\"a\":\"\xe2\x80\xae\"}", "a: \"\\u202E\"\n"},
		{"{\"a\":\"" LONG_WORDS "\"}",
			"a: these words together are longer than eighty characters so that they cannot stand\n  in one line\n"},
		{"{\"" LONG_NAME "\":{\"b\":[1]}}", "? " LONG_NAME "\n: b:\n  - 1\n"},
		{"{\"a\":1.0,\"b\":1e20,\"c\":1e-7,\"d\":1234567.5,\"e\":0.25,\"f\":false}",
			"a: 1\nb: 1e+20\nc: 1e-07\nd: 1.2345675e+06\ne: 0.25\nf: false\n"}};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		char *yaml = yaml_of(texts[i].json);

		ck_assert_str_eq(yaml, texts[i].yaml);
		free(yaml);
	}
}
END_TEST

START_TEST(yaml_out__refuses_what_is_no_json)
{
	FILE *to = fopen("/dev/null", "w");
	struct err err;

	ck_assert_int_lt(yaml_out(to, slice_of("{\"a\":"), 0, &err), 0);
	fclose(to);
}
END_TEST

UNIT_MAIN("yaml_out", yaml_out__means_what_the_json_meant,
	yaml_out__keeps_texts_that_look_like_something_else, yaml_out__is_laid_out_as_kubectl_does,
	yaml_out__sorts_members_by_name_and_numbers_in_names_by_value,
	yaml_out__writes_texts_in_the_styles_that_kubectl_has, yaml_out__refuses_what_is_no_json)
