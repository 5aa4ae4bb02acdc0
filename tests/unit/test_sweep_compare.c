/* test_sweep_compare.c: how two runs of a sweep differ. */
#include "tests/unit/unit.h"
#include "tools/sweep/sweep_answer.h"

#include <stdlib.h>

static struct sweep_count count(const char *key, int64_t times)
{
	return (struct sweep_count){.key = (char *)key, .times = times};
}

/* Creations and deletions of pods beside five and two without the fault. The caller frees. */
static char *told_of(struct sweep_count creates, struct sweep_count deletions, size_t *ret_count)
{
	struct sweep_count before[] = {count("creates of pods", 5), count("deletions of pods", 2)};
	struct sweep_count now[] = {creates, deletions};
	const struct sweep_ground ground = {.answer = {.counts = {before, 2}}};
	const struct sweep_answer with = {.counts = {now, 2}};
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
	char *text = told_of(count("creates of pods", 7), count("creates of services", 1), &n);

	ck_assert_uint_eq(n, 2);
	ck_assert_str_eq(text,
		"7 creates of pods (without the fault: 5)\n1 creates of services (without the fault: 0)\n");
	free(text);
}
END_TEST

START_TEST(sweep_compare__is_silent_about_what_is_done_less_often)
{
	size_t n;
	char *text = told_of(count("creates of pods", 3), count("deletions of pods", 2), &n);

	ck_assert_uint_eq(n, 0);
	ck_assert_str_eq(text, "");
	free(text);
}
END_TEST

