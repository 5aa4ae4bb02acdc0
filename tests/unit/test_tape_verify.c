/* test_tape_verify.c: verify finds what is damaged, says where, and finds nothing in what is not. */
#include "schema/tape/format.h"
#include "schema/tape/seal.h"
#include "schema/tape/verify.h"
#include "tests/unit/segment_sums.h"
#include "tests/unit/tape_files.h"

#include <sqlite3.h>
#include <sys/wait.h>

static const struct tape_writer_options small_segments = {.extent_bytes = 40000, .segment_events = 200};

/* The damages that one run found: the count, and the first one. */
struct findings {
	unsigned count;
	uint64_t offset, length;
	char file[64], what[256], found[64], expected[64];
};

static int note(void *context, const struct tape_damage *d)
{
	struct findings *f = context;

	if (f->count++)
		return 0;
	f->offset = d->offset;
	f->length = d->length;
	snprintf(f->file, sizeof(f->file), "%s", d->file);
	snprintf(f->what, sizeof(f->what), "%s", d->what);
	snprintf(f->found, sizeof(f->found), "%s", d->found);
	snprintf(f->expected, sizeof(f->expected), "%s", d->expected);
	return 0;
}

static struct findings verify(const struct model *m, bool quick, struct tape_verify_result *ret)
{
	struct findings f = {0};
	struct tape_verify_options options = {.quick = quick, .damaged = note, .context = &f};
	struct tape_verify_result result;
	struct err err;

	ck_assert_ok(tape_verify(m->path, &options, &result, &err), &err);
	ck_assert_uint_eq(result.damages, f.count);
	if (ret)
		*ret = result;
	return f;
}

static void expect_intact(const struct model *m)
{
	struct tape_verify_result result;
	struct findings f = verify(m, false, &result);
	uint64_t raw_bytes = 0;

	ck_assert_msg(f.count == 0, "%s: %s: found %s, expected %s", f.file, f.what, f.found, f.expected);
	ck_assert_uint_eq(result.events, m->count);
	for (size_t i = 0; i < m->count; i++)
		raw_bytes += strlen(m->events[i].object);
	ck_assert_uint_ge(
		result.raw_bytes, raw_bytes); /* what lives is there again at each segment's start */
}

static void add_rows(struct tape_writer *w)
{
	struct tape_mark mark = {.kind = MARK_BOOKMARK, .stream = 1, .rv = slice_of("5")};
	struct tape_document d = {
		.path = "/api", .variant = "", .body = slice_of("{\"kind\":\"APIVersions\"}")};
	struct err err;

	ck_assert_ok(tape_writer_mark(w, &mark, &err), &err);
	ck_assert_ok(tape_writer_document(w, &d, &err), &err);
}

static void make_sealed_with(
	struct model *m, uint64_t seed, unsigned steps, const struct tape_writer_options *options)
{
	struct tape_writer *w;
	struct err err;

	model_init(m, seed);
	w = model_open(m, options);
	add_rows(w);
	model_steps(m, w, steps, 10);
	ck_assert_ok(tape_writer_close(w, &err), &err);
}

static void make_sealed(struct model *m, uint64_t seed, unsigned steps)
{
	make_sealed_with(m, seed, steps, &small_segments);
}

START_TEST(verify__finds_nothing_in_what_was_written)
{
	struct tape_writer *w;
	struct model m;

	make_sealed(&m, 1, 1000);
	expect_intact(&m);
	for (unsigned life = 0; life < 3; life++) {
		w = model_open(&m, &small_segments);
		model_steps(&m, w, 130, 10);
		expect_intact(&m);
		tape_writer_abandon(w);
		expect_intact(&m);
	}
	model_release(&m);
}
END_TEST

