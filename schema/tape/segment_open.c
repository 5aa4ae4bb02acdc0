/*
 * segment_open.c: from a file to a database whose SQL is safe to run, see segment.h. A tape may come from
 * anybody: the schema must be word for word that of the format, since SQLite runs what a schema says (views,
 * triggers, computed columns, defaults, indices on expressions); what the file claims to be must fit what is
 * on the disk; and no value is larger than those that writers make.
 */
#include "schema/base/count_of.h"
#include "schema/base/limits.h"
#include "schema/base/regular_file.h"
#include "schema/tape/fetched.h"
#include "schema/tape/segment.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Readers of a live segment wait that long for its writer, and the other way round. */
#define BUSY_TIMEOUT_MS 5000

#define PRAGMAS                                                                                              \
	"PRAGMA trusted_schema = OFF; PRAGMA synchronous = FULL; PRAGMA secure_delete = OFF; "               \
	"PRAGMA cell_size_check = ON"

/* A reader has many segments open, and reads a block or an index once: SQLite need not keep its pages. */
#define READER_PRAGMAS "PRAGMA cache_size = -512"

static const struct {
	int id, value;
} limits[] = {
	{SQLITE_LIMIT_LENGTH, LIMIT_STORED_BYTES},
	{SQLITE_LIMIT_SQL_LENGTH, 1 << 16},
	{SQLITE_LIMIT_COLUMN, 64},
	{SQLITE_LIMIT_EXPR_DEPTH, 100},
	{SQLITE_LIMIT_COMPOUND_SELECT, 10},
	{SQLITE_LIMIT_FUNCTION_ARG, 10},
	{SQLITE_LIMIT_TRIGGER_DEPTH, 1},
};

/* ---- identity ---- */

static int check_header(sqlite3 *db, const char *path, struct err *err)
{
	int64_t application_id, version;
	int rc;

	if ((rc = segment_number(db, "PRAGMA application_id", 0, &application_id, err)) ||
		(rc = segment_number(db, "PRAGMA user_version", 0, &version, err)))
		return rc;
	if (application_id != FORMAT_APPLICATION_ID)
		return err_set(err, ERR_CORRUPT,
			"'%s' is not a segment of a tape: application id 0x%llx, expected 0x%x", path,
			(unsigned long long)application_id, FORMAT_APPLICATION_ID);
	if (version < 1 || version > FORMAT_VERSION)
		return err_set(err, ERR_CORRUPT, "'%s' has format version %lld, this program reads 1 to %d",
			path, (long long)version, FORMAT_VERSION);
	return 0;
}

static uint64_t file_bytes(const char *path, const char *suffix)
{
	char *name = xasprintf("%s%s", path, suffix);
	struct stat st;
	uint64_t bytes = stat(name, &st) == 0 ? (uint64_t)st.st_size : 0;

	free(name);
	return bytes;
}

static uint64_t bytes_of(const struct segment_file *file)
{
	return file_bytes(file->path, "") + (file->sealed ? 0 : file_bytes(file->path, "-wal"));
}

/* SQLite makes lists that are as long as the database says it is. A writer may make it longer meanwhile, or take its files
 * away because it has sealed them. */
static int check_size(sqlite3 *db, const struct segment_file *file, struct err *err)
{
	uint64_t before = bytes_of(file), after, room;
	int64_t page_bytes, pages;
	int rc;

	if ((rc = segment_number(db, "PRAGMA page_size", 0, &page_bytes, err)) ||
		(rc = segment_number(db, "PRAGMA page_count", 0, &pages, err)))
		return rc;
	if (page_bytes != FORMAT_PAGE_BYTES && (!file->sealed || page_bytes != FORMAT_SMALL_PAGE_BYTES))
		return err_set(err, ERR_CORRUPT, "'%s' has pages of %lld bytes, expected %d", file->path,
			(long long)page_bytes, FORMAT_PAGE_BYTES);
	after = bytes_of(file);
	room = (before > after ? before : after) / (uint64_t)page_bytes;
	if (pages < 1 || (uint64_t)pages > room)
		return err_set(err, ERR_CORRUPT, "'%s' claims %lld pages, found room for %llu", file->path,
			(long long)pages, (unsigned long long)room);
	return 0;
}

static bool is_text(const unsigned char *found, const char *expected)
{
	return found && strcmp((const char *)found, expected) == 0;
}

/* The table with that name, or NULL. */
static const struct table_format *find_table(const unsigned char *name)
{
	for (int i = 0; i < TABLE_COUNT; i++) {
		if (is_text(name, table_formats[i].name))
			return &table_formats[i];
	}
	return NULL;
}

/* Columns: type, name, sql. The one index is that of a primary key, which SQLite makes for itself. */
static bool is_of_the_format(sqlite3_stmt *row)
{
	const unsigned char *type = sqlite3_column_text(row, 0), *name = sqlite3_column_text(row, 1),
			    *sql = sqlite3_column_text(row, 2);
	const struct table_format *table = find_table(name);
	char *expected;
	bool equal;

	if (is_text(type, "index"))
		return is_text(name, "sqlite_autoindex_meta_1") && !sql;
	if (!is_text(type, "table") || !table)
		return false;
	expected = xasprintf("CREATE TABLE %s(%s)", table->name, table->columns);
	equal = is_text(sql, expected);
	free(expected);
	return equal;
}

