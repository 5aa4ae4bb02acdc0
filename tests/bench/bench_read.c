/*
 * bench_read.c: reading a tape, beside a plain SQLite table with the same rows, uncompressed and indexed by
 * seq, uid and key. Both answer the same questions, and the answers are compared.
 */
#include "tests/bench/bench.h"

#include "schema/base/count_of.h"
#include "schema/sql/session.h"
#include "schema/tape/reader.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#define LOOKUPS     3000
#define UID_LOOKUPS 500
#define SEEKS       20

static void check_sqlite(sqlite3 *db, int rc)
{
	if (rc == SQLITE_OK || rc == SQLITE_DONE || rc == SQLITE_ROW)
		return;
	fprintf(stderr, "bench: %s\n", sqlite3_errmsg(db));
	exit(EXIT_FAILURE);
}

static void execute(sqlite3 *db, const char *sql)
{
	check_sqlite(db, sqlite3_exec(db, sql, NULL, NULL, NULL));
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *statement = NULL;

	check_sqlite(db, sqlite3_prepare_v2(db, sql, -1, &statement, NULL));
	return statement;
}

/* An empty text is '', as in the tape's table, and not NULL: a slice of no bytes may have no address. */
static void bind_slice(sqlite3_stmt *s, int at, struct slice text)
{
	sqlite3_bind_text(s, at, text.len > 0 ? text.ptr : "", (int)text.len, SQLITE_STATIC);
}

/* The rival: every event of the tape as a row. */
static sqlite3 *make_table(struct bench *b, struct tape *tape)
{
	char *path = xasprintf("%s/plain.db", b->work_dir);
	struct tape_cursor *cursor;
	sqlite3_stmt *insert;
	struct slice object;
	struct event e;
	struct err err;
	sqlite3 *db;

	bench_remove(path);
	check_sqlite(NULL, sqlite3_open(path, &db));
	execute(db,
		"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-600000;"
		"CREATE TABLE events(seq INTEGER PRIMARY KEY, type INTEGER, resource INTEGER, namespace TEXT,"
		" name TEXT, uid TEXT, rv TEXT, object TEXT); BEGIN");
	insert = prepare(db, "INSERT INTO events VALUES(?,?,?,?,?,?,?,?)");
	bench_check(tape_cursor_open(tape, &(struct tape_filter){0}, TAPE_FORWARD, &cursor, &err), &err);
	while (tape_cursor_next(cursor, &e, &err) > 0) {
		bench_check(tape_cursor_object(cursor, &object, &err), &err);
		sqlite3_bind_int64(insert, 1, (int64_t)e.seq);
		sqlite3_bind_int(insert, 2, (int)e.type);
		sqlite3_bind_int(insert, 3, (int)e.resource);
		bind_slice(insert, 4, e.namespace);
		bind_slice(insert, 5, e.name);
		bind_slice(insert, 6, e.uid);
		bind_slice(insert, 7, e.rv);
		bind_slice(insert, 8, object);
		check_sqlite(db, sqlite3_step(insert));
		sqlite3_reset(insert);
	}
	tape_cursor_close(cursor);
	sqlite3_finalize(insert);
	execute(db, "COMMIT; CREATE INDEX by_uid ON events(uid, seq);"
		    "CREATE INDEX by_key ON events(resource, namespace, name, seq)");
	free(path);
	return db;
}

static uint64_t random_seq(uint64_t *state, uint64_t count)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return 1 + (*state >> 20) % count;
}

static double us_since(int64_t start_ns)
{
	return (double)(bench_wall_ns() - start_ns) / 1e3;
}

/* Of a tape that is packed in larger blocks; each look-up decodes one. */
void bench_cold_lookups(struct bench *b, const char *tape_path, uint64_t events)
{
	static double ours[UID_LOOKUPS];
	uint64_t state = 1;
	struct slice object;
	struct tape *tape;
	struct err err;

	bench_check(tape_open(tape_path, &tape, &err), &err);
	tape_set_cache(tape, 0);
	for (int i = 0; i < UID_LOOKUPS; i++) {
		int64_t start_ns = bench_wall_ns();

		bench_check(tape_object(tape, random_seq(&state, events), &object, &err), &err);
		ours[i] = us_since(start_ns);
	}
	tape_close(tape);
	bench_report(b, &(struct bench_row){.what = "one object by seq on that tape, nothing cached, p50",
				.unit = "us",
				.ours = bench_median(ours, UID_LOOKUPS)});
}

