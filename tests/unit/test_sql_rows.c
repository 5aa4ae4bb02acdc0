/* test_sql_rows.c: the tables of what happened to the watches, and positions. */
#include "tests/unit/sql_rows.h"
#include "tests/unit/tape_model.h"

struct fixture {
	struct model model;
	struct tape_writer *writer;
	struct sql_session *session;
};

static void write_gap(struct fixture *f)
{
	struct tape_gap gap = {.stream = f->model.streams[0],
		.begin_seq = 10,
		.end_seq = 12,
		.begin_ns = INT64_C(1700000001000000000),
		.end_ns = INT64_C(1700000003500000000),
		.duration_ns = 2500000000,
		.from_rv = "1010",
		.to_rv = "1040",
		.reason = "reset",
		.how_ended = "open",
		.connection_before = 1};
	struct tape_missed missed = {.change = "recreated",
		.resource = f->model.streams[0],
		.namespace = slice_of("a"),
		.name = slice_of("web-0'); DROP TABLE events; --"),
		.uid = slice_of("new"),
		.old_uid = slice_of("old")};
	struct err err;

	ck_assert_ok(tape_writer_gap(f->writer, &gap, &err), &err);
	gap.how_ended = "relist";
	gap.recreated = 1;
	ck_assert_ok(tape_writer_gap(f->writer, &gap, &err), &err);
	missed.gap = gap.id;
	ck_assert_ok(tape_writer_missed(f->writer, &missed, &err), &err);
	missed.change = "deleted";
	missed.old_uid = (struct slice){NULL, 0};
	ck_assert_ok(tape_writer_missed(f->writer, &missed, &err), &err);
	gap = (struct tape_gap){.stream = f->model.streams[1], .reason = "eof", .how_ended = "open"};
	ck_assert_ok(tape_writer_gap(f->writer, &gap, &err), &err);
}

static void write_connection(struct fixture *f)
{
	struct tape_connection c = {.stream = f->model.streams[0],
		.purpose = "watch",
		.target = "/api/v1/pods?watch=1",
		.server = "127.0.0.1:6443",
		.http_version = "2",
		.tls = true,
		.start_rv = "1000",
		.timeout_seconds = -1,
		.begin_ns = INT64_C(1700000000000000000),
		.first_byte_after_ns = 1000,
		.duration_ns = 1500000000,
		.http_status = 200,
		.retry_after_s = -1,
		.curl_code = -1,
		.os_errno = 104,
		.h2_error = -1,
		.next_delay_ns = -1,
		.end_reason = "reset",
		.events = 7};
	struct err err;

	ck_assert_ok(tape_writer_begin_connection(f->writer, &c, &err), &err);
	ck_assert_ok(tape_writer_end_connection(f->writer, &c, &err), &err);
}

static void write_marks(struct fixture *f)
{
	static const enum mark_kind kinds[] = {MARK_LIST, MARK_BOOKMARK, MARK_INITIAL_END, MARK_ERROR};
	struct err err;

	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		struct tape_mark mark = {.time_ns = INT64_C(1700000002000000000),
			.kind = kinds[i],
			.stream = f->model.streams[2],
			.connection = 1,
			.rv = slice_of("1500"),
			.object = slice_of(i ? "{\"kind\":\"Node\"}" : "")};

		ck_assert_ok(tape_writer_mark(f->writer, &mark, &err), &err);
	}
}

static void setup(struct fixture *f)
{
	struct err err;

	model_init(&f->model, 5);
	f->writer = model_open(&f->model, NULL);
	model_steps(&f->model, f->writer, 100, 10);
	write_connection(f);
	write_gap(f);
	write_marks(f);
	ck_assert_ok(tape_writer_flush(f->writer, &err), &err);
	ck_assert_ok(sql_session_open(f->model.path, &f->session, &err), &err);
}

static void teardown(struct fixture *f)
{
	tape_writer_abandon(f->writer);
	sql_session_close(f->session);
	model_release(&f->model);
}

START_TEST(gaps__say_when_why_and_how_it_ended)
{
	struct fixture f;

	setup(&f);
	ck_assert_sql(f.session,
		"SELECT gap, stream, resource, begin, end, reason, how_ended, duration_ns, begin_seq, "
		"end_seq, "
		"connection_before, connection_after, recreated FROM gaps WHERE how_ended <> 'open'",
		"1|1|pods|2023-11-14T22:13:21.000000000Z|2023-11-14T22:13:23.500000000Z|reset|relist|"
		"2500000000|10|12|1|-|1\n");
	ck_assert_sql(f.session, "SELECT gap, end, end_seq FROM gaps WHERE how_ended = 'open'", "2|-|-\n");
	ck_assert_sql(f.session,
		"SELECT count(*) FROM events AS e JOIN gaps AS g ON e.seq > g.begin_seq AND e.seq <= "
		"g.end_seq",
		"2\n");
	teardown(&f);
}
END_TEST

