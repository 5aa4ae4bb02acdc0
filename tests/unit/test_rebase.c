/* test_rebase.c: recorded times as times of the replay. */
#include "replayer/world/rebase.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

#define TAPE (INT64_C(1800000000) * NS_PER_S) /* 2027-01-15T08:00:00Z */
#define WALL (INT64_C(1900000000) * NS_PER_S + 700 * NS_PER_MS)

static int64_t now_ns;

static int64_t wall_ns(void *context)
{
	(void)context;
	return now_ns;
}

static const struct clock fake = {wall_ns, wall_ns, NULL};

static struct rebase *opened(void)
{
	now_ns = WALL;
	return rebase_new(&fake, TAPE);
}

/* The tape plays on so long, the wall clock so long. */
static void play(struct rebase *r, int64_t *tape_ns, int64_t tape_s, int64_t wall_s)
{
	*tape_ns += tape_s * NS_PER_S;
	now_ns += wall_s * NS_PER_S;
	rebase_reach(r, *tape_ns);
}

START_TEST(rebase_time__moves_all_by_one_number_of_whole_seconds_at_speed_1)
{
	struct rebase *r = opened();
	int64_t tape_ns = TAPE, by_ns = INT64_C(100000000) * NS_PER_S;

	for (int i = 0; i < 1000; i++) {
		play(r, &tape_ns, 3, 3);
		ck_assert_int_eq(rebase_time(r, tape_ns) - tape_ns, by_ns);
		ck_assert_int_eq(rebase_time(r, tape_ns - 777 * NS_PER_S) - tape_ns, by_ns - 777 * NS_PER_S);
		ck_assert_int_eq(rebase_time(r, tape_ns + 777 * NS_PER_S) - tape_ns, by_ns + 777 * NS_PER_S);
	}
	rebase_free(r);
}
END_TEST

START_TEST(rebase_time__leaves_what_came_before_a_pause_and_moves_what_comes_behind)
{
	struct rebase *r = opened();
	int64_t tape_ns = TAPE, before_ns, before_wall_ns;

	play(r, &tape_ns, 10, 10);
	before_ns = tape_ns;
	before_wall_ns = rebase_time(r, before_ns);
	play(r, &tape_ns, 1, 601);
	ck_assert_int_eq(rebase_time(r, before_ns), before_wall_ns);
	ck_assert_int_eq(rebase_time(r, tape_ns) - before_wall_ns, 601 * NS_PER_S);
	ck_assert_int_eq(rebase_time(r, TAPE - NS_PER_S), INT64_C(1900000000) * NS_PER_S - NS_PER_S);
	rebase_free(r);
}
END_TEST

/* Speeds, pauses, steps: nothing is ever out of order, nor far from the time at which it was played. */
START_TEST(rebase_time__never_turns_round_and_stays_near_the_wall_clock)
{
	static const int plays[][2] = {
		{10, 1}, {1, 10}, {100, 0}, {0, 100}, {1, 1}, {7, 5}, {3600, 1}, {1, 1}};
	struct rebase *r = opened();
	int64_t tape_ns = TAPE, last_ns = INT64_MIN;

	for (int i = 0; i < 400; i++) {
		int64_t off_ns;

		play(r, &tape_ns, plays[i % 8][0], plays[i % 8][1]);
		off_ns = now_ns - rebase_time(r, tape_ns);
		if (plays[i % 8][0])
			ck_assert(off_ns > -4 * NS_PER_S && off_ns < 4 * NS_PER_S);
	}
	for (int64_t t = TAPE - NS_PER_S; t < tape_ns; t += NS_PER_S / 2) {
		ck_assert(rebase_time(r, t) >= last_ns);
		last_ns = rebase_time(r, t);
	}
	rebase_free(r);
}
END_TEST

START_TEST(rebase_restart__forgets_the_way)
{
	struct rebase *r = opened();
	int64_t tape_ns = TAPE;

	play(r, &tape_ns, 100, 1);
	rebase_restart(r, TAPE);
	ck_assert_int_eq(rebase_time(r, TAPE), INT64_C(1900000001) * NS_PER_S);
	rebase_free(r);
}
END_TEST

