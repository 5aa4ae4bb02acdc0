/*
 * test_tape_recover_sweep.c: a small tape, two sealed segments and one that was open when its writer was
 * killed, with a bit flipped, or cut, at one place after the other, all over its files.
 *
 * SWEEP=N looks at N times as many places.
 */
#include "schema/tape/format.h"
#include "tests/unit/recover_check.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>

enum { SEALED_1, SEALED_2, OPEN, LOG, FILE_COUNT };

static const char *const file_names[] = {
	"seg-000001.db", "seg-000002.db", "open-000003.db", "open-000003.db-wal"};
static const struct tape_writer_options options = {.extent_bytes = 200000, .segment_events = 60};

/* The undamaged files, and the rows in them. */
struct subject {
	struct model m;
	char *bytes[FILE_COUNT];
	size_t sizes[FILE_COUNT];
	char **rows; /* sorted */
	size_t row_count;
	bool rows_have_sums; /* plain rows of an open segment have none but the log's */
};

static void write_file(const struct subject *s, int file, size_t size)
{
	char *path = xasprintf("%s/%s", s->m.path, file_names[file]);
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, s->bytes[file], size), (ssize_t)size);
	close(fd);
	free(path);
}

static void read_file(struct subject *s, const char *directory, int file)
{
	char *path = xasprintf("%s/%s", directory, file_names[file]);
	int fd = open(path, O_RDONLY);
	struct stat st;

	ck_assert_msg(fd >= 0, "%s", path);
	ck_assert_int_eq(fstat(fd, &st), 0);
	s->sizes[file] = (size_t)st.st_size;
	s->bytes[file] = malloc(s->sizes[file]);
	ck_assert_int_eq(read(fd, s->bytes[file], s->sizes[file]), st.st_size);
	close(fd);
	free(path);
}

/* ---- rows ---- */

/* Of each table: what does not change when events before are lost. */
static const char *const row_queries[] = {
	"SELECT 'connection', id, stream, purpose, target, begin_ns, end_reason FROM connection",
	"SELECT 'mark', id, time_ns, kind, stream, rv, object FROM mark",
	"SELECT 'gap', id, stream, begin_ns, end_ns, reason, how_ended FROM gap WHERE reason <> 'lost'",
	"SELECT 'document', id, time_ns, path, raw_bytes FROM document WHERE id > 0",
	"SELECT 'clock', id, time_ns, mono_ns, boot_id FROM clock",
	"SELECT 'resource', id, apigroup, version, resource, kind, namespaced FROM resource",
};

static char *text_of(sqlite3_stmt *row)
{
	char *text = xasprintf("%s", "");

	for (int i = 0; i < sqlite3_column_count(row); i++) {
		const char *value = (const char *)sqlite3_column_text(row, i);
		char *longer = xasprintf("%s|%s", text, value ? value : "NULL");

		free(text);
		text = longer;
	}
	return text;
}

