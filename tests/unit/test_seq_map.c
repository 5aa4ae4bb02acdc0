#include "schema/tape/seq_map.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

#define EVENTS 1000
#define FIRST  501

/* Kept or not, without any order, and the same each time. */
static bool is_kept(uint64_t seq)
{
	return (seq * 2654435761u >> 7) % 3 != 0;
}

START_TEST(seq_map__counts_the_kept_events_up_to_any_old_one)
{
	struct seq_map m = {.first = FIRST};
	uint64_t kept = 0;

	for (uint64_t seq = FIRST; seq < FIRST + EVENTS; seq++)
		seq_map_tell(&m, is_kept(seq));
	for (uint64_t seq = FIRST; seq < FIRST + EVENTS; seq++) {
		kept += is_kept(seq);
		ck_assert_uint_eq(seq_map_find(&m, seq), kept);
	}
	ck_assert_uint_eq(seq_map_find(&m, FIRST + EVENTS), kept);
	ck_assert_uint_eq(seq_map_find(&m, UINT64_MAX), kept);
	ck_assert_uint_eq(seq_map_find(&m, FIRST - 1), 0);
	seq_map_release(&m);
}
END_TEST

START_TEST(seq_map__numbers_the_state_before_the_events)
{
	static const uint64_t state[] = {7, 30, 499};
	struct seq_map m = {.first = FIRST, .state = malloc(sizeof(state)), .state_count = 3};

	memcpy(m.state, state, sizeof(state));
	seq_map_tell(&m, true);
	seq_map_tell(&m, false);
	ck_assert_uint_eq(seq_map_find(&m, 6), 0);
	ck_assert_uint_eq(seq_map_find(&m, 7), 1);
	ck_assert_uint_eq(seq_map_find(&m, 498), 2);
	ck_assert_uint_eq(seq_map_find(&m, FIRST - 1), 3);
	ck_assert_uint_eq(seq_map_find(&m, FIRST), 4);
	ck_assert_uint_eq(seq_map_find(&m, FIRST + 1), 4);
	seq_map_release(&m);
}
END_TEST

START_TEST(seq_map__of_all_events_changes_no_number)
{
	const struct seq_map m = {.same = true};

	ck_assert_uint_eq(seq_map_find(&m, 0), 0);
	ck_assert_uint_eq(seq_map_find(&m, 4711), 4711);
}
END_TEST

UNIT_MAIN("seq map", seq_map__counts_the_kept_events_up_to_any_old_one,
	seq_map__numbers_the_state_before_the_events, seq_map__of_all_events_changes_no_number)
