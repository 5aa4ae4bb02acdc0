/*
 * run_file.c: see run_file.h. Rows are put, cell by cell, into a buffer; the thread swaps it against an empty
 * one at each tick and binds the cells to the statement of the row's table.
 *
 *     row = statement (1 byte), then its cells: 0 | 1, 8 bytes of a number | 2, 4 bytes of a length, a text
 */
#include "schema/run/run_file.h"

#include "schema/base/clock.h"
#include "schema/base/out_file.h"
#include "schema/run/run_schema.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum cell { CELL_NULL, CELL_INTEGER, CELL_TEXT };

struct run_file {
	sqlite3 *db;
	char *path;
	sqlite3_stmt *statements[RUN_STATEMENTS];
	pthread_t thread;
	bool running;

	pthread_mutex_t mutex; /* over what follows */
	pthread_cond_t work, room;
	struct buf filling; /* more than RUN_WAITING_MAX only by one row */
	bool stop;
	struct err failure; /* the first; code 0: none */
};

/* ---- the thread ---- */

static int failed(struct run_file *f, struct err *err)
{
	int code = sqlite3_errcode(f->db);

	return err_set(err, code == SQLITE_FULL ? ERR_NO_SPACE : ERR_IO, "cannot write the run '%s': %s",
		f->path, sqlite3_errmsg(f->db));
}

static int exec(struct run_file *f, const char *sql, struct err *err)
{
	return sqlite3_exec(f->db, sql, NULL, NULL, NULL) ? failed(f, err) : 0;
}

/* Returns how many bytes the cell takes. */
static size_t bind_cell(sqlite3_stmt *stmt, int index, const char *at)
{
	int64_t number;
	uint32_t len;

	switch (*at) {
	case CELL_INTEGER:
		memcpy(&number, at + 1, sizeof(number));
		sqlite3_bind_int64(stmt, index, number);
		return 1 + sizeof(number);
	case CELL_TEXT:
		memcpy(&len, at + 1, sizeof(len));
		sqlite3_bind_text(stmt, index, at + 1 + sizeof(len), (int)len, SQLITE_STATIC);
		return 1 + sizeof(len) + len;
	default: sqlite3_bind_null(stmt, index); return 1;
	}
}

