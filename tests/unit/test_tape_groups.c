/* test_tape_groups.c: segments that build upon the state of one before them. */
#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/tape/recover.h"
#include "schema/tape/repack.h"
#include "schema/tape/segment.h"
#include "schema/tape/verify.h"
#include "tests/unit/tape_model.h"

#define STEPS 2400

/* The state of the model takes some 14 KB, a segment 60: a group is a few segments. */
static const struct tape_writer_options grouped = {
	.extent_bytes = 30000, .segment_events = 100, .small_state_bytes = 1};

struct groups {
	size_t segments, bases, objects;
	uint32_t first_base, last_base, second_base;
};

static int count_segment(void *context, const struct tape_segment_info *s)
{
	struct groups *g = context;
	bool is_base = s->state_segment == s->number;

	ck_assert_uint_eq(s->state_segment, is_base ? s->number : g->last_base);
	ck_assert(is_base || s->state_objects == 0);
	g->segments++;
	g->objects += s->state_objects;
	if (!is_base)
		return 0;
	g->second_base = g->bases == 1 ? s->number : g->second_base;
	g->first_base = g->bases ? g->first_base : s->number;
	g->last_base = s->number;
	g->bases++;
	return 0;
}

static struct groups look_at_groups(const char *path)
{
	struct groups g = {0};
	struct tape *t;
	struct err err;

	ck_assert_ok(tape_open(path, &t, &err), &err);
	ck_assert_ok(tape_each_segment(t, count_segment, &g, &err), &err);
	tape_close(t);
	return g;
}

static void check_state(const struct model *m, struct tape *t, uint64_t seq)
{
	uint64_t live[MODEL_KEYS];
	struct tape_state *state;
	struct slice object;
	struct err err;
	size_t expected = 0;

	model_state(m, seq, live);
	for (size_t i = 0; i < MODEL_KEYS; i++)
		expected += live[i] > 0;
	ck_assert_ok(tape_state_at(t, seq, 0, &state, &err), &err);
	ck_assert_uint_eq(state->count, expected);
	for (size_t i = 0; i < state->count; i++) {
		uint64_t of = state->live[i].seq;

		ck_assert_uint_eq(of, live[m->events[of - 1].key]);
		ck_assert_ok(tape_object(t, of, &object, &err), &err);
		ck_assert_slice_eq(object, m->events[of - 1].object);
	}
	tape_state_free(state);
}

static void check_states(const struct model *m, const char *path)
{
	struct tape_info info;
	struct tape *t;
	struct err err;

	ck_assert_ok(tape_open(path, &t, &err), &err);
	ck_assert_ok(tape_info(t, &info, &err), &err);
	ck_assert_uint_eq(info.last_seq, m->count);
	for (uint64_t seq = info.first_seq - 1; seq <= info.last_seq; seq += 37)
		check_state(m, t, seq);
	check_state(m, t, info.last_seq);
	tape_close(t);
}

static int show_damage(void *context, const struct tape_damage *d)
{
	(void)context;
	fprintf(stderr, "%s: %s: found %s, expected %s\n", d->file, d->what, d->found, d->expected);
	return 0;
}

static uint64_t count_damages(const char *path)
{
	const struct tape_verify_options options = {.damaged = show_damage};
	struct tape_verify_result result;
	struct err err;

	ck_assert_ok(tape_verify(path, &options, &result, &err), &err);
	return result.damages;
}

static void close_tape(struct tape_writer *w)
{
	struct err err;

	ck_assert_ok(tape_writer_close(w, &err), &err);
}

static void make_grouped(struct model *m, uint64_t seed)
{
	struct tape_writer *w;

	model_init(m, seed);
	w = model_open(m, &grouped);
	model_steps(m, w, STEPS, 10);
	close_tape(w);
}

static void remove_segment(const struct model *m, uint32_t number)
{
	char *path = xasprintf("%s/" FORMAT_SEALED_NAME, m->path, number);

	ck_assert_int_eq(unlink(path), 0);
	free(path);
}

