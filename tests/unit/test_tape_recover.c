/* test_tape_recover.c: what is intact of a damaged tape comes back, and what does not is told. */
#include "schema/tape/format.h"
#include "tests/unit/recover_check.h"
#include "tests/unit/tape_files.h"

#include <dirent.h>
#include <sqlite3.h>

static const struct tape_writer_options small_segments = {.extent_bytes = 600000, .segment_events = 200};

static void make_tape(struct model *m, uint64_t seed, unsigned steps, bool open_end)
{
	struct tape_writer *w;
	struct err err;

	model_init(m, seed);
	w = model_open(m, &small_segments);
	for (unsigned done = 0; done < steps; done += 25) {
		add_rows(w);
		model_steps(m, w, 25, 5);
	}
	if (open_end)
		tape_writer_abandon(w);
	else
		ck_assert_ok(tape_writer_close(w, &err), &err);
}

static void flip(const struct model *m, const char *name, uint64_t at, unsigned bit)
{
	unsigned char byte;
	uint64_t size;
	int fd = model_open_file(m, name, &size);

	at %= size;
	ck_assert_int_eq(pread(fd, &byte, 1, (off_t)at), 1);
	byte ^= (unsigned char)(1u << bit);
	ck_assert_int_eq(pwrite(fd, &byte, 1, (off_t)at), 1);
	close(fd);
}

static void zero_page(const struct model *m, const char *name, uint64_t page)
{
	static const char zeros[FORMAT_PAGE_BYTES];
	uint64_t size;
	int fd = model_open_file(m, name, &size);

	ck_assert_int_eq(pwrite(fd, zeros, sizeof(zeros), (off_t)(page * FORMAT_PAGE_BYTES)), sizeof(zeros));
	close(fd);
}

static uint64_t pages_of(const struct model *m, const char *name)
{
	uint64_t size;

	close(model_open_file(m, name, &size));
	return size / (FORMAT_PAGE_BYTES + 8);
}

static unsigned count_rows(const char *path, const char *table)
{
	char *sql = xasprintf("SELECT count(DISTINCT id) FROM %s", table), *file;
	unsigned count = 0;

	for (unsigned i = 1; i < 50; i++) {
		sqlite3_stmt *row;
		sqlite3 *db;

		file = xasprintf("%s/" FORMAT_SEALED_NAME, path, i);
		if (access(file, F_OK) == 0 && sqlite3_open(file, &db) == SQLITE_OK) {
			ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
			ck_assert_int_eq(sqlite3_step(row), SQLITE_ROW);
			count += (unsigned)sqlite3_column_int(row, 0);
			sqlite3_finalize(row);
			sqlite3_close(db);
		}
		free(file);
	}
	free(sql);
	return count;
}

START_TEST(recover__gives_back_all_of_a_tape_that_is_whole)
{
	for (int open_end = 0; open_end < 2; open_end++) {
		struct tape_recover_result result;
		struct told told;
		struct model m;
		char *new;

		make_tape(&m, 1, 900, open_end);
		told = recover(&m, &result);
		ck_assert_uint_eq(told.calls, 0);
		ck_assert_uint_eq(result.events, 900);
		ck_assert_uint_eq(result.segments, 5);
		ck_assert(!result.tail_unknown);
		new = xasprintf("%s/new.tape", m.dir);
		if (!open_end) {
			ck_assert_uint_eq(count_rows(new, "connection"), count_rows(m.path, "connection"));
			ck_assert_uint_eq(count_rows(new, "mark"), count_rows(m.path, "mark"));
			ck_assert_uint_eq(count_rows(new, "document"), count_rows(m.path, "document"));
			ck_assert_uint_eq(count_rows(new, "clock"), count_rows(m.path, "clock"));
		}
		free(new);
		free(told.lost);
		model_release(&m);
	}
}
END_TEST

