/* test_sweep_gathered.c: what a text that gathers may lack of what nobody could see. */
#include "schema/base/count_of.h"
#include "tests/unit/unit.h"
#include "tools/sweep/sweep_gathered.h"

/* The texts that one write after the other gave the field without the fault, the last of which it still has; the write of that
 * number (from 1 on) answers to what could not be seen. */
static bool is_unseen(const char *const *texts, size_t count, size_t unseen, const char *with)
{
	struct sweep_gathered *g = sweep_gathered_new(slice_of(texts[count - 1]), slice_of(with));
	bool is;

	for (size_t i = 1; i < count; i++)
		sweep_gathered_write(g, slice_of(texts[i - 1]), slice_of(texts[i]), i == unseen);
	is = sweep_gathered_is_unseen(g);
	sweep_gathered_free(g);
	return is;
}

static const char *const appended[] = {"\"red\"", "\"red,green\"", "\"red,green,blue\""};
static const char *const limited[] = {"\"red\\ngreen\"", "\"green\\namber\"", "\"amber\\nblue\""};
static const char *const newest_first[] = {"\"red\"", "\"green red\"", "\"blue green\""};

START_TEST(sweep_gathered__may_lack_what_an_unseen_write_put_there)
{
	ck_assert(is_unseen(appended, COUNT_OF(appended), 1, "\"red,blue\""));
	ck_assert(is_unseen(appended, COUNT_OF(appended), 2, "\"red,green\""));
}
END_TEST

START_TEST(sweep_gathered__may_lack_nothing_else)
{
	ck_assert(!is_unseen(appended, COUNT_OF(appended), 2, "\"red,blue\""));
	ck_assert(!is_unseen(appended, COUNT_OF(appended), 1, "\"red\""));
	ck_assert(!is_unseen(appended, COUNT_OF(appended), 0, "\"red,blue\""));
}
END_TEST

START_TEST(sweep_gathered__may_keep_older_ones_for_it_but_none_that_never_stood_there)
{
	ck_assert(is_unseen(limited, COUNT_OF(limited), 1, "\"green\\nblue\""));
	ck_assert(is_unseen(newest_first, COUNT_OF(newest_first), 2, "\"green red\""));
	ck_assert(!is_unseen(limited, COUNT_OF(limited), 1, "\"pink\\nblue\""));
}
END_TEST

START_TEST(sweep_gathered__what_stands_in_another_order_is_not_that)
{
	ck_assert(!is_unseen(appended, COUNT_OF(appended), 1, "\"blue,red\""));
}
END_TEST

START_TEST(sweep_gathered__a_single_word_gathers_nothing)
{
	static const char *const one[] = {"\"red\"", "\"green\""};

	ck_assert(!is_unseen(one, COUNT_OF(one), 1, "\"red\""));
}
END_TEST

UNIT_MAIN("sweep_gathered", sweep_gathered__may_lack_what_an_unseen_write_put_there,
	sweep_gathered__may_lack_nothing_else,
	sweep_gathered__may_keep_older_ones_for_it_but_none_that_never_stood_there,
	sweep_gathered__what_stands_in_another_order_is_not_that,
	sweep_gathered__a_single_word_gathers_nothing)
