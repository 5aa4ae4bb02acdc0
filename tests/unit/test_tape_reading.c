/* test_tape_reading.c: each thing that reader.h and position.h promise to find, beside the model. */
#include "schema/base/rv.h"
#include "schema/tape/position.h"
#include "tests/unit/small_tape.h"
#include "tests/unit/tape_model.h"

#include <malloc.h>
#include <sys/wait.h>

/* Several segments, several extents in each, and events that are still hot. */
static const struct tape_writer_options small_segments = {.extent_bytes = 100000, .segment_events = 300};

struct fixture {
	struct model m;
	struct tape_writer *w;
	struct tape *t;
};

static void setup(struct fixture *f)
{
	struct err err;

	model_init(&f->m, 41);
	f->w = model_open(&f->m, &small_segments);
	model_steps(&f->m, f->w, 1000, 5);
	ck_assert_ok(tape_open(f->m.path, &f->t, &err), &err);
}

static void teardown(struct fixture *f)
{
	tape_close(f->t);
	tape_writer_abandon(f->w);
	model_release(&f->m);
}

static bool within_rv(const char *rv, const struct tape_filter *filter)
{
	struct slice is = slice_of(rv);

	if (filter->rv_min && rv_valid(is) && rv_compare(is, slice_of(filter->rv_min)) < 0)
		return false;
	return !filter->rv_max || (rv_valid(is) && rv_compare(is, slice_of(filter->rv_max)) <= 0);
}

/* What tape_filter says, word by word. Resources have the ids 1, 2, 3 of their streams. */
static bool is_wanted(const struct model_event *e, uint64_t seq, const struct tape_filter *filter)
{
	return seq >= filter->seq_min && (!filter->seq_max || seq <= filter->seq_max) &&
	       (!filter->time_min_ns || e->time_ns >= filter->time_min_ns) &&
	       (!filter->time_max_ns || e->time_ns <= filter->time_max_ns) &&
	       (!filter->resource || e->stream == filter->resource) &&
	       (!filter->uid || strcmp(e->uid, filter->uid) == 0) && within_rv(e->rv, filter);
}

static uint64_t next_wanted(
	const struct model *m, const struct tape_filter *filter, enum tape_order order, uint64_t after)
{
	uint64_t step = order == TAPE_FORWARD ? 1 : UINT64_MAX;

	for (uint64_t seq = after + step; seq >= 1 && seq <= m->count; seq += step) {
		if (is_wanted(&m->events[seq - 1], seq, filter))
			return seq;
	}
	return 0;
}

/* Returns how many there were. */
static unsigned check_walk(struct fixture *f, const struct tape_filter *filter, enum tape_order order)
{
	uint64_t at = order == TAPE_FORWARD ? 0 : f->m.count + 1;
	struct tape_cursor *c;
	struct slice object;
	struct event e;
	struct err err;
	unsigned count = 0;

	ck_assert_ok(tape_cursor_open(f->t, filter, order, &c, &err), &err);
	while ((at = next_wanted(&f->m, filter, order, at))) {
		ck_assert_int_eq(tape_cursor_next(c, &e, &err), 1);
		ck_assert_uint_eq(e.seq, at);
		ck_assert_ok(tape_cursor_object(c, &object, &err), &err);
		model_check_event(&f->m, &e, object);
		count++;
	}
	ck_assert_int_eq(tape_cursor_next(c, &e, &err), 0);
	tape_cursor_close(c);
	return count;
}

/* Both ways; at least one event in all. */
static void check_filters(struct fixture *f, struct tape_filter (*make)(struct model *m))
{
	unsigned count = 0;

	for (unsigned i = 0; i < 60; i++) {
		struct tape_filter filter = make(&f->m);

		count += check_walk(f, &filter, TAPE_FORWARD);
		ck_assert_uint_le(check_walk(f, &filter, TAPE_BACKWARD), count);
	}
	ck_assert_uint_gt(count, 60);
}

static const struct model_event *any_event(struct model *m)
{
	return &m->events[model_random(m) % m->count];
}

static struct tape_filter from_a_position(struct model *m)
{
	struct tape_filter filter = {.seq_min = model_random(m) % m->count};

	if (model_random(m) % 2)
		filter.seq_max = filter.seq_min + model_random(m) % 400;
	return filter;
}

static struct tape_filter of_a_uid(struct model *m)
{
	return (struct tape_filter){.uid = any_event(m)->uid};
}

static struct tape_filter of_a_time(struct model *m)
{
	int64_t begin_ns = any_event(m)->time_ns;

	return (struct tape_filter){.resource = 1 + (uint32_t)(model_random(m) % MODEL_RESOURCES),
		.time_min_ns = begin_ns,
		.time_max_ns = begin_ns + (int64_t)(model_random(m) % 5000000000)};
}

