#include "schema/tape/repack.h"
#include "tests/unit/tape_model.h"

static int stop_at_once(void *context, uint64_t done_bytes, uint64_t total_bytes)
{
	(void)context;
	(void)done_bytes;
	(void)total_bytes;
	return 1;
}

/* Writes a tape of several segments; leaves it open, or closed. */
static struct tape_writer *make(struct model *m)
{
	static const struct tape_writer_options small = {.extent_bytes = 100000, .segment_events = 300};
	struct tape_writer *w = model_open(m, &small);
	struct tape_mark mark = {.kind = MARK_BOOKMARK, .stream = 1, .rv = slice_of("77")};
	struct err err;

	model_steps(m, w, 500, 10);
	ck_assert_ok(tape_writer_mark(w, &mark, &err), &err);
	model_steps(m, w, 500, 10);
	return w;
}

static int count_mark(void *context, const struct tape_mark *mark)
{
	ck_assert_slice_eq(mark->rv, "77");
	++*(int *)context;
	return 0;
}

static void check(struct model *m, const char *path)
{
	struct tape_cursor *c;
	struct tape_state *state;
	struct tape *t;
	struct err err;
	struct event e;
	struct slice object;
	uint64_t seq = 0, live[MODEL_KEYS];
	int marks = 0;

	ck_assert_ok(tape_open(path, &t, &err), &err);
	ck_assert_ok(tape_cursor_open(t, NULL, TAPE_FORWARD, &c, &err), &err);
	while (tape_cursor_next(c, &e, &err) > 0) {
		ck_assert_uint_eq(e.seq, ++seq);
		ck_assert_ok(tape_cursor_object(c, &object, &err), &err);
		model_check_event(m, &e, object);
	}
	tape_cursor_close(c);
	ck_assert_uint_eq(seq, m->count);
	ck_assert_ok(tape_each_mark(t, count_mark, &marks, &err), &err);
	ck_assert_int_eq(marks, 1);
	ck_assert_ok(tape_state_at(t, m->count, 0, &state, &err), &err);
	model_state(m, m->count, live);
	for (size_t i = 0; i < state->count; i++)
		ck_assert_uint_eq(state->live[i].seq, live[m->events[state->live[i].seq - 1].key]);
	tape_state_free(state);
	tape_close(t);
}

static void repack_and_check(struct model *m)
{
	struct tape_repack_options o = {.pack = {.effort = {.bytes = 100000}}};
	struct tape_repack_result result;
	struct err err;
	char to[96];

	snprintf(to, sizeof(to), "%s/y.tape", m->dir);
	ck_assert_ok(tape_repack(m->path, to, &o, &result, &err), &err);
	ck_assert_uint_eq(result.events, m->count);
	ck_assert_uint_lt(result.new_disk_bytes, result.old_disk_bytes);
	check(m, to);
}

START_TEST(repack__makes_a_smaller_tape_with_the_same_events_rows_and_state)
{
	struct model m;
	struct err err;

	model_init(&m, 1);
	ck_assert_ok(tape_writer_close(make(&m), &err), &err);
	repack_and_check(&m);
	model_release(&m);
}
END_TEST

START_TEST(repack__takes_a_tape_that_is_being_recorded_as_it_stands)
{
	struct model m;
	struct tape_writer *w;
	struct err err;

	model_init(&m, 2);
	w = make(&m);
	repack_and_check(&m);
	model_steps(&m, w, 20, 10);
	ck_assert_ok(tape_writer_close(w, &err), &err);
	check(&m, m.path);
	model_release(&m);
}
END_TEST

START_TEST(repack__leaves_nothing_behind_when_it_is_stopped)
{
	struct tape_repack_options o = {.progress = stop_at_once};
	struct tape_repack_result result;
	struct model m;
	struct err err;
	char to[96];

	model_init(&m, 3);
	snprintf(to, sizeof(to), "%s/y.tape", m.dir);
	ck_assert_ok(tape_writer_close(make(&m), &err), &err);
	ck_assert_int_eq(tape_repack(m.path, to, &o, &result, &err), ERR_STOPPED);
	ck_assert_int_ne(access(to, F_OK), 0);
	check(&m, m.path);
	model_release(&m);
}
END_TEST

START_TEST(repack__refuses_to_write_over_something)
{
	struct tape_repack_options o = {.progress = NULL};
	struct tape_repack_result result;
	struct model m;
	struct err err;

	model_init(&m, 4);
	ck_assert_ok(tape_writer_close(make(&m), &err), &err);
	ck_assert_int_lt(tape_repack(m.path, m.path, &o, &result, &err), 0);
	check(&m, m.path);
	model_release(&m);
}
END_TEST

UNIT_MAIN("repack", repack__makes_a_smaller_tape_with_the_same_events_rows_and_state,
	repack__takes_a_tape_that_is_being_recorded_as_it_stands,
	repack__leaves_nothing_behind_when_it_is_stopped, repack__refuses_to_write_over_something)