START_TEST(sweep_compare__learns_from_two_runs_that_counts_vary_either_way)
{
	struct sweep_count few = count("creates of pods", 1), many = count("creates of pods", 2);
	const struct sweep_answer one = {.counts = {&few, 1}}, other = {.counts = {&many, 1}};
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

START_TEST(sweep_compare__counts_neither_what_others_deleted_instead_nor_an_update_more)
{
	struct sweep_count others = {.key = "deletions of pods", .times = 1, .ended = 2},
			   updates = {.key = "deletions of pods", .times = 3, .replaced = 1},
			   once_more = {.key = "deletions of pods", .times = 5, .replaced = 3},
			   at_another_pace = {.key = "deletions of pods", .times = 3, .replaced = 0};
	const struct sweep_counts shared = {&others, 1}, updating = {&updates, 1};

	ck_assert_int_eq(
		sweep_counts_excess(&shared, &(struct sweep_count){"deletions of pods", 3, 0, 0}), 0);
	ck_assert_int_eq(
		sweep_counts_excess(&shared, &(struct sweep_count){"deletions of pods", 4, 0, 0}), 1);
	ck_assert_int_eq(sweep_counts_excess(&updating, &once_more), 0);
	ck_assert_int_eq(sweep_counts_excess(&updating, &at_another_pace), 0);
	ck_assert_int_eq(
		sweep_counts_excess(&updating, &(struct sweep_count){"deletions of pods", 4, 0, 0}), 1);
	ck_assert_int_eq(sweep_counts_excess(&shared, &once_more), 2);
}
END_TEST

START_TEST(sweep_compare__names_a_field_of_an_absorbed_write_by_its_path)
{
	struct sweep_effect before = {.key = "pods/status default/a",
		.resource = "pods",
		.content = "{\"$.status.web\":{\"op\":\"add\",\"new\":{\"ready\":true}}}"};
	struct sweep_effect now = before;
	const struct sweep_answer without = {.effects = &before, .effect_count = 1},
				  with = {.effects = &now, .effect_count = 1};
	const struct sweep_measure measure = {.writes = true};
	struct buf to;
	char *text;

	now.content = "{\"$.status.web\":{\"op\":\"add\",\"new\":{\"ready\":false}}}";
	buf_init(&to, 4096);
	ck_assert_uint_eq(sweep_compare_left(&measure, &without, &with, "the first", &to), 1);
	text = slice_dup(buf_slice(&to));
	ck_assert_str_eq(text,
		"pods/status default/a is left with other content: status.web.ready is false (the first: true)\n");
	free(text);
	buf_release(&to);
}
END_TEST

/* Beside a run that made a slice with a drawn name in the place of slice-x7k2p; how many differences are told. */
static size_t beside_a_new_one(const char *kept_owner, char **ret_text)
{
	struct sweep_effect made[] = {
		{.key = "deletion of slices shop/slice-x7k2p", .resource = "slices", .content = ""},
		{.key = "slices shop/slice-*",
			.resource = "slices",
			.content = "{\"metadata\":{\"namespace\":\"shop\"},\"owner\":\"new\"}"}};
	char *content =
		xasprintf("{\"metadata\":{\"name\":\"slice-x7k2p\",\"namespace\":\"shop\"},\"owner\":\"%s\"}",
			kept_owner);
	struct sweep_effect kept = {
		.key = "slices shop/slice-x7k2p", .resource = "slices", .content = content, .tape = content};
	const struct sweep_answer makes = {.effects = made, .effect_count = 2},
				  keeps = {.effects = &kept, .effect_count = 1};
	const struct sweep_measure measure = {.writes = true};
	struct buf to;
	size_t n;

	buf_init(&to, 4096);
	n = sweep_compare_left(&measure, &makes, &keeps, "the first", &to);
	ck_assert_uint_eq(sweep_compare_left(&measure, &keeps, &makes, "the first", NULL), n);
	*ret_text = slice_dup(buf_slice(&to));
	buf_release(&to);
	free(content);
	return n;
}

START_TEST(sweep_compare__takes_an_object_that_was_kept_for_one_made_under_a_drawn_name)
{
	char *text;

	ck_assert_uint_eq(beside_a_new_one("new", &text), 0);
	ck_assert_str_eq(text, "");
	free(text);
}
END_TEST

START_TEST(sweep_compare__tells_what_an_object_that_was_kept_lacks_of_a_new_one)
{
	char *text;

	ck_assert_uint_eq(beside_a_new_one("old", &text), 1);
	ck_assert_str_eq(text,
		"slices shop/slice-x7k2p is left with other content: owner is \"old\" (the first: \"new\")\n");
	free(text);
}
END_TEST

/* Of an object of the tape with two replicas, to which only the run without the fault wrote. */
static size_t beside_unwritten(const char *content)
{
	struct sweep_effect written = {.key = (char *)"deployments.apps shop/web",
		.resource = (char *)"deployments.apps",
		.content = (char *)content,
		.tape = (char *)"{\"spec\":{\"replicas\":2},\"status\":{\"observedGeneration\":1}}"};
	const struct sweep_answer without = {.effects = &written, .effect_count = 1}, with = {0};
	const struct sweep_measure measure = {.writes = true};
	struct buf to;
	size_t count;

	buf_init(&to, 4096);
	count = sweep_compare(&measure, &without, &with, "the first", &to);
	buf_release(&to);
	return count;
}

START_TEST(sweep_compare__takes_what_is_as_on_the_tape_again_for_never_written)
{
	ck_assert_uint_eq(
		beside_unwritten("{\"spec\":{\"replicas\":2},\"status\":{\"observedGeneration\":1}}"), 0);
	ck_assert_uint_eq(
		beside_unwritten("{\"spec\":{\"replicas\":0},\"status\":{\"observedGeneration\":1}}"), 1);
}
END_TEST

UNIT_MAIN("sweep_compare", sweep_compare__takes_what_is_as_on_the_tape_again_for_never_written,
	sweep_compare__tells_what_is_done_more_often, sweep_compare__is_silent_about_what_is_done_less_often,
	sweep_compare__learns_from_two_runs_that_counts_vary_either_way,
	sweep_compare__counts_neither_what_others_deleted_instead_nor_an_update_more,
	sweep_compare__names_a_field_of_an_absorbed_write_by_its_path,
	sweep_compare__takes_an_object_that_was_kept_for_one_made_under_a_drawn_name,
	sweep_compare__tells_what_an_object_that_was_kept_lacks_of_a_new_one)
