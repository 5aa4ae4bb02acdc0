/* test_sql_events.c: the tables events and objects against the history they were made from. */
#include "schema/base/count_of.h"
#include "schema/sql/text_length.h"
#include "tests/unit/sql_rows.h"
#include "tests/unit/tape_model.h"

struct fixture {
	struct model model;
	struct sql_session *session;
};

/* Three sealed extents or so and an open end. */
static void setup(struct fixture *f)
{
	struct tape_writer *w;
	struct err err;

	model_init(&f->model, 7);
	w = model_open(&f->model, &(struct tape_writer_options){.extent_bytes = 256u << 10});
	model_steps(&f->model, w, 400, 16);
	ck_assert_ok(tape_writer_flush(w, &err), &err);
	tape_writer_abandon(w);
	ck_assert_ok(sql_session_open(f->model.path, &f->session, &err), &err);
}

static void teardown(struct fixture *f)
{
	sql_session_close(f->session);
	model_release(&f->model);
}

/* "seq\n" of every event of the model for which `wanted` holds. */
static char *model_seqs(const struct model *m, bool (*wanted)(const struct model_event *e, uint64_t seq))
{
	struct buf to;

	buf_init(&to, 1u << 20);
	for (size_t i = 0; i < m->count; i++) {
		if (wanted(&m->events[i], i + 1))
			ck_assert_int_eq(buf_printf(&to, NULL, "%zu\n", i + 1), 0);
	}
	ck_assert_int_eq(buf_append(&to, "", 1, NULL), 0);
	return to.ptr;
}

static void check_seqs(
	struct fixture *f, const char *sql, bool (*wanted)(const struct model_event *e, uint64_t seq))
{
	char *want = model_seqs(&f->model, wanted), *have = sql_rows(f->session, sql);

	ck_assert_msg(strcmp(want, have) == 0, "%s gave\n%s\nexpected\n%s", sql, have, want);
	free(want);
	free(have);
}

static bool any(const struct model_event *e, uint64_t seq)
{
	(void)e, (void)seq;
	return true;
}

static bool is_middle(const struct model_event *e, uint64_t seq)
{
	(void)e;
	return seq > 100 && seq <= 300;
}

static bool is_node(const struct model_event *e, uint64_t seq)
{
	(void)seq;
	return e->key % 3 == 2;
}

static bool is_object_34(const struct model_event *e, uint64_t seq)
{
	(void)seq;
	return e->key == 34;
}

static bool is_core(const struct model_event *e, uint64_t seq)
{
	(void)seq;
	return e->key % 3 != 1;
}

static bool is_deleted(const struct model_event *e, uint64_t seq)
{
	(void)seq;
	return e->type == EVENT_DELETED;
}

START_TEST(events__gives_every_event_in_order_with_its_exact_object)
{
	struct fixture f;
	struct buf want;
	char *have;

	setup(&f);
	buf_init(&want, 64u << 20);
	for (size_t i = 0; i < f.model.count; i++)
		ck_assert_int_eq(buf_printf(&want, NULL, "%zu|%s\n", i + 1, f.model.events[i].object), 0);
	ck_assert_int_eq(buf_append(&want, "", 1, NULL), 0);
	have = sql_rows(f.session, "SELECT seq, object FROM events ORDER BY seq");
	ck_assert_msg(strcmp(want.ptr, have) == 0, "rows and history differ");
	free(have);
	buf_release(&want);
	teardown(&f);
}
END_TEST

START_TEST(events__pushed_down_conditions_select_what_they_say)
{
	struct fixture f;

	setup(&f);
	check_seqs(&f, "SELECT seq FROM events ORDER BY seq", any);
	check_seqs(&f, "SELECT seq FROM events WHERE seq > 100 AND seq <= 300 ORDER BY seq", is_middle);
	check_seqs(&f, "SELECT seq FROM events WHERE seq > 100.5 AND seq < '301' ORDER BY seq", is_middle);
	check_seqs(&f, "SELECT seq FROM events WHERE resource = 'nodes' ORDER BY seq", is_node);
	check_seqs(&f, "SELECT seq FROM events WHERE name = 'object-34' ORDER BY seq", is_object_34);
	check_seqs(&f, "SELECT seq FROM events WHERE apigroup = '' ORDER BY seq", is_core);
	check_seqs(&f, "SELECT seq FROM events WHERE resource IN ('pods', 'nodes') ORDER BY seq", is_core);
	check_seqs(&f, "SELECT seq FROM events WHERE type = 'DELETED' ORDER BY seq", is_deleted);
	check_seqs(&f,
		"SELECT e.seq FROM events AS d JOIN events AS e ON e.seq = d.seq "
		"WHERE d.type = 'DELETED' ORDER BY e.seq",
		is_deleted);
	teardown(&f);
}
END_TEST

