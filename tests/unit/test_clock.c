#include "schema/base/clock.h"
#include "tests/unit/unit.h"

START_TEST(duration_parse__reads_units_compounds_and_bare_seconds)
{
	static const struct {
		const char *text;
		int64_t ns;
	} rows[] = {
		{"250ms", 250 * NS_PER_MS},
		{"1m30s", 90 * NS_PER_S},
		{"2h", 7200 * NS_PER_S},
		{"1.5s", 1500 * NS_PER_MS},
		{"7d", 7 * 86400 * NS_PER_S},
		{"1w", 7 * 86400 * NS_PER_S},
		{"30", 30 * NS_PER_S},
		{"0.25", 250 * NS_PER_MS},
		{"0", 0},
		{"17ns", 17},
		{"3us", 3000},
		{"3\xc2\xb5s", 3000},
		{"1h0m0.5s", 3600 * NS_PER_S + 500 * NS_PER_MS},
		{"0.0000000019s", 1},
		{"0.5d", 43200 * NS_PER_S},
		{"9223372036854775807ns", INT64_MAX},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct err err;
		int64_t ns = -1;

		ck_assert_ok(duration_parse(rows[i].text, &ns, &err), &err);
		ck_assert_msg(ns == rows[i].ns, "%s: %lld", rows[i].text, (long long)ns);
	}
}
END_TEST

START_TEST(duration_parse__refuses_what_is_no_duration_and_leaves_the_output)
{
	static const char *const texts[] = {"", "-5s", "s", "5 s", "5x", "1m30", ".5s", "5.s", "1.2.3s",
		"1s ", "292y", "9223372036854775808ns", "99999999999", "200000w", "1e3s", "+5s", "ms250"};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct err err;
		int64_t ns = 42;

		ck_assert_msg(duration_parse(texts[i], &ns, &err) == ERR_USAGE, "%s", texts[i]);
		ck_assert_int_eq(ns, 42);
		ck_assert_ptr_nonnull(strstr(err.text, texts[i]));
	}
}
END_TEST

START_TEST(duration_format__speaks_to_people)
{
	static const struct {
		int64_t ns;
		const char *text;
	} rows[] = {
		{0, "0s"},
		{999, "0s"},
		{1500, "1us"},
		{830 * NS_PER_MS, "830ms"},
		{12430 * NS_PER_MS, "12.4s"},
		{59999 * NS_PER_MS, "59.9s"},
		{185 * NS_PER_S, "3m05s"},
		{7620 * NS_PER_S, "2h07m"},
		{(3 * 24 + 4) * 3600 * NS_PER_S, "3d04h"},
		{-185 * NS_PER_S, "-3m05s"},
		{INT64_MIN, "-106751d23h"},
	};
	char text[TIME_TEXT_BYTES];

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		ck_assert_str_eq(duration_format(text, rows[i].ns), rows[i].text);
}
END_TEST

START_TEST(clock_system__monotonic_time_never_goes_back)
{
	int64_t first = clock_mono_ns(&clock_system), wall = clock_wall_ns(&clock_system);

	ck_assert_int_ge(clock_mono_ns(&clock_system), first);
	ck_assert_int_gt(wall, INT64_C(1600000000) * NS_PER_S);
}
END_TEST

UNIT_MAIN("clock", duration_parse__reads_units_compounds_and_bare_seconds,
	duration_parse__refuses_what_is_no_duration_and_leaves_the_output, duration_format__speaks_to_people,
	clock_system__monotonic_time_never_goes_back)
