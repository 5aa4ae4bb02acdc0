/* session.c: see session.h. */
#include "schema/sql/session.h"

#include "schema/base/clock.h"
#include "schema/base/limits.h"
#include "schema/sql/run_tables.h"
#include "schema/sql/sandbox.h"
#include "schema/sql/side_by_side.h"
#include "schema/sql/sql_words.h"
#include "schema/sql/text_length.h"
#include "schema/sql/time_collation.h"
#include "schema/sql/walk_watch.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Between two looks at the clock: some ten microseconds of SQLite's virtual machine. */
#define PROGRESS_STEPS       1000
#define PROGRESS_INTERVAL_NS (100 * NS_PER_MS)

struct parameter {
	char *name, *value;
};

struct sql_session {
	sqlite3 *db;
	struct parameter *parameters;
	size_t parameter_count;
	int64_t limit_ns, deadline_ns, next_progress_ns;
	bool timed_out;
	void (*on_progress)(void *context);
	void *progress_context;
	struct walk_watch watch;
	struct tape_name {
		char *path, *name;
		char *lost; /* what could not be read of it; NULL: nothing */
		bool lost_is_told;
	} * names; /* of several tapes */
	size_t name_count;
	bool has_guessed;
	struct time_reader run_times; /* of the wall clock's times in a run */
};

static int on_progress(void *context)
{
	struct sql_session *s = context;
	int64_t now = clock_mono_ns(&clock_system);

	if (s->deadline_ns && now >= s->deadline_ns) {
		s->timed_out = true;
		return 1;
	}
	if (s->on_progress && now >= s->next_progress_ns) {
		s->next_progress_ns = now + PROGRESS_INTERVAL_NS;
		s->on_progress(s->progress_context);
	}
	return 0;
}

static int open_tables(sqlite3 *db, const char *tape_path, struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	int rc = 0;

	if (sqlite3_prepare_v2(db, "SELECT kubetape_open(?1)", -1, &stmt, NULL) ||
		sqlite3_bind_text(stmt, 1, tape_path, -1, SQLITE_STATIC) || sqlite3_step(stmt) != SQLITE_ROW)
		rc = err_set(err, ERR_FAILED, "%s", sqlite3_errmsg(db));
	sqlite3_finalize(stmt);
	return rc;
}

