#include "schema/base/limits.h"
#include "schema/tape/documents.h"
#include "schema/tape/repack.h"
#include "tests/unit/recover_check.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>

#define PATHS 8

static const struct tape_writer_options small_segments = {.extent_bytes = 100000, .segment_events = 100};

/* Alike but for a number, as descriptions of types are; more than a page of them when packed. */
static void make_body(struct buf *to, unsigned path, unsigned version)
{
	char line[80];

	buf_clear(to);
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(line, sizeof(line), "{\"path\":%u,\"line\":%u,\"version\":%u}", path,
			(i + 1) * 2654435761u, i == 50 ? version : 0);
		ck_assert_int_eq(buf_append(to, line, strlen(line), NULL), 0);
	}
}

static void add(struct tape_writer *w, unsigned path, unsigned version)
{
	char name[32];
	struct tape_document d = {
		.path = name, .variant = "", .http_status = 200, .content_type = "application/json"};
	struct buf body;
	struct err err;

	snprintf(name, sizeof(name), "/openapi/v3/%u", path);
	buf_init(&body, 1 << 20);
	make_body(&body, path, version);
	d.body = buf_slice(&body);
	ck_assert_ok(tape_writer_document(w, &d, &err), &err);
	buf_release(&body);
}

static void add_all(struct tape_writer *w)
{
	for (unsigned i = 0; i < PATHS; i++)
		add(w, i, 1);
}

static void expect(struct tape *t, unsigned path, uint64_t after_seq, unsigned version)
{
	struct tape_document got;
	struct buf want, body;
	struct err err;
	char name[32];

	snprintf(name, sizeof(name), "/openapi/v3/%u", path);
	buf_init(&want, 1 << 20);
	buf_init(&body, 1 << 20);
	make_body(&want, path, version);
	ck_assert_ok(tape_document(t, name, "", after_seq, &got, &body, &err), &err);
	ck_assert(slice_equal(got.body, buf_slice(&want)));
	buf_release(&want);
	buf_release(&body);
}

static void expect_all(const char *path)
{
	struct tape *t;
	struct err err;

	ck_assert_ok(tape_open(path, &t, &err), &err);
	for (unsigned i = 0; i < PATHS; i++)
		expect(t, i, 0, 1);
	tape_close(t);
}

static int64_t ask(const struct model *m, const char *name, const char *sql)
{
	char *path = xasprintf("file:%s/%s?immutable=1", m->path, name);
	sqlite3_stmt *row;
	sqlite3 *db;
	int64_t answer;

	ck_assert_int_eq(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL), SQLITE_OK);
	ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
	ck_assert_int_eq(sqlite3_step(row), SQLITE_ROW);
	answer = sqlite3_column_int64(row, 0);
	sqlite3_finalize(row);
	sqlite3_close(db);
	free(path);
	return answer;
}

struct counting {
	struct tape *tape;
	int count;
};

static int count_document(void *context, const struct tape_document *d)
{
	struct counting *c = context;
	struct buf body;
	struct err err;

	buf_init(&body, LIMIT_DOCUMENT_BYTES);
	ck_assert_ok(tape_document_body(c->tape, d->segment, d->id, &body, &err), &err);
	ck_assert_uint_gt(body.len, 0);
	ck_assert_uint_eq(body.len, (uint64_t)d->raw_bytes);
	buf_release(&body);
	c->count++;
	return 0;
}

static int count_documents(const char *path)
{
	struct counting c = {0};
	struct err err;

	ck_assert_ok(tape_open(path, &c.tape, &err), &err);
	ck_assert_ok(tape_each_document(c.tape, count_document, &c, &err), &err);
	tape_close(c.tape);
	return c.count;
}

START_TEST(documents__are_packed_together_in_every_sealed_segment_and_read_as_they_were)
{
	struct model m;
	struct tape_writer *w;
	struct err err;

	model_init(&m, 1);
	w = model_open(&m, &small_segments);
	add_all(w);
	model_steps(&m, w, 50, 10);
	expect_all(m.path); /* not packed yet */
	model_steps(&m, w, 300, 10);
	expect_all(m.path); /* packed in the last sealed one, and copied to the open one */
	ck_assert_ok(tape_writer_close(w, &err), &err);
	for (const char *const *name = (const char *const[]){"seg-000001.db", "seg-000003.db", NULL}; *name;
		name++) {
		ck_assert_int_eq(
			ask(&m, *name, "SELECT count(*) FROM document WHERE typeof(body) = 'blob'"), 1);
		ck_assert_int_lt(ask(&m, *name, "SELECT sum(length(body)) FROM document WHERE id = 0"),
			ask(&m, *name, "SELECT max(raw_bytes) / 2 FROM document WHERE id > 0"));
	}
	expect_all(m.path);
	check_sound(m.path);
	ck_assert_int_eq(count_documents(m.path), PATHS);
	model_release(&m);
}
END_TEST