START_TEST(events__conditions_that_nothing_meets_give_no_rows)
{
	static const char *const statements[] = {
		"SELECT seq FROM events WHERE seq = 0",
		"SELECT seq FROM events WHERE seq = NULL",
		"SELECT seq FROM events WHERE seq > 400",
		"SELECT seq FROM events WHERE seq = 5.5",
		"SELECT seq FROM events WHERE seq > 9223372036854775807",
		"SELECT seq FROM events WHERE seq < -9223372036854775808",
		"SELECT seq FROM events WHERE resource = 'secrets'",
		"SELECT seq FROM events WHERE uid = 'none'",
		"SELECT seq FROM events WHERE name = x'6f'",
		"SELECT seq FROM events WHERE time < '2000-01-01'",
		"SELECT seq FROM events WHERE namespace = 'a' || char(0)",
	};
	struct fixture f;

	setup(&f);
	for (size_t i = 0; i < COUNT_OF(statements); i++)
		ck_assert_sql(f.session, statements[i], "");
	teardown(&f);
}
END_TEST

START_TEST(events__descending_order_and_limits_need_no_sort)
{
	struct fixture f;
	char *plan;

	setup(&f);
	ck_assert_sql(f.session, "SELECT seq FROM events ORDER BY seq DESC LIMIT 2", "400\n399\n");
	ck_assert_sql(f.session, "SELECT substr(object, 1, 0) || seq FROM events LIMIT 2", "1\n2\n");
	plan = sql_rows(f.session, "EXPLAIN QUERY PLAN SELECT object FROM events ORDER BY seq DESC");
	ck_assert_msg(!strstr(plan, "TEMP B-TREE"), "sorted: %s", plan);
	free(plan);
	teardown(&f);
}
END_TEST

START_TEST(events__times_compare_as_times_whatever_their_form)
{
	struct fixture f;

	setup(&f);
	ck_assert_sql(f.session,
		"SELECT count(*) = (SELECT count(*) FROM events WHERE time_ns >= 1700000001000000000) FROM "
		"events "
		"WHERE time >= '2023-11-14T22:13:21Z'",
		"1\n");
	ck_assert_sql(f.session,
		"SELECT (SELECT count(*) FROM events WHERE time < '2023-11-15T00:13:21+02:00') = "
		"(SELECT count(*) FROM events WHERE +time < '2023-11-14T22:13:21.0Z')",
		"1\n");
	ck_assert_sql(f.session,
		"SELECT count(*) FROM events WHERE time BETWEEN '2023-11-14' AND '2023-11-15'", "400\n");
	ck_assert_sql(f.session, "SELECT max(time) = (SELECT to_time(max(time_ns)) FROM events) FROM events",
		"1\n");
	teardown(&f);
}
END_TEST

static void check_sorts(struct sql_session *s, const char *sql, bool sorts)
{
	char *explain = xasprintf("EXPLAIN QUERY PLAN %s", sql), *plan = sql_rows(s, explain);

	ck_assert_msg(!strstr(plan, "TEMP B-TREE") == !sorts, "%s: %s", sql, plan);
	free(explain);
	free(plan);
}

START_TEST(events__order_of_time_is_sorted_only_where_the_clock_stepped_back)
{
	static const char sql[] =
		"SELECT group_concat(seq) FROM (SELECT seq FROM events ORDER BY time LIMIT 3)";
	struct sql_session *s;
	struct tape_writer *w;
	struct model m;
	struct err err;

	model_init(&m, 11);
	w = model_open(&m, NULL);
	model_steps(&m, w, 50, 10);
	ck_assert_ok(sql_session_open(m.path, &s, &err), &err);
	check_sorts(s, "SELECT object FROM events ORDER BY time", false);
	check_sorts(s, "SELECT object FROM events ORDER BY time_ns DESC, seq DESC", false);
	check_sorts(s, "SELECT object FROM events ORDER BY time, seq DESC", true);
	check_sorts(s, "SELECT object FROM events ORDER BY time, name", true);
	ck_assert_sql(s, sql, "1,2,3\n");
	m.now_ns -= 3600000000000;
	model_steps(&m, w, 10, 1);
	ck_assert_sql(s, sql, "51,52,53\n");
	check_sorts(s, "SELECT object FROM events ORDER BY time", true);
	tape_writer_abandon(w);
	sql_session_close(s);
	model_release(&m);
}
END_TEST

