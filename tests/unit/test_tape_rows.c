#include "tests/unit/tape_model.h"

static const struct tape_writer_options small_segments = {.extent_bytes = 100000, .segment_events = 100};

struct seen {
	struct tape_connection connections[8];
	struct tape_gap gaps[8];
	struct tape_mark marks[64];
	size_t count;
	char words[64][32];
};

static int see_connection(void *context, const struct tape_connection *c)
{
	struct seen *s = context;

	snprintf(s->words[s->count], sizeof(s->words[0]), "%s", c->end_reason ? c->end_reason : "running");
	s->connections[s->count++] = *c;
	return 0;
}

static int see_gap(void *context, const struct tape_gap *g)
{
	struct seen *s = context;

	snprintf(s->words[s->count], sizeof(s->words[0]), "%s", g->how_ended);
	s->gaps[s->count++] = *g;
	return 0;
}

static int see_mark(void *context, const struct tape_mark *m)
{
	struct seen *s = context;

	snprintf(s->words[s->count], sizeof(s->words[0]), "%.*s", (int)m->rv.len, m->rv.ptr);
	s->marks[s->count++] = *m;
	return 0;
}

static int see_missed(void *context, const struct tape_missed *missed)
{
	struct seen *s = context;

	snprintf(s->words[s->count++], sizeof(s->words[0]), "%s %.*s", missed->change, (int)missed->name.len,
		missed->name.ptr);
	return 0;
}

START_TEST(rows__of_a_connection_that_outlives_its_segment_come_once_as_they_ended)
{
	struct tape_connection c = {
		.purpose = "watch", .target = "/api/v1/pods?watch=true", .timeout_seconds = -1};
	struct seen seen = {0};
	struct model m;
	struct tape_writer *w;
	struct tape *t;
	struct err err;

	model_init(&m, 1);
	w = model_open(&m, &small_segments);
	ck_assert_ok(tape_writer_begin_connection(w, &c, &err), &err);
	model_steps(&m, w, 350, 10);
	c.end_reason = "reset";
	c.curl_code = 56;
	c.tail = slice_of("{\"type\":\"ADD");
	ck_assert_ok(tape_writer_end_connection(w, &c, &err), &err);
	ck_assert_ok(tape_writer_close(w, &err), &err);
	ck_assert_ok(tape_open(m.path, &t, &err), &err);
	ck_assert_ok(tape_each_connection(t, see_connection, &seen, &err), &err);
	ck_assert_uint_eq(seen.count, 1);
	ck_assert_str_eq(seen.words[0], "reset");
	ck_assert_int_eq(seen.connections[0].curl_code, 56);
	ck_assert_int_eq(seen.connections[0].timeout_seconds, -1);
	ck_assert_uint_eq(seen.connections[0].tail.len, 12);
	tape_close(t);
	model_release(&m);
}
END_TEST

START_TEST(rows__of_a_gap_come_as_they_were_last_written)
{
	struct tape_gap gap = {.stream = 1, .reason = "reset", .how_ended = "open", .from_rv = "100"};
	struct tape_missed missed = {.change = "recreated",
		.resource = 1,
		.namespace = slice_of("a"),
		.name = slice_of("object-1"),
		.uid = slice_of("u2"),
		.old_uid = slice_of("u1")};
	struct seen seen = {0};
	struct model m;
	struct tape_writer *w;
	struct tape *t;
	struct err err;

	model_init(&m, 2);
	w = model_open(&m, NULL);
	ck_assert_ok(tape_writer_gap(w, &gap, &err), &err);
	ck_assert_uint_eq(gap.id, 1);
	ck_assert_ok(tape_writer_flush(w, &err), &err);
	gap.how_ended = "relist";
	gap.recreated = 1;
	missed.gap = gap.id;
	ck_assert_ok(tape_writer_gap(w, &gap, &err), &err);
	ck_assert_ok(tape_writer_missed(w, &missed, &err), &err);
	ck_assert_ok(tape_writer_flush(w, &err), &err);
	ck_assert_ok(tape_open(m.path, &t, &err), &err);
	ck_assert_ok(tape_each_gap(t, see_gap, &seen, &err), &err);
	ck_assert_uint_eq(seen.count, 1);
	ck_assert_str_eq(seen.words[0], "relist");
	ck_assert_uint_eq(seen.gaps[0].recreated, 1);
	seen.count = 0;
	ck_assert_ok(tape_each_missed(t, see_missed, &seen, &err), &err);
	ck_assert_uint_eq(seen.count, 1);
	ck_assert_str_eq(seen.words[0], "recreated object-1");
	tape_close(t);
	tape_writer_abandon(w);
	model_release(&m);
}
END_TEST

