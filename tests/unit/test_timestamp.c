/* test_timestamp.c: times as objects hold them. */
#include "schema/base/clock.h"
#include "schema/base/moment.h"
#include "schema/base/timestamp.h"
#include "tests/unit/unit.h"

#include <stdio.h>

static const char *shifted(char to[64], const char *text, int64_t by_ns)
{
	snprintf(to, 64, "%s", text);
	timestamp_shift(to, strlen(to), by_ns);
	return to;
}

START_TEST(timestamp_parse__takes_whole_rfc_3339_times_alone)
{
	static const char *const good[] = {"2026-11-21T08:44:17Z", "2026-11-21T08:44:17.123456Z",
		"2026-11-21T08:44:17.1Z", "2026-11-21T08:44:17.123456789+02:00", "2000-01-01T00:00:00-11:30",
		"2199-12-31T23:59:60Z"};
	static const char *const bad[] = {"", "2026-11-21", "2026-11-21T08:44:17", "2026-11-21t08:44:17Z",
		"2026-11-21T08:44:17z", "2026-11-21 08:44:17Z", "2026-13-21T08:44:17Z",
		"2026-11-32T08:44:17Z", "2026-11-21T24:44:17Z", "2026-11-21T08:60:17Z",
		"2026-11-21T08:44:17.Z", "2026-11-21T08:44:17.1234567890Z", "2026-11-21T08:44:17+0200",
		"2026-11-21T08:44:17Z ", " 2026-11-21T08:44:17Z", "0001-01-01T00:00:00Z",
		"1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2200-01-01T00:00:00Z",
		"20a6-11-21T08:44:17Z", "2026-11-21T08:44:17+2a:00"};

	for (size_t i = 0; i < COUNT_OF(good); i++)
		ck_assert_msg(timestamp_parse(slice_of(good[i]), NULL), "%s", good[i]);
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		ck_assert_msg(!timestamp_parse(slice_of(bad[i]), NULL), "%s", bad[i]);
}
END_TEST

/* Against the parser of the command line, which is another. */
START_TEST(timestamp_parse__means_what_moment_parse_means)
{
	int64_t ns, expected;
	char text[64];

	for (int64_t s = INT64_C(946684800); s < INT64_C(7258118400); s += 86399 * 37) {
		time_format(text, s * NS_PER_S + 123456789);
		ck_assert(moment_is_absolute(slice_of(text), &expected));
		ck_assert(timestamp_parse(slice_of(text), &ns));
		ck_assert_int_eq(ns, expected);
	}
	ck_assert(timestamp_parse(slice_of("2026-11-21T08:44:17+02:00"), &ns));
	ck_assert(moment_is_absolute(slice_of("2026-11-21T06:44:17Z"), &expected));
	ck_assert_int_eq(ns, expected);
}
END_TEST

START_TEST(timestamp_shift__changes_digits_and_keeps_the_form)
{
	char to[64];

	ck_assert_str_eq(shifted(to, "2026-12-31T23:59:59Z", NS_PER_S), "2027-01-01T00:00:00Z");
	ck_assert_str_eq(shifted(to, "2024-03-01T00:00:00Z", -NS_PER_S), "2024-02-29T23:59:59Z");
	ck_assert_str_eq(
		shifted(to, "2026-11-21T08:44:17.500000Z", 86400 * NS_PER_S), "2026-11-22T08:44:17.500000Z");
	ck_assert_str_eq(shifted(to, "2026-11-21T08:44:17.999999Z", 1500), "2026-11-21T08:44:18.000000Z");
	ck_assert_str_eq(
		shifted(to, "2026-11-21T08:44:17+02:00", 3600 * NS_PER_S), "2026-11-21T09:44:17+02:00");
	ck_assert_str_eq(shifted(to, "2026-11-21T08:44:17Z", 0), "2026-11-21T08:44:17Z");
}
END_TEST

START_TEST(timestamp_shift__leaves_what_would_leave_the_years)
{
	char to[64];

	ck_assert_str_eq(shifted(to, "2000-01-01T00:00:00Z", -NS_PER_S), "2000-01-01T00:00:00Z");
	ck_assert_str_eq(shifted(to, "not a time", NS_PER_S), "not a time");
}
END_TEST

UNIT_MAIN("timestamp", timestamp_parse__takes_whole_rfc_3339_times_alone,
	timestamp_parse__means_what_moment_parse_means, timestamp_shift__changes_digits_and_keeps_the_form,
	timestamp_shift__leaves_what_would_leave_the_years)