static int check_schema(sqlite3 *db, const char *path, struct err *err)
{
	sqlite3_stmt *rows;
	int step, count = 0;
	int rc = segment_prepare(db, "SELECT type, name, sql FROM sqlite_schema", &rows, err);

	if (rc)
		return rc;
	while ((step = sqlite3_step(rows)) == SQLITE_ROW && is_of_the_format(rows))
		count++;
	if (step == SQLITE_ROW)
		rc = err_set(err, ERR_CORRUPT, "'%s' defines %.20s '%.60s' otherwise than a segment does",
			path, (const char *)sqlite3_column_text(rows, 0),
			(const char *)sqlite3_column_text(rows, 1));
	else if (step != SQLITE_DONE)
		rc = segment_failed(db, err, "cannot read '%s'", path);
	else if (count != TABLE_COUNT + 1)
		rc = err_set(err, ERR_CORRUPT, "'%s' has %d tables and indices, expected %d", path, count,
			TABLE_COUNT + 1);
	sqlite3_finalize(rows);
	return rc;
}

static int check_identity(sqlite3 *db, const struct segment_file *file, struct err *err)
{
	int rc = check_header(db, file->path, err);

	if (!rc)
		rc = check_size(db, file, err);
	return rc ? rc : check_schema(db, file->path, err);
}

/* ---- opening ---- */

enum access { READ, WRITE, FROZEN };

/* An SQLite URI for a path, with what would end the path escaped. */
static char *immutable_uri(const char *path)
{
	const char *scheme =
		*path == '/' ? "file://" : "file:"; /* after "//" an authority ends at the next / */
	char *uri = xmalloc(3 * strlen(path) + 32), *to = uri + strlen(scheme);

	memcpy(uri, scheme, strlen(scheme));
	for (; *path; path++) {
		if (strchr("%?#", *path))
			to += snprintf(to, 4, "%%%02X", (unsigned)*path);
		else
			*to++ = *path;
	}
	memcpy(to, "?immutable=1", sizeof("?immutable=1"));
	return uri;
}

static int open_immutable(const char *path, sqlite3 **ret)
{
	char *uri = immutable_uri(path);
	int rc = sqlite3_open_v2(
		uri, ret, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, fetched_is(path) ? fetched_vfs() : NULL);

	free(uri);
	return rc;
}

/* An open segment that nobody can write here. Where SQLite may not make the index of the log that its readers
 * share, it makes one in memory, if it need share it with nobody. */
static int open_frozen(const char *path, sqlite3 **ret)
{
	char *log = xasprintf("%s-wal", path);
	bool has_log = access(log, F_OK) == 0;
	int rc;

	free(log);
	if (!has_log)
		return open_immutable(path, ret);
	rc = sqlite3_open_v2(path, ret, SQLITE_OPEN_READONLY, "unix-none");
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(*ret, "PRAGMA locking_mode = EXCLUSIVE", NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_db_config(*ret, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	return rc;
}

static int open_database(const struct segment_file *file, enum access access, sqlite3 **ret)
{
	if (file->sealed)
		return open_immutable(file->path, ret);
	if (access == FROZEN)
		return open_frozen(file->path, ret);
	return sqlite3_open_v2(
		file->path, ret, access == WRITE ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY, NULL);
}

/* SQLite opens whatever bears the name. */
static int check_files(const struct segment_file *file, struct err *err)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
	int rc = 0;

	for (size_t i = 0; i < COUNT_OF(suffixes) && !rc; i++) {
		char *name = xasprintf("%s%s", file->path, suffixes[i]);

		rc = regular_file_check(name, err);
		free(name);
	}
	if (!rc && file_bytes(file->path, "") > LIMIT_SEGMENT_BYTES)
		return err_set(err, ERR_TOO_LARGE, "'%s' has %llu bytes, the maximum is %llu", file->path,
			(unsigned long long)file_bytes(file->path, ""),
			(unsigned long long)LIMIT_SEGMENT_BYTES);
	return rc;
}

static void set_limits(sqlite3 *db)
{
	for (size_t i = 0; i < COUNT_OF(limits); i++)
		sqlite3_limit(db, limits[i].id, limits[i].value);
}

/* *ret_sqlite_code is of the last call when it fails. */
static int open_as(const struct segment_file *file, enum access access, sqlite3 **ret, int *ret_sqlite_code,
	struct err *err)
{
	sqlite3 *db = NULL;
	int rc = 0;

	if (open_database(file, access, &db) != SQLITE_OK)
		rc = segment_failed(db, err, "cannot open '%s'", file->path);
	if (!rc) {
		sqlite3_busy_timeout(db, BUSY_TIMEOUT_MS);
		set_limits(db);
		sqlite3_exec(db, PRAGMAS, NULL, NULL, NULL);
		if (access != WRITE)
			sqlite3_exec(db, READER_PRAGMAS, NULL, NULL, NULL);
		rc = check_identity(db, file, err);
	}
	if (rc) {
		*ret_sqlite_code = sqlite3_errcode(db);
		sqlite3_close(db);
		return rc;
	}
	*ret = db;
	return 0;
}

int segment_open(const struct segment_file *file, bool for_writing, sqlite3 **ret, struct err *err)
{
	int sqlite_code, rc = check_files(file, err);

	if (rc)
		return rc;
	rc = open_as(file, for_writing ? WRITE : READ, ret, &sqlite_code, err);
	if (!rc || for_writing || file->sealed)
		return rc;
	if (sqlite_code != SQLITE_CANTOPEN && sqlite_code != SQLITE_READONLY)
		return rc;
	return open_as(file, FROZEN, ret, &sqlite_code, err);
}
