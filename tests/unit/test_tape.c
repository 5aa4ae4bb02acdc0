#include "schema/tape/segment.h"
#include "tests/unit/tape_files.h"

static const struct tape_writer_options small_extents = {.extent_bytes = 200000};
static const struct tape_writer_options small_segments = {.extent_bytes = 100000, .segment_events = 300};

static size_t count_in_order(struct model *m, struct tape *t, enum tape_order order)
{
	struct tape_cursor *c;
	struct event e;
	struct err err;
	struct slice object;
	uint64_t previous = order == TAPE_BACKWARD ? UINT64_MAX : 0;
	size_t count = 0;

	ck_assert_ok(tape_cursor_open(t, NULL, order, &c, &err), &err);
	for (;;) {
		int more = tape_cursor_next(c, &e, &err);

		ck_assert_ok(more, &err);
		if (!more)
			break;
		ck_assert_ok(tape_cursor_object(c, &object, &err), &err);
		model_check_event(m, &e, object);
		if (order != TAPE_STORED)
			ck_assert(order == TAPE_FORWARD ? e.seq > previous : e.seq < previous);
		previous = e.seq;
		count++;
	}
	tape_cursor_close(c);
	return count;
}

static void check_state(struct model *m, struct tape *t, uint64_t seq)
{
	uint64_t live[MODEL_KEYS];
	struct tape_state *state;
	struct err err;
	size_t expected = 0;

	model_state(m, seq, live);
	for (unsigned k = 0; k < MODEL_KEYS; k++)
		expected += live[k] != 0;
	ck_assert_ok(tape_state_at(t, seq, 0, &state, &err), &err);
	ck_assert_uint_eq(state->count, expected);
	for (size_t i = 0; i < state->count; i++) {
		const struct model_event *want = &m->events[state->live[i].seq - 1];
		struct slice object;

		ck_assert_uint_eq(state->live[i].seq, live[want->key]);
		ck_assert_slice_eq(state->live[i].uid, want->uid);
		ck_assert_slice_eq(state->live[i].rv, want->rv);
		ck_assert_ok(tape_object(t, state->live[i].seq, &object, &err), &err);
		ck_assert_slice_eq(object, want->object);
	}
	tape_state_free(state);
}

static void check_previous(struct model *m, struct tape *t, uint64_t seq)
{
	struct err err;
	uint64_t expected = 0, found;

	for (uint64_t i = seq - 1; i >= 1 && !expected; i--)
		expected = m->events[i - 1].key == m->events[seq - 1].key ? i : 0;
	ck_assert_ok(tape_previous(t, seq, &found, &err), &err);
	ck_assert_uint_eq(found, expected);
}

static void check_uid(struct model *m, struct tape *t, const char *uid)
{
	struct tape_filter filter = {.uid = uid};
	struct tape_cursor *c;
	struct event e;
	struct err err;
	size_t expected = 0, found = 0;

	for (size_t i = 0; i < m->count; i++)
		expected += strcmp(m->events[i].uid, uid) == 0;
	ck_assert_ok(tape_cursor_open(t, &filter, TAPE_FORWARD, &c, &err), &err);
	while (tape_cursor_next(c, &e, &err) > 0) {
		ck_assert_slice_eq(e.uid, uid);
		found++;
	}
	tape_cursor_close(c);
	ck_assert_uint_eq(found, expected);
}

/* Everything the reader can be asked, against the model. */
static void check_tape(struct model *m)
{
	struct tape_info info;
	struct tape *t;
	struct err err;

	ck_assert_ok(tape_open(m->path, &t, &err), &err);
	ck_assert_ok(tape_info(t, &info, &err), &err);
	ck_assert_uint_eq(info.events, m->count);
	ck_assert_uint_eq(count_in_order(m, t, TAPE_FORWARD), m->count);
	ck_assert_uint_eq(count_in_order(m, t, TAPE_BACKWARD), m->count);
	ck_assert_uint_eq(count_in_order(m, t, TAPE_STORED), m->count);
	for (unsigned i = 0; i < 40; i++) {
		uint64_t seq = 1 + model_random(m) % m->count;

		check_state(m, t, seq);
		check_previous(m, t, seq);
		check_uid(m, t, m->events[seq - 1].uid);
	}
	check_state(m, t, m->count);
	tape_close(t);
}

