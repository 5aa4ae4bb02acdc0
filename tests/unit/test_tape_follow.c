/* test_tape_follow.c: readers beside a writer that seals and rotates. */
#include "tests/unit/tape_files.h"

#include <dirent.h>

static const struct tape_writer_options tiny_segments = {.extent_bytes = 8000, .segment_events = 20};

static unsigned count_open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

START_TEST(reader__follows_many_rotations_with_few_open_files)
{
	struct tape_cursor *c;
	struct tape_writer *w;
	struct model m;
	struct tape *t;
	struct err err;
	unsigned most = 0;
	uint64_t seen = 0;

	model_init(&m, 1);
	w = model_open(&m, &tiny_segments);
	model_steps(&m, w, 5, 5);
	ck_assert_ok(tape_open(m.path, &t, &err), &err);
	ck_assert_ok(tape_cursor_open(t, NULL, TAPE_FORWARD, &c, &err), &err);
	for (unsigned round = 0; round < 400; round++) {
		model_check_rest(&m, c, &seen);
		most = count_open_files() > most ? count_open_files() : most;
		model_steps(&m, w, 10, 5);
		ck_assert_int_eq(tape_refresh(t, &err), 1);
	}
	ck_assert_uint_lt(most, 100);
	tape_cursor_close(c);
	tape_close(t);
	tape_writer_abandon(w);
	model_release(&m);
}
END_TEST

static void check_object_of_each(struct model *m, struct tape *t)
{
	for (uint64_t seq = 1; seq <= m->count; seq++) {
		struct slice object;
		struct err err;

		ck_assert_ok(tape_object(t, seq, &object, &err), &err);
		ck_assert_slice_eq(object, m->events[seq - 1].object);
	}
}

/* A cursor stands in the middle of an extent while that extent is sealed, and then its segment. */
START_TEST(cursor__goes_on_in_each_direction_while_its_extent_is_sealed)
{
	struct model m;

	for (unsigned steps = 1; steps < 60; steps += 7) {
		struct tape_cursor *forward, *backward, *stored;
		struct tape_writer *w;
		struct slice object;
		struct event e;
		struct tape *t;
		struct err err;
		bool given[101] = {false};

		model_init(&m, steps);
		w = model_open(&m, NULL);
		model_steps(&m, w, 60, 10);
		ck_assert_ok(tape_open(m.path, &t, &err), &err);
		ck_assert_ok(tape_cursor_open(t, NULL, TAPE_FORWARD, &forward, &err), &err);
		ck_assert_ok(tape_cursor_open(t, NULL, TAPE_BACKWARD, &backward, &err), &err);
		ck_assert_ok(tape_cursor_open(t, NULL, TAPE_STORED, &stored, &err), &err);
		for (unsigned i = 0; i < steps; i++) {
			ck_assert_int_eq(tape_cursor_next(forward, &e, &err), 1);
			ck_assert_int_eq(tape_cursor_next(backward, &e, &err), 1);
			ck_assert_uint_eq(e.seq, 60 - i);
			ck_assert_int_eq(tape_cursor_next(stored, &e, &err), 1);
			given[e.seq] = true;
		}
		model_steps(&m, w, 10, 10);
		ck_assert_int_eq(tape_refresh(t, &err), 1);
		check_object_of_each(&m, t);
		tape_writer_rotate(w);
		model_steps(&m, w, 30, 10);
		ck_assert_int_eq(tape_refresh(t, &err), 1);
		ck_assert_ok(tape_cursor_object(stored, &object, &err), &err);
		model_check_event(&m, &e, object);
		for (uint64_t seq = steps + 1; seq <= 100; seq++) {
			ck_assert_int_eq(tape_cursor_next(forward, &e, &err), 1);
			ck_assert_uint_eq(e.seq, seq);
			ck_assert_ok(tape_cursor_object(forward, &object, &err), &err);
			model_check_event(&m, &e, object);
		}
		for (uint64_t seq = 60 - steps; seq >= 1; seq--) {
			ck_assert_int_eq(tape_cursor_next(backward, &e, &err), 1);
			ck_assert_uint_eq(e.seq, seq);
			ck_assert_ok(tape_cursor_object(backward, &object, &err), &err);
			model_check_event(&m, &e, object);
		}
		while (tape_cursor_next(stored, &e, &err) > 0) {
			ck_assert(!given[e.seq]);
			given[e.seq] = true;
		}
		for (uint64_t seq = 1; seq <= 60; seq++)
			ck_assert(given[seq]);
		tape_cursor_close(forward);
		tape_cursor_close(backward);
		tape_cursor_close(stored);
		tape_close(t);
		tape_writer_abandon(w);
		model_release(&m);
	}
}
END_TEST

static int note_gap(void *context, const struct tape_gap *gap)
{
	unsigned *count = context;

	ck_assert_str_eq(gap->how_ended, gap->id % 2 ? "rewatch" : "open");
	(*count)++;
	return 0;
}

static int note_mark(void *context, const struct tape_mark *mark)
{
	ck_assert_slice_eq(mark->rv, "5");
	(*(unsigned *)context)++;
	return 0;
}

START_TEST(reader__gives_rows_of_many_segments_once)
{
	struct tape_mark mark = {.kind = MARK_BOOKMARK, .stream = 1, .rv = slice_of("5")};
	struct tape_writer *w;
	struct model m;
	struct tape *t;
	struct err err;
	unsigned gaps = 0, marks = 0;

	model_init(&m, 3);
	w = model_open(&m, &tiny_segments);
	for (unsigned i = 0; i < 40; i++) {
		struct tape_gap open = {.stream = 1, .how_ended = "open"}, ended;

		ck_assert_ok(tape_writer_mark(w, &mark, &err), &err);
		ck_assert_ok(tape_writer_gap(w, &open, &err), &err);
		model_steps(&m, w, 10, 5);
		ended = open;
		ended.how_ended = "rewatch";
		if (ended.id % 2)
			ck_assert_ok(tape_writer_gap(w, &ended, &err), &err);
		model_steps(&m, w, 25, 5);
		if (ended.id % 2)
			ck_assert_ok(tape_writer_gap(w, &ended, &err), &err);
	}
	ck_assert_ok(tape_writer_close(w, &err), &err);
	ck_assert_ok(tape_open(m.path, &t, &err), &err);
	ck_assert_ok(tape_each_gap(t, note_gap, &gaps, &err), &err);
	ck_assert_uint_eq(gaps, 40);
	ck_assert_ok(tape_each_mark(t, note_mark, &marks, &err), &err);
	ck_assert_uint_eq(marks, 40);
	tape_close(t);
	model_release(&m);
}
END_TEST

UNIT_MAIN("tape follow", reader__follows_many_rotations_with_few_open_files,
	cursor__goes_on_in_each_direction_while_its_extent_is_sealed,
	reader__gives_rows_of_many_segments_once)
