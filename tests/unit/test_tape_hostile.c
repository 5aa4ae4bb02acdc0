/* test_tape_hostile.c: segments that somebody has changed on purpose, checksums included. */
#include "schema/sql/session.h"
#include "schema/tape/codec.h"
#include "tests/unit/segment_sums.h"
#include "tests/unit/tape_files.h"

#include <sqlite3.h>

/* bomb(N): a frame of a few bytes that decompresses to N. */
static void sql_bomb(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct slice zeros = {NULL, (size_t)sqlite3_value_int64(argv[0])};
	char *bytes = xcalloc(1, zeros.len);
	struct buf frame;

	(void)argc;
	zeros.ptr = bytes;
	buf_init(&frame, 1 << 28);
	ck_assert_int_eq(codec_pack(zeros, 1, &frame, NULL), 0);
	sqlite3_result_blob(context, frame.ptr, (int)frame.len, SQLITE_TRANSIENT);
	buf_release(&frame);
	free(bytes);
}

static void change(const struct model *m, const char *file, const char *sql)
{
	char *path = xasprintf("%s/%s", m->path, file), *message = NULL;
	sqlite3 *db;

	ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
	segment_sums_register(db);
	sqlite3_create_function(db, "bomb", 1, SQLITE_UTF8, NULL, sql_bomb, NULL, NULL);
	ck_assert_msg(sqlite3_exec(db, sql, NULL, NULL, &message) == SQLITE_OK, "%s", message);
	ck_assert_msg(
		sqlite3_exec(db,
			"UPDATE chunk SET xxh64 = chunk_sum(id, extent, first_seq, events, first_time_ns, raw_bytes, data)",
			NULL, NULL, &message) == SQLITE_OK,
		"%s", message);
	sqlite3_close(db);
	free(path);
}

/* A tape of one sealed segment, or of one that is still open, to which sql was done. */
static void make_changed(struct model *m, bool sealed, const char *sql)
{
	static const struct tape_writer_options options = {.extent_bytes = 60000};
	struct tape_writer *w;
	struct err err;

	model_init(m, 1);
	w = model_open(m, &options);
	model_steps(m, w, 208, 10);
	ck_assert_ok(tape_writer_flush(w, &err), &err);
	if (sealed)
		ck_assert_ok(tape_writer_close(w, &err), &err);
	else
		tape_writer_abandon(w);
	change(m, sealed ? "seg-000001.db" : "open-000001.db", sql);
}

static int ignore_row(void *context, const struct sql_value *values, size_t count, struct err *err)
{
	(void)context, (void)values, (void)count, (void)err;
	return 0;
}

static int query(const struct model *m, const char *sql, struct err *err)
{
	const struct sql_sink sink = {.row = ignore_row};
	struct sql_session *s;
	int code = sql_session_open(m->path, &s, err);

	if (code)
		return code;
	code = sql_session_run(s, slice_of(sql), &sink, err);
	sql_session_close(s);
	return code;
}

/* Makes a table of the format again, but for its last column. */
#define EPOCH                                                                                                \
	"DROP TABLE epoch; CREATE TABLE epoch(id INTEGER PRIMARY KEY, after_seq INTEGER, time_ns INTEGER, "  \
	"cluster_uid TEXT, "

