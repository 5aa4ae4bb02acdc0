#include "replayer/world/overlay.h"
#include "tests/unit/unit.h"

static const struct overlay_version *add(struct overlay *o, const char *name, uint64_t previous, size_t bytes)
{
	const struct overlay_version v = {
		.previous_seq = previous, .rv = 7, .name = slice_of(name), .resource = 3};
	char *object = xcalloc(1, bytes + 1);
	const struct overlay_version *added;

	memset(object, 'x', bytes);
	added = overlay_add(o, &v, (struct slice){object, bytes});
	free(object);
	return added;
}

START_TEST(overlay__gives_every_version_a_seq_above_those_of_any_tape_and_finds_it_by_that)
{
	struct overlay *o = overlay_new();
	uint64_t a = add(o, "a", 5, 3)->seq, b = add(o, "b", a, 4)->seq;

	ck_assert(overlay_has(a) && b == a + 1);
	ck_assert(!overlay_has(OVERLAY_SEQ - 1));
	ck_assert_slice_eq(overlay_find(o, b)->name, "b");
	ck_assert_slice_eq(blob_body(overlay_find(o, b)->object), "xxxx");
	ck_assert(overlay_find(o, b)->previous_seq == a);
	ck_assert_ptr_null(overlay_find(o, b + 1));
	ck_assert_ptr_null(overlay_find(o, 5));
	overlay_free(o);
}
END_TEST

START_TEST(overlay_drop__drops_the_oldest_replaced_versions_and_no_others)
{
	struct overlay *o = overlay_new();
	size_t bytes = OVERLAY_KEPT_BYTES / 4;
	uint64_t seqs[6];
	uint32_t resource = 0;

	for (size_t i = 0; i < COUNT_OF(seqs); i++)
		seqs[i] = add(o, "a", i ? seqs[i - 1] : 0, bytes)->seq;
	ck_assert(overlay_drop(o, &resource) == 0);
	for (size_t i = 1; i < COUNT_OF(seqs); i++)
		overlay_supersede(o, seqs[i]);
	ck_assert(overlay_drop(o, &resource) == seqs[1]);
	ck_assert_uint_eq(resource, 3);
	ck_assert(overlay_drop(o, &resource) == seqs[2]);
	ck_assert(overlay_drop(o, &resource) == 0);
	ck_assert_ptr_nonnull(overlay_find(o, seqs[0]));
	ck_assert_ptr_null(overlay_find(o, seqs[1]));
	ck_assert_ptr_nonnull(overlay_find(o, seqs[3]));
	overlay_free(o);
}
END_TEST

START_TEST(overlay_bytes__counts_what_no_other_version_has_replaced)
{
	struct overlay *o = overlay_new();
	uint64_t a = add(o, "a", 0, 1000)->seq, b = add(o, "b", 0, 2000)->seq;
	size_t cost = overlay_cost(o, a);

	ck_assert_uint_ge(cost, 1000);
	ck_assert_uint_eq(overlay_bytes(o), cost + overlay_cost(o, b));
	overlay_supersede(o, b);
	overlay_supersede(o, b);
	ck_assert_uint_eq(overlay_cost(o, b), 0);
	ck_assert_uint_eq(overlay_bytes(o), cost);
	ck_assert_uint_eq(overlay_cost(o, b + 1), 0);
	overlay_free(o);
}
END_TEST

START_TEST(overlay_move__remembers_thousands_of_events_and_their_last_version)
{
	struct overlay *o = overlay_new();

	ck_assert(overlay_moved(o, 1) == 0);
	for (uint64_t seq = 1; seq <= 5000; seq++)
		overlay_move(o, seq, seq + 10);
	overlay_move(o, 42, 99);
	for (uint64_t seq = 1; seq <= 5000; seq++)
		ck_assert(overlay_moved(o, seq) == (seq == 42 ? 99 : seq + 10));
	ck_assert(overlay_moved(o, 5001) == 0);
	overlay_free(o);
}
END_TEST

UNIT_MAIN("overlay", overlay__gives_every_version_a_seq_above_those_of_any_tape_and_finds_it_by_that,
	overlay_drop__drops_the_oldest_replaced_versions_and_no_others,
	overlay_bytes__counts_what_no_other_version_has_replaced,
	overlay_move__remembers_thousands_of_events_and_their_last_version)
