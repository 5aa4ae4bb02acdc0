#include "schema/base/utf8.h"
#include "schema/base/visible.h"
#include "tests/unit/unit.h"

#include <stdio.h>

START_TEST(utf8__reads_what_it_wrote_for_every_code_point)
{
	for (uint32_t code = 0; code <= 0x10ffff; code++) {
		char bytes[4];
		size_t n = utf8_write(bytes, code);
		uint32_t read = 0, want = code >= 0xd800 && code <= 0xdfff ? 0xfffd : code;

		bool is_read = utf8_read((struct slice){bytes, n}, &read) == n && read == want;

		for (size_t cut = 0; cut < n && is_read; cut++)
			is_read = utf8_read((struct slice){bytes, cut}, &read) == 0;
		if (!is_read) /* an assertion writes to a file each time */
			ck_abort_msg("code point %#x", code);
	}
}
END_TEST

START_TEST(utf8__refuses_what_is_no_character)
{
	static const char *const bad[] = {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80",
		"\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
		"\xff", "\xc3(", "\xe2\x82("};
	uint32_t code;

	for (size_t i = 0; i < COUNT_OF(bad); i++)
		ck_assert_uint_eq(utf8_read(slice_of(bad[i]), &code), 0);
}
END_TEST

static void check_visible(const char *text, size_t len, const char *shown)
{
	struct buf to;
	struct err err;

	buf_init(&to, VISIBLE_GROWTH * len);
	ck_assert_ok(visible_append(&to, (struct slice){text, len}, &err), &err);
	ck_assert_slice_eq(buf_slice(&to), shown);
	buf_release(&to);
}

#define CHECK_VISIBLE(text, shown) check_visible((text), sizeof(text) - 1, (shown))

START_TEST(visible__escapes_what_steers_a_terminal_or_turns_text_around)
{
	CHECK_VISIBLE("plain \\ \xc3\xa9 \xf0\x9f\x98\x80", "plain \\ \xc3\xa9 \xf0\x9f\x98\x80");
	CHECK_VISIBLE("\x1b[2J\a\r\n\t\x7f\0", "\\x1b[2J\\x07\\x0d\\n\\t\\x7f\\x00");
	CHECK_VISIBLE("\xc2\x80\xc2\x85\xc2\x9b\xc2\x9f\xc2\xa0", "\\x80\\x85\\x9b\\x9f\xc2\xa0");
	CHECK_VISIBLE("\xe2\x80\xaa\xe2\x80\xae\xe2\x81\xa6\xe2\x81\xa9\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c",
		"\\u202a\\u202e\\u2066\\u2069\\u200e\\u200f\\u061c");
	CHECK_VISIBLE("\xe2\x80\xa8\xe2\x80\xa9", "\\u2028\\u2029");
	CHECK_VISIBLE("\x9b"
		      "5n\xed\xa0\x80\xc3",
		"\\x9b5n\\xed\\xa0\\x80\\xc3");
}
END_TEST

static void check_json(const char *json, const char *shown)
{
	char text[256] = {0};
	FILE *to = fmemopen(text, sizeof(text), "w");

	ck_assert_ptr_nonnull(to);
	visible_put_json(to, slice_of(json));
	fclose(to);
	ck_assert_str_eq(text, shown);
}

START_TEST(visible__keeps_the_meaning_of_json)
{
	check_json("{ \"a\\u001b\\\"\" :\n\t[1, true] }", "{ \"a\\u001b\\\"\" :\n\t[1, true] }");
	check_json("\"\x1b[2J\xc2\x9b\xe2\x80\xae\\\\\x07\"", "\"\\u001b[2J\\u009b\\u202e\\\\\\u0007\"");
	check_json("\"a\nb\x9b\"", "\"a\\u000ab\xef\xbf\xbd\"");
	check_json("[\x1b 1,\xc2\x9b 2,\x9b 3]", "[  1,  2,  3]");
}
END_TEST

UNIT_MAIN("visible", utf8__reads_what_it_wrote_for_every_code_point, utf8__refuses_what_is_no_character,
	visible__escapes_what_steers_a_terminal_or_turns_text_around, visible__keeps_the_meaning_of_json)
