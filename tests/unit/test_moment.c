#include "schema/base/clock.h"
#include "schema/base/moment.h"
#include "tests/unit/unit.h"

#define NOON  (INT64_C(1795262400) * NS_PER_S) /* 2026-11-21T12:00:00Z */
#define HOUR  (3600 * NS_PER_S)
#define MIN   (60 * NS_PER_S)
#define FIRST (NOON - 2 * HOUR - 8 * MIN - 31 * NS_PER_S) /* 09:51:29 */
#define LAST  (NOON - 2 * HOUR - 7 * MIN - 26 * NS_PER_S) /* 09:52:34 */
#define NOW   (NOON + 30 * HOUR)

static const struct moment_frame a_minute = {NOW, FIRST, LAST};

static int64_t resolved(const char *text, const struct moment_frame *frame, uint64_t *ret_days)
{
	struct err err;
	struct moment m;

	ck_assert_ok(moment_parse(slice_of(text), &m, &err), &err);
	return moment_resolve(&m, frame, ret_days);
}

START_TEST(moment_parse__reads_every_form_of_the_grammar)
{
	static const struct {
		const char *text;
		int64_t ns;
	} rows[] = {
		{"1970-01-01T00:00:00Z", 0},
		{"2026-11-21T12:00:00Z", NOON},
		{"2026-11-21t12:00:00z", NOON},
		{"2026-11-21 12:00:00Z", NOON},
		{"2026-11-21 12:00:00", NOON},
		{"2026-11-21T12:00:00", NOON},
		{"2026-11-21T12:00", NOON},
		{"2026-11-21 12:00Z", NOON},
		{"2026-11-21T14:00:00+02:00", NOON},
		{"2026-11-21T14:00:00+0200", NOON},
		{"2026-11-21T14:00:00+02", NOON},
		{"2026-11-21T06:30-05:30", NOON},
		{"2026-11-21T12:00:00.123456789Z", NOON + 123456789},
		{"2026-11-21T12:00:00.5", NOON + 500 * NS_PER_MS},
		{"2026-11-21T12:00:00.1234567899Z", NOON + 123456789},
		{"2026-11-21", NOON - 12 * HOUR},
		{"2016-12-31T23:59:60Z", INT64_C(1483228800) * NS_PER_S},
		{"2024-02-29", INT64_C(1709164800) * NS_PER_S},
		{"1969-12-31T23:59:59.25Z", -750 * NS_PER_MS},
		{"9999-12-31", INT64_MAX},
		{"0001-01-01T00:00:00Z", INT64_MIN},
		{"@1795262400", NOON},
		{"@1795262400.25", NOON + 250 * NS_PER_MS},
		{"1795262400", NOON},
		{"1795262400.000000001", NOON + 1},
		{"0", 0},
		{"9:51:40", FIRST + 11 * NS_PER_S},
		{"09:51:40", FIRST + 11 * NS_PER_S},
		{"09:51:40.5", FIRST + 11 * NS_PER_S + 500 * NS_PER_MS},
		{"09:51:40Z", FIRST + 11 * NS_PER_S},
		{"11:51:40+02:00", FIRST + 11 * NS_PER_S},
		{"23:51:40-10", FIRST + 11 * NS_PER_S + 24 * HOUR - 24 * HOUR},
		{"9:52", FIRST + 31 * NS_PER_S},
		{"now", NOW},
		{"start", FIRST},
		{"end", LAST},
		{"-30s", LAST - 30 * NS_PER_S},
		{"-5m", LAST - 5 * MIN},
		{"-0", LAST},
		{"+30s", FIRST + 30 * NS_PER_S},
		{"+1m30s", FIRST + 90 * NS_PER_S},
		{"+30", FIRST + 30 * NS_PER_S},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int64_t ns = resolved(rows[i].text, &a_minute, NULL);

		ck_assert_msg(ns == rows[i].ns, "%s: %lld", rows[i].text, (long long)ns);
	}
}
END_TEST

START_TEST(moment_parse__refuses_everything_else_and_names_what_it_takes)
{
	static const char *const texts[] = {"", "yesterday", "Now", "2026-13-01", "2026-00-01", "2026-02-29",
		"2026-11-31T00:00:00Z", "1900-02-29", "2026-11-21T", "2026-11-21T12", "2026-11-21T24:00:00Z",
		"2026-11-21T12:60:00Z", "2026-11-21T12:00:61Z", "2026-11-21T12:00:00.Z",
		"2026-11-21T12:00:00+2:00", "2026-11-21T12:00:00+24:00",
		"2026-11-21T12:00:00+02:", "2026-11-21T12:00:00Z ", "2026-11-21X12:00:00Z", "2026-1-14",
		"2026-11-21Z", "@", "@-5", "@12x", "1.2.3", ".", "-", "+", "--5s", "-5y",
		"99999999999999999999", "@9223372037", "1795262400000000000", "+200000w", "9:5", "24:00",
		"9:51:", "9:51:40.", "9:51:40 Z", "09:60", "-9:51", "12h", "nowhere"};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct err err;
		struct moment m = {.ns = 42};

		ck_assert_msg(moment_parse(slice_of(texts[i]), &m, &err) == ERR_USAGE, "'%s'", texts[i]);
		ck_assert_int_eq(m.ns, 42);
		ck_assert_ptr_nonnull(strstr(err.text, texts[i]));
		ck_assert_ptr_nonnull(strstr(err.text, "expected " MOMENT_FORMS));
	}
}
END_TEST