START_TEST(verify__finds_nothing_in_a_tape_that_lost_its_first_segments_to_retention)
{
	struct tape_verify_result result;
	struct model m;
	char command[200];

	make_sealed(&m, 2, 1000);
	snprintf(command, sizeof(command), "rm %s/seg-000001.db %s/seg-000002.db", m.path, m.path);
	ck_assert_int_eq(system(command), 0);
	ck_assert_uint_eq(verify(&m, false, &result).count, 0);
	ck_assert_uint_eq(result.segments, 3);
	model_release(&m);
}
END_TEST

static int open_lock(const struct model *m)
{
	char path[100];

	snprintf(path, sizeof(path), "%s/lock", m->path);
	return open(path, O_RDWR | O_CREAT, 0600);
}

/* A tenth of the tape for each byte that it is given. */
static void write_in_child(struct model *m, int go_on)
{
	struct tape_writer *w = model_open(m, &small_segments);
	char byte;

	for (unsigned i = 0; i < 10 && read(go_on, &byte, 1) == 1; i++)
		model_steps(m, w, 600, 5);
	tape_writer_abandon(w);
	_exit(0);
}

START_TEST(verify__finds_nothing_while_the_tape_is_written)
{
	struct tape_verify_result result = {0};
	struct model m;
	int status, pipe_ends[2];
	pid_t child;

	model_init(&m, 3);
	ck_assert_int_eq(mkdir(m.path, 0700), 0);
	close(open_lock(&m));
	ck_assert_int_eq(pipe(pipe_ends), 0);
	child = fork();
	if (child == 0) {
		close(pipe_ends[1]); /* whose end, with this test, is its own */
		write_in_child(&m, pipe_ends[0]);
	}
	for (unsigned runs = 0; runs < 10 || waitpid(child, &status, WNOHANG) == 0; runs++) {
		struct findings f;

		if (runs < 10)
			ck_assert_int_eq(write(pipe_ends[1], "", 1), 1);
		f = verify(&m, false, &result);
		ck_assert_msg(
			f.count == 0, "%s: %s: found %s, expected %s", f.file, f.what, f.found, f.expected);
		ck_assert(result.events == 0 || result.stored_bytes > 0);
	}
	close(pipe_ends[0]);
	close(pipe_ends[1]);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(verify(&m, false, &result).count, 0);
	ck_assert_uint_eq(result.events, 6000);
	model_release(&m);
}
END_TEST

static void flip(int fd, uint64_t at, unsigned bit)
{
	unsigned char byte;

	ck_assert_int_eq(pread(fd, &byte, 1, (off_t)at), 1);
	byte ^= (unsigned char)(1u << bit);
	ck_assert_int_eq(pwrite(fd, &byte, 1, (off_t)at), 1);
}

/* Under a sanitizer every 17th must do. */
static unsigned step_of_variant(void)
{
#ifdef __SANITIZE_ADDRESS__
	return 17;
#else
	return 1;
#endif
}

static int note_seal(void *context, const struct seal_damage *d)
{
	const struct tape_damage damage = {"", d->offset, d->length, d->what, d->found, d->expected};

	return note(context, &damage);
}

/* The footer has its own sum and is damaged as a whole. */
static void check_finding(const struct findings *f, uint64_t at, uint64_t size)
{
	ck_assert_msg(f->count == 1, "byte %llu: %u damages", (unsigned long long)at, f->count);
	if (at >= size - 64)
		return;
	ck_assert_uint_le(f->offset, at);
	ck_assert_uint_gt(f->offset + f->length, at);
	ck_assert_str_ne(f->found, f->expected);
}

START_TEST(verify__finds_every_flipped_bit_with_its_page)
{
	char digest[SEAL_DIGEST_BYTES], *path;
	uint64_t size;
	struct model m;
	int fd;

	make_sealed(&m, 4, 20);
	path = xasprintf("%s/seg-000001.db", m.path);
	fd = model_open_file(&m, "seg-000001.db", &size);
	for (uint64_t bit = 0; bit < 8 * size; bit += step_of_variant()) {
		struct findings f = {0};
		struct err err;
		int found;

		flip(fd, bit / 8, bit % 8);
		found = seal_check(path, note_seal, NULL, &f, digest, &err);
		f.count += found < 0;
		check_finding(&f, bit / 8, size);
		if (bit % 101 == 0) {
			f = verify(&m, true, NULL);
			ck_assert_str_eq(f.file, "seg-000001.db");
			check_finding(&f, bit / 8, size);
		}
		flip(fd, bit / 8, bit % 8);
	}
	close(fd);
	free(path);
	ck_assert_uint_eq(verify(&m, false, NULL).count, 0);
	model_release(&m);
}
END_TEST

