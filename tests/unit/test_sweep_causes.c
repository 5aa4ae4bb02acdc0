/* test_sweep_causes.c: which findings have one cause. */
#include "tests/unit/unit.h"
#include "tools/sweep/sweep_report.h"

#include <stdlib.h>

#define PANIC "Observed a panic: nil map at main.(*C).sync"

static struct sweep_position at = {.seq = 1};

/* Of the findings that differ in these ways; the causes' names, a line each. The caller frees. */
static char *causes_of(char *const *differences, size_t count)
{
	struct sweep_try tries[4];
	struct sweep_report r = {.tries = tries, .count = count};
	struct sweep_causes found;
	char *names = xstrdup("");

	for (size_t i = 0; i < count; i++)
		tries[i] = (struct sweep_try){
			.position = &at, .verdict = SWEEP_WRONG, .differences = differences[i]};
	sweep_causes_find(&r, SWEEP_WRONG, &found);
	for (size_t i = 0; i < found.count; i++) {
		char *more = xasprintf("%s%zu %s\n", names, found.items[i].places, found.items[i].key);

		free(names);
		names = more;
	}
	sweep_causes_release(&found);
	return names;
}

static void ck_causes(char *const *differences, size_t count, const char *expected)
{
	char *names = causes_of(differences, count);

	ck_assert_str_eq(names, expected);
	free(names);
}

START_TEST(sweep_causes__are_what_differs_whatever_object_it_is)
{
	char *const both[] = {"configmaps default/a is missing\n", "configmaps default/b is missing\n",
		"secrets default/a is missing\n"};

	ck_causes(both, 3, "2 configmaps is missing\n1 secrets is missing\n");
}
END_TEST

START_TEST(sweep_causes__are_a_panic_whatever_follows_from_it)
{
	char *const panics[] = {"ends by itself, exit code 2\n" PANIC "\n",
		"ends by itself, exit code 2\nnodes n2 is missing\n" PANIC "\n", "nodes n2 is missing\n"};

	ck_causes(panics, 3, "2 " PANIC "\n1 nodes is missing\n");
}
END_TEST

START_TEST(sweep_causes__have_the_example_that_tells_most)
{
	struct sweep_position places[] = {{.seq = 1}, {.seq = 2}};
	struct sweep_try tries[] = {
		{.position = &places[0],
			.verdict = SWEEP_WRONG,
			.differences = (char *)"jobs x is left with other content: status.pods is 1 (2)\n"},
		{.position = &places[1],
			.verdict = SWEEP_WRONG,
			.differences =
				(char *)"jobs x is left with other content: status.conditions[Ready].status is 1 (2)\n"}};
	struct sweep_report r = {.tries = tries, .count = 2};
	struct sweep_causes found;

	sweep_causes_find(&r, SWEEP_WRONG, &found);
	ck_assert_uint_eq(found.count, 1);
	ck_assert_str_eq(found.items[0].key, "jobs is left with another status");
	ck_assert_ptr_eq(found.items[0].example, &tries[1]);
	sweep_causes_release(&found);
}
END_TEST

UNIT_MAIN("sweep_causes", sweep_causes__are_what_differs_whatever_object_it_is,
	sweep_causes__are_a_panic_whatever_follows_from_it, sweep_causes__have_the_example_that_tells_most)