START_TEST(moment_parse__takes_slices_with_any_bytes_and_of_any_length)
{
	struct moment m;
	char many[4000];

	memset(many, '1', sizeof(many));
	ck_assert_int_eq(moment_parse((struct slice){many, sizeof(many)}, &m, NULL), ERR_USAGE);
	ck_assert_int_eq(moment_parse((struct slice){"now\0now", 7}, &m, NULL), ERR_USAGE);
	ck_assert_int_eq(moment_parse((struct slice){NULL, 0}, &m, NULL), ERR_USAGE);
	ck_assert_int_eq(moment_parse((struct slice){"nowhere", 3}, &m, NULL), 0);
}
END_TEST

START_TEST(moment_resolve__puts_a_time_of_day_on_a_day_of_the_tape)
{
	static const struct {
		const char *text;
		int64_t first_ns, last_ns, ns;
		uint64_t days;
	} rows[] = {
		/* Within one day, and before and after what the tape has of it: never another day. */
		{"11:00", NOON - 2 * HOUR, NOON, NOON - HOUR, 1},
		{"9:00", NOON - 2 * HOUR, NOON, NOON - 3 * HOUR, 0},
		{"12:30", NOON - 2 * HOUR, NOON, NOON + HOUR / 2, 0},
		{"23:59", NOON - 2 * HOUR, NOON, NOON + 12 * HOUR - MIN, 0},
		/* The bounds belong to the tape. */
		{"10:00", NOON - 2 * HOUR, NOON, NOON - 2 * HOUR, 1},
		{"12:00", NOON - 2 * HOUR, NOON, NOON, 1},
		/* Over midnight: each time on its own day; neither, on the nearer one. */
		{"23:50", NOON + 11 * HOUR, NOON + 14 * HOUR, NOON + 12 * HOUR - 10 * MIN, 1},
		{"0:10", NOON + 11 * HOUR, NOON + 14 * HOUR, NOON + 12 * HOUR + 10 * MIN, 1},
		{"22:00", NOON + 11 * HOUR, NOON + 14 * HOUR, NOON + 10 * HOUR, 0},
		{"3:00", NOON + 11 * HOUR, NOON + 14 * HOUR, NOON + 15 * HOUR, 0},
		/* On several days: the first. */
		{"13:00", NOON, NOON + 72 * HOUR, NOON + HOUR, 3},
		{"11:00", NOON, NOON + 72 * HOUR, NOON + 23 * HOUR, 3},
		{"12:00", NOON, NOON + 72 * HOUR, NOON, 4},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct moment_frame frame = {NOW, rows[i].first_ns, rows[i].last_ns};
		uint64_t days = 42;
		int64_t ns = resolved(rows[i].text, &frame, &days);

		ck_assert_msg(ns == rows[i].ns && days == rows[i].days, "row %zu, %s: %lld, %llu days", i,
			rows[i].text, (long long)ns, (unsigned long long)days);
	}
}
END_TEST

START_TEST(moment_resolve__stays_in_64_bits_whatever_the_tape_says)
{
	static const struct moment_frame frames[] = {
		{0, INT64_MIN, INT64_MAX}, {0, INT64_MIN, INT64_MIN}, {0, INT64_MAX, INT64_MAX}, {0, 0, 0}};
	static const char *const texts[] = {"-9000w", "+9000w", "12:00", "23:59:60.999999999", "end"};

	for (size_t i = 0; i < COUNT_OF(frames); i++) {
		for (size_t k = 0; k < COUNT_OF(texts); k++)
			(void)resolved(texts[k], &frames[i], NULL);
	}
	ck_assert_int_eq(resolved("-9000w", &frames[1], NULL), INT64_MIN);
	ck_assert_int_eq(resolved("+9000w", &frames[2], NULL), INT64_MAX);
}
END_TEST

START_TEST(moment_is_absolute__takes_only_what_needs_no_tape)
{
	static const char *const relative[] = {
		"now", "start", "end", "-5m", "+5m", "9:51", "", "x", "9999-12-31", "0001-01-01T00:00:00Z"};
	int64_t ns = 42;

	for (size_t i = 0; i < COUNT_OF(relative); i++)
		ck_assert_msg(!moment_is_absolute(slice_of(relative[i]), &ns), "%s", relative[i]);
	ck_assert_int_eq(ns, 42);
	ck_assert(moment_is_absolute(slice_of("2026-11-21T12:00:00Z"), &ns));
	ck_assert_int_eq(ns, NOON);
}
END_TEST

START_TEST(moment_parse__reads_back_what_time_format_wrote)
{
	static const int64_t times[] = {0, 1, -1, NOW + 1, -NOW, INT64_MAX - 1, INT64_MIN + NS_PER_S,
		INT64_C(951782399) * NS_PER_S + 999999999};

	for (size_t i = 0; i < COUNT_OF(times); i++) {
		char text[TIME_TEXT_BYTES];
		int64_t ns = 42;

		ck_assert(moment_is_absolute(slice_of(time_format(text, times[i])), &ns));
		ck_assert_int_eq(ns, times[i]);
	}
}
END_TEST

UNIT_MAIN("moment", moment_parse__reads_every_form_of_the_grammar,
	moment_parse__refuses_everything_else_and_names_what_it_takes,
	moment_parse__takes_slices_with_any_bytes_and_of_any_length,
	moment_resolve__puts_a_time_of_day_on_a_day_of_the_tape,
	moment_resolve__stays_in_64_bits_whatever_the_tape_says,
	moment_is_absolute__takes_only_what_needs_no_tape, moment_parse__reads_back_what_time_format_wrote)