START_TEST(rows__of_marks_keep_their_order_over_segments_and_come_once)
{
	struct seen seen = {0};
	struct model m;
	struct tape_writer *w;
	struct tape *t;
	struct err err;

	model_init(&m, 3);
	w = model_open(&m, &small_segments);
	for (unsigned i = 0; i < 30; i++) {
		char rv[16];
		struct tape_mark mark = {.kind = MARK_BOOKMARK, .stream = 1 + i % 3, .time_ns = i};

		snprintf(rv, sizeof(rv), "%u", i);
		mark.rv = slice_of(rv);
		ck_assert_ok(tape_writer_mark(w, &mark, &err), &err);
		model_steps(&m, w, 20, 10);
	}
	ck_assert_ok(tape_writer_close(w, &err), &err);
	ck_assert_ok(tape_open(m.path, &t, &err), &err);
	ck_assert_ok(tape_each_mark(t, see_mark, &seen, &err), &err);
	ck_assert_uint_eq(seen.count, 30);
	for (unsigned i = 0; i < 30; i++) {
		ck_assert_uint_eq(strtoul(seen.words[i], NULL, 10), i);
		ck_assert_uint_eq(seen.marks[i].after_seq, 20 * i);
	}
	tape_close(t);
	model_release(&m);
}
END_TEST

START_TEST(documents__are_found_as_they_were_at_a_position_also_from_a_later_segment)
{
	struct model m;
	struct tape_writer *w;
	struct tape *t;
	struct err err;
	struct tape_document got;
	struct buf body;
	char command[256];

	model_init(&m, 4);
	buf_init(&body, 1 << 20);
	w = model_open(&m, &small_segments);
	for (unsigned i = 0; i < 3; i++) {
		char text[64];
		struct tape_document d = {.path = "/apis",
			.variant = "aggregated",
			.http_status = 200,
			.content_type = "application/json",
			.etag = "\"x\"",
			.time_ns = i};

		snprintf(text, sizeof(text), "{\"version\":%u}", i);
		d.body = slice_of(text);
		ck_assert_ok(tape_writer_document(w, &d, &err), &err);
		model_steps(&m, w, 120, 10);
	}
	ck_assert_ok(tape_writer_close(w, &err), &err);
	ck_assert_ok(tape_open(m.path, &t, &err), &err);
	ck_assert_ok(tape_document(t, "/apis", "aggregated", 130, &got, &body, &err), &err);
	ck_assert_slice_eq(got.body, "{\"version\":1}");
	ck_assert_str_eq(got.etag, "\"x\"");
	ck_assert_int_eq(tape_document(t, "/apis", "", 0, &got, &body, &err), ERR_NOT_FOUND);
	tape_close(t);

	snprintf(command, sizeof(command), "cd %s && rm $(ls | grep seg- | head -n -1)", m.path);
	ck_assert_int_eq(system(command), 0);
	ck_assert_ok(tape_open(m.path, &t, &err), &err);
	buf_clear(&body);
	ck_assert_ok(tape_document(t, "/apis", "aggregated", 0, &got, &body, &err), &err);
	ck_assert_slice_eq(got.body, "{\"version\":2}");
	tape_close(t);
	buf_release(&body);
	model_release(&m);
}
END_TEST

START_TEST(streams__keep_their_ids_when_a_tape_is_gone_on_with)
{
	struct model m, again;
	struct tape_writer *w;
	struct err err;

	model_init(&m, 5);
	w = model_open(&m, NULL);
	model_steps(&m, w, 10, 10);
	ck_assert_ok(tape_writer_close(w, &err), &err);
	again = m;
	w = model_open(&again, NULL);
	for (unsigned i = 0; i < MODEL_RESOURCES; i++)
		ck_assert_uint_eq(again.streams[i], m.streams[i]);
	tape_writer_abandon(w);
	model_release(&m);
}
END_TEST

UNIT_MAIN("tape rows", rows__of_a_connection_that_outlives_its_segment_come_once_as_they_ended,
	rows__of_a_gap_come_as_they_were_last_written,
	rows__of_marks_keep_their_order_over_segments_and_come_once,
	documents__are_found_as_they_were_at_a_position_also_from_a_later_segment,
	streams__keep_their_ids_when_a_tape_is_gone_on_with)
