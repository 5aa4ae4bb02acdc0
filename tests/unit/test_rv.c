#include "schema/base/rv.h"
#include "tests/unit/unit.h"

#define NINES_40 "9999999999999999999999999999999999999999"

START_TEST(rv_valid__takes_one_to_forty_digits)
{
	ck_assert(rv_valid(slice_of("0")));
	ck_assert(rv_valid(slice_of("007")));
	ck_assert(rv_valid(slice_of(NINES_40)));
	ck_assert(!rv_valid(slice_of(NINES_40 "9")));
	ck_assert(!rv_valid(slice_of("")));
	ck_assert(!rv_valid((struct slice){0}));
	ck_assert(!rv_valid(slice_of("12a")));
	ck_assert(!rv_valid(slice_of("-1")));
	ck_assert(!rv_valid(slice_of(" 1")));
	ck_assert(!rv_valid((struct slice){"1\0002", 3}));
}
END_TEST

static int sign_of_compare(const char *a, const char *b)
{
	int c = rv_compare(slice_of(a), slice_of(b));

	return (c > 0) - (c < 0);
}

START_TEST(rv_compare__orders_by_value_and_not_by_text)
{
	ck_assert_int_eq(sign_of_compare("9", "10"), -1);
	ck_assert_int_eq(sign_of_compare("10", "9"), 1);
	ck_assert_int_eq(sign_of_compare("123", "123"), 0);
	ck_assert_int_eq(sign_of_compare("0099", "100"), -1);
	ck_assert_int_eq(sign_of_compare("000", "0"), 0);
	ck_assert_int_eq(sign_of_compare("18446744073709551616", "18446744073709551615"), 1);
	ck_assert_int_eq(sign_of_compare(NINES_40, "1" NINES_40), -1);
}
END_TEST

START_TEST(rv_to_u64__takes_canonical_numbers_that_fit)
{
	uint64_t number = 42;

	ck_assert(rv_to_u64(slice_of("0"), &number));
	ck_assert_uint_eq(number, 0);
	ck_assert(rv_to_u64(slice_of("18446744073709551615"), &number));
	ck_assert(number == UINT64_MAX);
	number = 42;
	ck_assert(!rv_to_u64(slice_of("18446744073709551616"), &number));
	ck_assert(!rv_to_u64(slice_of("01"), &number));
	ck_assert(!rv_to_u64(slice_of(""), &number));
	ck_assert(!rv_to_u64(slice_of(NINES_40), &number));
	ck_assert_uint_eq(number, 42);
}
END_TEST

UNIT_MAIN("rv", rv_valid__takes_one_to_forty_digits, rv_compare__orders_by_value_and_not_by_text,
	rv_to_u64__takes_canonical_numbers_that_fit)