static struct tape_filter of_resource_versions(struct model *m)
{
	const struct model_event *from = any_event(m), *to = any_event(m);

	while (!rv_valid(slice_of(from->rv)))
		from = any_event(m);
	while (!rv_valid(slice_of(to->rv)) || to < from)
		to = any_event(m);
	return (struct tape_filter){.resource = 1 + (uint32_t)(model_random(m) % MODEL_RESOURCES),
		.rv_min = from->rv,
		.rv_max = to->rv};
}

START_TEST(cursor__gives_events_in_order_from_any_position_forward_and_backward)
{
	struct fixture f;

	setup(&f);
	check_filters(&f, from_a_position);
	teardown(&f);
}
END_TEST

START_TEST(cursor__gives_all_versions_of_a_uid)
{
	struct fixture f;

	setup(&f);
	check_filters(&f, of_a_uid);
	teardown(&f);
}
END_TEST

START_TEST(cursor__gives_a_time_range_of_a_resource)
{
	struct fixture f;

	setup(&f);
	check_filters(&f, of_a_time);
	teardown(&f);
}
END_TEST

START_TEST(cursor__gives_a_range_of_resource_versions_of_a_resource)
{
	struct fixture f;

	setup(&f);
	check_filters(&f, of_resource_versions);
	teardown(&f);
}
END_TEST

static void check_state(struct fixture *f, uint64_t seq, uint32_t resource)
{
	uint64_t live[MODEL_KEYS];
	struct tape_state *state;
	struct err err;
	size_t expected = 0;

	model_state(&f->m, seq, live);
	for (unsigned k = 0; k < MODEL_KEYS; k++)
		expected += live[k] && (!resource || f->m.streams[k % MODEL_RESOURCES] == resource);
	ck_assert_ok(tape_state_at(f->t, seq, resource, &state, &err), &err);
	ck_assert_uint_eq(state->count, expected);
	for (size_t i = 0; i < state->count; i++)
		ck_assert_uint_eq(state->live[i].seq, live[f->m.events[state->live[i].seq - 1].key]);
	tape_state_free(state);
}

START_TEST(state__is_found_by_time)
{
	struct fixture f;

	setup(&f);
	for (unsigned i = 0; i < 60; i++) {
		int64_t time_ns = any_event(&f.m)->time_ns + (int64_t)(model_random(&f.m) % 3) - 1;
		uint64_t seq, expected = f.m.count;
		struct err err;

		while (expected && f.m.events[expected - 1].time_ns > time_ns)
			expected--;
		ck_assert_ok(tape_position_at_time(f.t, time_ns, &seq, &err), &err);
		ck_assert_uint_eq(seq, expected);
		check_state(&f, seq, 0);
	}
	teardown(&f);
}
END_TEST

START_TEST(state__is_found_by_a_resource_version_of_a_resource)
{
	struct fixture f;

	setup(&f);
	for (unsigned i = 0; i < 60; i++) {
		uint32_t resource = 1 + (uint32_t)(model_random(&f.m) % MODEL_RESOURCES);
		const char *rv = any_event(&f.m)->rv;
		struct tape_filter filter = {.resource = resource, .rv_max = rv};
		uint64_t seq;
		struct err err;

		if (!rv_valid(slice_of(rv)))
			continue;
		ck_assert_ok(tape_position_at_rv(f.t, resource, slice_of(rv), &seq, &err), &err);
		ck_assert_uint_eq(seq, next_wanted(&f.m, &filter, TAPE_BACKWARD, f.m.count + 1));
		check_state(&f, seq, resource);
	}
	teardown(&f);
}
END_TEST

#define FOLLOWED 1500

/* The other process's part: through many extents and segments. */
static void write_in_child(struct model *m)
{
	struct tape_writer *w = model_open(m, &small_segments);

	model_steps(m, w, FOLLOWED, 4);
	tape_writer_abandon(w);
	_exit(0);
}

static uint64_t check_what_is_new(struct tape *t, struct tape_cursor *c, struct model *m, uint64_t seen)
{
	struct slice object;
	struct event e;
	struct err err;
	int more;

	ck_assert_ok(tape_refresh(t, &err), &err);
	while ((more = tape_cursor_next(c, &e, &err)) > 0) {
		ck_assert_uint_eq(e.seq, ++seen);
		ck_assert_ok(tape_cursor_object(c, &object, &err), &err);
		model_check_event(m, &e, object);
	}
	ck_assert_ok(more, &err);
	return seen;
}

/* A tape with nothing on it, so that there is one to open. */
static void make_tape(struct model *m)
{
	struct tape_writer *w;
	struct err err;

	w = model_open(m, &small_segments);
	ck_assert_ok(tape_writer_flush(w, &err), &err);
	tape_writer_abandon(w);
}