static int write_rows(struct run_file *f, struct slice rows, struct err *err)
{
	size_t at = 0;
	int rc = exec(f, "BEGIN IMMEDIATE", err);

	while (rc == 0 && at < rows.len) {
		sqlite3_stmt *stmt = f->statements[(unsigned char)rows.ptr[at++]];
		int cells = sqlite3_bind_parameter_count(stmt);

		for (int i = 1; i <= cells; i++)
			at += bind_cell(stmt, i, rows.ptr + at);
		if (sqlite3_step(stmt) != SQLITE_DONE)
			rc = failed(f, err);
		sqlite3_reset(stmt);
	}
	if (rc == 0)
		rc = exec(f, "COMMIT", err);
	if (rc)
		sqlite3_exec(f->db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

static void wait_for_tick(struct run_file *f)
{
	struct timespec until;
	int64_t at_ns;

	while (!f->stop && f->filling.len == 0)
		pthread_cond_wait(&f->work, &f->mutex);
	clock_gettime(CLOCK_REALTIME, &until);
	at_ns = (int64_t)until.tv_sec * NS_PER_S + until.tv_nsec + RUN_TICK_MS * NS_PER_MS;
	until = (struct timespec){at_ns / NS_PER_S, at_ns % NS_PER_S};
	while (!f->stop && f->filling.len < RUN_WAITING_MAX / 2) {
		if (pthread_cond_timedwait(&f->work, &f->mutex, &until) == ETIMEDOUT)
			break;
	}
}

static void *run(void *context)
{
	struct run_file *f = context;
	struct err err = {0};
	struct buf rows;
	bool over = false;

	buf_init(&rows, SIZE_MAX);
	while (!over) {
		struct buf full;
		int rc = 0;

		pthread_mutex_lock(&f->mutex);
		wait_for_tick(f);
		full = f->filling;
		f->filling = rows;
		rows = full;
		over = f->stop && rows.len == 0;
		pthread_cond_signal(&f->room);
		pthread_mutex_unlock(&f->mutex);
		if (rows.len && !f->failure.code)
			rc = write_rows(f, buf_slice(&rows), &err);
		buf_clear(&rows);
		pthread_mutex_lock(&f->mutex);
		if (rc && !f->failure.code)
			f->failure = err;
		pthread_mutex_unlock(&f->mutex);
	}
	buf_release(&rows);
	return NULL;
}

/* ---- rows ---- */

static void begin_row(struct run_file *f, enum run_statement statement)
{
	char byte = (char)statement;

	pthread_mutex_lock(&f->mutex);
	while (f->filling.len >= RUN_WAITING_MAX && !f->failure.code)
		pthread_cond_wait(&f->room, &f->mutex);
	if (f->failure.code)
		buf_clear(&f->filling);
	if (buf_append(&f->filling, &byte, 1, NULL))
		abort(); /* the maximum is SIZE_MAX */
}

static void end_row(struct run_file *f)
{
	bool first = f->filling.len < 4096, much = f->filling.len >= RUN_WAITING_MAX / 2;

	if (first || much)
		pthread_cond_signal(&f->work);
	pthread_mutex_unlock(&f->mutex);
}

static void put(struct run_file *f, enum cell kind, const void *head, size_t head_len, struct slice bytes)
{
	char byte = (char)kind;

	if (buf_append(&f->filling, &byte, 1, NULL) || buf_append(&f->filling, head, head_len, NULL) ||
		buf_append(&f->filling, bytes.ptr, bytes.len, NULL))
		abort();
}

static void put_integer(struct run_file *f, int64_t n)
{
	put(f, CELL_INTEGER, &n, sizeof(n), (struct slice){NULL, 0});
}

static void put_known(struct run_file *f, bool known, int64_t n)
{
	if (known)
		put_integer(f, n);
	else
		put(f, CELL_NULL, NULL, 0, (struct slice){NULL, 0});
}

static void put_text(struct run_file *f, struct slice s)
{
	uint32_t len = (uint32_t)s.len;

	if (s.len)
		put(f, CELL_TEXT, &len, sizeof(len), s);
	else
		put_known(f, false, 0);
}

/* The core group has no name, so it is an empty text where there is a resource. */
static void put_resource(struct run_file *f, const struct run_resource *r)
{
	static const uint32_t none;

	if (r->resource.len && !r->apigroup.len)
		put(f, CELL_TEXT, &none, sizeof(none), (struct slice){NULL, 0});
	else
		put_text(f, r->apigroup);
	put_text(f, r->version);
	put_text(f, r->resource);
	put_text(f, r->subresource);
	put_text(f, r->namespace);
	put_text(f, r->name);
}

static void put_when(struct run_file *f, int64_t time_ns, int64_t tape_time_ns, uint64_t seq)
{
	put_known(f, time_ns != RUN_NO_TIME, time_ns);
	put_known(f, tape_time_ns != RUN_NO_TIME, tape_time_ns);
	put_integer(f, (int64_t)seq);
}

void run_file_fact(struct run_file *f, const char *name, const char *value)
{
	begin_row(f, RUN_FACT);
	put_text(f, slice_of(name));
	put_text(f, slice_of(value));
	end_row(f);
}

void run_file_request(struct run_file *f, const struct run_request_row *row)
{
	begin_row(f, RUN_REQUEST);
	put_integer(f, (int64_t)row->id);
	put_when(f, row->time_ns, row->tape_time_ns, row->seq);
	put_text(f, row->client);
	put_text(f, row->method);
	put_text(f, row->path);
	put_text(f, row->verb);
	put_resource(f, &row->what);
	put_text(f, row->rv);
	put_known(f, row->seen_seq != 0, (int64_t)row->seen_seq);
	put_known(f, row->seen_rv != 0, (int64_t)row->seen_rv);
	put_known(f, row->latency_ns != RUN_NO_TIME, row->latency_ns);
	put_text(f, row->body);
	end_row(f);
}

void run_file_answer(struct run_file *f, const struct run_answer_row *row)
{
	begin_row(f, RUN_ANSWER);
	put_integer(f, (int64_t)row->request);
	put_known(f, row->status != 0, row->status);
	put_known(f, row->time_ns != RUN_NO_TIME, row->time_ns);
	put_integer(f, row->duration_ns);
	put_integer(f, row->whole);
	put_integer(f, (int64_t)row->events);
	put_integer(f, (int64_t)row->bytes);
	end_row(f);
}

void run_file_delivery(struct run_file *f, const struct run_delivery_row *row)
{
	begin_row(f, RUN_DELIVERY);
	put_integer(f, (int64_t)row->request);
	put_integer(f, (int64_t)row->seq);
	put_text(f, row->type);
	put_known(f, row->due_ns != RUN_NO_TIME, row->due_ns);
	put_integer(f, row->out_ns);
	end_row(f);
}

void run_file_write(struct run_file *f, const struct run_write_row *row)
{
	begin_row(f, RUN_WRITE);
	put_known(f, row->request != 0, (int64_t)row->request);
	put_when(f, row->time_ns, row->tape_time_ns, row->seq);
	put_text(f, row->client);
	put_text(f, row->verb);
	put_resource(f, &row->what);
	put_text(f, row->policy);
	put_text(f, row->content_type);
	put_integer(f, row->dry_run);
	put_text(f, row->body);
	put_text(f, row->object);
	put_known(f, row->status != 0, row->status);
	put_text(f, row->reason);
	put_text(f, row->rv);
	put_text(f, row->uid);
	end_row(f);
}

void run_file_fault(struct run_file *f, const struct run_fault_row *row)
{
	begin_row(f, RUN_FAULT);
	put_when(f, row->time_ns, row->tape_time_ns, row->seq);
	put_known(f, row->rule != 0, (int64_t)row->rule);
	put_known(f, row->episode != 0, (int64_t)row->episode);
	put_text(f, row->step);
	put_text(f, row->what);
	put_text(f, row->detail);
	put_resource(f, &row->where);
	put_known(f, row->request != 0, (int64_t)row->request);
	end_row(f);
}

/* ---- opening and closing ---- */

static int application_id(sqlite3 *db)
{
	sqlite3_stmt *stmt = NULL;
	int id = -1;

	if (sqlite3_prepare_v2(db, "PRAGMA application_id", -1, &stmt, NULL) == SQLITE_OK &&
		sqlite3_step(stmt) == SQLITE_ROW)
		id = sqlite3_column_int(stmt, 0);
	sqlite3_finalize(stmt);
	return id;
}

/* What is there already goes, if it is a run: results of earlier replays, and nothing else, may be lost. */
static int make_room(const char *path, struct err *err)
{
	static const char *const suffixes[] = {"", "-wal", "-shm"};
	struct stat st;
	sqlite3 *db = NULL;
	bool is_run;

	if (stat(path, &st))
		return errno == ENOENT ? 0 : err_set_errno(err, errno, "cannot look at '%s'", path);
	is_run = S_ISREG(st.st_mode) && st.st_size == 0;
	if (S_ISREG(st.st_mode) && !is_run &&
		sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK)
		is_run = application_id(db) == RUN_APPLICATION_ID;
	sqlite3_close(db);
	if (!is_run)
		return err_set(err, ERR_USAGE, "'%s' exists and is not a run: it is left as it is", path);
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		char *name = xasprintf("%s%s", path, suffixes[i]);

		unlink(name);
		free(name);
	}
	return 0;
}

/* The owner's alone whatever the umask is: bodies of requests are in it. SQLite gives its log the same mode.
 */
static int create_empty(const char *path, struct err *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || fchmod(fd, 0600) || close(fd))
		return err_set_errno(err, errno, "cannot make the run '%s'", path);
	return 0;
}

