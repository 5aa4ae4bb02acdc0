/* test_protobuf_forms.c: the values that are one thing in protobuf and another in JSON, and embedded JSON. */
#include "replayer/protobuf/protobuf_forms.h"
#include "schema/base/json_compact.h"
#include "tests/unit/protobuf_builder.h"

#include <stdio.h>

static void expect_form(int (*form)(struct slice bytes, struct buf *to, struct err *err), struct message *m,
	const char *expected)
{
	struct buf json;

	buf_init(&json, JSON_MAX);
	ck_assert_ok(form(buf_slice(&m->bytes), &json, &err), &err);
	ck_assert_slice_eq(buf_slice(&json), expected);
	buf_release(&json);
	buf_release(&m->bytes);
}

START_TEST(duration__is_printed_as_go_prints_it)
{
	static const struct {
		int64_t ns;
		const char *text;
	} rows[] = {{0, "\"0s\""}, {1, "\"1ns\""}, {1100, "\"1.1\u00b5s\""}, {2200000, "\"2.2ms\""},
		{3300000000, "\"3.3s\""}, {INT64_C(300000000000), "\"5m0s\""},
		{INT64_C(3600000000000), "\"1h0m0s\""}, {-1500000000, "\"-1.5s\""},
		{INT64_MAX, "\"2562047h47m16.854775807s\""}, {INT64_MIN, "\"-2562047h47m16.854775808s\""}};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct message m = message();

		put_int(&m, 1, rows[i].ns);
		expect_form(form_duration, &m, rows[i].text);
	}
}
END_TEST

START_TEST(int_or_string__is_one_of_both)
{
	struct message m = message();

	put_int(&m, 1, 0);
	put_int(&m, 2, -8080);
	put_text(&m, 3, "ignored");
	expect_form(form_int_or_string, &m, "-8080");
	m = message();
	put_int(&m, 1, 1);
	put_text(&m, 3, "50%");
	expect_form(form_int_or_string, &m, "\"50%\"");
	m = message();
	expect_form(form_int_or_string, &m, "0");
}
END_TEST

START_TEST(double__has_the_fewest_digits)
{
	static const struct {
		double number;
		const char *text;
	} rows[] = {{0, "0"}, {-0.0, "-0"}, {1, "1"}, {-2.5, "-2.5"}, {0.1, "0.1"},
		{1e20, "100000000000000000000"}, {1.2345e20, "123450000000000000000"}, {1e21, "1e+21"},
		{1e-6, "0.000001"}, {1.5e-7, "1.5e-7"}, {1e-10, "1e-10"},
		{1.7976931348623157e308, "1.7976931348623157e+308"}, {5e-324, "5e-324"}};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct buf json;
		uint64_t bits;

		memcpy(&bits, &rows[i].number, sizeof(bits));
		buf_init(&json, JSON_MAX);
		ck_assert_ok(form_double(bits, &json, &err), &err);
		ck_assert_slice_eq(buf_slice(&json), rows[i].text);
		buf_release(&json);
	}
}
END_TEST

START_TEST(quantity__is_checked)
{
	static const char *const good[] = {"0", "1", "-1", "+1", "1.5", ".5", "1.", "100m", "2Ki", "1E",
		"1Ei", "1e3", "1E-3", "12e+3", "5n"};
	static const char *const bad[] = {
		"", "-", ".", "m", "1x", "1KiB", "1 ", " 1", "1e", "1e+", "0x1", "1.2.3", "1e9999999999"};
	struct buf json;

	buf_init(&json, JSON_MAX);
	for (size_t i = 0; i < COUNT_OF(good); i++) {
		struct message m = message();
		char expected[40];

		put_text(&m, 1, good[i]);
		snprintf(expected, sizeof(expected), "\"%s\"", good[i]);
		expect_form(form_quantity, &m, expected);
	}
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct message m = message();

		put_text(&m, 1, bad[i]);
		ck_assert_msg(form_quantity(buf_slice(&m.bytes), &json, &err) == ERR_PROTOCOL, "%s", bad[i]);
		buf_release(&m.bytes);
	}
	buf_release(&json);
}
END_TEST

START_TEST(compact__keeps_what_counts)
{
	static const struct {
		const char *json, *expected;
	} rows[] = {{"null", "null"}, {" 1 ", "1"}, {"-0.5e+3", "-0.5e+3"}, {"[ ]", "[]"},
		{"{ \"a\" : [ 1 , \"x y\" , { } ] , \"b\" : true }", "{\"a\":[1,\"x y\",{}],\"b\":true}"},
		{"\"<a&b>\\u003c \xe2\x80\xa8\"", "\"\\u003ca\\u0026b\\u003e\\u003c \\u2028\""}};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct buf to;

		buf_init(&to, JSON_MAX);
		ck_assert_ok(json_compact(slice_of(rows[i].json), &to, &err), &err);
		ck_assert_slice_eq(buf_slice(&to), rows[i].expected);
		buf_release(&to);
	}
}
END_TEST

START_TEST(compact__refuses_what_is_no_json)
{
	static const char *const bad[] = {"", " ", "nul", "nulls", "01", "1.", "-", "+1", "1e", ".5", "\"",
		"\"\\x\"", "\"\\u12g4\"", "\"\n\"", "[", "]", "[1", "[1,]", "[,1]", "{", "{\"a\"}",
		"{\"a\":}", "{\"a\":1,}", "{a:1}", "{1:1}", "[}", "1 2", "{}{}", "'a'", "NaN"};

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct buf to;

		buf_init(&to, JSON_MAX);
		ck_assert_msg(json_compact(slice_of(bad[i]), &to, &err) == ERR_PROTOCOL, "%s", bad[i]);
		buf_release(&to);
	}
}
END_TEST

UNIT_MAIN("protobuf_forms", duration__is_printed_as_go_prints_it, int_or_string__is_one_of_both,
	double__has_the_fewest_digits, quantity__is_checked, compact__keeps_what_counts,
	compact__refuses_what_is_no_json)