START_TEST(objects__is_the_state_at_any_event)
{
	uint64_t live[MODEL_KEYS];
	struct fixture f;

	setup(&f);
	for (uint64_t seq = 1; seq <= f.model.count; seq += 57) {
		char sql[200], *rows;
		long long sum = 0, count = 0, have_sum, have_count;

		model_state(&f.model, seq, live);
		for (size_t i = 0; i < MODEL_KEYS; i++) {
			sum += (long long)live[i];
			count += live[i] != 0;
		}
		snprintf(sql, sizeof(sql), "SELECT count(*), sum(seq) FROM objects(%llu)",
			(unsigned long long)seq);
		rows = sql_rows(f.session, sql);
		ck_assert_int_eq(sscanf(rows, "%lld|%lld", &have_count, &have_sum), 2);
		ck_assert_int_eq(have_count, count);
		ck_assert_int_eq(have_sum, sum);
		free(rows);
	}
	teardown(&f);
}
END_TEST

START_TEST(objects__takes_positions_as_seq_time_and_resource_version)
{
	struct fixture f;

	setup(&f);
	ck_assert_sql(f.session, "SELECT count(*) FROM objects(0)", "0\n");
	ck_assert_sql(f.session, "SELECT count(*) FROM objects('start')", "0\n");
	ck_assert_sql(f.session,
		"SELECT (SELECT group_concat(seq) FROM objects) = (SELECT group_concat(seq) FROM "
		"objects('end')), "
		"(SELECT group_concat(seq) FROM objects) = (SELECT group_concat(seq) FROM objects(400))",
		"1|1\n");
	ck_assert_sql(f.session,
		"SELECT (SELECT group_concat(seq) FROM objects(e.time)) = "
		"(SELECT group_concat(seq) FROM objects WHERE at_seq = e.seq) FROM events AS e WHERE seq = "
		"222",
		"1\n");
	ck_assert_sql(f.session,
		"SELECT max(o.seq) <= 222, max(o.rv_number) <= e.rv_number FROM events AS e, "
		"(SELECT seq, CAST(rv AS INTEGER) AS rv_number, resource, at_rv FROM objects WHERE at_rv = "
		"(SELECT rv FROM events WHERE seq = 222) AND resource = 'nodes') AS o WHERE e.seq = 222",
		"1|1\n");
	ck_assert_sql_fails(f.session, "SELECT * FROM objects('yesterday')", "bad position 'yesterday'");
	ck_assert_sql_fails(f.session, "SELECT * FROM objects('cats@5')", "no resource 'cats'");
	teardown(&f);
}
END_TEST

START_TEST(objects__rows_carry_the_event_that_made_them)
{
	struct fixture f;

	setup(&f);
	ck_assert_sql(f.session,
		"SELECT count(*) FROM objects AS o JOIN events AS e USING (seq, time, time_ns, origin, type, "
		"apigroup, version, resource, namespace, name, uid, rv, bytes, object) "
		"HAVING count(*) <> (SELECT count(*) FROM objects)",
		"");
	teardown(&f);
}
END_TEST

START_TEST(session__can_read_and_nothing_else)
{
	static const char *const statements[] = {"DELETE FROM events", "INSERT INTO gaps(gap) VALUES (1)",
		"CREATE TABLE t(a)", "CREATE TEMP TABLE t(a)", "ATTACH '/tmp/x' AS x", "DROP TABLE events",
		"SELECT load_extension('x')", "SELECT kubetape_open('/tmp')", "PRAGMA journal_mode = OFF",
		"PRAGMA trusted_schema = ON", "VACUUM INTO '/tmp/kubetape-x.db'",
		"CREATE VIRTUAL TABLE temp.t USING kubetape('/tmp')", "BEGIN",
		"SELECT fts3_tokenizer('simple')", "UPDATE sqlite_master SET type = 'x'",
		"UPDATE sqlite_temp_master SET sql = 'x'", "CREATE VIEW v AS SELECT 1",
		"CREATE TRIGGER t AFTER INSERT ON gaps BEGIN SELECT 1; END"};
	struct fixture f;

	setup(&f);
	for (size_t i = 0; i < COUNT_OF(statements); i++)
		free(sql_failure(f.session, statements[i]));
	ck_assert_sql(f.session, "SELECT count(*) FROM json_each('[1, 2]')", "2\n");
	ck_assert_sql(f.session, "SELECT name FROM pragma_table_info('missed') LIMIT 1", "gap\n");
	teardown(&f);
}
END_TEST