START_TEST(documents__that_were_replaced_do_not_go_into_the_next_segment)
{
	struct model m;
	struct tape_writer *w;
	struct tape *t;
	struct err err;

	model_init(&m, 2);
	w = model_open(&m, &small_segments);
	add_all(w);
	model_steps(&m, w, 120, 10);
	add(w, 3, 2);
	model_steps(&m, w, 200, 10);
	ck_assert_ok(tape_writer_close(w, &err), &err);
	ck_assert_int_eq(ask(&m, "seg-000002.db", "SELECT count(*) FROM document WHERE id > 0"), PATHS + 1);
	ck_assert_int_eq(ask(&m, "seg-000003.db", "SELECT count(*) FROM document WHERE id > 0"), PATHS);
	ck_assert_ok(tape_open(m.path, &t, &err), &err);
	expect(t, 3, 50, 1);
	expect(t, 3, 0, 2);
	expect(t, 4, 0, 1);
	tape_close(t);
	check_sound(m.path);
	ck_assert_int_eq(count_documents(m.path), PATHS + 1);
	model_release(&m);
}
END_TEST

START_TEST(documents__outlive_a_repack)
{
	struct model m;
	struct tape_writer *w;
	struct tape_repack_result result;
	struct err err;
	char *to;

	model_init(&m, 3);
	to = xasprintf("%s/new.tape", m.dir);
	w = model_open(&m, &small_segments);
	add_all(w);
	model_steps(&m, w, 150, 10);
	ck_assert_ok(tape_writer_close(w, &err), &err);
	ck_assert_ok(tape_repack(m.path, to, &(struct tape_repack_options){0}, &result, &err), &err);
	expect_all(to);
	check_sound(to);
	free(to);
	model_release(&m);
}
END_TEST

/* Zeros a part of a segment's pack in the file. */
static void wipe_pack(const struct model *m, const char *name)
{
	char *path = xasprintf("%s/%s", m->path, name), part[16], *bytes, *place;
	struct stat st;
	sqlite3_blob *blob;
	sqlite3 *db;
	int fd;

	ck_assert_int_eq(chmod(path, 0600), 0);
	ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
	ck_assert_int_eq(
		sqlite3_blob_open(db, "main", "document", "body", DOCUMENTS_PACK_ID, 0, &blob), SQLITE_OK);
	ck_assert_int_eq(sqlite3_blob_read(blob, part, sizeof(part), 5000), SQLITE_OK);
	sqlite3_blob_close(blob);
	sqlite3_close(db);
	fd = open(path, O_RDWR);
	ck_assert_int_eq(fstat(fd, &st), 0);
	bytes = xmalloc((size_t)st.st_size);
	ck_assert_int_eq(read(fd, bytes, (size_t)st.st_size), st.st_size);
	place = memmem(bytes, (size_t)st.st_size, part, sizeof(part));
	ck_assert_ptr_nonnull(place);
	memset(part, 0, sizeof(part));
	ck_assert_int_eq(pwrite(fd, part, sizeof(part), place - bytes), sizeof(part));
	close(fd);
	free(bytes);
	free(path);
}

START_TEST(documents__are_recovered_one_by_one_and_those_of_a_damaged_pack_come_from_the_next_segment)
{
	struct model m;
	struct tape_writer *w;
	struct tape_recover_result result;
	struct told told;
	struct err err;
	char *to;

	model_init(&m, 4);
	to = xasprintf("%s/new.tape", m.dir);
	w = model_open(&m, NULL);
	add_all(w);
	model_steps(&m, w, 90, 10);
	tape_writer_rotate(w);
	model_steps(&m, w, 50, 10);
	ck_assert_ok(tape_writer_close(w, &err), &err);
	told = recover(&m, &result);
	ck_assert_uint_eq(told.rows, 0);
	expect_all(to);
	free(told.lost);
	wipe_pack(&m, "seg-000001.db");
	told = recover(&m, &result);
	ck_assert_uint_eq(told.rows, 0);
	expect_all(to);
	free(told.lost);
	wipe_pack(&m, "seg-000002.db");
	told = recover(&m, &result);
	ck_assert_uint_eq(told.rows, PATHS);
	ck_assert_int_eq(count_documents(to), 0);
	free(told.lost);
	free(to);
	model_release(&m);
}
END_TEST

UNIT_MAIN("tape documents", documents__are_packed_together_in_every_sealed_segment_and_read_as_they_were,
	documents__that_were_replaced_do_not_go_into_the_next_segment, documents__outlive_a_repack,
	documents__are_recovered_one_by_one_and_those_of_a_damaged_pack_come_from_the_next_segment)