START_TEST(missed__joins_with_its_gap_and_keeps_any_name)
{
	struct fixture f;

	setup(&f);
	ck_assert_sql(f.session,
		"SELECT g.reason, m.change, m.resource, m.namespace, m.name, m.uid, m.old_uid "
		"FROM gaps AS g JOIN missed AS m ON m.gap = g.gap ORDER BY m.change",
		"reset|deleted|pods|a|web-0'); DROP TABLE events; --|new|-\n"
		"reset|recreated|pods|a|web-0'); DROP TABLE events; --|new|old\n");
	ck_assert_sql(f.session, "SELECT change FROM missed WHERE change = 'recreated' AND gap = '1'",
		"recreated\n");
	ck_assert_sql(f.session, "SELECT change FROM missed WHERE gap = 2", "");
	teardown(&f);
}
END_TEST

START_TEST(connections__keep_what_is_unknown_as_null)
{
	struct fixture f;

	setup(&f);
	ck_assert_sql(f.session,
		"SELECT connection, resource, purpose, http_version, tls, timeout_seconds, begin, end, "
		"end_reason, "
		"http_status, retry_after_s, os_errno, events, last_rv, next_action FROM connections",
		"1|pods|watch|2|1|-|2023-11-14T22:13:20.000000000Z|2023-11-14T22:13:21.500000000Z|reset|200|-"
		"|"
		"104|7|-|-\n");
	teardown(&f);
}
END_TEST

START_TEST(bookmarks__are_the_marks_that_carry_a_bookmark)
{
	struct fixture f;

	setup(&f);
	ck_assert_sql(f.session, "SELECT group_concat(kind), count(object), max(resource) FROM marks",
		"list,bookmark,initial-end,error|3|nodes\n");
	ck_assert_sql(f.session, "SELECT group_concat(kind), min(rv), min(after_seq) FROM bookmarks",
		"bookmark,initial-end|1500|100\n");
	ck_assert_sql(f.session,
		"SELECT resource FROM streams WHERE stream NOT IN (SELECT stream FROM bookmarks)",
		"pods\ndeployments\n");
	teardown(&f);
}
END_TEST

START_TEST(tables__grow_with_a_tape_that_is_being_recorded)
{
	struct fixture f;
	struct tape_gap gap;
	struct err err;

	setup(&f);
	ck_assert_sql(
		f.session, "SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM gaps)", "100|2\n");
	model_steps(&f.model, f.writer, 1, 1);
	gap = (struct tape_gap){.stream = 1, .reason = "eof", .how_ended = "open"};
	ck_assert_ok(tape_writer_gap(f.writer, &gap, &err), &err);
	ck_assert_ok(tape_writer_flush(f.writer, &err), &err);
	ck_assert_sql(
		f.session, "SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM gaps)", "101|3\n");
	teardown(&f);
}
END_TEST

START_TEST(segments__are_the_files_of_the_tape)
{
	struct fixture f;
	struct err err;

	setup(&f);
	tape_writer_rotate(f.writer);
	model_steps(&f.model, f.writer, 20, 5);
	ck_assert_ok(tape_writer_flush(f.writer, &err), &err);
	ck_assert_sql(f.session,
		"SELECT segment, sealed, substr(file, 1, 4), sum(events), min(first_seq), max(last_seq), "
		"state_objects > 0, length(previous_digest), disk_bytes > 0 FROM segments GROUP BY segment",
		"1|1|seg-|105|1|105|0|-|1\n2|0|open|15|106|120|1|32|1\n");
	ck_assert_sql(
		f.session, "SELECT sum(raw_bytes) = (SELECT sum(bytes) FROM events) FROM segments", "1\n");
	teardown(&f);
}
END_TEST

UNIT_MAIN("sql_rows", gaps__say_when_why_and_how_it_ended, missed__joins_with_its_gap_and_keeps_any_name,
	connections__keep_what_is_unknown_as_null, bookmarks__are_the_marks_that_carry_a_bookmark,
	tables__grow_with_a_tape_that_is_being_recorded, segments__are_the_files_of_the_tape)
