/* What is wrong with a text that should be JSON, in the words of Go, as clients of API servers know them. */
#include "replayer/json/go_json.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

static const char *const none[] = {"{}", "[]", "null", "7", "-0.5e+3", "\"x\"", "true",
	" {\"a\" : [1, {\"b\":null}]}\n", "\"\\u00e9\\n\\/\"", "{\"a\":\"\xff\"}"};

static const struct {
	const char *text, *problem;
} problems[] = {
	{"", "unexpected end of JSON input"},
	{" ", "unexpected end of JSON input"},
	{"{", "unexpected end of JSON input"},
	{"{\"a\":\"", "unexpected end of JSON input"},
	{"}", "invalid character '}' looking for beginning of value"},
	{"nonsense", "invalid character 'o' in literal null (expecting 'u')"},
	{"{\"a\"}", "invalid character '}' after object key"},
	{"{\"a\":}", "invalid character '}' looking for beginning of value"},
	{"{\"a\":1,}", "invalid character '}' looking for beginning of object key string"},
	{"{'a':1}", "invalid character '\\'' looking for beginning of object key string"},
	{"{\"a\":1}x", "invalid character 'x' after top-level value"},
	{"{\"a\":01}", "invalid character '1' after object key:value pair"},
	{"{\"a\":+1}", "invalid character '+' looking for beginning of value"},
	{"1.", "unexpected end of JSON input"},
	{"1.x", "invalid character 'x' after decimal point in numeric literal"},
	{"1ex", "invalid character 'x' in exponent of numeric literal"},
	{"-x", "invalid character 'x' in numeric literal"},
	{"tru}", "invalid character '}' in literal true (expecting 'e')"},
	{"\"\x01\"", "invalid character '\\x01' in string literal"},
	{"\"\\x\"", "invalid character 'x' in string escape code"},
	{"\"\\u12\"", "invalid character '\"' in \\u hexadecimal character escape"},
	{"[1,]", "invalid character ']' looking for beginning of value"},
	{"[1 2]", "invalid character '2' after array element"},
	{"\xef\xbb\xbf{}", "invalid character 'ï' looking for beginning of value"},
};

START_TEST(go_json__finds_nothing_wrong_with_json)
{
	for (size_t i = 0; i < COUNT_OF(none); i++) {
		char *problem = go_json_problem(slice_of(none[i]));

		ck_assert_msg(!problem, "%s: %s", none[i], problem);
	}
}
END_TEST

START_TEST(go_json__tells_the_first_problem)
{
	for (size_t i = 0; i < COUNT_OF(problems); i++) {
		char *problem = go_json_problem(slice_of(problems[i].text));

		ck_assert_msg(problem && strcmp(problem, problems[i].problem) == 0, "%s: %s",
			problems[i].text, problem ? problem : "no problem");
		free(problem);
	}
}
END_TEST

START_TEST(go_json__does_not_go_deeper_than_go)
{
	char *deep = xmalloc(20001), *problem;

	memset(deep, '[', 10000);
	memset(deep + 10000, ']', 10000);
	deep[20000] = 0;
	ck_assert_ptr_null(go_json_problem(slice_of(deep)));
	deep[10000] = '[';
	problem = go_json_problem(slice_of(deep));
	ck_assert_str_eq(problem, "exceeded max depth");
	free(problem);
	free(deep);
}
END_TEST

UNIT_MAIN("go_json", go_json__finds_nothing_wrong_with_json, go_json__tells_the_first_problem,
	go_json__does_not_go_deeper_than_go)