static void bench_by_seq(struct bench *b, struct tape *tape, sqlite3 *db)
{
	static double ours[LOOKUPS], rival[LOOKUPS];
	sqlite3_stmt *select = prepare(db, "SELECT object FROM events WHERE seq = ?");
	uint64_t state = 1;

	for (int i = 0; i < LOOKUPS; i++) {
		uint64_t seq = random_seq(&state, b->event_count);
		int64_t start_ns = bench_wall_ns();
		struct slice object;
		struct err err;

		bench_check(tape_object(tape, seq, &object, &err), &err);
		ours[i] = us_since(start_ns);
		start_ns = bench_wall_ns();
		sqlite3_bind_int64(select, 1, (int64_t)seq);
		check_sqlite(db, sqlite3_step(select));
		rival[i] = us_since(start_ns);
		if ((size_t)sqlite3_column_bytes(select, 0) != object.len ||
			memcmp(sqlite3_column_text(select, 0), object.ptr, object.len) != 0)
			bench_check(-1, &(struct err){.text = "tape and table differ"});
		sqlite3_reset(select);
	}
	sqlite3_finalize(select);
	bench_report(b, &(struct bench_row){.what = "one object by seq, p50",
				.unit = "us",
				.goal = "<= 100",
				.ours = bench_median(ours, LOOKUPS),
				.rival = bench_median(rival, LOOKUPS),
				.rival_name = "SQLite table, uncompressed"});
}

/* All versions of one object, bytes included; returns their number. */
static unsigned read_versions(struct tape *tape, const char *uid)
{
	struct tape_filter filter = {.uid = uid};
	struct tape_cursor *cursor;
	struct slice object;
	struct event e;
	struct err err;
	unsigned count = 0;

	bench_check(tape_cursor_open(tape, &filter, TAPE_FORWARD, &cursor, &err), &err);
	while (tape_cursor_next(cursor, &e, &err) > 0) {
		bench_check(tape_cursor_object(cursor, &object, &err), &err);
		count++;
	}
	tape_cursor_close(cursor);
	return count;
}

static void bench_by_uid(struct bench *b, struct tape *tape, sqlite3 *db)
{
	static double ours[UID_LOOKUPS], rival[UID_LOOKUPS];
	sqlite3_stmt *pick =
		prepare(db, "SELECT uid FROM events WHERE seq >= ? AND object LIKE '{\"kind\":\"Pod\"%'");
	sqlite3_stmt *select = prepare(db, "SELECT object FROM events WHERE uid = ? ORDER BY seq");
	uint64_t state = 2;

	for (int i = 0; i < UID_LOOKUPS; i++) {
		unsigned count = 0, rival_count = 0;
		int64_t start_ns;
		char *uid;

		sqlite3_bind_int64(pick, 1, (int64_t)random_seq(&state, b->event_count * 9 / 10));
		check_sqlite(db, sqlite3_step(pick));
		uid = xstrdup((const char *)sqlite3_column_text(pick, 0));
		sqlite3_reset(pick);
		start_ns = bench_wall_ns();
		count = read_versions(tape, uid);
		ours[i] = us_since(start_ns);
		start_ns = bench_wall_ns();
		sqlite3_bind_text(select, 1, uid, -1, SQLITE_STATIC);
		while (sqlite3_step(select) == SQLITE_ROW)
			rival_count += sqlite3_column_text(select, 0) != NULL;
		rival[i] = us_since(start_ns);
		sqlite3_reset(select);
		if (count != rival_count)
			bench_check(-1, &(struct err){.text = "tape and table differ in versions"});
		free(uid);
	}
	sqlite3_finalize(pick);
	sqlite3_finalize(select);
	bench_report(b, &(struct bench_row){.what = "all versions of a pod by uid, p50",
				.unit = "us",
				.goal = "<= 250",
				.ours = bench_median(ours, UID_LOOKUPS),
				.rival = bench_median(rival, UID_LOOKUPS),
				.rival_name = "SQLite table, uncompressed"});
}