START_TEST(verify__finds_a_cut_at_every_byte_and_a_reader_has_a_sentence_for_it)
{
	uint64_t size, step = step_of_variant() > 1 ? 61 : 7;
	struct model m;
	int fd;

	make_sealed(&m, 5, 20);
	fd = model_open_file(&m, "seg-000001.db", &size);
	for (uint64_t left = size - 1; left > step; left -= left > size - 2000 ? 1 : step) {
		struct findings f;
		struct err err = {0};

		ck_assert_int_eq(ftruncate(fd, (off_t)left), 0);
		f = verify(&m, false, NULL);
		ck_assert_msg(f.count == 1, "%llu bytes: %u damages", (unsigned long long)left, f.count);
		ck_assert_msg(strstr(f.what, "cut short") || strstr(f.what, "bad seal"), "%s", f.what);
		if (model_read_tape(&m, &err) < 0)
			ck_assert_msg(*err.text && err.code != ERR_FAILED, "%llu bytes: no sentence",
				(unsigned long long)left);
	}
	close(fd);
	model_release(&m);
}
END_TEST

/* Changes a sealed segment and seals it again, as a program with an error or a forger would. */
static void change(const struct model *m, const char *name, const char *sql)
{
	char *path = xasprintf("%s/%s", m->path, name), *message = NULL, digest[SEAL_DIGEST_BYTES];
	uint64_t size, page_bytes; /* as the footer has it, like the machine little-endian */
	struct err err;
	sqlite3 *db;
	int fd = model_open_file(m, name, &size);

	ck_assert_int_eq(pread(fd, &page_bytes, 8, (off_t)(size - 48)), 8);
	ck_assert_int_eq(ftruncate(fd, (off_t)((size - 64) / (page_bytes + 8) * page_bytes)), 0);
	close(fd);
	ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
	segment_sums_register(db);
	ck_assert_msg(sqlite3_exec(db, sql, NULL, NULL, &message) == SQLITE_OK, "%s", message);
	sqlite3_close(db);
	ck_assert_ok(seal_append(path, digest, &err), &err);
	free(path);
}

