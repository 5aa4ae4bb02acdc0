/* test_tape_crash.c: what a killed writer leaves, state by state, and what the next one makes of it. */
#include "schema/tape/seal.h"
#include "schema/tape/segment.h"
#include "tests/unit/tape_model.h"

#include <sys/stat.h>

static const struct tape_writer_options small_segments = {.extent_bytes = 100000, .segment_events = 300};

static void run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void run(const char *format, ...)
{
	char command[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(command, sizeof(command), format, ap);
	va_end(ap);
	ck_assert_int_eq(system(command), 0);
}

static void check_every_event(struct model *m)
{
	struct tape_cursor *c;
	struct tape *t;
	struct event e;
	struct slice object;
	struct err err;
	uint64_t seen = 0;

	ck_assert_ok(tape_open(m->path, &t, &err), &err);
	ck_assert_ok(tape_cursor_open(t, NULL, TAPE_FORWARD, &c, &err), &err);
	while (tape_cursor_next(c, &e, &err) > 0) {
		ck_assert_uint_eq(e.seq, ++seen);
		ck_assert_ok(tape_cursor_object(c, &object, &err), &err);
		model_check_event(m, &e, object);
	}
	ck_assert_uint_eq(seen, m->count);
	tape_cursor_close(c);
	tape_close(t);
}

static char *meta_of(struct model *m, const char *file, const char *key)
{
	struct segment_file segment = {1, true, xasprintf("%s/%s", m->path, file)};
	sqlite3 *db;
	struct err err;
	char *value;

	ck_assert_ok(segment_open(&segment, false, &db, &err), &err);
	value = segment_meta(db, key);
	sqlite3_close(db);
	free(segment.path);
	return value;
}

static void check_chain(struct model *m, unsigned segments)
{
	char expected[SEAL_DIGEST_BYTES] = "", file[32];
	struct err err;

	for (unsigned i = 1; i <= segments; i++) {
		char *path, *named;

		snprintf(file, sizeof(file), FORMAT_SEALED_NAME, i);
		named = meta_of(m, file, "previous_digest");
		ck_assert_str_eq(named, expected);
		path = xasprintf("%s/%s", m->path, file);
		ck_assert_ok(seal_digest(path, expected, &err), &err);
		free(named);
		free(path);
	}
}

static void close_writer(struct tape_writer *w)
{
	struct err err;

	ck_assert_ok(tape_writer_close(w, &err), &err);
}

START_TEST(writer__goes_on_where_one_was_killed_while_it_made_the_first_segment)
{
	struct model m;

	model_init(&m, 1);
	run("mkdir %s && cd %s && touch lock open-000001.db.tmp-journal && echo x > open-000001.db.tmp",
		m.path, m.path);
	struct tape_writer *w = model_open(&m, NULL);
	model_steps(&m, w, 50, 10);
	close_writer(w);
	check_every_event(&m);
	run("[ \"$(ls -A %s | tr '\\n' ' ')\" = 'lock seg-000001.db ' ]", m.path);
	model_release(&m);
}
END_TEST

START_TEST(reader__sees_an_empty_tape_where_a_writer_was_killed_before_its_first_flush)
{
	struct tape_writer *w;
	struct tape_info info;
	struct model m;
	struct tape *t;
	struct err err;

	model_init(&m, 2);
	w = model_open(&m, NULL);
	ck_assert_ok(tape_open(m.path, &t, &err), &err);
	ck_assert_ok(tape_info(t, &info, &err), &err);
	ck_assert_uint_eq(info.events, 0);
	model_steps(&m, w, 50, 10);
	ck_assert_int_eq(tape_refresh(t, &err), 1);
	tape_close(t);
	tape_writer_abandon(w);
	model_release(&m);
}
END_TEST

START_TEST(writer__keeps_the_chain_over_a_segment_that_a_crash_left_incomplete)
{
	struct tape_writer *w;
	struct model m;
	struct err err;
	sqlite3 *db;

	model_init(&m, 3);
	w = model_open(&m, NULL);
	model_steps(&m, w, 100, 10);
	close_writer(w);
	ck_assert_ok(segment_create(m.path, 2, SEGMENT_DURABLE, &db, &err), &err);
	sqlite3_close(db);
	w = model_open(&m, NULL);
	model_steps(&m, w, 100, 10);
	close_writer(w);
	check_every_event(&m);
	check_chain(&m, 2);
	model_release(&m);
}
END_TEST

static int stop_at_mark(void *context, const struct tape_mark *mark)
{
	(void)context;
	(void)mark;
	return 1;
}

START_TEST(writer__takes_nothing_from_a_stale_log_beside_the_segment_it_makes)
{
	struct tape_mark mark = {.kind = MARK_BOOKMARK, .stream = 1};
	struct tape_writer *w;
	struct model m, other;
	struct err err;
	struct tape *t;

	model_init(&m, 4);
	model_init(&other, 5);
	w = model_open(&other, NULL);
	ck_assert_ok(tape_writer_mark(w, &mark, &err), &err);
	model_steps(&other, w, 300, 10);
	run("cp %s/open-000001.db-wal %s/log", other.path, other.dir);
	tape_writer_abandon(w);
	w = model_open(&m, NULL);
	model_steps(&m, w, 100, 10);
	close_writer(w);
	run("cp %s/log %s/open-000002.db-wal", other.dir, m.path);
	w = model_open(&m, NULL);
	model_steps(&m, w, 100, 10);
	close_writer(w);
	check_every_event(&m);
	ck_assert_ok(tape_open(m.path, &t, &err), &err);
	ck_assert_int_eq(tape_each_mark(t, stop_at_mark, NULL, &err), 0);
	tape_close(t);
	model_release(&other);
	model_release(&m);
}
END_TEST

START_TEST(writer__removes_what_a_crash_left_beside_a_sealed_segment)
{
	struct tape_writer *w;
	struct model m;

	model_init(&m, 6);
	w = model_open(&m, NULL);
	model_steps(&m, w, 100, 10);
	run("cp -r %s %s/copy", m.path, m.dir);
	close_writer(w);
	run("cp %s/copy/open-000001.db* %s/ && touch %s/seg-000001.db.tmp %s/seg-000002.db.tmp", m.dir,
		m.path, m.path, m.path);
	w = model_open(&m, NULL);
	model_steps(&m, w, 100, 10);
	close_writer(w);
	check_every_event(&m);
	check_chain(&m, 2);
	run("[ \"$(ls -A %s | tr '\\n' ' ')\" = 'lock seg-000001.db seg-000002.db ' ]", m.path);
	model_release(&m);
}
END_TEST

START_TEST(writer__counts_on_when_all_that_is_left_is_a_segment_without_events)
{
	struct tape_mark mark = {.kind = MARK_BOOKMARK, .stream = 1};
	struct event event = {.origin = ORIGIN_WATCH, .stream = 1};
	struct tape_writer *w;
	struct model m;
	struct err err;
	uint64_t seq;

	model_init(&m, 7);
	w = model_open(&m, NULL);
	model_steps(&m, w, 100, 10);
	close_writer(w);
	w = model_open(&m, NULL);
	ck_assert_ok(tape_writer_mark(w, &mark, &err), &err);
	ck_assert_ok(tape_writer_flush(w, &err), &err);
	tape_writer_abandon(w);
	run("rm %s/seg-000001.db", m.path);
	w = model_open(&m, NULL);
	ck_assert_ok(
		tape_writer_append(w, &event, slice_of("{\"metadata\":{\"name\":\"a\"}}"), &seq, &err), &err);
	ck_assert_uint_eq(seq, 101);
	tape_writer_abandon(w);
	model_release(&m);
}
END_TEST

START_TEST(writer__rotates_once_when_asked_while_nothing_is_open)
{
	struct tape_writer_stats stats;
	struct tape_writer *w;
	struct model m;
	struct err err;

	model_init(&m, 8);
	w = model_open(&m, NULL);
	model_steps(&m, w, 100, 10);
	for (unsigned i = 0; i < 3; i++) {
		tape_writer_rotate(w);
		ck_assert_ok(tape_writer_flush(w, &err), &err);
	}
	model_steps(&m, w, 100, 10);
	tape_writer_stats(w, &stats);
	ck_assert_uint_eq(stats.segments, 2);
	tape_writer_abandon(w);
	model_release(&m);
}
END_TEST

START_TEST(writer__makes_sentences_only_for_those_who_want_them)
{
	struct event event = {.origin = ORIGIN_WATCH, .stream = 1}, lost = {.stream = 77};
	struct tape_writer *w;
	struct model m;

	model_init(&m, 9);
	w = model_open(&m, NULL);
	ck_assert_int_lt(tape_writer_append(w, &event, slice_of("[]"), NULL, NULL), 0);
	ck_assert_int_lt(tape_writer_append(w, &lost, slice_of("{}"), NULL, NULL), 0);
	ck_assert_int_eq(tape_writer_append(w, &event, slice_of("{}"), NULL, NULL), 0);
	ck_assert_int_eq(tape_writer_close(w, NULL), 0);
	model_release(&m);
}
END_TEST

START_TEST(tape__takes_any_path)
{
	static const char *const names[] = {"file:a", "a?b#c%41", "a b", "'q'"};

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		struct tape_writer *w;
		struct model m;

		model_init(&m, 10);
		ck_assert_int_eq(chdir(m.dir), 0);
		snprintf(m.path, sizeof(m.path), "%s", names[i]);
		w = model_open(&m, &small_segments);
		model_steps(&m, w, 700, 10);
		close_writer(w);
		check_every_event(&m);
		snprintf(m.path, sizeof(m.path), "/%s/%s", m.dir, names[i]);
		check_every_event(&m);
		ck_assert_int_eq(chdir("/"), 0);
		model_release(&m);
	}
}
END_TEST

