/* Which connection a watch goes to. */
#include "recorder/placement.h"
#include "tests/unit/unit.h"

START_TEST(placement_choose__keeps_quiet_watches_together)
{
	const struct placement places[] = {{0, 200}, {5, 1}, {0, 0}};

	ck_assert_uint_eq(placement_choose(places, COUNT_OF(places), 0), 0);
	ck_assert_uint_eq(placement_choose(places, COUNT_OF(places), 0.01), 0);
}
END_TEST

START_TEST(placement_choose__never_puts_a_busy_watch_among_the_quiet_ones)
{
	const struct placement places[] = {{0, 1}, {500, 3}, {100, 2}};

	ck_assert_uint_ne(placement_choose(places, COUNT_OF(places), 300), 0);
}
END_TEST

START_TEST(placement_choose__takes_an_empty_connection_then_the_one_that_becomes_dearer_by_the_least)
{
	const struct placement free_one[] = {{0, 9}, {50, 1}, {0, 0}, {0, 0}};
	const struct placement none_free[] = {{0, 9}, {200, 1}, {20, 1}, {10, 4}};

	ck_assert_uint_eq(placement_choose(free_one, COUNT_OF(free_one), 10), 2);
	ck_assert_uint_eq(placement_choose(none_free, COUNT_OF(none_free), 10), 2);
}
END_TEST

START_TEST(placement_guess__expects_little_of_what_is_written_by_people)
{
	ck_assert(placement_guess("", "secrets", 5000) == 0);
	ck_assert(placement_guess("rbac.authorization.k8s.io", "clusterroles", 80) == 0);
	ck_assert(placement_guess("example.com", "widgets", 0) == 0);
	ck_assert(placement_guess("example.com", "widgets", 100) > 0.5);
	ck_assert(placement_guess("", "events", 0) > 0.5);
	ck_assert(placement_guess("", "pods", 1000) > placement_guess("apps", "deployments", 100));
}
END_TEST

UNIT_MAIN("placement", placement_choose__keeps_quiet_watches_together,
	placement_choose__never_puts_a_busy_watch_among_the_quiet_ones,
	placement_choose__takes_an_empty_connection_then_the_one_that_becomes_dearer_by_the_least,
	placement_guess__expects_little_of_what_is_written_by_people)
