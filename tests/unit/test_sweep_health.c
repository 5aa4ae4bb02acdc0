/* test_sweep_health.c: what a sweep makes of how a program was when it was quiet. */
#include "schema/base/clock.h"
#include "tests/unit/unit.h"
#include "tools/sweep/sweep_health.h"

#include <stdlib.h>

#define SETTLE_NS (2 * NS_PER_S)
#define MIB       (UINT64_C(1) << 20)

static const struct sweep_health well = {
	.is_known = true, .asks = true, .silence_ns = NS_PER_S / 4, .memory_bytes = 40 * MIB};

/* What is told of it beside one that is well; the caller frees. */
static char *told_of(const struct sweep_health *h)
{
	struct buf to;
	char *text;

	buf_init(&to, 4096);
	sweep_health_compare(&well, h, SETTLE_NS, &to);
	text = slice_dup(buf_slice(&to));
	buf_release(&to);
	return text;
}

static void ck_told(struct sweep_health h, const char *expected)
{
	char *text = told_of(&h);

	ck_assert_str_eq(text, expected);
	free(text);
}

START_TEST(sweep_health__says_nothing_of_two_that_are_alike)
{
	struct sweep_health like = well;

	like.memory_bytes = 70 * MIB;
	like.silence_ns = SETTLE_NS - 1;
	ck_told(like, "");
}
END_TEST

START_TEST(sweep_health__tells_growth_only_by_its_factor_and_more_than_noise)
{
	struct sweep_health grown = well;

	grown.memory_bytes = 80 * MIB;
	ck_told(grown,
		"grew: more than 2 times the memory when it is quiet (83.9 MB, without the fault 41.9 MB at most)\n");
	grown.memory_bytes = 79 * MIB;
	ck_told(grown, "");
}
END_TEST

START_TEST(sweep_health__tells_of_a_program_that_neither_asks_nor_ends)
{
	struct sweep_health hung = well;

	hung.killed = true;
	hung.silence_ns = SETTLE_NS;
	ck_told(hung, "hangs: it does not end when it is asked to (SIGTERM)\n"
		      "hangs: it has stopped asking (without the fault it goes on when it is quiet)\n");
	hung.is_known = false;
	ck_told(hung, "");
}
END_TEST

START_TEST(sweep_health__learns_only_what_is_so_in_every_run)
{
	struct sweep_health both = well, silent = well;

	silent.asks = false;
	silent.memory_bytes = 50 * MIB;
	sweep_health_learn(&both, &silent);
	ck_assert(!both.asks);
	ck_assert_uint_eq(both.memory_bytes, 50 * MIB);
	silent.killed = true;
	sweep_health_learn(&both, &silent);
	ck_assert(both.killed);
}
END_TEST

START_TEST(sweep_health__forgives_a_wrong_answer_that_is_right_in_time)
{
	struct sweep_served right[] = {{1, 0, (char *)"a"}, {2, 0, (char *)"b"}, {3, 0, (char *)"c"}};
	struct sweep_served healed[] = {
		{1, 0, (char *)"a"}, {2, NS_PER_S, (char *)"x"}, {3, 4 * NS_PER_S, (char *)"c"}};
	struct sweep_served wrong[] = {
		{2, NS_PER_S, (char *)"x"}, {9, 2 * NS_PER_S, (char *)"?"}, {3, 3 * NS_PER_S, (char *)"y"}};
	const struct sweep_health without = {.served = right, .served_count = 3};
	struct sweep_health with = {.served = healed, .served_count = 3};
	struct buf to;

	buf_init(&to, 4096);
	ck_assert_uint_eq(sweep_health_compare(&without, &with, SETTLE_NS, &to), 0);
	with.served = wrong;
	ck_assert_uint_eq(sweep_health_compare(&without, &with, SETTLE_NS, &to), 1);
	ck_assert_slice_eq(buf_slice(&to),
		"the probe prints, on the way, y (without the fault: c; from event 2 to 3)\n");
	buf_release(&to);
}
END_TEST

START_TEST(sweep_health__misses_only_watches_that_were_needed_in_this_run)
{
	char *both[] = {(char *)"/api/v1/nodes", (char *)"/api/v1/pods"};
	const struct sweep_health without = {.is_known = true, .watches = both, .watch_count = 2};
	struct sweep_health with = {
		.is_known = true, .watches = both, .watch_count = 1, .asked = both, .asked_count = 1};
	struct buf to;

	buf_init(&to, 4096);
	ck_assert_uint_eq(sweep_health_compare(&without, &with, SETTLE_NS, &to), 0);
	with.asked_count = 2;
	ck_assert_uint_eq(sweep_health_compare(&without, &with, SETTLE_NS, &to), 1);
	buf_release(&to);
}
END_TEST

UNIT_MAIN("sweep_health", sweep_health__says_nothing_of_two_that_are_alike,
	sweep_health__tells_growth_only_by_its_factor_and_more_than_noise,
	sweep_health__tells_of_a_program_that_neither_asks_nor_ends,
	sweep_health__learns_only_what_is_so_in_every_run,
	sweep_health__forgives_a_wrong_answer_that_is_right_in_time,
	sweep_health__misses_only_watches_that_were_needed_in_this_run)
