/*
 * run_file.c: see run_file.h. Rows are put, cell by cell, into a buffer; the thread swaps it against an empty
 * one at each tick and binds the cells to the statement of the row's table.
 *
 *     row = statement (1 byte), then its cells: 0 | 1, 8 bytes of a number | 2 or 3, 4 bytes of a length, a
 * text or a blob
 */
#include "schema/run/run_file_internal.h"

#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/base/out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define READER_WAIT_MS 2000

/* ---- the thread ---- */

static int failed(struct run_file *f, struct err *err)
{
	int rc = sqlite3_errcode(f->db);

	return err_set(err, rc == SQLITE_FULL ? ERR_NO_SPACE : ERR_IO, "cannot write the run '%s': %s",
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
	case CELL_BLOB:
		memcpy(&len, at + 1, sizeof(len));
		if (*at == CELL_TEXT)
			sqlite3_bind_text(stmt, index, at + 1 + sizeof(len), (int)len, SQLITE_STATIC);
		else
			sqlite3_bind_blob(stmt, index, at + 1 + sizeof(len), (int)len, SQLITE_STATIC);
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
	at_ns = clock_mono_ns(&clock_system) + RUN_TICK_MS * NS_PER_MS;
	until = (struct timespec){at_ns / NS_PER_S, at_ns % NS_PER_S};
	while (!f->stop && f->filling.len < f->waiting_max / 2) {
		if (pthread_cond_timedwait(&f->work, &f->mutex, &until) == ETIMEDOUT)
			break;
	}
}

static void *run_file_run(void *context)
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
	for (size_t i = 0; i < COUNT_OF(suffixes); i++) {
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

/* With WAL and NORMAL the file stays whole whatever happens, and only a crash of the machine can take back the last
 * commits. The run of a replay can be made again: it is not waited for at all. */
static const char *const durability[] = {
	[false] = "PRAGMA synchronous = OFF", [true] = "PRAGMA synchronous = NORMAL"};

static int open_database(struct run_file *f, bool is_live, const char *first, struct err *err)
{
	char *uri;
	int rc;

	uri = xasprintf("%s%s", *f->path == '/' ? "" : "./", f->path);
	rc = sqlite3_open_v2(uri, &f->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	free(uri);
	if (rc)
		return err_set(err, ERR_IO, "cannot make the run '%s': %s", f->path, sqlite3_errstr(rc));
	rc = exec(f, durability[is_live], err);
	if (rc == 0)
		rc = exec(f, first, err);
	for (int i = 0; i < RUN_STATEMENTS && rc == 0; i++) {
		if (sqlite3_prepare_v3(
			    f->db, run_statements[i], -1, SQLITE_PREPARE_PERSISTENT, &f->statements[i], NULL))
			rc = failed(f, err);
	}
	return rc;
}

static void run_file_release(struct run_file *f)
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

/* Waits with a limit end by the monotonic clock: a wall clock that is set back would hold rows back. */
static void init_condition(pthread_cond_t *condition)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(condition, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

/* `first`: the SQL that makes the tables, or goes on with them. */
static int open_file(
	const char *path, bool is_live, const char *first, struct run_file **ret, struct err *err)
{
	struct run_file *f = xcalloc(1, sizeof(*f));
	int rc;

	f->path = xstrdup(path);
	f->waiting_max = RUN_WAITING_MAX;
	pthread_mutex_init(&f->mutex, NULL);
	init_condition(&f->work);
	pthread_cond_init(&f->room, NULL);
	buf_init(&f->filling, SIZE_MAX);
	rc = open_database(f, is_live, first, err);
	if (rc == 0 && pthread_create(&f->thread, NULL, run_file_run, f))
		rc = err_set(err, ERR_FAILED, "cannot start a thread for the run '%s'", path);
	if (rc) {
		run_file_release(f);
		return rc;
	}
	*ret = f;
	return 0;
}

static int open_new(const char *path, bool is_live, struct run_file **ret, struct err *err)
{
	int rc = create_empty(path, err);

	return rc ? rc : open_file(path, is_live, run_schema, ret, err);
}

int run_file_open(const char *path, struct run_file **ret, struct err *err)
{
	char *target = out_file_target(path);
	int rc = out_file_refuse_stream(path, "a run is an SQLite file", err);

	if (rc == 0)
		rc = make_room(target, err);
	if (rc == 0)
		rc = open_new(target, false, ret, err);
	free(target);
	return rc;
}

void run_file_limit(struct run_file *f, size_t waiting_max)
{
	f->waiting_max = waiting_max;
}

/* ---- going on ---- */

/* The number that a statement gives; 0 when it gives none. */
static int64_t number_of(sqlite3 *db, const char *sql, const char *parameter)
{
	sqlite3_stmt *stmt = NULL;
	int64_t number = 0;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK &&
		(!parameter || sqlite3_bind_text(stmt, 1, parameter, -1, SQLITE_STATIC) == SQLITE_OK) &&
		sqlite3_step(stmt) == SQLITE_ROW)
		number = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return number;
}

/* A live run that ended before anything was on its tape is of any tape: its own one was not kept. */
static bool is_of_tape(sqlite3 *db, const char *tape_id)
{
	return number_of(db, "SELECT count(*) FROM run WHERE name = 'tape_id' AND value = ?1", tape_id) ||
	       !number_of(db,
		       "SELECT coalesce((SELECT CAST(value AS INTEGER) FROM run WHERE name = 'ended_seq'),"
		       " (SELECT count(*) FROM requests)) OR (EXISTS (SELECT 1 FROM run) AND NOT EXISTS"
		       " (SELECT 1 FROM run WHERE name = 'source' AND value = 'tee'))",
		       NULL);
}

/* What the file has already. */
static int look_into(const char *path, const char *tape_id, struct run_past *ret, struct err *err)
{
	sqlite3 *db = NULL;
	int rc = 0;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
		application_id(db) != RUN_APPLICATION_ID)
		rc = err_set(err, ERR_USAGE, "'%s' exists and is not a run: it is left as it is", path);
	else if (number_of(db, "PRAGMA user_version", NULL) != RUN_VERSION || !is_of_tape(db, tape_id))
		rc = err_set(err, ERR_USAGE,
			"'%s' is a run of something else than this tape: it is left as it is", path);
	if (rc == 0)
		*ret = (struct run_past){
			.last_request = (uint64_t)number_of(db, "SELECT max(request) FROM requests", NULL),
			.last_client = (uint64_t)number_of(db, "SELECT max(client_id) FROM clients", NULL),
			.last_socket = (uint64_t)number_of(db, "SELECT max(socket) FROM sockets", NULL)};
	sqlite3_close(db);
	return rc;
}

static int go_on(const char *path, const char *tape_id, struct run_file **ret, struct run_past *ret_past,
	struct err *err)
{
	struct stat st;
	bool is_there = stat(path, &st) == 0;
	int rc;

	if (is_there && st.st_size) {
		rc = look_into(path, tape_id, ret_past, err);
		return rc ? rc : open_file(path, true, run_go_on, ret, err);
	}
	*ret_past = (struct run_past){.is_new = true};
	rc = is_there ? make_room(path, err) : 0;
	return rc ? rc : open_new(path, true, ret, err);
}

int run_file_go_on(const char *path, const char *tape_id, struct run_file **ret, struct run_past *ret_past,
	struct err *err)
{
	char *target = out_file_target(path);
	int rc = out_file_refuse_stream(path, "a run is an SQLite file", err);

	if (rc == 0)
		rc = go_on(target, tape_id, ret, ret_past, err);
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

/* One file is left, unless somebody goes on reading it: then its log stays beside it, as while it was written. */
static int finish(struct run_file *f, struct err *err)
{
	int rc;

	sqlite3_busy_timeout(f->db, READER_WAIT_MS);
	rc = exec(f, run_finish, err);
	return rc && sqlite3_errcode(f->db) == SQLITE_BUSY ? 0 : rc;
}

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
		rc = finish(f, err);
	run_file_release(f);
	return rc;
}