START_TEST(reader__refuses_what_no_writer_wrote)
{
	static const struct {
		bool sealed;
		const char *sql, *sentence;
	} cases[] = {
		{true, "CREATE VIEW v AS SELECT 1", "defines view 'v' otherwise than a segment does"},
		{true, "CREATE TRIGGER t AFTER INSERT ON meta BEGIN SELECT 1; END", "defines trigger 't'"},
		{true, "CREATE VIRTUAL TABLE v USING rtree(a, b, c)", "defines table 'v'"},
		{true, "CREATE TABLE more(a)", "defines table 'more'"},
		{true, "CREATE INDEX i ON epoch(abs(time_ns))", "defines index 'i'"},
		{true, "DROP TABLE epoch", "has 13 tables and indices, expected 14"},
		{true, EPOCH "reason AS (printf('%.*c', 900000000, 'x')))", "defines table 'epoch'"},
		{true, EPOCH "reason AS (printf('%.*c', 900000000, 'x')) STORED)", "defines table 'epoch'"},
		{true, EPOCH "reason TEXT DEFAULT (randomblob(900000000)))", "defines table 'epoch'"},
		{true, EPOCH "reason TEXT CHECK (length(randomblob(9))))", "defines table 'epoch'"},
		{true, EPOCH "reason TEXT UNIQUE)", "defines"},
		{true, EPOCH "reason INTEGER)", "defines table 'epoch'"},
		{true, EPOCH "reason TEXT COLLATE NOCASE)", "defines table 'epoch'"},
		{true, EPOCH "reason TEXT) STRICT", "defines table 'epoch'"},
		{true, EPOCH "reason TEXT) WITHOUT ROWID", "defines table 'epoch'"},
		{true, "PRAGMA user_version = 99", "has format version 99, this program reads 1 to 6"},
		{true, "PRAGMA application_id = 7", "application id 0x7, expected 0x4b545045"},
		{true, "DELETE FROM stream WHERE id = 3", "which is not one of its resource"},
		{true, "UPDATE stream SET resource = 77 WHERE id = 2",
			"id 2 of a resource or stream is out of order"},
		{true, "UPDATE resource SET id = 9 WHERE id = 3",
			"id 9 of a resource or stream is out of order"},
		{true, "UPDATE extent SET first_seq = first_seq + 1 WHERE kind = 'events'", "makes no sense"},
		{true, "UPDATE extent SET events = 0", "makes no sense"},
		{true, "UPDATE extent SET last_seq = -1", "makes no sense"},
		{true, "UPDATE extent SET raw_bytes = raw_bytes + 1", "index: found"},
		{true, "UPDATE extent SET index_raw_bytes = index_raw_bytes + 1", "decompressed bytes"},
		{true, "UPDATE extent SET index_xxh64 = 7", "index: bad checksum: found"},
		{true, "DELETE FROM extent WHERE id = (SELECT id FROM extent LIMIT 1 OFFSET 1)",
			"begins at event"},
		{true, "UPDATE block SET raw_bytes = 1 << 40", "block claims"},
		{true, "UPDATE block SET raw_bytes = raw_bytes - 1", "cannot decompress"},
		{true, "UPDATE block SET xxh64 = 1", "bad checksum: found"},
		{true, "DELETE FROM block", "it is not there"},
		{true, "UPDATE block SET data = bomb(20000000), xxh64 = xxh64(bomb(20000000))",
			"cannot decompress"},
		{true,
			"UPDATE block SET data = bomb(40000000), xxh64 = xxh64(bomb(40000000)), "
			"raw_bytes = 40000000",
			"block"},
		{true,
			"UPDATE extent SET \"index\" = bomb(20000000), index_xxh64 = xxh64(bomb(20000000)), "
			"index_raw_bytes = 20000000",
			"index"},
		{true, "UPDATE block SET kind = 'chain', xxh64 = xxh64(data)", "chain"},
		{false, "UPDATE chunk SET raw_bytes = -1", "claims -1 bytes"},
		{false, "UPDATE chunk SET raw_bytes = 1 << 40", "claims 1099511627776 bytes"},
		{false, "UPDATE chunk SET raw_bytes = raw_bytes + 1", "decompressed bytes, expected"},
		{false, "UPDATE chunk SET events = events + 1", "ends before its last event"},
		{false, "UPDATE chunk SET events = 0", "claims 0 events"},
		{false, "UPDATE chunk SET events = events - 1", "bytes after its last event"},
		{false, "UPDATE chunk SET data = bomb(20000000)", "found"},
		{false, "UPDATE chunk SET data = zeroblob(9)", "cannot decompress"},
		{false, "UPDATE chunk SET first_seq = first_seq + 1", "begins at event"},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct err err = {0};
		struct model m;

		make_changed(&m, cases[i].sealed, cases[i].sql);
		ck_assert_msg(model_read_tape(&m, &err) == ERR_CORRUPT, "%s: %d '%s'", cases[i].sql, err.code,
			err.text);
		ck_assert_msg(strstr(err.text, cases[i].sentence), "%s: '%s'", cases[i].sql, err.text);
		ck_assert_msg(strstr(err.text, "000001.db"), "%s: '%s'", cases[i].sql, err.text);
		ck_assert_int_lt(query(&m, "SELECT seq, object FROM events ORDER BY seq", &err), 0);
		ck_assert_msg(strstr(err.text, cases[i].sentence), "SQL: %s: '%s'", cases[i].sql, err.text);
		model_release(&m);
	}
}
END_TEST

START_TEST(sql__decodes_objects_only_when_they_are_asked_for)
{
	struct err err = {0};
	struct model m;

	make_changed(&m, true, "DELETE FROM block");
	ck_assert_ok(query(&m, "SELECT resource, name, rv, bytes FROM events ORDER BY seq", &err), &err);
	ck_assert_ok(query(&m, "SELECT count(name), max(rv) FROM objects", &err), &err);
	ck_assert_int_eq(query(&m, "SELECT name FROM events WHERE object LIKE '%x%'", &err), ERR_FAILED);
	ck_assert_msg(strstr(err.text, "it is not there"), "%s", err.text);
	model_release(&m);
}
END_TEST

START_TEST(writer__takes_names_as_long_as_they_may_be)
{
	static char object[20000], name[4096];
	struct event event = {.origin = ORIGIN_WATCH, .stream = 1};
	struct tape_writer *w;
	struct model m;
	struct tape *t;
	struct err err;
	struct slice got;
	uint64_t seq;

	model_init(&m, 2);
	w = model_open(&m, NULL);
	for (unsigned i = 0; i < 3; i++) {
		memset(name, 'a' + (int)i, sizeof(name));
		snprintf(object, sizeof(object),
			"{\"metadata\":{\"namespace\":\"%.*s\",\"name\":\"%.*s\",\"uid\":\"%.*s\"}}", 4096,
			name, 4096, name, 4096 - (i == 2), name);
		ck_assert_ok(tape_writer_append(w, &event, slice_of(object), &seq, &err), &err);
	}
	snprintf(object, sizeof(object), "{\"metadata\":{\"name\":\"%.*sb\"}}", 4096, name);
	ck_assert_int_eq(tape_writer_append(w, &event, slice_of(object), &seq, &err), ERR_TOO_LARGE);
	ck_assert_ok(tape_writer_close(w, &err), &err);
	ck_assert_ok(tape_open(m.path, &t, &err), &err);
	for (seq = 1; seq <= 3; seq++) {
		ck_assert_ok(tape_object(t, seq, &got, &err), &err);
		ck_assert_uint_gt(got.len, 12000);
	}
	tape_close(t);
	model_release(&m);
}
END_TEST

UNIT_MAIN("tape hostile", reader__refuses_what_no_writer_wrote,
	sql__decodes_objects_only_when_they_are_asked_for, writer__takes_names_as_long_as_they_may_be)