START_TEST(tape__gives_back_every_event_from_the_hot_stage)
{
	struct model m;
	struct tape_writer *w;

	model_init(&m, 1);
	w = model_open(&m, NULL);
	model_steps(&m, w, 500, 10);
	check_tape(&m);
	tape_writer_abandon(w);
	model_release(&m);
}
END_TEST

START_TEST(tape__gives_back_every_event_from_sealed_extents_and_the_hot_one)
{
	struct model m;
	struct tape_writer *w;

	model_init(&m, 2);
	w = model_open(&m, &small_extents);
	model_steps(&m, w, 1000, 7);
	model_steps(&m, w, 3, 1);
	check_tape(&m);
	tape_writer_abandon(w);
	model_release(&m);
}
END_TEST

START_TEST(tape__gives_back_every_event_when_closed)
{
	struct model m;
	struct tape_writer *w;
	struct err err;

	model_init(&m, 3);
	w = model_open(&m, &small_extents);
	model_steps(&m, w, 1000, 50);
	ck_assert_ok(tape_writer_close(w, &err), &err);
	check_tape(&m);
	model_release(&m);
}
END_TEST

START_TEST(tape__gives_back_every_event_from_many_segments)
{
	struct model m;
	struct tape_writer *w;
	struct err err;

	model_init(&m, 4);
	w = model_open(&m, &small_segments);
	model_steps(&m, w, 2000, 20);
	check_tape(&m);
	ck_assert_ok(tape_writer_close(w, &err), &err);
	check_tape(&m);
	model_release(&m);
}
END_TEST

START_TEST(tape__goes_on_after_a_crash_with_what_was_flushed)
{
	struct model m;
	struct tape_writer *w;
	struct err err;

	model_init(&m, 5);
	for (unsigned life = 0; life < 6; life++) {
		w = model_open(&m, &small_segments);
		model_steps(&m, w, 150, 10);
		model_step(&m, w); /* never flushed */
		tape_writer_abandon(w);
		free(m.events[--m.count].object);
		for (unsigned k = 0; k < MODEL_KEYS; k++)
			m.live[k] = false;
		for (size_t i = 0; i < m.count; i++)
			m.live[m.events[i].key] = m.events[i].type != EVENT_DELETED;
		check_tape(&m);
	}
	w = model_open(&m, NULL);
	ck_assert_ok(tape_writer_close(w, &err), &err);
	check_tape(&m);
	model_release(&m);
}
END_TEST

START_TEST(tape__begins_a_segment_with_the_state_so_that_it_stands_alone)
{
	struct model m;
	struct tape_writer *w;
	struct tape_state *state;
	struct tape *t;
	struct err err;
	char command[256];
	uint64_t live[MODEL_KEYS];

	model_init(&m, 6);
	w = model_open(&m, &small_segments);
	model_steps(&m, w, 1000, 20);
	ck_assert_ok(tape_writer_close(w, &err), &err);
	snprintf(command, sizeof(command), "rm %s/seg-000001.db %s/seg-000002.db", m.path, m.path);
	ck_assert_int_eq(system(command), 0);
	ck_assert_ok(tape_open(m.path, &t, &err), &err);
	ck_assert_ok(tape_state_at(t, m.count, 0, &state, &err), &err);
	model_state(&m, m.count, live);
	for (size_t i = 0; i < state->count; i++) {
		const struct model_event *want = &m.events[state->live[i].seq - 1];
		struct slice object;

		ck_assert_uint_eq(state->live[i].seq, live[want->key]);
		live[want->key] = 0;
		ck_assert_ok(tape_object(t, state->live[i].seq, &object, &err), &err);
		ck_assert_slice_eq(object, want->object);
	}
	for (unsigned k = 0; k < MODEL_KEYS; k++)
		ck_assert_uint_eq(live[k], 0);
	tape_state_free(state);
	tape_close(t);
	model_release(&m);
}
END_TEST

START_TEST(tape__is_followed_by_a_reader_while_it_is_written)
{
	struct model m;
	struct tape_writer *w;
	struct tape_cursor *c;
	struct tape *t;
	struct err err;
	uint64_t seen = 0;

	model_init(&m, 7);
	w = model_open(&m, &small_segments);
	model_steps(&m, w, 10, 10);
	ck_assert_ok(tape_open(m.path, &t, &err), &err);
	ck_assert_ok(tape_cursor_open(t, NULL, TAPE_FORWARD, &c, &err), &err);
	for (unsigned round = 0; round < 80; round++) {
		model_check_rest(&m, c, &seen);
		model_steps(&m, w, 20, 10);
		ck_assert_int_eq(tape_refresh(t, &err), 1);
	}
	tape_cursor_close(c);
	tape_close(t);
	tape_writer_abandon(w);
	model_release(&m);
}
END_TEST