START_TEST(recover__loses_no_more_than_what_is_on_a_page)
{
	struct model m;
	uint64_t pages;

	make_tape(&m, 2, 450, false);
	pages = pages_of(&m, "seg-000001.db");
	for (uint64_t page = 0; page < pages; page++) {
		char *command = xasprintf("rm -rf %s/whole && cp -r %s %s/whole", m.dir, m.path, m.dir);
		struct told told;

		ck_assert_int_eq(system(command), 0);
		free(command);
		zero_page(&m, "seg-000001.db", page);
		told = recover(&m, NULL);
		ck_assert_msg(told.events < 200, "page %llu: %lu events lost", (unsigned long long)page,
			told.events);
		free(told.lost);
		command = xasprintf("rm -rf %s && mv %s/whole %s", m.path, m.dir, m.path);
		ck_assert_int_eq(system(command), 0);
		free(command);
	}
	model_release(&m);
}
END_TEST

START_TEST(recover__tells_the_truth_about_flipped_bits)
{
	static const char *const files[] = {
		"seg-000001.db", "seg-000002.db", "seg-000003.db", "open-000004.db"};
	unsigned lossless = 0;

	for (unsigned round = 0; round < 60; round++) {
		struct told told;
		struct model m;

		make_tape(&m, 100 + round, 700, true);
		for (unsigned i = 0; i <= round % 4; i++)
			flip(&m, files[model_random(&m) % COUNT_OF(files)], model_random(&m),
				model_random(&m) % 8);
		told = recover(&m, NULL);
		lossless += told.calls == 0;
		free(told.lost);
		model_release(&m);
	}
	ck_assert_uint_gt(lossless, 5); /* unused bytes, sums, numbers that are known from elsewhere */
	ck_assert_uint_lt(lossless, 55);
}
END_TEST

START_TEST(recover__takes_what_is_left_of_files_that_were_cut)
{
	for (unsigned part = 0; part < 5; part++) {
		struct told told;
		struct model m;
		uint64_t size;
		int fd;

		make_tape(&m, 8, 700, false);
		fd = model_open_file(&m, "seg-000002.db", &size);
		ck_assert_int_eq(ftruncate(fd, (off_t)(size * part / 4)), 0);
		close(fd);
		told = recover(&m, NULL);
		if (part == 4)
			ck_assert_uint_eq(told.calls, 0);
		if (part == 0)
			ck_assert_uint_gt(told.events, 100);
		free(told.lost);
		model_release(&m);
	}
}
END_TEST

START_TEST(recover__tells_what_a_missing_segment_had)
{
	struct told told;
	struct model m;
	char *command;

	make_tape(&m, 3, 900, false);
	command = xasprintf("rm %s/seg-000003.db", m.path);
	ck_assert_int_eq(system(command), 0);
	told = recover(&m, NULL);
	ck_assert_str_eq(told.why, "the segment is missing");
	ck_assert_uint_ge(told.events, 100); /* what still lived at the end of it was kept by the next one */
	ck_assert_uint_lt(told.events, 200);
	free(command);
	free(told.lost);
	model_release(&m);
}
END_TEST

START_TEST(recover__keeps_the_seqs_and_the_state_of_a_tape_that_lost_its_first_segments_to_retention)
{
	struct tape_recover_options options = {0};
	struct tape_recover_result result;
	struct tape_state *old_state, *new_state;
	struct tape *old, *new;
	struct tape_info info;
	struct model m;
	struct err err;
	char *command, *to;

	make_tape(&m, 4, 900, false);
	to = xasprintf("%s/new.tape", m.dir);
	command = xasprintf("rm %s/seg-000001.db %s/seg-000002.db", m.path, m.path);
	ck_assert_int_eq(system(command), 0);
	ck_assert_ok(tape_recover(m.path, to, &options, &result, &err), &err);
	ck_assert_uint_eq(result.lost_events + result.lost_rows, 0);
	check_sound(to);
	ck_assert_ok(tape_open(m.path, &old, &err), &err);
	ck_assert_ok(tape_open(to, &new, &err), &err);
	ck_assert_ok(tape_info(new, &info, &err), &err);
	ck_assert_uint_eq(info.first_seq, 401);
	ck_assert_uint_eq(info.last_seq, 900);
	for (uint64_t seq = 400; seq <= 900; seq += 100) {
		ck_assert_ok(tape_state_at(old, seq, 0, &old_state, &err), &err);
		ck_assert_ok(tape_state_at(new, seq, 0, &new_state, &err), &err);
		ck_assert_uint_eq(old_state->count, new_state->count);
		for (size_t i = 0; i < old_state->count; i++)
			ck_assert_uint_eq(old_state->live[i].seq, new_state->live[i].seq);
		tape_state_free(old_state);
		tape_state_free(new_state);
	}
	tape_close(old);
	tape_close(new);
	free(to);
	free(command);
	model_release(&m);
}
END_TEST

