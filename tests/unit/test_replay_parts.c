/* test_replay_parts.c: the small parts of a replay that count, sort and measure. */
#include "replayer/run/histogram.h"
#include "replayer/run/pace.h"
#include "replayer/table/age.h"
#include "replayer/world/history.h"
#include "replayer/world/live_set.h"
#include "replayer/world/replay_clock.h"
#include "schema/base/clock.h"
#include "schema/base/json_indent.h"
#include "tests/unit/unit.h"

#include <math.h>

static struct err err;

START_TEST(live_set__keeps_the_order_of_storage_keys)
{
	static const char *const keys[][2] = {
		{"a", "x"}, {"a-b", "x"}, {"ab", "x"}, {"a", "x.y"}, {"a", "x-y"}, {"", "node"}, {"a", "w"}};
	static const char *const sorted[] = {"a-b/x", "a/w", "a/x", "a/x-y", "a/x.y", "ab/x", "node"};
	struct live_set s = {0};
	size_t begin, end;

	for (size_t i = 0; i < COUNT_OF(keys); i++)
		ck_assert_uint_eq(live_set_put(&s, slice_of(keys[i][0]), slice_of(keys[i][1]), i + 1), 0);
	for (size_t i = 0; i < COUNT_OF(sorted); i++)
		ck_assert_slice_eq(live_key(s.items[i]), sorted[i]);
	live_set_range(&s, slice_of("a"), &begin, &end);
	ck_assert_uint_eq(begin, 1);
	ck_assert_uint_eq(end, 5);
	ck_assert_uint_eq(live_set_put(&s, slice_of("a"), slice_of("x"), 99), 1);
	ck_assert_uint_eq(live_set_find(&s, slice_of("a"), slice_of("x"))->seq, 99);
	ck_assert_slice_eq(live_name(live_set_find(&s, slice_of(""), slice_of("node"))), "node");
	ck_assert_uint_eq(live_set_remove(&s, slice_of("a"), slice_of("x")), 99);
	ck_assert_ptr_null(live_set_find(&s, slice_of("a"), slice_of("x")));
	ck_assert_uint_eq(live_set_remove(&s, slice_of("a"), slice_of("x")), 0);
	live_set_release(&s);
}
END_TEST

START_TEST(history__finds_what_is_newer_and_forgets_the_oldest)
{
	struct history h;

	history_init(&h, 100, 10, 5);
	ck_assert_uint_eq(history_after(&h, 10), history_end(&h));
	for (uint64_t i = 0; i < 250; i++)
		history_add(&h, 20 + i / 2, 6 + i);
	ck_assert_uint_eq(history_end(&h), 250);
	ck_assert_ptr_null(history_at(&h, 149));
	ck_assert_uint_eq(history_at(&h, 150)->rv, 95);
	ck_assert_uint_eq(h.floor_rv, 94);
	ck_assert_uint_eq(history_after(&h, 94), 150);
	ck_assert_uint_eq(history_after(&h, 95), 152);
	ck_assert_uint_eq(history_seq_of(&h, 95), 157);
	ck_assert_uint_eq(history_seq_of(&h, 94), h.floor_seq);
	history_reset(&h, 500, 700);
	ck_assert_uint_eq(history_end(&h), 250);
	ck_assert_uint_eq(history_after(&h, 500), 250);
	history_release(&h);
}
END_TEST

START_TEST(history__never_lets_versions_go_down)
{
	struct history h;

	history_init(&h, 10, 10, 0);
	history_add(&h, 30, 1);
	history_add(&h, 25, 2); /* from another stream of the same resource */
	ck_assert_uint_eq(history_at(&h, 1)->rv, 30);
	ck_assert_uint_eq(history_after(&h, 29), 0);
	history_release(&h);
}
END_TEST

START_TEST(clock__maps_tape_time_without_adding_up_errors)
{
	struct replay_clock c;

	replay_clock_init(&c, 2, 1000);
	ck_assert_int_eq(replay_clock_tape_ns(&c, 999999), 1000);
	ck_assert_int_eq(replay_clock_due_ns(&c, 5000), INT64_MAX);
	replay_clock_start(&c, 100);
	ck_assert_int_eq(replay_clock_due_ns(&c, 5000), 2100);
	ck_assert_int_eq(replay_clock_tape_ns(&c, 2100), 5000);
	replay_clock_set_speed(&c, 0.5, 2100);
	ck_assert_int_eq(replay_clock_due_ns(&c, 6000), 4100);
	replay_clock_stop(&c, 4100);
	ck_assert_int_eq(replay_clock_tape_ns(&c, 999999), 6000);
	replay_clock_start(&c, 10000);
	ck_assert_int_eq(replay_clock_due_ns(&c, 6001), 10002);
	replay_clock_set_speed(&c, SPEED_MAX, 10000);
	ck_assert_int_eq(replay_clock_due_ns(&c, INT64_MAX / 2), 10000);
	ck_assert_int_eq(replay_clock_tape_ns(&c, 10000), INT64_MAX);
}
END_TEST

START_TEST(speed__is_a_number_above_zero_or_max)
{
	static const char *const bad[] = {"", "0", "-1", "x", "1x", "nan", "inf", "1e9"};
	double speed;

	ck_assert_ok(speed_parse("0.5", &speed, &err), &err);
	ck_assert(fabs(speed - 0.5) < 1e-9);
	ck_assert_ok(speed_parse("max", &speed, &err), &err);
	ck_assert(fabs(speed - SPEED_MAX) < 1e-9);
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		ck_assert_int_eq(speed_parse(bad[i], &speed, &err), ERR_USAGE);
}
END_TEST

