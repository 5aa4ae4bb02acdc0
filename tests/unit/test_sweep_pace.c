/* test_sweep_pace.c: how many runs of a sweep go side by side. */
#include "tests/unit/unit.h"
#include "tools/sweep/sweep_run.h"

#include "schema/base/clock.h"

START_TEST(sweep_jobs_fit__as_many_as_the_processors_bear_of_what_the_first_run_used)
{
	struct sweep_job first = {.lasted_ns = 10 * NS_PER_S, .used_ns = NS_PER_S, .idle_ns = 19 * NS_PER_S};

	ck_assert_uint_eq(sweep_jobs_fit(&first, 2), 20);
	first.used_ns = 5 * NS_PER_S;
	first.idle_ns = 15 * NS_PER_S;
	ck_assert_uint_eq(sweep_jobs_fit(&first, 2), 4);
}
END_TEST

START_TEST(sweep_jobs_fit__counts_only_what_others_leave)
{
	const struct sweep_job waited = {
		.lasted_ns = 10 * NS_PER_S, .used_ns = NS_PER_S, .idle_ns = 2 * NS_PER_S};

	ck_assert_uint_eq(sweep_jobs_fit(&waited, 2), 3);
}
END_TEST

START_TEST(sweep_jobs_fit__is_one_for_each_processor_at_least)
{
	const struct sweep_job none_left = {.lasted_ns = 10 * NS_PER_S, .used_ns = 9 * NS_PER_S};

	ck_assert_uint_eq(sweep_jobs_fit(&none_left, 2), 2);
}
END_TEST

START_TEST(sweep_jobs_fit__counts_of_the_machine_what_the_process_may_use)
{
	const struct sweep_job of_many = {
		.lasted_ns = 10 * NS_PER_S, .used_ns = NS_PER_S, .idle_ns = 600 * NS_PER_S};

	ck_assert_uint_eq(sweep_jobs_fit(&of_many, 2), 20);
}
END_TEST

UNIT_MAIN("sweep_pace", sweep_jobs_fit__as_many_as_the_processors_bear_of_what_the_first_run_used,
	sweep_jobs_fit__counts_only_what_others_leave, sweep_jobs_fit__is_one_for_each_processor_at_least,
	sweep_jobs_fit__counts_of_the_machine_what_the_process_may_use)