START_TEST(a_group__has_one_state_and_every_position_is_as_the_events_left_it)
{
	struct groups g;
	struct model m;

	make_grouped(&m, 1);
	g = look_at_groups(m.path);
	ck_assert_uint_gt(g.bases, 2);
	ck_assert_uint_lt(g.bases * 3, g.segments);
	check_states(&m, m.path);
	ck_assert_uint_eq(count_damages(m.path), 0);
	model_release(&m);
}
END_TEST

START_TEST(a_group__is_gone_on_with_by_the_next_writer_and_by_one_after_a_kill)
{
	struct tape_writer *w;
	struct groups g;
	struct model m;

	model_init(&m, 2);
	for (int life = 0; life < 40; life++) {
		w = model_open(&m, &grouped);
		model_steps(&m, w, 35, 5);
		if (life % 2)
			tape_writer_abandon(w);
		else
			close_tape(w);
	}
	g = look_at_groups(m.path);
	ck_assert_uint_gt(g.bases, 1);
	ck_assert_uint_lt(g.bases * 2, g.segments);
	check_states(&m, m.path);
	ck_assert_uint_eq(count_damages(m.path), 0);
	model_release(&m);
}
END_TEST

START_TEST(a_small_state__stands_at_the_start_of_every_segment)
{
	struct tape_writer_options options = grouped;
	struct tape_writer *w;
	struct groups g;
	struct model m;

	options.small_state_bytes = 0;
	model_init(&m, 3);
	w = model_open(&m, &options);
	model_steps(&m, w, 500, 10);
	close_tape(w);
	g = look_at_groups(m.path);
	ck_assert_uint_eq(g.bases, g.segments);
	model_release(&m);
}
END_TEST

START_TEST(a_segment_that_builds_upon_another__has_the_version_that_older_programs_refuse)
{
	struct groups g;
	struct model m;
	int64_t version;
	struct err err;

	make_grouped(&m, 4);
	g = look_at_groups(m.path);
	for (uint32_t number = 1; number <= g.segments; number++) {
		struct segment_file file = {
			number, true, xasprintf("%s/" FORMAT_SEALED_NAME, m.path, number)};
		uint32_t base;
		sqlite3 *db;

		ck_assert_ok(segment_open(&file, false, &db, &err), &err);
		ck_assert_ok(segment_base(db, number, &base, &err), &err);
		ck_assert_ok(segment_number(db, "PRAGMA user_version", 0, &version, &err), &err);
		ck_assert_int_eq(version, base == number ? FORMAT_VERSION_WHOLE : FORMAT_VERSION_UPON);
		sqlite3_close(db);
		free(file.path);
	}
	model_release(&m);
}
END_TEST

START_TEST(retention__removes_groups_as_a_whole)
{
	struct tape_writer_options options = grouped;
	struct tape_writer_stats stats;
	struct tape_writer *w;
	struct groups g;
	struct model m;

	options.retention.max_bytes = 600000;
	model_init(&m, 5);
	w = model_open(&m, &options);
	model_steps(&m, w, STEPS, 10);
	tape_writer_stats(w, &stats);
	ck_assert_uint_gt(stats.removed_segments, 0);
	ck_assert_uint_lt(stats.disk_bytes, 800000);
	close_tape(w);
	g = look_at_groups(m.path);
	ck_assert_uint_gt(g.first_base, 1);
	ck_assert_uint_lt(g.bases, g.segments);
	check_states(&m, m.path);
	ck_assert_uint_eq(count_damages(m.path), 0);
	model_release(&m);
}
END_TEST

START_TEST(retention__that_a_group_holds_up_gets_another_one)
{
	struct tape_writer_options options = grouped;
	struct tape_writer *w;
	struct groups g;
	struct model m;

	options.retention.keep_free_bytes = UINT64_MAX;
	model_init(&m, 6);
	w = model_open(&m, &options);
	model_steps(&m, w, STEPS, 10);
	close_tape(w);
	g = look_at_groups(m.path);
	ck_assert_uint_le(g.segments, 3);
	check_states(&m, m.path);
	model_release(&m);
}
END_TEST