/* In a connection of our own, where nobody misses SQLite's. */
static int replace_length(sqlite3 *db, struct err *err)
{
	if (sqlite3_create_function_v2(db, "length", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
		    NULL, text_length, NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	return err_set(err, ERR_FAILED, "cannot prepare SQL: %s", sqlite3_errmsg(db));
}

static struct tape_name *find_tape(const struct sql_session *s, const char *path)
{
	for (size_t i = 0; i < s->name_count; i++) {
		if (strcmp(s->names[i].path, path) == 0)
			return &s->names[i];
	}
	return NULL;
}

static void keep_lost(void *context, const char *path, const char *sentence)
{
	struct tape_name *tape = find_tape(context, path);

	if (tape && !tape->lost)
		tape->lost = xstrdup(sentence);
}

static int watch_walks(struct sql_session *s, struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	int rc = 0;

	if (sqlite3_prepare_v2(s->db, "SELECT kubetape_watch(?1)", -1, &stmt, NULL) ||
		sqlite3_bind_pointer(stmt, 1, &s->watch, WALK_WATCH_TYPE, NULL) ||
		sqlite3_step(stmt) != SQLITE_ROW)
		rc = err_set(err, ERR_FAILED, "%s", sqlite3_errmsg(s->db));
	sqlite3_finalize(stmt);
	return rc;
}

static void keep_names(struct sql_session *s, const struct sql_tape *tapes, size_t count)
{
	s->names = xcalloc(count + 1, sizeof(*s->names));
	s->name_count = count;
	for (size_t i = 0; i < count; i++)
		s->names[i] =
			(struct tape_name){.path = xstrdup(tapes[i].path), .name = xstrdup(tapes[i].name)};
	if (count) {
		s->watch.lost = keep_lost;
		s->watch.context = s;
	}
}

/* count 0: one tape, whose tables are its own. */
static int session_open(struct sql_tape *tapes, size_t count, struct sql_session **ret, struct err *err)
{
	struct sql_session *s = xcalloc(1, sizeof(*s));
	int rc;

	if ((rc = sandbox_open(&s->db, err)) || (rc = replace_length(s->db, err)) ||
		(rc = count ? side_by_side_open(s->db, tapes, count, err)
			    : open_tables(s->db, tapes->path, err)) ||
		(rc = watch_walks(s, err))) {
		sql_session_close(s);
		return rc;
	}
	keep_names(s, tapes, count);
	sandbox_close_doors(s->db, SANDBOX_ANY);
	sqlite3_progress_handler(s->db, PROGRESS_STEPS, on_progress, s);
	*ret = s;
	return 0;
}

int sql_session_open(const char *tape_path, struct sql_session **ret, struct err *err)
{
	return session_open(&(struct sql_tape){.path = tape_path}, 0, ret, err);
}

int sql_session_open_many(struct sql_tape *tapes, size_t count, struct sql_session **ret, struct err *err)
{
	return session_open(tapes, count, ret, err);
}

void sql_session_close(struct sql_session *s)
{
	if (!s)
		return;
	sqlite3_close(s->db);
	for (size_t i = 0; i < s->name_count; i++) {
		free(s->names[i].path);
		free(s->names[i].name);
		free(s->names[i].lost);
	}
	free(s->names);
	for (size_t i = 0; i < s->parameter_count; i++) {
		free(s->parameters[i].name);
		free(s->parameters[i].value);
	}
	free(s->parameters);
	free(s);
}

void sql_session_set(struct sql_session *s, const char *name, const char *value)
{
	for (size_t i = 0; i < s->parameter_count; i++) {
		if (strcmp(s->parameters[i].name, name) == 0) {
			free(s->parameters[i].value);
			s->parameters[i].value = xstrdup(value);
			return;
		}
	}
	s->parameters = xrealloc(s->parameters, (s->parameter_count + 1) * sizeof(*s->parameters));
	s->parameters[s->parameter_count++] = (struct parameter){xstrdup(name), xstrdup(value)};
}

void sql_session_limit(struct sql_session *s, int64_t limit_ns)
{
	s->limit_ns = limit_ns;
	s->deadline_ns = limit_ns ? clock_mono_ns(&clock_system) + limit_ns : 0;
}

void sql_session_on_progress(struct sql_session *s, void (*call)(void *context), void *context)
{
	s->on_progress = call;
	s->progress_context = context;
}

void sql_session_progress(const struct sql_session *s, const char **ret_table, double *ret_share)
{
	struct walk_progress p = s->watch.look(s->watch.registry);

	*ret_table = p.table;
	*ret_share = p.share;
}

static char *remark_on_loss(struct sql_session *s)
{
	for (struct tape_name *t = s->names; t < s->names + s->name_count; t++) {
		if (!t->lost || t->lost_is_told)
			continue;
		t->lost_is_told = s->has_guessed = true;
		return xasprintf("the answer lacks a part of '%s': %s", t->name, t->lost);
	}
	return NULL;
}

char *sql_session_remark(struct sql_session *s)
{
	char remark[POSITION_REMARK_BYTES];
	const char *path = "";
	size_t count = s->watch.remark(s->watch.registry, remark, &path);

	if (count == 0)
		return remark_on_loss(s);
	s->has_guessed = true;
	if (s->name_count < 2)
		return xstrdup(remark);
	if (count == 1)
		return xasprintf("'%s': %s", find_tape(s, path)->name, remark);
	return xasprintf("'%s': %s; the same holds for %zu of the other tapes", find_tape(s, path)->name,
		remark, count - 1);
}

bool sql_session_has_guessed(const struct sql_session *s)
{
	return s->has_guessed;
}

bool sql_text_is_complete(const char *sql)
{
	return sqlite3_complete(sql) != 0;
}

void sql_session_interrupt(struct sql_session *s)
{
	sqlite3_interrupt(s->db);
}

/* ---- a run beside the tape ---- */

int sql_session_add_run(struct sql_session *s, const char *path, struct err *err)
{
	int rc;

	sqlite3_set_authorizer(s->db, NULL, NULL);
	sqlite3_limit(s->db, SQLITE_LIMIT_ATTACHED, 1);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	rc = run_tables_add(s->db, path, &s->run_times, err);
	sandbox_close_doors(s->db, SANDBOX_ANY);
	return rc;
}

int sql_session_open_run(
	const char *tape_path, const char *run_path, struct sql_session **ret, struct err *err)
{
	int rc;

	*ret = NULL;
	rc = sql_session_open(tape_path, ret, err);
	return rc ? rc : sql_session_add_run(*ret, run_path, err);
}

/* ---- running ---- */

/* A text that was compared with a time and was none: SQLite does not know of it. */
static int time_failure(struct sql_session *s, struct err *err)
{
	int rc = s->watch.failure(s->watch.registry, err);

	if (rc == 0)
		rc = time_reader_failure(&s->run_times, err);
	return rc ? err_recode(err, ERR_FAILED) : 0;
}

static int statement_failed(struct sql_session *s, struct err *err)
{
	char limit[TIME_TEXT_BYTES];
	int rc = time_failure(s, err);

	if (rc)
		return rc;
	if (s->timed_out)
		return err_set(err, ERR_STOPPED, "the statement was stopped: it took longer than %s",
			duration_format(limit, s->limit_ns));
	if (sqlite3_errcode(s->db) == SQLITE_INTERRUPT)
		return err_set(err, ERR_STOPPED, "the statement was interrupted");
	if (sqlite3_errcode(s->db) == SQLITE_AUTH)
		return err_set(err, ERR_FAILED, "%s: a tape can only be read", sqlite3_errmsg(s->db));
	return err_set(err, ERR_FAILED, "%s", sqlite3_errmsg(s->db));
}

/* An integer only when it is written as one: a name of digits such as 007 stays a text. */
static void bind_value(sqlite3_stmt *stmt, int index, const char *value)
{
	char canonical[32];
	long long number;

	errno = 0;
	number = strtoll(value, NULL, 10);
	snprintf(canonical, sizeof(canonical), "%lld", number);
	if (!errno && strcmp(canonical, value) == 0)
		sqlite3_bind_int64(stmt, index, number);
	else
		sqlite3_bind_text(stmt, index, value, -1, SQLITE_STATIC);
}

static int bind_parameters(const struct sql_session *s, sqlite3_stmt *stmt, struct err *err)
{
	for (int i = 1; i <= sqlite3_bind_parameter_count(stmt); i++) {
		const char *name = sqlite3_bind_parameter_name(stmt, i);
		size_t k = 0;

		while (name && k < s->parameter_count && strcmp(name + 1, s->parameters[k].name) != 0)
			k++;
		if (name && k < s->parameter_count)
			bind_value(stmt, i, s->parameters[k].value);
		else
			return err_set(err, ERR_USAGE, "the statement's parameter '%s' was given no value",
				name ? name : "?");
	}
	return 0;
}

static struct sql_value value_of(sqlite3_stmt *stmt, int i)
{
	struct sql_value v = {SQL_NULL, 0, 0, {NULL, 0}};

	switch (sqlite3_column_type(stmt, i)) {
	case SQLITE_INTEGER:
		v.type = SQL_INTEGER;
		v.integer = sqlite3_column_int64(stmt, i);
		break;
	case SQLITE_FLOAT:
		v.type = SQL_REAL;
		v.real = sqlite3_column_double(stmt, i);
		break;
	case SQLITE_TEXT:
		v.type = SQL_TEXT;
		v.bytes.ptr = (const char *)sqlite3_column_text(stmt, i);
		break;
	case SQLITE_BLOB:
		v.type = SQL_BLOB;
		v.bytes.ptr = sqlite3_column_blob(stmt, i);
		break;
	default: break;
	}
	if (v.bytes.ptr)
		v.bytes.len = (size_t)sqlite3_column_bytes(stmt, i);
	return v;
}

static int give_rows(struct sql_session *s, sqlite3_stmt *stmt, struct sql_value *values, size_t count,
	const struct sql_sink *sink, struct err *err)
{
	int rc, code;

	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		code = time_failure(s, err);
		if (code)
			return code;
		for (size_t i = 0; i < count; i++)
			values[i] = value_of(stmt, (int)i);
		code = sink->row(sink->context, values, count, err);
		if (code)
			return code;
	}
	return rc == SQLITE_DONE ? time_failure(s, err) : statement_failed(s, err);
}

static int session_begin(sqlite3_stmt *stmt, size_t count, const struct sql_sink *sink, struct err *err)
{
	const char **names = xcalloc(count + 1, sizeof(*names));
	int rc;

	for (size_t i = 0; i < count; i++)
		names[i] = sqlite3_column_name(stmt, (int)i);
	rc = sink->begin ? sink->begin(sink->context, names, count, err) : 0;
	free(names);
	return rc;
}

static int run_statement(
	struct sql_session *s, sqlite3_stmt *stmt, const struct sql_sink *sink, struct err *err)
{
	size_t count = (size_t)sqlite3_column_count(stmt);
	struct sql_value *values;
	int rc;

	if ((rc = bind_parameters(s, stmt, err)) || (rc = session_begin(stmt, count, sink, err)))
		return rc;
	values = xcalloc(count + 1, sizeof(*values));
	(void)!time_failure(s, NULL); /* of a statement before */
	s->watch.need_position(s->watch.registry, s->name_count > 1 && sql_names_position(sqlite3_sql(stmt)));
	rc = give_rows(s, stmt, values, count, sink, err);
	free(values);
	return rc || !sink->end ? rc : sink->end(sink->context, err);
}

/* For the statements that come. */
static int note_losses(struct sql_session *s, struct err *err)
{
	int rc = 0;

	sqlite3_set_authorizer(s->db, NULL, NULL);
	for (size_t i = 0; i < s->name_count && !rc; i++) {
		if (s->names[i].lost && !s->names[i].lost_is_told)
			rc = side_by_side_note(s->db, i + 1, s->names[i].lost, err);
	}
	sandbox_close_doors(s->db, SANDBOX_ANY);
	return rc;
}

int sql_session_run(struct sql_session *s, struct slice sql, const struct sql_sink *sink, struct err *err)
{
	const char *at = sql.ptr, *end = sql.ptr + sql.len;
	int rc = 0;

	if (sql.len > LIMIT_DOCUMENT_BYTES)
		return err_set(err, ERR_TOO_LARGE, "the SQL text of %zu bytes exceeds the maximum of %u",
			sql.len, LIMIT_DOCUMENT_BYTES);
	if (memchr(sql.ptr, 0, sql.len))
		return err_set(err, ERR_USAGE, "the SQL text has a NUL byte in it");
	s->timed_out = false;
	while (at < end && !rc) {
		sqlite3_stmt *stmt = NULL;

		if (sqlite3_prepare_v2(s->db, at, (int)(end - at), &stmt, &at))
			return statement_failed(s, err);
		if (stmt)
			rc = run_statement(s, stmt, sink, err);
		sqlite3_finalize(stmt);
		rc = rc || !s->name_count ? rc : note_losses(s, err);
	}
	return rc;
}

int sql_session_run_format(
	struct sql_session *s, const struct sql_sink *sink, struct err *err, const char *format, ...)
{
	va_list args;
	char *sql;
	int rc;

	va_start(args, format);
	sql = sqlite3_vmprintf(format, args);
	va_end(args);
	rc = sql ? sql_session_run(s, slice_of(sql), sink, err) : err_set(err, ERR_FAILED, "out of memory");
	sqlite3_free(sql);
	return rc;
}