static void bench_state(struct bench *b, struct tape *tape, sqlite3 *db)
{
	static const char sql[] = "SELECT count(*) FROM (SELECT max(seq), type FROM events WHERE seq <= ?"
				  " GROUP BY resource, namespace, name) WHERE type <> 2";
	double ours[SEEKS], rival[SEEKS];
	sqlite3_stmt *select = prepare(db, sql);
	uint64_t random = 3;

	for (int i = 0; i < SEEKS; i++) {
		uint64_t seq = random_seq(&random, b->event_count);
		int64_t start_ns = bench_wall_ns();
		struct tape_state *state;
		struct err err;

		bench_check(tape_state_at(tape, seq, 0, &state, &err), &err);
		ours[i] = us_since(start_ns) / 1e3;
		start_ns = bench_wall_ns();
		sqlite3_bind_int64(select, 1, (int64_t)seq);
		check_sqlite(db, sqlite3_step(select));
		rival[i] = us_since(start_ns) / 1e3;
		if ((size_t)sqlite3_column_int64(select, 0) != state->count)
			bench_check(-1, &(struct err){.text = "tape and table differ in state"});
		sqlite3_reset(select);
		tape_state_free(state);
	}
	sqlite3_finalize(select);
	bench_report(b, &(struct bench_row){.what = "state at a position",
				.unit = "ms",
				.goal = "<= 50",
				.ours = bench_median(ours, SEEKS),
				.rival = bench_median(rival, SEEKS),
				.rival_name = "SQLite table, uncompressed"});
}

static double walk_all(struct bench *b, struct tape *tape, enum tape_order order)
{
	int64_t start_ns = bench_cpu_ns();
	struct tape_cursor *cursor;
	struct slice object;
	struct event e;
	struct err err;
	uint64_t bytes = 0;

	(void)b;
	bench_check(tape_cursor_open(tape, &(struct tape_filter){0}, order, &cursor, &err), &err);
	while (tape_cursor_next(cursor, &e, &err) > 0) {
		bench_check(tape_cursor_object(cursor, &object, &err), &err);
		bytes += object.len;
	}
	tape_cursor_close(cursor);
	return bench_mb_per_s(bytes, bench_cpu_ns() - start_ns);
}

static void bench_walk(struct bench *b, struct tape *tape)
{
	double forward[BENCH_ROUNDS], stored[BENCH_ROUNDS];

	for (int i = 0; i < BENCH_ROUNDS; i++) {
		forward[i] = walk_all(b, tape, TAPE_FORWARD);
		stored[i] = walk_all(b, tape, TAPE_STORED);
	}
	bench_report(b, &(struct bench_row){.what = "read every object in order of arrival",
				.unit = "MB/s",
				.ours = bench_median(forward, BENCH_ROUNDS)});
	bench_report(b, &(struct bench_row){.what = "read every object in order of storage",
				.unit = "MB/s",
				.ours = bench_median(stored, BENCH_ROUNDS)});
}

static int keep_integer(void *context, const struct sql_value *values, size_t count, struct err *err)
{
	(void)err;
	*(int64_t *)context = count ? values[0].integer : 0;
	return 0;
}

static int no_header(void *context, const char *const *names, size_t count, struct err *err)
{
	(void)context;
	(void)names;
	(void)count;
	(void)err;
	return 0;
}

static int no_end(void *context, struct err *err)
{
	(void)context;
	(void)err;
	return 0;
}

static double run_ours(struct sql_session *s, const char *sql, int64_t *ret_answer)
{
	struct sql_sink sink = {no_header, keep_integer, no_end, ret_answer};
	int64_t start_ns = bench_cpu_ns();
	struct err err;

	bench_check(sql_session_run(s, slice_of(sql), &sink, &err), &err);
	return (double)(bench_cpu_ns() - start_ns) / 1e6;
}

static double run_rival(sqlite3 *db, const char *sql, int64_t *ret_answer)
{
	int64_t start_ns = bench_cpu_ns();
	sqlite3_stmt *s = prepare(db, sql);

	check_sqlite(db, sqlite3_step(s));
	*ret_answer = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return (double)(bench_cpu_ns() - start_ns) / 1e6;
}