static void each_row(const char *path, void (*take)(struct subject *s, char *row), struct subject *s)
{
	sqlite3 *db;

	ck_assert_int_eq(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	for (size_t i = 0; i < COUNT_OF(row_queries); i++) {
		sqlite3_stmt *rows;

		ck_assert_msg(sqlite3_prepare_v2(db, row_queries[i], -1, &rows, NULL) == SQLITE_OK, "%s",
			sqlite3_errmsg(db));
		while (sqlite3_step(rows) == SQLITE_ROW)
			take(s, text_of(rows));
		sqlite3_finalize(rows);
	}
	sqlite3_close(db);
}

static void keep_row(struct subject *s, char *row)
{
	s->rows = realloc(s->rows, (s->row_count + 1) * sizeof(*s->rows));
	s->rows[s->row_count++] = row;
}

static int compare_texts(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

static void check_row(struct subject *s, char *row)
{
	ck_assert_msg(bsearch(&row, s->rows, s->row_count, sizeof(row), compare_texts) != NULL,
		"nobody wrote this row: %s", row);
	free(row);
}

static void check_rows(struct subject *s)
{
	for (unsigned i = 1; i < 9; i++) {
		char *path = xasprintf("%s/new.tape/" FORMAT_SEALED_NAME, s->m.dir, i);

		if (access(path, F_OK) == 0)
			each_row(path, check_row, s);
		free(path);
	}
}

/* ---- the tape ---- */

static void keep_all_rows(struct subject *s)
{
	for (int i = 0; i < LOG; i++) {
		char *path = xasprintf("%s/%s", s->m.path, file_names[i]);

		each_row(path, keep_row, s);
		free(path);
	}
	qsort(s->rows, s->row_count, sizeof(*s->rows), compare_texts);
}

static void put_files(struct subject *s, int first, int last)
{
	for (int i = first; i <= last; i++) {
		if (s->bytes[i])
			write_file(s, i, s->sizes[i]);
	}
}

/* killed: the writer's log is still there, with all of the open segment in it. */
static void begin(struct subject *s, bool killed)
{
	struct tape_writer *w;
	char *command;

	*s = (struct subject){.rows_have_sums = killed};
	model_init(&s->m, 77);
	w = model_open(&s->m, &options);
	for (unsigned done = 0; done < 150; done += 15) {
		add_rows(w);
		model_steps(&s->m, w, 15, 5);
	}
	for (int i = 0; i < FILE_COUNT && killed; i++)
		read_file(s, s->m.path, i);
	tape_writer_abandon(w);
	for (int i = 0; i < LOG && !killed; i++)
		read_file(s, s->m.path, i);
	command = xasprintf("rm -f %s/*", s->m.path);
	ck_assert_int_eq(system(command), 0);
	free(command);
	put_files(s, SEALED_1, LOG);
	keep_all_rows(s);
	put_files(s, OPEN, LOG);
}

static void end(struct subject *s)
{
	for (int i = 0; i < FILE_COUNT; i++)
		free(s->bytes[i]);
	for (size_t i = 0; i < s->row_count; i++)
		free(s->rows[i]);
	free(s->rows);
	model_release(&s->m);
}

/* What the reader can still give, which has its own idea of what is intact. */
static uint64_t count_readable(struct subject *s)
{
	struct tape_cursor *c = NULL;
	struct slice object;
	struct event e;
	struct tape *t = NULL;
	uint64_t count = 0;

	if (tape_open(s->m.path, &t, NULL) == 0 && tape_cursor_open(t, NULL, TAPE_FORWARD, &c, NULL) == 0) {
		while (tape_cursor_next(c, &e, NULL) > 0 && tape_cursor_object(c, &object, NULL) == 0)
			count++;
	}
	tape_cursor_close(c);
	tape_close(t);
	return count;
}

/* Recovers what stands there and puts the file back. */
static struct tape_recover_result look(struct subject *s, int file, bool cut)
{
	struct tape_recover_result result;
	struct told told = recover_cut(&s->m, cut && file == LOG, &result);

	if (s->rows_have_sums)
		check_rows(s);
	ck_assert_uint_ge(result.events, count_readable(s));
	if (!told.calls && !result.tail_unknown && !(cut && file == LOG))
		ck_assert_uint_eq(result.events, s->m.count);
	put_files(s, file < OPEN ? file : OPEN, file < OPEN ? file : LOG);
	free(told.lost);
	return result;
}

static size_t stride_of(size_t size, size_t places)
{
	const char *more = getenv("SWEEP");
	size_t stride = size / (places * (more ? strtoul(more, NULL, 10) : 1));

	return stride ? stride | 1 : 1;
}

START_TEST(recover__loses_nothing_of_a_sealed_segment_to_a_flipped_bit)
{
	struct subject s;

	begin(&s, true);
	for (int file = SEALED_1; file <= SEALED_2; file++) {
		for (size_t at = 0; at < s.sizes[file]; at += stride_of(s.sizes[file], 30)) {
			struct tape_recover_result result;

			s.bytes[file][at] ^= (char)(1u << at % 8);
			write_file(&s, file, s.sizes[file]);
			s.bytes[file][at] ^= (char)(1u << at % 8);
			result = look(&s, file, false);
			ck_assert_uint_eq(result.events, s.m.count);
			ck_assert_uint_eq(result.lost_rows, 0);
			ck_assert(!result.rows_unknown && !result.tail_unknown);
		}
	}
	end(&s);
}
END_TEST

START_TEST(recover__keeps_what_is_intact_of_an_open_segment_with_a_flipped_bit)
{
	struct subject s;

	begin(&s, true);
	for (int file = OPEN; file <= LOG; file++) {
		for (size_t at = 0; at < s.sizes[file]; at += stride_of(s.sizes[file], 50)) {
			s.bytes[file][at] ^= (char)(1u << at % 8);
			write_file(&s, file, s.sizes[file]);
			s.bytes[file][at] ^= (char)(1u << at % 8);
			ck_assert_uint_ge(look(&s, file, false).events, 120);
		}
	}
	end(&s);
}
END_TEST

START_TEST(recover__keeps_the_intact_events_of_an_open_segment_without_a_log)
{
	struct subject s;

	begin(&s, false);
	for (size_t at = 0; at < s.sizes[OPEN]; at += stride_of(s.sizes[OPEN], 50)) {
		s.bytes[OPEN][at] ^= (char)(1u << at % 8);
		write_file(&s, OPEN, s.sizes[OPEN]);
		s.bytes[OPEN][at] ^= (char)(1u << at % 8);
		ck_assert_uint_ge(look(&s, OPEN, false).events, 120);
	}
	end(&s);
}
END_TEST

START_TEST(recover__keeps_what_is_intact_of_a_file_cut_anywhere)
{
	struct subject s;

	begin(&s, true);
	for (int file = 0; file < FILE_COUNT; file++) {
		for (size_t size = 0; size < s.sizes[file]; size += stride_of(s.sizes[file], 30)) {
			write_file(&s, file, size);
			look(&s, file, true);
		}
	}
	end(&s);
}
END_TEST

START_TEST(recover__keeps_what_is_intact_around_zeros)
{
	struct subject s;

	begin(&s, true);
	for (int file = 0; file < FILE_COUNT; file++) {
		for (size_t at = 0; at < s.sizes[file]; at += FORMAT_PAGE_BYTES) {
			size_t len = at + FORMAT_PAGE_BYTES <= s.sizes[file] ? FORMAT_PAGE_BYTES
									     : s.sizes[file] - at;
			char *whole = malloc(len);

			memcpy(whole, s.bytes[file] + at, len);
			memset(s.bytes[file] + at, 0, len);
			write_file(&s, file, s.sizes[file]);
			memcpy(s.bytes[file] + at, whole, len);
			look(&s, file, false);
			free(whole);
		}
	}
	end(&s);
}
END_TEST

UNIT_MAIN("tape recover sweep", recover__loses_nothing_of_a_sealed_segment_to_a_flipped_bit,
	recover__keeps_what_is_intact_of_an_open_segment_with_a_flipped_bit,
	recover__keeps_the_intact_events_of_an_open_segment_without_a_log,
	recover__keeps_what_is_intact_of_a_file_cut_anywhere, recover__keeps_what_is_intact_around_zeros)