static sqlite3 *open_first_segment(const struct model *m)
{
	char *path = xasprintf("%s/" FORMAT_OPEN_NAME, m->path, 1u);
	sqlite3 *db;

	ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
	free(path);
	return db;
}

static void execute(const struct model *m, const char *sql)
{
	sqlite3 *db = open_first_segment(m);

	ck_assert_int_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/* The second half of it is more than an extent should hold; each flush tries to seal it. */
static unsigned fill_unsealable_extent(struct model *m, struct tape_writer *w)
{
	unsigned failures = 0;
	struct err err;

	model_steps(m, w, 20, 5);
	execute(m, "CREATE TRIGGER no_extent BEFORE INSERT ON extent BEGIN SELECT RAISE(FAIL, 'no'); END");
	for (unsigned i = 0; i < 400; i++) {
		model_step(m, w);
		if (i % 7 == 0)
			failures += tape_writer_flush(w, NULL) == ERR_IO;
	}
	ck_assert_ok(tape_writer_commit(w, &err), &err);
	return failures;
}

static void expect_it_goes_on(struct model *m, struct tape_writer *w)
{
	model_steps(m, w, 20, 5);
	check_every_event(m);
	close_writer(w);
	check_every_event(m);
	model_release(m);
}

START_TEST(writer__goes_on_with_an_extent_that_it_could_not_seal)
{
	static const struct tape_writer_options options = {.extent_bytes = 200000};
	struct model m;
	struct tape_writer *w;
	struct err err;

	model_init(&m, 21);
	w = model_open(&m, &options);
	ck_assert_uint_gt(fill_unsealable_extent(&m, w), 3);
	ck_assert(tape_writer_is_full(w));
	execute(&m, "DROP TRIGGER no_extent");
	check_every_event(&m);
	ck_assert_ok(tape_writer_flush(w, &err), &err);
	ck_assert(!tape_writer_is_full(w));
	expect_it_goes_on(&m, w);
}
END_TEST

START_TEST(writer__recovers_an_extent_that_could_not_be_sealed_before_the_crash)
{
	static const struct tape_writer_options options = {.extent_bytes = 200000};
	struct model m;
	struct tape_writer *w;

	model_init(&m, 22);
	w = model_open(&m, &options);
	(void)fill_unsealable_extent(&m, w);
	tape_writer_abandon(w);
	execute(&m, "DROP TRIGGER no_extent");
	w = model_open(&m, &options);
	expect_it_goes_on(&m, w);
}
END_TEST

/* Hardly compressible. */
static void make_noise(struct model *m, char *object, size_t size)
{
	size_t at = (size_t)snprintf(object, size, "{\"x\":\"");

	while (at < size - 12)
		at += (size_t)snprintf(object + at, 9, "%08x", (unsigned)(model_random(m) * 2654435761u));
	snprintf(object + at, size - at, "\"}");
}

START_TEST(writer__makes_several_chunks_of_one_large_flush)
{
	const struct event event = {.stream = 1, .time_ns = 1};
	static char object[1u << 20];
	sqlite3_stmt *chunks;
	struct model m;
	struct tape_writer *w;
	struct err err;
	sqlite3 *db;

	model_init(&m, 23);
	w = model_open(&m, NULL);
	model_steps(&m, w, 5, 5);
	for (int i = 0; i < 8; i++) {
		make_noise(&m, object, sizeof(object));
		ck_assert_ok(tape_writer_append(w, &event, slice_of(object), NULL, &err), &err);
	}
	ck_assert_ok(tape_writer_flush(w, &err), &err);
	db = open_first_segment(&m);
	ck_assert_int_eq(sqlite3_prepare_v2(db, "SELECT count(*), sum(events), max(length(data)) FROM chunk",
				 -1, &chunks, NULL),
		SQLITE_OK);
	ck_assert_int_eq(sqlite3_step(chunks), SQLITE_ROW);
	ck_assert_int_ge(sqlite3_column_int(chunks, 0), 3);
	ck_assert_int_eq(sqlite3_column_int(chunks, 1), 13);
	ck_assert_int_lt(sqlite3_column_int(chunks, 2), 3 << 20);
	sqlite3_finalize(chunks);
	sqlite3_close(db);
	close_writer(w);
	model_release(&m);
}
END_TEST

UNIT_MAIN("tape crash", writer__goes_on_with_an_extent_that_it_could_not_seal,
	writer__recovers_an_extent_that_could_not_be_sealed_before_the_crash,
	writer__makes_several_chunks_of_one_large_flush,
	writer__goes_on_where_one_was_killed_while_it_made_the_first_segment,
	reader__sees_an_empty_tape_where_a_writer_was_killed_before_its_first_flush,
	writer__keeps_the_chain_over_a_segment_that_a_crash_left_incomplete,
	writer__takes_nothing_from_a_stale_log_beside_the_segment_it_makes,
	writer__removes_what_a_crash_left_beside_a_sealed_segment,
	writer__counts_on_when_all_that_is_left_is_a_segment_without_events,
	writer__rotates_once_when_asked_while_nothing_is_open,
	writer__makes_sentences_only_for_those_who_want_them, tape__takes_any_path)