static const struct {
	const char *what, *ours, *rival, *goal;
} queries[] = {
	{"SQL: bytes of all objects, sum(length(object))", "SELECT sum(length(object)) FROM events",
		"SELECT sum(length(object)) FROM events", "ratio < 1"},
	{"SQL: objects LIKE '%CrashLoopBackOff%'",
		"SELECT count(*) FROM events WHERE object LIKE '%CrashLoopBackOff%'",
		"SELECT count(*) FROM events WHERE object LIKE '%CrashLoopBackOff%'", "ratio < 1"},
	{"SQL: one value of every object, jget against json_extract",
		"SELECT count(*) FROM events WHERE jget(object, '$.status.phase') = 'Running'",
		"SELECT count(*) FROM events WHERE json_extract(object, '$.status.phase') = 'Running'",
		"ratio < 1"},
	{"SQL: count events of each namespace",
		"SELECT count(*) FROM (SELECT namespace, count(*) FROM events GROUP BY 1)",
		"SELECT count(*) FROM (SELECT namespace, count(*) FROM events GROUP BY 1)", NULL},
};

static void bench_sql(struct bench *b, sqlite3 *db)
{
	struct sql_session *session;
	struct err err;

	bench_check(sql_session_open(b->tape, &session, &err), &err);
	for (size_t q = 0; q < COUNT_OF(queries); q++) {
		double ours[BENCH_ROUNDS], rival[BENCH_ROUNDS];
		int64_t answer = 0, rival_answer = 0;

		for (int i = 0; i < BENCH_ROUNDS; i++) {
			ours[i] = run_ours(session, queries[q].ours, &answer);
			rival[i] = run_rival(db, queries[q].rival, &rival_answer);
		}
		if (answer != rival_answer)
			bench_check(-1, &(struct err){.text = "tape and table answer differently"});
		bench_report(b, &(struct bench_row){.what = queries[q].what,
					.unit = "ms",
					.goal = queries[q].goal,
					.ours = bench_median(ours, BENCH_ROUNDS),
					.rival = bench_median(rival, BENCH_ROUNDS),
					.rival_name = "SQLite table, uncompressed"});
	}
	sql_session_close(session);
}

/* jq reads a twentieth of the lines; its time is scaled to all of them. */
static void bench_jq(struct bench *b)
{
	char *command = xasprintf("head -n %zu '%s' | jq -c '.object.status.phase' >/dev/null",
		b->line_count / 20, b->stream_path);
	struct sql_session *session;
	int64_t start_ns = bench_wall_ns(), answer;
	double rival_ms, ours[BENCH_ROUNDS];
	struct err err;

	if (system(command) != 0) {
		fputs("bench: jq is not there\n", stderr);
		free(command);
		return;
	}
	rival_ms = us_since(start_ns) / 1e3 * 20;
	bench_check(sql_session_open(b->tape, &session, &err), &err);
	for (int i = 0; i < BENCH_ROUNDS; i++)
		ours[i] = run_ours(
			session, "SELECT count(jget(object, '$.status.phase')) FROM events", &answer);
	sql_session_close(session);
	bench_report(b, &(struct bench_row){.what = "one value of every object, SQL against jq on the stream",
				.unit = "ms",
				.ours = bench_median(ours, BENCH_ROUNDS),
				.rival = rival_ms,
				.rival_name = "jq"});
	free(command);
}

void bench_read(struct bench *b)
{
	char *table = xasprintf("%s/plain.db", b->work_dir);
	struct tape *tape;
	struct err err;
	sqlite3 *db;

	bench_check(tape_open(b->tape, &tape, &err), &err);
	db = make_table(b, tape);
	bench_report(b, &(struct bench_row){.what = "size on disk",
				.unit = "MB",
				.rival_name = "SQLite table, uncompressed",
				.ours = (double)bench_disk_bytes(b->tape) / 1e6,
				.rival = (double)bench_disk_bytes(table) / 1e6});
	bench_by_seq(b, tape, db);
	bench_by_uid(b, tape, db);
	bench_state(b, tape, db);
	bench_walk(b, tape);
	tape_close(tape);
	bench_sql(b, db);
	bench_jq(b);
	sqlite3_close(db);
	bench_verify(b, table);
	bench_remove(table);
	free(table);
}