START_TEST(session__stops_a_statement_at_its_time_limit)
{
	struct fixture f;

	setup(&f);
	sql_session_limit(f.session, 20000000);
	ck_assert_sql_fails(f.session,
		"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT sum(x) FROM c",
		"longer than 20ms");
	teardown(&f);
}
END_TEST

START_TEST(session__binds_parameters_by_name)
{
	struct fixture f;

	setup(&f);
	sql_session_set(f.session, "n", "3");
	sql_session_set(f.session, "who", "object-34");
	ck_assert_sql(f.session, "SELECT seq FROM events WHERE seq = :n; SELECT typeof(:n), @who",
		"3\ninteger|object-34\n");
	ck_assert_sql_fails(f.session, "SELECT :other", "':other' was given no value");
	teardown(&f);
}
END_TEST

START_TEST(jget__reads_what_json_extract_reads)
{
	struct fixture f;

	setup(&f);
	ck_assert_sql(f.session,
		"SELECT count(*) FROM events WHERE jget(object, '$.metadata.uid') IS NOT uid OR "
		"jget(object, '$.spec') IS NOT json_extract(object, '$.spec')",
		"0\n");
	ck_assert_sql(f.session,
		"SELECT jget('{\"a\":[1,-2.5,true,false,null,\"x\\u00e9\\n\"]}', '$.a[' || value || ']') "
		"FROM json_each('[0,1,2,3,4,5,6]')",
		"1\n-2.5\n1\n0\n-\nx\xc3\xa9\n\n-\n");
	ck_assert_sql(f.session,
		"SELECT jget(NULL, '$.a'), typeof(jget('{\"a\":12345678901234567890}', 'a'))", "-|real\n");
	ck_assert_sql_fails(f.session, "SELECT jget('{\"a\":', '$.a')", "JSON");
	ck_assert_sql_fails(f.session, "SELECT jget('{}', '$.[')", "bad path");
	teardown(&f);
}
END_TEST

START_TEST(length__counts_characters_as_sqlite_does)
{
	static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 and more, \xe2\x82\xac";
	static const size_t lengths[] = {
		0, 1, 2, 2, 3, 3, 3, 4, 4, 4, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 16, 16};
	struct fixture f;

	for (size_t i = 0; i < COUNT_OF(lengths); i++)
		ck_assert_uint_eq(text_length_of((struct slice){text, i}), lengths[i]);
	ck_assert_uint_eq(text_length_of((struct slice){"0123456789\0more", 15}), 10);
	ck_assert_uint_eq(text_length_of(slice_of("0123456789abcdef0123456789abcd\xc3\xa9"
						  "0123456789abcdef0123456789abcde\xc3\xa9")),
		63);
	setup(&f);
	ck_assert_sql(f.session,
		"SELECT length(NULL), length(x'00ff00'), length(-12), length(1.5), length(''), length('\xc3\xa9')",
		"-|3|3|3|0|1\n");
	ck_assert_sql(
		f.session, "SELECT sum(length(object) <> length(CAST(object AS BLOB))) FROM events", "0\n");
	teardown(&f);
}
END_TEST

UNIT_MAIN("sql_events", events__gives_every_event_in_order_with_its_exact_object,
	events__pushed_down_conditions_select_what_they_say,
	events__conditions_that_nothing_meets_give_no_rows, events__descending_order_and_limits_need_no_sort,
	events__times_compare_as_times_whatever_their_form,
	events__order_of_time_is_sorted_only_where_the_clock_stepped_back, objects__is_the_state_at_any_event,
	objects__takes_positions_as_seq_time_and_resource_version,
	objects__rows_carry_the_event_that_made_them, session__can_read_and_nothing_else,
	session__stops_a_statement_at_its_time_limit, session__binds_parameters_by_name,
	jget__reads_what_json_extract_reads, length__counts_characters_as_sqlite_does)
