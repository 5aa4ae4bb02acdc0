#include "schema/base/buf.h"
#include "schema/base/bytes_format.h"
#include "tests/unit/unit.h"

START_TEST(buf__grows_up_to_its_maximum_and_no_further)
{
	struct buf b;
	struct err err;
	char block[100] = {0};

	buf_init(&b, 1000);
	for (int i = 0; i < 10; i++)
		ck_assert_ok(buf_append(&b, block, sizeof(block), &err), &err);
	ck_assert_uint_eq(b.len, 1000);
	ck_assert_uint_le(b.cap, 1000);
	ck_assert_int_eq(buf_append(&b, block, 1, &err), ERR_TOO_LARGE);
	ck_assert_str_eq(err.text, "buffer of 1000 bytes cannot take 1 more: maximum is 1000");
	ck_assert_uint_eq(b.len, 1000);
	ck_assert_ptr_null(buf_reserve(&b, SIZE_MAX));
	buf_release(&b);
	ck_assert_ptr_null(b.ptr);
	ck_assert_uint_eq(b.max, 1000);
}
END_TEST

START_TEST(buf_append__of_nothing_needs_no_memory)
{
	struct buf b;

	buf_init(&b, 0);
	ck_assert_int_eq(buf_append(&b, NULL, 0, NULL), 0);
	ck_assert_ptr_null(b.ptr);
	buf_release(&b);
}
END_TEST

START_TEST(buf_printf__appends_and_leaves_the_buffer_alone_when_it_does_not_fit)
{
	struct buf b;
	struct err err;

	buf_init(&b, 16);
	ck_assert_ok(buf_printf(&b, &err, "%s-%d", "seg", 42), &err);
	ck_assert_slice_eq(buf_slice(&b), "seg-42");
	ck_assert_int_eq(buf_printf(&b, &err, "%s", "0123456789a"), ERR_TOO_LARGE);
	ck_assert_slice_eq(buf_slice(&b), "seg-42");
	ck_assert_ok(buf_printf(&b, &err, "%s", "012345678"), &err);
	ck_assert_uint_eq(b.len, 15);
	buf_release(&b);
}
END_TEST

START_TEST(buf_printf__fills_the_buffer_to_its_last_byte)
{
	struct buf b;
	struct err err;

	buf_init(&b, 4);
	ck_assert_ok(buf_printf(&b, &err, "%s", "1234"), &err);
	ck_assert_slice_eq(buf_slice(&b), "1234");
	ck_assert_int_eq(buf_printf(&b, &err, "5"), ERR_TOO_LARGE);
	buf_release(&b);
}
END_TEST

START_TEST(buf_consume__keeps_what_follows)
{
	struct buf b;
	struct err err;

	buf_init(&b, 100);
	buf_consume(&b, 0);
	ck_assert_ok(buf_append(&b, "abcdef", 6, &err), &err);
	buf_consume(&b, 2);
	ck_assert_slice_eq(buf_slice(&b), "cdef");
	buf_consume(&b, 4);
	ck_assert_uint_eq(b.len, 0);
	buf_release(&b);
}
END_TEST

START_TEST(slice_compare__orders_bytes_as_unsigned_and_a_prefix_first)
{
	ck_assert_int_lt(slice_compare(slice_of("a"), slice_of("b")), 0);
	ck_assert_int_gt(slice_compare(slice_of("\xff"), slice_of("a")), 0);
	ck_assert_int_lt(slice_compare(slice_of("ab"), slice_of("abc")), 0);
	ck_assert_int_eq(slice_compare(slice_of(NULL), slice_of("")), 0);
	ck_assert(slice_equal(slice_of("x"), slice_of("x")));
	ck_assert(!slice_is(slice_of("x"), "xy"));
}
END_TEST

START_TEST(slice_dup__terminates_its_copy)
{
	char *copy = slice_dup((struct slice){"abcdef", 3});

	ck_assert_str_eq(copy, "abc");
	free(copy);
	copy = slice_dup((struct slice){0});
	ck_assert_str_eq(copy, "");
	free(copy);
}
END_TEST

