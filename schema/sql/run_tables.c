/* run_tables.c: see run_tables.h. */
#include "schema/sql/run_tables.h"

#include "schema/run/run_reader.h"

#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/run/run_file.h"
#include "schema/sql/staleness.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Of the wall clock in a run; the times of the tape compare as those of the tape do. */
#define RUN_TIME_COLLATION "kubetape_run_time"

/* ---- the file ---- */

/* A file name as SQLite's URIs want it. */
static char *read_only_uri(const char *path)
{
	static const char plain[] = "/-_.~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char *absolute = realpath(path, NULL);
	const char *from = absolute ? absolute : path;
	char *uri = xmalloc(3 * strlen(from) + 32), *at = uri;

	at += snprintf(at, 8, "file:");
	for (; *from; from++) {
		if (strchr(plain, *from))
			*at++ = *from;
		else
			at += snprintf(at, 4, "%%%02X", (unsigned char)*from);
	}
	memcpy(at, "?mode=ro", sizeof("?mode=ro"));
	free(absolute);
	return uri;
}

static int attach(sqlite3 *db, const char *path, struct err *err)
{
	char *uri = read_only_uri(path);
	sqlite3_stmt *stmt = NULL;
	int rc = 0;

	if (sqlite3_prepare_v2(db, "ATTACH ?1 AS run", -1, &stmt, NULL) ||
		sqlite3_bind_text(stmt, 1, uri, -1, SQLITE_STATIC) || sqlite3_step(stmt) != SQLITE_DONE)
		rc = err_set(err, ERR_FAILED, "cannot open the run '%s': %s", path, sqlite3_errmsg(db));
	sqlite3_finalize(stmt);
	free(uri);
	return rc;
}

/* Older versions are read, too. */
static bool is_fine(size_t question, int64_t found, int64_t expected)
{
	return question == 1 ? found >= 1 && found <= expected : found == expected;
}

/* A run holds plain tables only; anything else was put there by somebody else. */
static int check_run(sqlite3 *db, const char *path, struct err *err)
{
	static const char strangers[] =
		"SELECT count(*) FROM run.sqlite_schema WHERE type NOT IN ('table', 'index')"
		" OR sql LIKE 'CREATE VIRTUAL%'";
	static const char *const questions[] = {
		"PRAGMA run.application_id", "PRAGMA run.user_version", strangers};
	static const int64_t answers[] = {RUN_APPLICATION_ID, RUN_VERSION, 0};
	static const char *const problems[] = {"is not a run: its application_id is", "is a run of version",
		"is not a run: tables that do not belong to one:"};
	int rc = 0;

	for (size_t i = 0; i < COUNT_OF(answers) && !rc; i++) {
		sqlite3_stmt *stmt = NULL;

		if (sqlite3_prepare_v2(db, questions[i], -1, &stmt, NULL) || sqlite3_step(stmt) != SQLITE_ROW)
			rc = err_set(
				err, ERR_CORRUPT, "cannot read the run '%s': %s", path, sqlite3_errmsg(db));
		else if (!is_fine(i, sqlite3_column_int64(stmt, 0), answers[i]))
			rc = err_set(err, ERR_CORRUPT, "'%s' %s %lld, expected %lld", path, problems[i],
				(long long)sqlite3_column_int64(stmt, 0), (long long)answers[i]);
		sqlite3_finalize(stmt);
	}
	return rc;
}

/* ---- its times ---- */

/* What -5m and 9:51 count from; of a run without requests they mean nothing. */
static void set_frame(sqlite3 *db, struct time_reader *times)
{
	static const char bounds[] =
		"SELECT coalesce((SELECT CAST(value AS INTEGER) FROM run.run WHERE name = 'begin_ns'), "
		"(SELECT time_ns FROM run.requests ORDER BY request LIMIT 1)), "
		"coalesce((SELECT CAST(value AS INTEGER) FROM run.run WHERE name = 'end_ns'), "
		"(SELECT time_ns FROM run.requests ORDER BY request DESC LIMIT 1))";
	sqlite3_stmt *stmt = NULL;

	if (sqlite3_prepare_v2(db, bounds, -1, &stmt, NULL) == SQLITE_OK &&
		sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_type(stmt, 0) == SQLITE_INTEGER &&
		sqlite3_column_type(stmt, 1) == SQLITE_INTEGER) {
		times->tape_count = 1;
		times->frame = (struct moment_frame){clock_wall_ns(&clock_system),
			sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1)};
	}
	sqlite3_finalize(stmt);
}

static const char *collation_of(const char *column)
{
	static const char *const wall[] = {"time", "end", "due", "out"};

	if (strcmp(column, "tape_time") == 0)
		return TIME_COLLATION;
	for (size_t i = 0; i < COUNT_OF(wall); i++) {
		if (strcmp(column, wall[i]) == 0)
			return RUN_TIME_COLLATION;
	}
	return NULL;
}

/* `"name"`, or `"time" COLLATE ... AS "time"`, after what there is. */
static char *add_column(char *list, const char *name)
{
	const char *collation = collation_of(name), *comma = *list ? ", " : "";

	return collation ? sqlite3_mprintf(
				   "%z%s\"%w\" COLLATE %s AS \"%w\"", list, comma, name, collation, name)
			 : sqlite3_mprintf("%z%s\"%w\"", list, comma, name);
}

/* "" when the run has no such table. The caller frees with sqlite3_free; NULL when that failed. */
static char *list_columns(sqlite3 *db, const char *table)
{
	char *list = sqlite3_mprintf("");
	sqlite3_stmt *stmt = NULL;

	if (sqlite3_prepare_v2(db, "SELECT name FROM pragma_table_xinfo(?1, 'run') WHERE hidden <> 1", -1,
		    &stmt, NULL) == SQLITE_OK &&
		sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC) == SQLITE_OK) {
		while (list && sqlite3_step(stmt) == SQLITE_ROW)
			list = add_column(list, (const char *)sqlite3_column_text(stmt, 0));
	}
	sqlite3_finalize(stmt);
	return list;
}

static int make_view(sqlite3 *db, const char *table, struct err *err)
{
	char *columns = list_columns(db, table);
	char *sql = columns && *columns
			    ? sqlite3_mprintf("CREATE TEMP VIEW \"%w\" AS SELECT %s FROM run.\"%w\"", table,
				      columns, table)
			    : NULL;
	int rc = 0;

	if (sql && sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		rc = err_set(
			err, ERR_FAILED, "cannot read the run's table '%s': %s", table, sqlite3_errmsg(db));
	sqlite3_free(columns);
	sqlite3_free(sql);
	return rc;
}

int run_tables_add(sqlite3 *db, const char *path, struct time_reader *times, struct err *err)
{
	static const char *const tables[] = {"requests", "deliveries", "writes", "faults", "clients",
		"sockets", "frames", "answers", "probes"};
	int rc = run_path_check(path, err);

	if (!rc)
		rc = attach(db, path, err);
	if (!rc)
		rc = check_run(db, path, err);
	if (!rc && time_collation_register(db, RUN_TIME_COLLATION, times) != SQLITE_OK)
		rc = err_set(err, ERR_FAILED, "cannot prepare SQL: %s", sqlite3_errmsg(db));
	if (!rc)
		set_frame(db, times);
	for (size_t i = 0; i < COUNT_OF(tables) && !rc; i++)
		rc = make_view(db, tables[i], err);
	return rc ? rc : staleness_add(db, err);
}