START_TEST(verify__finds_what_was_changed_and_sealed_again)
{
	/* In the last of five segments, so that the chain does not give it away. */
	static const struct {
		const char *sql, *sentence;
	} cases[] = {
		{"UPDATE meta SET value = 'x' WHERE key = 'previous_digest'", "bad previous_digest"},
		{"UPDATE meta SET value = 'x' WHERE key = 'tape_id'", "bad tape_id"},
		{"UPDATE meta SET value = 7 WHERE key = 'segment'", "bad segment"},
		{"UPDATE meta SET value = value + 1 WHERE key = 'first_seq'", "bad first_seq"},
		{"DELETE FROM meta WHERE key = 'state_complete'", "bad state_complete"},
		{"UPDATE resource SET resource = 'x' WHERE id = 1", "another one than before"},
		{"UPDATE stream SET namespace = 'x' WHERE id = 1", "another one than before"},
		{"UPDATE document SET xxh64 = 1", "bad checksum of document '/api'"},
		{"UPDATE document SET raw_bytes = raw_bytes + 1", "document '/api': found"},
		{"UPDATE mark SET stream = 99", "names a stream that is not there"},
		{"DELETE FROM extent WHERE kind = 'state'", "bad count of live objects"},
		{"UPDATE extent SET events = events + 1", "events in the index"},
		{"UPDATE extent SET objects = objects + 1", "objects in the index"},
		{"UPDATE extent SET min_time_ns = 1", "earliest time"},
		{"UPDATE extent SET raw_bytes = 1", "bytes of objects"},
		{"UPDATE extent SET blocks = blocks + 1", "blocks in the index"},
		{"UPDATE extent SET index_xxh64 = 1", "bad checksum of the index of extent"},
		{"UPDATE extent SET filter_xxh64 = 1", "bad checksum of the filter of extent"},
		{"UPDATE extent SET filter = x'01', filter_xxh64 = xxh64(x'01')",
			"filter is not that of the objects"},
		{"UPDATE block SET xxh64 = 1", "bad checksum of block 0 of extent"},
		{"UPDATE block SET events = events + 1 WHERE kind <> 'chain'", "events of a block"},
		{"DELETE FROM block WHERE id = (SELECT max(id) FROM block)", "blocks that are there"},
		{"INSERT INTO block SELECT (99 << 24), kind, events, raw_bytes, xxh64, data FROM block LIMIT 1",
			"belongs to no extent"},
		{"DELETE FROM extent WHERE id = (SELECT min(id) FROM extent WHERE kind = 'events')",
			"first event"},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct findings f;
		struct model m;

		make_sealed(&m, 6, 1000);
		change(&m, "seg-000005.db", cases[i].sql);
		f = verify(&m, false, NULL);
		ck_assert_msg(f.count > 0 && strstr(f.what, cases[i].sentence), "%s: %u '%s'", cases[i].sql,
			f.count, f.what);
		ck_assert_str_eq(f.file, "seg-000005.db");
		model_release(&m);
	}
}
END_TEST

/* The state of one segment is put in the place of another's: sound in itself, but not what lived. */
START_TEST(verify__finds_a_state_that_is_not_what_the_events_left)
{
	struct findings f;
	struct model m;
	char *sql;

	make_sealed_with(&m, 7, 1000, &(struct tape_writer_options){.segment_events = 200});
	sql = xasprintf("ATTACH '%s/seg-000003.db' AS other; DELETE FROM extent WHERE kind = 'state'; "
			"DELETE FROM block WHERE id >> 24 NOT IN (SELECT id FROM extent);"
			"INSERT INTO extent SELECT * FROM other.extent WHERE kind = 'state';"
			"INSERT OR REPLACE INTO block SELECT * FROM other.block WHERE id >> 24 IN "
			"(SELECT id FROM other.extent WHERE kind = 'state')",
		m.path);
	change(&m, "seg-000005.db", sql);
	f = verify(&m, false, NULL);
	ck_assert_uint_gt(f.count, 0);
	ck_assert_msg(strstr(f.what, "version of a live object"), "%s", f.what);
	free(sql);
	model_release(&m);
}
END_TEST

START_TEST(verify__names_a_segment_that_is_missing_and_judges_the_next_by_itself)
{
	struct findings f;
	struct model m;
	char command[100];

	make_sealed(&m, 8, 1000);
	snprintf(command, sizeof(command), "rm %s/seg-000003.db", m.path);
	ck_assert_int_eq(system(command), 0);
	f = verify(&m, false, NULL);
	ck_assert_uint_eq(f.count, 1);
	ck_assert_str_eq(f.what, "segment 3 is missing");
	model_release(&m);
}
END_TEST

START_TEST(verify__finds_a_flipped_bit_in_chunks_that_are_still_hot)
{
	struct tape_writer *w;
	struct findings f;
	struct model m;
	uint64_t size;
	char *place, *bytes;
	int fd;

	model_init(&m, 9);
	w = model_open(&m, NULL);
	model_steps(&m, w, 100, 10);
	tape_writer_abandon(w); /* its log goes into its database */
	fd = model_open_file(&m, "open-000001.db", &size);
	bytes = xmalloc(size);
	ck_assert_int_eq(pread(fd, bytes, size, 0), (ssize_t)size);
	/* How a zstd frame begins; pages have old copies in their unused parts. */
	for (place = bytes; (place = memmem(place, size - (size_t)(place - bytes), "\x28\xb5\x2f\xfd", 4));
		place++)
		flip(fd, (uint64_t)(place - bytes) + 100, 3);
	f = verify(&m, false, NULL);
	ck_assert_uint_eq(f.count, 1);
	ck_assert_msg(strstr(f.what, "bad checksum"), "%s", f.what);
	place = memmem(bytes + f.offset, FORMAT_PAGE_BYTES, "\x28\xb5\x2f\xfd", 4);
	ck_assert_ptr_nonnull(place);
	close(fd);
	free(bytes);
	model_release(&m);
}
END_TEST

