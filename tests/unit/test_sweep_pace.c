/* test_sweep_pace.c: how many runs of a sweep go side by side. */
#include "tests/unit/unit.h"
#include "tools/sweep/sweep_run.h"

#include "schema/base/clock.h"

/* Of a first run of 10 s, on two processors. */
static size_t fit(int64_t used_s, int64_t idle_s)
{
	const struct sweep_job first = {
		.lasted_ns = 10 * NS_PER_S, .used_ns = used_s * NS_PER_S, .idle_ns = idle_s * NS_PER_S};

	return sweep_jobs_fit(&first, 2);
}

START_TEST(sweep_jobs_fit__as_many_as_the_processors_bear_of_what_the_first_run_used)
{
	ck_assert_uint_eq(fit(1, 19), 20);
	ck_assert_uint_eq(fit(5, 15), 4);
}
END_TEST

START_TEST(sweep_jobs_fit__counts_only_what_others_leave)
{
	ck_assert_uint_eq(fit(1, 2), 3);
}
END_TEST

START_TEST(sweep_jobs_fit__is_one_for_each_processor_at_least)
{
	ck_assert_uint_eq(fit(9, 0), 2);
}
END_TEST

START_TEST(sweep_jobs_fit__counts_of_the_machine_what_the_process_may_use)
{
	ck_assert_uint_eq(fit(1, 600), 20);
}
END_TEST

UNIT_MAIN("sweep_pace", sweep_jobs_fit__as_many_as_the_processors_bear_of_what_the_first_run_used,
	sweep_jobs_fit__counts_only_what_others_leave, sweep_jobs_fit__is_one_for_each_processor_at_least,
	sweep_jobs_fit__counts_of_the_machine_what_the_process_may_use)
