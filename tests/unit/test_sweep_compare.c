/* test_sweep_compare.c: how two runs of a sweep differ. */
#include "tests/unit/unit.h"
#include "tools/sweep/sweep_answer.h"

#include <stdlib.h>

static struct sweep_effect count(const char *key, const char *number)
{
	return (struct sweep_effect){.key = (char *)key, .content = (char *)number};
}

/* Creations and deletions of pods beside five and two without the fault. The caller frees. */
static char *told_of(struct sweep_effect creates, struct sweep_effect deletions, size_t *ret_count)
{
	struct sweep_effect before[] = {count("creates of pods", "5"), count("deletions of pods", "2")};
	struct sweep_effect now[] = {creates, deletions};
	const struct sweep_ground ground = {.answer = {.counts = before, .count_count = 2}};
	const struct sweep_answer with = {.counts = now, .count_count = 2};
	struct buf to;
	char *text;

	buf_init(&to, 4096);
	*ret_count = sweep_compare_counts(&ground, &with, "without the fault", false, &to);
	text = slice_dup(buf_slice(&to));
	buf_release(&to);
	return text;
}

START_TEST(sweep_compare__tells_what_is_done_more_often)
{
	size_t n;
	char *text = told_of(count("creates of pods", "7"), count("creates of services", "1"), &n);

	ck_assert_uint_eq(n, 2);
	ck_assert_str_eq(text,
		"7 creates of pods (without the fault: 5)\n1 creates of services (without the fault: 0)\n");
	free(text);
}
END_TEST

START_TEST(sweep_compare__is_silent_about_what_is_done_less_often)
{
	size_t n;
	char *text = told_of(count("creates of pods", "3"), count("deletions of pods", "2"), &n);

	ck_assert_uint_eq(n, 0);
	ck_assert_str_eq(text, "");
	free(text);
}
END_TEST

START_TEST(sweep_compare__learns_from_two_runs_that_counts_vary_either_way)
{
	struct sweep_effect few = count("creates of pods", "1"), many = count("creates of pods", "2");
	const struct sweep_answer one = {.counts = &few, .count_count = 1},
				  other = {.counts = &many, .count_count = 1};
	struct sweep_measure measure = {0};

	sweep_measure_learn_counts(&measure, &one, &one);
	ck_assert(!measure.counts_vary);
	sweep_measure_learn_counts(&measure, &other, &one);
	ck_assert(measure.counts_vary);
	measure = (struct sweep_measure){0};
	sweep_measure_learn_counts(&measure, &one, &other);
	ck_assert(measure.counts_vary);
}
END_TEST

UNIT_MAIN("sweep_compare", sweep_compare__tells_what_is_done_more_often,
	sweep_compare__is_silent_about_what_is_done_less_often,
	sweep_compare__learns_from_two_runs_that_counts_vary_either_way)