/* After requests that come one every so many milliseconds. */
static int64_t rest_ms(struct pace *p, const int *steps_ms, size_t count)
{
	int64_t now_ns = p->last_ns ? p->last_ns : 1;

	for (size_t i = 0; i < count; i++)
		pace_note(p, now_ns += steps_ms[i] * NS_PER_MS);
	return pace_rest_ns(p) / NS_PER_MS;
}

START_TEST(pace__of_a_client_that_limits_its_rate_is_known_after_some_steps)
{
	struct pace p = {0};

	ck_assert_int_eq(rest_ms(&p, (const int[]){0, 1, 2, 1, 1, 200, 203, 199}, 8), 0);
	ck_assert_int_eq(rest_ms(&p, (const int[]){201, 200}, 2), 300);
	ck_assert_int_eq(rest_ms(&p, (const int[]){900, 1, 1, 2, 50, 50, 50, 50, 50, 50}, 10), 300);
}
END_TEST

START_TEST(pace__is_none_if_nothing_comes_in_rests_of_that_length)
{
	struct pace p = {0};

	ck_assert_int_eq(rest_ms(&p, (const int[]){60, 60, 60, 60, 60, 60}, 6), 90);
	for (int i = 0; i < 2; i++)
		pace_rested(&p);
	ck_assert_int_eq(rest_ms(&p, (const int[]){60}, 1), 90);
	for (int i = 0; i < 3; i++)
		pace_rested(&p);
	ck_assert_int_eq(rest_ms(&p, (const int[]){95, 95, 95, 95, 95, 95}, 6), 0);
	ck_assert_int_eq(rest_ms(&p, (const int[]){95, 95, 95, 95}, 4), 142);
}
END_TEST

START_TEST(pace__is_not_that_of_answers_nor_of_somebody_who_looks_now_and_then)
{
	struct pace p = {0};

	ck_assert_int_eq(rest_ms(&p, (const int[]){5, 5, 5, 5, 5, 5, 5, 5}, 8), 0);
	ck_assert_int_eq(rest_ms(&p, (const int[]){300, 300, 300, 300, 300, 300, 300}, 7), 0);
	ck_assert_int_eq(rest_ms(&p, (const int[]){100, 200, 100, 200, 100, 200, 100}, 7), 0);
}
END_TEST

START_TEST(histogram__is_right_within_its_promise)
{
	static struct histogram h;

	for (int64_t i = 1; i <= 100000; i++)
		histogram_add(&h, i * 1000, 1);
	for (double part = 0.01; part < 1; part += 0.07) {
		double expected = part * 1e8, got = (double)histogram_at(&h, part);

		ck_assert_msg(fabs(got - expected) < expected * 0.017, "%f: %f", expected, got);
	}
	ck_assert_int_eq(histogram_at(&h, 1), 100000000);
	histogram_add(&h, -5, 1);
	histogram_add(&h, INT64_MAX, 1);
	ck_assert_int_eq(h.max_ns, INT64_MAX);
}
END_TEST

START_TEST(age__is_written_as_kubectl_writes_it)
{
	static const struct {
		int64_t seconds;
		const char *text;
	} rows[] = {{-5, "<invalid>"}, {-1, "0s"}, {0, "0s"}, {119, "119s"}, {120, "2m"}, {252, "4m12s"},
		{600, "10m"}, {10799, "179m"}, {10800, "3h"}, {12060, "3h21m"}, {28800, "8h"},
		{172799, "47h"}, {172800, "2d"}, {180000, "2d2h"}, {691200, "8d"}, {63071999, "729d"},
		{63072000, "2y"}, {64000000, "2y10d"}, {252288000, "8y"}};
	char to[AGE_TEXT_MAX];

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		ck_assert_str_eq(age_of_ns(to, rows[i].seconds * NS_PER_S), rows[i].text);
	ck_assert_str_eq(age_format(to, slice_of(""), 0), "<unknown>");
	ck_assert_str_eq(age_format(to, slice_of("1970-01-01T00:00:00Z"), 7 * NS_PER_S), "7s");
}
END_TEST

START_TEST(indent__lays_json_out_however_it_is_cut)
{
	const char *in = "{\"a\":{},\"b\":[],\"c\":[1,{\"d\":\"x,\\\"{\"}]}";
	const char *out =
		"{\n  \"a\": {},\n  \"b\": [],\n  \"c\": [\n    1,\n    {\n      \"d\": \"x,\\\"{\"\n    }\n  ]\n}";

	for (size_t cut = 0; cut <= strlen(in); cut++) {
		struct json_indent j = {0};
		struct buf b;

		buf_init(&b, 1000);
		ck_assert_ok(json_indent_feed(&j, (struct slice){in, cut}, &b, &err), &err);
		ck_assert_ok(json_indent_feed(&j, slice_of(in + cut), &b, &err), &err);
		ck_assert_slice_eq(buf_slice(&b), out);
		buf_release(&b);
	}
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		live_set__keeps_the_order_of_storage_keys,
		history__finds_what_is_newer_and_forgets_the_oldest,
		history__never_lets_versions_go_down,
		clock__maps_tape_time_without_adding_up_errors,
		speed__is_a_number_above_zero_or_max,
		pace__of_a_client_that_limits_its_rate_is_known_after_some_steps,
		pace__is_none_if_nothing_comes_in_rests_of_that_length,
		pace__is_not_that_of_answers_nor_of_somebody_who_looks_now_and_then,
		histogram__is_right_within_its_promise,
		age__is_written_as_kubectl_writes_it,
		indent__lays_json_out_however_it_is_cut,
	};

	return unit_main("replay parts", tests, COUNT_OF(tests));
}