START_TEST(a_removal_that_was_cut_short__leaves_what_readers_pass_by_and_the_next_one_takes)
{
	struct tape_writer_options options = grouped;
	struct tape_writer *w;
	struct groups before, after;
	struct model m;

	make_grouped(&m, 7);
	before = look_at_groups(m.path);
	remove_segment(&m, before.first_base);
	after = look_at_groups(m.path);
	ck_assert_uint_eq(after.first_base, before.second_base);
	check_states(&m, m.path);
	ck_assert_uint_eq(count_damages(m.path), 0);
	options.retention.max_bytes = UINT64_C(1) << 40;
	w = model_open(&m, &options);
	model_steps(&m, w, 100, 10);
	close_tape(w);
	for (uint32_t number = 1; number < before.second_base; number++) {
		char *path = xasprintf("%s/" FORMAT_SEALED_NAME, m.path, number);

		ck_assert_int_ne(access(path, F_OK), 0);
		free(path);
	}
	model_release(&m);
}
END_TEST

START_TEST(a_group_without_its_base__is_refused_with_what_to_do)
{
	struct tape_recover_options options = {0};
	struct tape_recover_result result;
	struct groups g;
	struct model m;
	struct tape *t;
	struct err err;
	char *to;

	make_grouped(&m, 8);
	g = look_at_groups(m.path);
	for (uint32_t number = 1; number <= g.segments; number++) {
		if (number + 1 != g.second_base)
			remove_segment(&m, number);
	}
	ck_assert_int_eq(tape_open(m.path, &t, &err), ERR_CORRUPT);
	ck_assert_ptr_nonnull(strstr(err.text, "'kubetape recover' saves the events"));
	ck_assert_uint_gt(count_damages(m.path), 0);
	to = xasprintf("%s/saved.tape", m.dir);
	ck_assert_ok(tape_recover(m.path, to, &options, &result, &err), &err);
	ck_assert_uint_gt(result.events, 0);
	free(to);
	model_release(&m);
}
END_TEST

START_TEST(recover__gives_back_all_of_a_grouped_tape_and_its_states)
{
	struct tape_recover_options options = {0};
	struct tape_recover_result result;
	struct model m;
	struct err err;
	char *to;

	make_grouped(&m, 9);
	to = xasprintf("%s/saved.tape", m.dir);
	ck_assert_ok(tape_recover(m.path, to, &options, &result, &err), &err);
	ck_assert_uint_eq(result.lost_events, 0);
	check_states(&m, to);
	free(to);
	model_release(&m);
}
END_TEST

START_TEST(repack__leaves_groups_as_they_are)
{
	const struct tape_repack_options options = {0};
	struct tape_repack_result result;
	struct groups before, after;
	struct model m;
	struct err err;
	char *to;

	make_grouped(&m, 10);
	to = xasprintf("%s/repacked.tape", m.dir);
	ck_assert_ok(tape_repack(m.path, to, &options, &result, &err), &err);
	before = look_at_groups(m.path);
	after = look_at_groups(to);
	ck_assert_uint_eq(after.bases, before.bases);
	ck_assert_uint_eq(after.objects, before.objects);
	check_states(&m, to);
	ck_assert_uint_eq(count_damages(to), 0);
	free(to);
	model_release(&m);
}
END_TEST

UNIT_MAIN("groups of segments", a_group__has_one_state_and_every_position_is_as_the_events_left_it,
	a_group__is_gone_on_with_by_the_next_writer_and_by_one_after_a_kill,
	a_small_state__stands_at_the_start_of_every_segment,
	a_segment_that_builds_upon_another__has_the_version_that_older_programs_refuse,
	retention__removes_groups_as_a_whole, retention__that_a_group_holds_up_gets_another_one,
	a_removal_that_was_cut_short__leaves_what_readers_pass_by_and_the_next_one_takes,
	a_group_without_its_base__is_refused_with_what_to_do,
	recover__gives_back_all_of_a_grouped_tape_and_its_states, repack__leaves_groups_as_they_are)