START_TEST(slice_skip__takes_a_word_off_the_front_or_nothing)
{
	struct slice s = slice_of("merge:name");

	ck_assert(!slice_skip(&s, "map:"));
	ck_assert(slice_is(s, "merge:name"));
	ck_assert(slice_skip(&s, "merge:"));
	ck_assert(slice_is(s, "name"));
	ck_assert(!slice_skip(&s, "names"));
}
END_TEST

START_TEST(slice_cut__tells_nothing_behind_the_mark_from_no_mark)
{
	struct slice rest = slice_of("a,b,");

	ck_assert(slice_is(slice_cut(&rest, ','), "a"));
	ck_assert(slice_is(slice_cut(&rest, ','), "b"));
	ck_assert_ptr_nonnull(rest.ptr);
	ck_assert(slice_is(slice_cut(&rest, ','), ""));
	ck_assert_ptr_null(rest.ptr);
}
END_TEST

START_TEST(bytes_format__counts_in_powers_of_ten)
{
	char text[BYTES_TEXT_BYTES];

	ck_assert_str_eq(bytes_format(text, 999), "999 B");
	ck_assert_str_eq(bytes_format(text, 1200), "1.2 kB");
	ck_assert_str_eq(bytes_format(text, UINT64_C(7) * 1000 * 1000 * 1000 * 1000 * 1000), "7000.0 TB");
}
END_TEST

START_TEST(xgrow__makes_room_for_one_more_each_time)
{
	size_t *items = NULL;

	for (size_t i = 0; i < 1000; i++) {
		items = xgrow(items, i, sizeof(*items));
		items[i] = i;
	}
	for (size_t i = 0; i < 1000; i++)
		ck_assert_uint_eq(items[i], i);
	free(items);
}
END_TEST

START_TEST(bytes_parse__takes_units_in_powers_of_two)
{
	static const struct {
		const char *text;
		int64_t bytes;
	} good[] = {{"0", 0}, {"512", 512}, {"512B", 512}, {"600k", 600 << 10}, {"600K", 600 << 10},
		{"1Ki", 1 << 10}, {"1KiB", 1 << 10}, {"1kb", 1 << 10}, {"16Gi", INT64_C(16) << 30},
		{"1.5G", INT64_C(3) << 29}, {"0.25M", 1 << 18}, {"2T", INT64_C(2) << 40},
		{"1P", INT64_C(1) << 50}, {"8191P", INT64_C(8191) << 50}, {"1.0M", 1 << 20},
		{"9223372036854775799", INT64_MAX - 8}};
	static const char *const bad[] = {"", "k", "-1", "+1", " 1", "1 k", "1.5", "1.k", ".5k", "1e3",
		"0x10", "1kk", "1ii", "1iB", "1Bi", "8192P", "9223372036854775808", "99999999999999999999999",
		"1,5G"};
	struct err err;
	int64_t bytes;

	for (size_t i = 0; i < COUNT_OF(good); i++) {
		ck_assert_ok(bytes_parse(good[i].text, &bytes, &err), &err);
		ck_assert_msg(bytes == good[i].bytes, "%s gave %jd", good[i].text, (intmax_t)bytes);
	}
	bytes = 7;
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		ck_assert_msg(bytes_parse(bad[i], &bytes, NULL) == ERR_USAGE, "'%s' gave %jd", bad[i],
			(intmax_t)bytes);
	ck_assert_int_eq(bytes, 7);
}
END_TEST

UNIT_MAIN("buf", buf__grows_up_to_its_maximum_and_no_further, buf_append__of_nothing_needs_no_memory,
	buf_printf__appends_and_leaves_the_buffer_alone_when_it_does_not_fit,
	buf_printf__fills_the_buffer_to_its_last_byte, buf_consume__keeps_what_follows,
	slice_compare__orders_bytes_as_unsigned_and_a_prefix_first, slice_dup__terminates_its_copy,
	slice_skip__takes_a_word_off_the_front_or_nothing,
	slice_cut__tells_nothing_behind_the_mark_from_no_mark, bytes_format__counts_in_powers_of_ten,
	bytes_parse__takes_units_in_powers_of_two, xgrow__makes_room_for_one_more_each_time)