START_TEST(tape__finds_the_first_event_at_or_after_a_time)
{
	struct model m;
	struct tape_writer *w;
	struct tape *t;
	struct err err;

	model_init(&m, 8);
	w = model_open(&m, &small_extents);
	model_steps(&m, w, 400, 10);
	ck_assert_ok(tape_open(m.path, &t, &err), &err);
	for (unsigned i = 0; i < 50; i++) {
		int64_t time_ns = m.events[0].time_ns + (int64_t)(model_random(&m) % 7000000000u);
		uint64_t expected = 1, found;

		while (expected <= m.count && m.events[expected - 1].time_ns < time_ns)
			expected++;
		ck_assert_ok(tape_seq_at_time(t, time_ns, &found, &err), &err);
		ck_assert_uint_eq(found, expected);
	}
	tape_close(t);
	tape_writer_abandon(w);
	model_release(&m);
}
END_TEST

START_TEST(tape__lists_live_objects_in_the_order_of_storage_keys)
{
	struct model m;
	struct tape_writer *w;
	struct tape_state *state;
	struct tape *t;
	struct err err;
	char previous[256] = "";

	model_init(&m, 9);
	w = model_open(&m, NULL);
	model_steps(&m, w, 600, 100);
	ck_assert_ok(tape_open(m.path, &t, &err), &err);
	ck_assert_ok(tape_state_at(t, m.count, 1, &state, &err), &err);
	ck_assert_uint_gt(state->count, 5);
	for (size_t i = 0; i < state->count; i++) {
		char key[256];

		snprintf(key, sizeof(key), "%.*s/%.*s", (int)state->live[i].namespace.len,
			state->live[i].namespace.ptr, (int)state->live[i].name.len, state->live[i].name.ptr);
		ck_assert_str_lt(previous, key);
		memcpy(previous, key, sizeof(previous));
	}
	tape_state_free(state);
	tape_close(t);
	tape_writer_abandon(w);
	model_release(&m);
}
END_TEST

static int add_extents(void *context, const struct tape_segment_info *s)
{
	*(unsigned *)context += (unsigned)s->extents;
	return 0;
}

static unsigned count_extents(const char *path)
{
	struct tape *t;
	struct err err;
	unsigned extents = 0;

	ck_assert_ok(tape_open(path, &t, &err), &err);
	ck_assert_ok(tape_each_segment(t, add_extents, &extents, &err), &err);
	tape_close(t);
	return extents;
}

START_TEST(writer__commits_without_sealing_what_is_full)
{
	struct model m;
	struct tape_writer *w;
	struct tape_writer_work work;
	struct tape_writer_stats stats;
	struct err err;

	model_init(&m, 12);
	w = model_open(&m, &small_segments);
	for (unsigned i = 0; i < 800; i++) {
		model_step(&m, w);
		ck_assert_ok(tape_writer_commit(w, &err), &err);
	}
	tape_writer_stats(w, &stats);
	tape_writer_work(w, &work);
	ck_assert_uint_eq(stats.durable_seq, 800);
	ck_assert_uint_eq(count_extents(m.path), 1);
	ck_assert(work.takes_long);
	ck_assert_ok(tape_writer_flush(w, &err), &err);
	tape_writer_stats(w, &stats);
	tape_writer_work(w, &work);
	ck_assert_uint_eq(stats.segments, 1);
	ck_assert(!work.takes_long);
	model_step(&m, w);
	tape_writer_work(w, &work);
	ck_assert(work.takes_long); /* the next segment is to begin with the state */
	ck_assert_ok(tape_writer_commit(w, &err), &err);
	check_tape(&m);
	tape_writer_abandon(w);
	model_release(&m);
}
END_TEST