static int create(struct run_file *f, struct err *err)
{
	char *uri;
	int rc = create_empty(f->path, err);

	if (rc)
		return rc;
	uri = xasprintf("%s%s", *f->path == '/' ? "" : "./", f->path);
	rc = sqlite3_open_v2(uri, &f->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	free(uri);
	if (rc)
		return err_set(err, ERR_IO, "cannot make the run '%s': %s", f->path, sqlite3_errstr(rc));
	rc = exec(f, run_schema, err);
	for (int i = 0; i < RUN_STATEMENTS && rc == 0; i++) {
		if (sqlite3_prepare_v3(
			    f->db, run_statements[i], -1, SQLITE_PREPARE_PERSISTENT, &f->statements[i], NULL))
			rc = failed(f, err);
	}
	return rc;
}

static void release(struct run_file *f)
{
	for (int i = 0; i < RUN_STATEMENTS; i++)
		sqlite3_finalize(f->statements[i]);
	sqlite3_close(f->db);
	pthread_cond_destroy(&f->room);
	pthread_cond_destroy(&f->work);
	pthread_mutex_destroy(&f->mutex);
	buf_release(&f->filling);
	free(f->path);
	free(f);
}

static int open_new(const char *path, struct run_file **ret, struct err *err)
{
	struct run_file *f = xcalloc(1, sizeof(*f));
	int rc;

	f->path = xstrdup(path);
	pthread_mutex_init(&f->mutex, NULL);
	pthread_cond_init(&f->work, NULL);
	pthread_cond_init(&f->room, NULL);
	buf_init(&f->filling, SIZE_MAX);
	rc = create(f, err);
	if (rc == 0 && pthread_create(&f->thread, NULL, run, f))
		rc = err_set(err, ERR_FAILED, "cannot start a thread for the run '%s'", path);
	if (rc) {
		release(f);
		return rc;
	}
	*ret = f;
	return 0;
}

int run_file_open(const char *path, struct run_file **ret, struct err *err)
{
	char *target = out_file_target(path);
	int rc = out_file_refuse_stream(path, "a run is an SQLite file", err);

	if (rc == 0)
		rc = make_room(target, err);
	if (rc == 0)
		rc = open_new(target, ret, err);
	free(target);
	return rc;
}

bool run_file_has_failed(struct run_file *f, struct err *ret)
{
	bool failed_once;

	pthread_mutex_lock(&f->mutex);
	failed_once = f->failure.code != 0;
	if (failed_once)
		*ret = f->failure;
	pthread_mutex_unlock(&f->mutex);
	return failed_once;
}

/* One file is left. */
int run_file_close(struct run_file *f, struct err *err)
{
	int rc = 0;

	if (!f)
		return 0;
	pthread_mutex_lock(&f->mutex);
	f->stop = true;
	pthread_cond_signal(&f->work);
	pthread_mutex_unlock(&f->mutex);
	pthread_join(f->thread, NULL);
	if (f->failure.code)
		rc = err_set(err, f->failure.code, "%s", f->failure.text);
	else
		rc = exec(f, run_finish, err);
	release(f);
	return rc;
}