/* A history follows from its seed: of `known` we know what the other process writes. */
START_TEST(cursor__follows_a_tape_that_another_process_writes)
{
	struct model known, m;
	struct tape_writer *w;
	struct tape_cursor *c;
	struct tape *t;
	struct err err;
	uint64_t seen = 0;
	bool ended = false;
	pid_t child;
	int status;

	model_init(&known, 43);
	w = model_open(&known, NULL);
	model_steps(&known, w, FOLLOWED, FOLLOWED);
	tape_writer_abandon(w);
	model_init(&m, 43);
	make_tape(&m);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0)
		write_in_child(&m);
	ck_assert_ok(tape_open(m.path, &t, &err), &err);
	ck_assert_ok(tape_cursor_open(t, NULL, TAPE_FORWARD, &c, &err), &err);
	while (!ended) {
		ended = waitpid(child, &status, WNOHANG) == child;
		seen = check_what_is_new(t, c, &known, seen);
	}
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(seen, FOLLOWED / 4 * 4);
	tape_cursor_close(c);
	tape_close(t);
	model_release(&known);
	model_release(&m);
}
END_TEST

START_TEST(rest__gives_back_what_nothing_asks_for_and_it_is_read_again)
{
	struct slice object;
	struct fixture f;
	struct err err;

	setup(&f);
	ck_assert_ok(tape_object(f.t, 1, &object, &err), &err);
	ck_assert(!tape_rest(f.t)); /* it was just asked for */
	ck_assert(tape_rest(f.t));
	ck_assert(!tape_rest(f.t)); /* nothing is left to give back */
	ck_assert_ok(tape_object(f.t, 1, &object, &err), &err);
	ck_assert_slice_eq(object, f.m.events[0].object);
	check_state(&f, f.m.count, 0);
	teardown(&f);
}
END_TEST

#define PAD_BYTES 2000

static void append_padded(struct small_tape *s, unsigned number)
{
	struct event e = {.time_ns = small_ns(number * 1e-4), .type = EVENT_ADDED, .stream = s->pods};
	char object[PAD_BYTES + 200];

	snprintf(object, sizeof(object),
		"{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"o%06u\",\"namespace\":\"n\",\"uid\":\"u%u\","
		"\"resourceVersion\":\"%u\",\"pad\":\"%0*u\"}}",
		number, number, number + 100, PAD_BYTES, number);
	ck_assert_ok(tape_writer_append(s->writer, &e, slice_of(object), NULL, &small_err), &small_err);
}

static unsigned walk_as_stored(struct tape *t)
{
	struct tape_cursor *c;
	struct slice object;
	struct event e;
	struct err err;
	unsigned count = 0;

	ck_assert_ok(tape_cursor_open(t, NULL, TAPE_STORED, &c, &err), &err);
	while (tape_cursor_next(c, &e, &err) == 1) {
		ck_assert_ok(tape_cursor_object(c, &object, &err), &err);
		ck_assert_uint_gt(object.len, PAD_BYTES);
		count++;
	}
	tape_cursor_close(c);
	return count;
}

static size_t allocated(void)
{
	struct mallinfo2 m = mallinfo2(); /* GNU's; zeros under a sanitizer */

	return m.uordblks + m.hblkhd;
}

/* Of 18 MB 4 may be kept. The index, too, is kept after the first walk. */
START_TEST(walk__through_a_tape_much_larger_than_the_room_for_blocks_keeps_few_of_them)
{
	const size_t room = 4 << 20;
	const unsigned events = 9000;
	struct small_tape s;
	struct tape *t;
	size_t before;

	small_open(&s);
	for (unsigned i = 0; i < events; i++)
		append_padded(&s, i);
	t = small_read(&s);
	tape_set_cache(t, room);
	before = allocated();
	ck_assert_uint_eq(walk_as_stored(t), events);
	ck_assert_uint_le(allocated(), before + room * 3 / 4);
	ck_assert_uint_eq(walk_as_stored(t), events);
	tape_close(t);
	small_release(&s);
}
END_TEST

UNIT_MAIN("tape reading", cursor__gives_events_in_order_from_any_position_forward_and_backward,
	cursor__gives_all_versions_of_a_uid, cursor__gives_a_time_range_of_a_resource,
	cursor__gives_a_range_of_resource_versions_of_a_resource, state__is_found_by_time,
	state__is_found_by_a_resource_version_of_a_resource,
	cursor__follows_a_tape_that_another_process_writes,
	rest__gives_back_what_nothing_asks_for_and_it_is_read_again,
	walk__through_a_tape_much_larger_than_the_room_for_blocks_keeps_few_of_them)