static int note_gap(void *context, const struct tape_gap *gap)
{
	struct tape_gap *last = context;

	*last = *gap;
	ck_assert_str_eq(gap->reason, "lost");
	ck_assert_str_eq(gap->how_ended, "recovered");
	ck_assert_int_le(gap->begin_ns, gap->end_ns);
	return 0;
}

static void change_chunk(const struct model *m, unsigned id)
{
	char *path = xasprintf("%s/open-000001.db", m->path);
	char *sql = xasprintf("UPDATE chunk SET data = zeroblob(length(data)) WHERE id = %u", id);
	sqlite3 *db;

	ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
	ck_assert_int_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	free(path);
	free(sql);
}

START_TEST(recover__makes_a_gap_of_what_is_lost)
{
	struct tape_gap gap = {0};
	struct told told;
	struct model m;
	struct tape *t;
	struct err err;
	char *new;

	make_tape(&m, 5, 75, true);
	change_chunk(&m, 9);
	told = recover(&m, NULL);
	ck_assert_uint_eq(told.events, 35); /* five in each of the chunks 9 to 15 */
	ck_assert_str_eq(told.file, "open-000001.db");
	new = xasprintf("%s/new.tape", m.dir);
	ck_assert_ok(tape_open(new, &t, &err), &err);
	ck_assert_ok(tape_each_gap(t, note_gap, &gap, &err), &err);
	ck_assert_uint_gt(gap.id, 0);
	tape_close(t);
	free(new);
	free(told.lost);
	model_release(&m);
}
END_TEST

static unsigned count_entries(const char *path)
{
	DIR *dir = opendir(path);
	unsigned count = 0;

	for (struct dirent *entry; (entry = readdir(dir));)
		count += entry->d_name[0] != '.';
	closedir(dir);
	return count;
}

/* In the middle of the writing, when half was done in the reading. */
static int stop_late(void *context, uint64_t done, uint64_t total)
{
	(void)context;
	return done > total / 2;
}

static int stop_at_once(void *context, uint64_t done, uint64_t total)
{
	(void)context;
	return done <= total;
}

START_TEST(recover__refuses_what_it_must_and_leaves_nothing_when_stopped)
{
	struct tape_recover_options options = {0}, stopping = {.progress = stop_at_once},
				    stopping_late = {.progress = stop_late};
	struct tape_recover_result result;
	struct tape_writer *w;
	struct model m;
	struct err err;
	char *to;

	make_tape(&m, 6, 300, true);
	to = xasprintf("%s/new.tape", m.dir);
	ck_assert_int_eq(tape_recover(m.path, m.path, &options, &result, &err), ERR_USAGE);
	ck_assert_int_eq(tape_recover("/nonexistent", to, &options, &result, &err), ERR_NOT_FOUND);
	ck_assert_int_eq(tape_recover("/proc", to, &options, &result, &err), ERR_CORRUPT);
	ck_assert_int_eq(tape_recover(m.path, to, &stopping, &result, &err), ERR_STOPPED);
	ck_assert_int_eq(tape_recover(m.path, to, &stopping_late, &result, &err), ERR_STOPPED);
	ck_assert_uint_eq(count_entries(m.dir), 1); /* the damaged tape */
	w = model_open(&m, NULL);
	ck_assert_int_eq(tape_recover(m.path, to, &options, &result, &err), ERR_BUSY);
	tape_writer_abandon(w);
	ck_assert_int_ne(access(to, F_OK), 0);
	free(to);
	model_release(&m);
}
END_TEST

UNIT_MAIN("tape recover", recover__gives_back_all_of_a_tape_that_is_whole,
	recover__loses_no_more_than_what_is_on_a_page, recover__tells_the_truth_about_flipped_bits,
	recover__takes_what_is_left_of_files_that_were_cut, recover__tells_what_a_missing_segment_had,
	recover__keeps_the_seqs_and_the_state_of_a_tape_that_lost_its_first_segments_to_retention,
	recover__makes_a_gap_of_what_is_lost, recover__refuses_what_it_must_and_leaves_nothing_when_stopped)