START_TEST(rebase_note_request__is_told_of_ten_seconds_without_one)
{
	struct rebase *r = opened();

	ck_assert(!rebase_note_request(r));
	now_ns += 9 * NS_PER_S;
	ck_assert(!rebase_note_request(r));
	now_ns += 11 * NS_PER_S;
	ck_assert(rebase_note_request(r));
	ck_assert(!rebase_note_request(r));
	rebase_free(r);
}
END_TEST

static const char *moved(char to[512], const char *object)
{
	struct rebase *r = opened();

	snprintf(to, 512, "%s", object);
	rebase_object(r, to, strlen(to));
	rebase_free(r);
	return to;
}

/* 100,000,000 seconds are 1157 days, 9 hours, 46 minutes and 40 seconds. */
START_TEST(rebase_object__moves_values_that_are_times)
{
	char to[512];

	ck_assert_str_eq(
		moved(to, "{\"metadata\":{\"creationTimestamp\":\"2027-01-15T08:00:00Z\",\"managedFields\":"
			  "[{\"time\":\"2027-01-15T08:00:01Z\"}]},\"a\":[\"2027-01-15T08:00:02.000001Z\"]}"),
		"{\"metadata\":{\"creationTimestamp\":\"2030-03-17T17:46:40Z\",\"managedFields\":"
		"[{\"time\":\"2030-03-17T17:46:41Z\"}]},\"a\":[\"2030-03-17T17:46:42.000001Z\"]}");
	ck_assert_str_eq(
		moved(to, "{ \"at\" : \"2027-01-15T08:00:00Z\" }"), "{ \"at\" : \"2030-03-17T17:46:40Z\" }");
}
END_TEST

START_TEST(rebase_object__leaves_keys_annotations_data_and_texts)
{
	static const char *const same[] = {"{\"2027-01-15T08:00:00Z\":1}",
		"{\"metadata\":{\"annotations\":{\"a\":\"2027-01-15T08:00:00Z\"}}}",
		"{\"spec\":{\"template\":{\"metadata\":{\"annotations\":{\"a\":\"2027-01-15T08:00:00Z\"}}}}}",
		"{\"data\":{\"a\":\"2027-01-15T08:00:00Z\"}}",
		"{\"stringData\":{\"a\":\"2027-01-15T08:00:00Z\"}}",
		"{\"message\":\"since 2027-01-15T08:00:00Z\"}", "{\"a\":\"\\\"2027-01-15T08:00:00Z\"}",
		"{\"a\":\"0001-01-01T00:00:00Z\",\"b\":null}", "", "{\"a\":\"2027-01-15T08:00:00Z", "}}}}\"",
		"{\"a\":\"2027-01-15T08:00:00Z\\"};
	char to[512];

	for (size_t i = 0; i < COUNT_OF(same); i++)
		ck_assert_str_eq(moved(to, same[i]), same[i]);
	ck_assert_str_eq(
		moved(to, "{\"annotations\":{\"a\":\"{\"},\"data\":{},\"at\":\"2027-01-15T08:00:00Z\"}"),
		"{\"annotations\":{\"a\":\"{\"},\"data\":{},\"at\":\"2030-03-17T17:46:40Z\"}");
	ck_assert_str_eq(moved(to, "{\"spec\":{\"data\":{\"at\":\"2027-01-15T08:00:00Z\"}}}"),
		"{\"spec\":{\"data\":{\"at\":\"2030-03-17T17:46:40Z\"}}}");
}
END_TEST

UNIT_MAIN("rebase", rebase_time__moves_all_by_one_number_of_whole_seconds_at_speed_1,
	rebase_time__leaves_what_came_before_a_pause_and_moves_what_comes_behind,
	rebase_time__never_turns_round_and_stays_near_the_wall_clock, rebase_restart__forgets_the_way,
	rebase_note_request__is_told_of_ten_seconds_without_one, rebase_object__moves_values_that_are_times,
	rebase_object__leaves_keys_annotations_data_and_texts)