START_TEST(writer__gives_objects_that_it_still_has_in_memory)
{
	struct model m;
	struct tape_writer *w;
	struct slice object;
	unsigned in_memory = 0;

	model_init(&m, 13);
	w = model_open(&m, &small_extents);
	model_steps(&m, w, 307, 50);
	for (uint64_t seq = 1; seq <= m.count; seq++) {
		if (!tape_writer_object(w, seq, &object)) {
			ck_assert_uint_eq(in_memory, 0);
			continue;
		}
		ck_assert_slice_eq(object, m.events[seq - 1].object);
		in_memory++;
	}
	ck_assert_uint_ge(in_memory, 7);
	ck_assert_uint_lt(in_memory, m.count);
	ck_assert(!tape_writer_object(w, 0, &object));
	ck_assert(!tape_writer_object(w, m.count + 1, &object));
	tape_writer_abandon(w);
	model_release(&m);
}
END_TEST

START_TEST(writer__refuses_a_tape_that_another_writer_holds)
{
	struct model m;
	struct tape_writer *w, *second;
	struct err err;

	model_init(&m, 10);
	w = model_open(&m, NULL);
	ck_assert_int_eq(tape_writer_open(m.path, NULL, &second, &err), ERR_BUSY);
	tape_writer_abandon(w);
	model_release(&m);
}
END_TEST

START_TEST(writer__refuses_a_directory_that_is_no_tape_and_leaves_it_alone)
{
	struct model m;
	struct tape_writer *w;
	struct err err;
	char command[256];

	model_init(&m, 11);
	snprintf(command, sizeof(command), "mkdir %s && echo hello > %s/letter", m.path, m.path);
	ck_assert_int_eq(system(command), 0);
	ck_assert_int_eq(tape_writer_open(m.path, NULL, &w, &err), ERR_CORRUPT);
	snprintf(command, sizeof(command), "[ \"$(ls -A %s)\" = letter ]", m.path);
	ck_assert_int_eq(system(command), 0);
	model_release(&m);
}
END_TEST

START_TEST(writer__leaves_no_directory_behind_that_it_put_nothing_into)
{
	struct model m;
	struct tape_writer *w;
	struct err err;

	model_init(&m, 12);
	ck_assert_ok(tape_writer_open(m.path, NULL, &w, &err), &err);
	ck_assert_ok(tape_writer_close(w, &err), &err);
	ck_assert_int_ne(access(m.path, F_OK), 0);
	model_release(&m);
}
END_TEST

static int64_t read_fake(void *context)
{
	return *(int64_t *)context;
}

/* Seals one extent of events that came within so long; returns the bytes of its blocks. */
static int64_t packed_bytes(int64_t took_ns)
{
	int64_t now_ns = NS_PER_S, bytes = 0;
	struct clock fake = {read_fake, read_fake, &now_ns};
	struct segment_file file = {1, true, NULL};
	struct tape_writer *w;
	struct model m;
	struct err err;
	sqlite3 *db;

	model_init(&m, 12);
	w = model_open(&m, &(struct tape_writer_options){.clock = &fake});
	model_steps(&m, w, 300, 10);
	now_ns += took_ns;
	ck_assert_ok(tape_writer_close(w, &err), &err);
	file.path = xasprintf("%s/seg-000001.db", m.path);
	ck_assert_ok(segment_open(&file, false, &db, &err), &err);
	ck_assert_ok(segment_number(db, "SELECT sum(length(data)) FROM block", 0, &bytes, &err), &err);
	sqlite3_close(db);
	free(file.path);
	model_release(&m);
	return bytes;
}

START_TEST(writer__packs_harder_what_came_slowly)
{
	ck_assert_int_lt(packed_bytes(3600 * NS_PER_S), packed_bytes(0));
}
END_TEST

UNIT_MAIN("tape", writer__leaves_no_directory_behind_that_it_put_nothing_into,
	tape__gives_back_every_event_from_the_hot_stage,
	tape__gives_back_every_event_from_sealed_extents_and_the_hot_one,
	tape__gives_back_every_event_when_closed, tape__gives_back_every_event_from_many_segments,
	tape__goes_on_after_a_crash_with_what_was_flushed,
	tape__begins_a_segment_with_the_state_so_that_it_stands_alone,
	tape__is_followed_by_a_reader_while_it_is_written, tape__finds_the_first_event_at_or_after_a_time,
	tape__lists_live_objects_in_the_order_of_storage_keys, writer__commits_without_sealing_what_is_full,
	writer__gives_objects_that_it_still_has_in_memory, writer__refuses_a_tape_that_another_writer_holds,
	writer__refuses_a_directory_that_is_no_tape_and_leaves_it_alone,
	writer__packs_harder_what_came_slowly)