/* Where the last transaction of a log begins. Frames: a header of 24 bytes, and a page. */
static uint64_t last_transaction(int fd, uint64_t size)
{
	const uint64_t frame = 24 + FORMAT_PAGE_BYTES;
	uint64_t begin = 32, last = 32;
	uint32_t pages;

	for (uint64_t at = 32; at + frame <= size; at += frame) {
		ck_assert_int_eq(pread(fd, &pages, sizeof(pages), (off_t)at + 4), sizeof(pages));
		if (pages) {
			last = begin;
			begin = at + frame;
		}
	}
	return last;
}

START_TEST(verify__finds_a_flipped_bit_in_the_log_of_an_open_segment_where_a_crash_leaves_none)
{
	struct tape_writer *w;
	struct findings f;
	struct model m;
	uint64_t size, end;
	int fd;

	model_init(&m, 9);
	w = model_open(&m, NULL);
	model_steps(&m, w, 100, 10);
	fd = model_open_file(&m, "open-000001.db-wal", &size);
	end = last_transaction(fd, size);
	ck_assert_uint_gt(end, 10 * FORMAT_PAGE_BYTES);
	for (uint64_t at = 0; at < end; at += at < 100 ? 1 : 997) {
		flip(fd, at, (unsigned)at % 8);
		f = verify(&m, false, NULL);
		ck_assert_msg(f.count > 0, "a flipped bit at %llu was not found", (unsigned long long)at);
		ck_assert_str_eq(f.file, "open-000001.db-wal");
		ck_assert_uint_le(f.offset, at);
		ck_assert_uint_gt(f.offset + f.length, at);
		flip(fd, at, (unsigned)at % 8);
	}
	expect_intact(&m);
	close(fd);
	tape_writer_abandon(w);
	model_release(&m);
}
END_TEST

static int stop_at_once(void *context, uint64_t done, uint64_t total)
{
	(void)context;
	return done <= total;
}

START_TEST(verify__stops_when_told_to)
{
	struct tape_verify_options options = {.progress = stop_at_once};
	struct tape_verify_result result;
	struct model m;
	struct err err;

	make_sealed(&m, 10, 300);
	ck_assert_int_eq(tape_verify(m.path, &options, &result, &err), ERR_STOPPED);
	ck_assert_int_eq(tape_verify("/nonexistent.tape", &options, &result, &err), ERR_NOT_FOUND);
	ck_assert_int_eq(tape_verify("/proc", &options, &result, &err), ERR_CORRUPT);
	model_release(&m);
}
END_TEST

UNIT_MAIN("tape verify", verify__finds_nothing_in_what_was_written,
	verify__finds_nothing_in_a_tape_that_lost_its_first_segments_to_retention,
	verify__finds_nothing_while_the_tape_is_written, verify__finds_every_flipped_bit_with_its_page,
	verify__finds_a_cut_at_every_byte_and_a_reader_has_a_sentence_for_it,
	verify__finds_what_was_changed_and_sealed_again,
	verify__finds_a_state_that_is_not_what_the_events_left,
	verify__names_a_segment_that_is_missing_and_judges_the_next_by_itself,
	verify__finds_a_flipped_bit_in_chunks_that_are_still_hot,
	verify__finds_a_flipped_bit_in_the_log_of_an_open_segment_where_a_crash_leaves_none,
	verify__stops_when_told_to)
