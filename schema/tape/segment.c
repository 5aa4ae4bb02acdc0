/* segment.c: see segment.h. */
#include "schema/tape/segment.h"

#include "schema/base/count_of.h"
#include "schema/tape/fetched.h"
#include "schema/tape/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Smaller ones than that on average make a sealed segment's pages small. */
#define SMALL_BLOCK_BYTES (32 << 10)

/* What stands beside a database, and it itself. */
static const char *const suffixes[] = {"-wal", "-shm", "-journal", ""};
#define DATABASE_FILES (COUNT_OF(suffixes))

/* The disk's own error at the last access to the database or its log, 0 for none. */
static int errno_of(sqlite3 *db)
{
	sqlite3_file *log = NULL;
	int number = 0;

	sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &number);
	sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
	if (!number && log && log->pMethods)
		log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &number);
	return number;
}

/* SQLite takes a disk that cannot be read for a database that is malformed. */
static bool is_read_error(sqlite3 *db, int sqlite_code)
{
	int number = sqlite_code == SQLITE_CORRUPT ? errno_of(db) : 0;

	return number == EIO || number == ENXIO;
}

int segment_failed(sqlite3 *db, struct err *err, const char *format, ...)
{
	int sqlite_code = db ? sqlite3_errcode(db) & 0xff : SQLITE_NOMEM, rc = ERR_IO;
	char what[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(what, sizeof(what), format, ap);
	va_end(ap);
	if (fetched_take_error(err))
		return err_prefix(err, ERR_NETWORK, "%s", what);
	if (is_read_error(db, sqlite_code))
		return err_set_errno(err, errno_of(db), "%s", what);
	if (sqlite_code == SQLITE_IOERR && sqlite3_system_errno(db) == ENOSPC)
		return err_set(err, ERR_NO_SPACE, "%s: %s", what, sqlite3_errstr(SQLITE_FULL));
	if (sqlite_code == SQLITE_FULL)
		rc = ERR_NO_SPACE;
	else if (sqlite_code == SQLITE_CORRUPT || sqlite_code == SQLITE_NOTADB || sqlite_code == SQLITE_ERROR)
		rc = ERR_CORRUPT;
	else if (sqlite_code == SQLITE_BUSY)
		rc = ERR_BUSY;
	if (sqlite_code == SQLITE_IOERR)
		return err_set(err, rc, "%s: %s (SQLite's code %d)", what, sqlite3_errmsg(db),
			sqlite3_extended_errcode(db));
	return err_set(err, rc, "%s: %s", what, db ? sqlite3_errmsg(db) : "out of memory");
}

int segment_exec(sqlite3 *db, const char *sql, struct err *err)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		return segment_failed(
			db, err, "'%.60s' failed on '%s'", sql, sqlite3_db_filename(db, "main"));
	return 0;
}

int segment_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret, struct err *err)
{
	sqlite3_stmt *statement;

	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
		return segment_failed(db, err, "cannot read '%s'", sqlite3_db_filename(db, "main"));
	*ret = statement;
	return 0;
}

int segment_number(sqlite3 *db, const char *sql, int64_t fallback, int64_t *ret, struct err *err)
{
	sqlite3_stmt *statement;
	int step, rc = segment_prepare(db, sql, &statement, err);

	if (rc)
		return rc;
	step = sqlite3_step(statement);
	*ret = fallback;
	if (step == SQLITE_ROW && sqlite3_column_type(statement, 0) != SQLITE_NULL)
		*ret = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	if (step != SQLITE_ROW && step != SQLITE_DONE)
		return segment_failed(db, err, "cannot read '%s'", sqlite3_db_filename(db, "main"));
	return 0;
}

char *segment_meta(sqlite3 *db, const char *key)
{
	sqlite3_stmt *statement;
	char *value = NULL;

	if (segment_prepare(db, "SELECT value FROM meta WHERE key = ?", &statement, NULL))
		return NULL;
	sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
	if (sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0))
		value = xstrdup((const char *)sqlite3_column_text(statement, 0));
	sqlite3_finalize(statement);
	return value;
}

int segment_build_upon(sqlite3 *db, uint32_t base, struct err *err)
{
	char sql[160];

	snprintf(sql, sizeof(sql),
		"BEGIN; INSERT OR REPLACE INTO meta VALUES ('state_segment', %u); PRAGMA user_version = %d; COMMIT",
		base, FORMAT_VERSION_UPON);
	return segment_exec(db, sql, err);
}

int segment_make_compact(sqlite3 *db, struct err *err)
{
	int64_t version;
	char sql[48];
	int rc = segment_number(db, "PRAGMA user_version", 0, &version, err);

	if (rc)
		return rc;
	snprintf(sql, sizeof(sql), "PRAGMA user_version = %d", (int)version + FORMAT_BARE);
	return segment_exec(db, sql, err);
}

int segment_base(sqlite3 *db, uint32_t number, uint32_t *ret, struct err *err)
{
	int64_t base;
	int rc = segment_number(db, "SELECT value FROM meta WHERE key = 'state_segment'", number, &base, err);

	if (rc)
		return rc;
	if (base < 1 || base > number)
		return err_set(err, ERR_CORRUPT,
			"'%s' builds upon segment %lld, which does not come before it",
			sqlite3_db_filename(db, "main"), (long long)base);
	*ret = (uint32_t)base;
	return 0;
}

int segment_sync_directory(const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;

	if (fd < 0)
		return err_set_errno(err, errno, "cannot open directory '%s'", path);
	rc = fsync(fd) ? err_set_errno(err, errno, "cannot sync directory '%s'", path) : 0;
	close(fd);
	return rc;
}

static char *sealed_path(const char *tape_path, uint32_t number)
{
	return xasprintf("%s/" FORMAT_SEALED_NAME, tape_path, number);
}

static char *open_path(const char *tape_path, uint32_t number)
{
	return xasprintf("%s/" FORMAT_OPEN_NAME, tape_path, number);
}

/* SQLite would take a name that begins so for a URI. */
char *segment_tape_path(const char *path)
{
	return xasprintf("%s%s", strncmp(path, "file:", 5) == 0 ? "./" : "", path);
}

/* The log goes before what it belongs to: without its database it would be taken for the next one's. */
static void remove_database(const char *path)
{
	for (size_t i = 0; i < DATABASE_FILES; i++) {
		char *name = xasprintf("%s%s", path, suffixes[i]);

		unlink(name);
		free(name);
	}
}

static int make_tables(sqlite3 *db, enum segment_durability durability, struct err *err)
{
	char pragmas[256];
	int rc;

	snprintf(pragmas, sizeof(pragmas),
		"PRAGMA synchronous = %s; PRAGMA page_size = %d; PRAGMA application_id = %d; PRAGMA user_version = %d; "
		"PRAGMA journal_mode = WAL; PRAGMA journal_size_limit = 67108864; BEGIN",
		durability == SEGMENT_DURABLE ? "FULL" : "OFF", FORMAT_PAGE_BYTES, FORMAT_APPLICATION_ID,
		FORMAT_VERSION_WHOLE);
	rc = segment_exec(db, pragmas, err);
	if (rc)
		return rc;
	for (int i = 0; i < TABLE_COUNT; i++) {
		char *sql = xasprintf("CREATE TABLE %s(%s)", table_formats[i].name, table_formats[i].columns);

		rc = segment_exec(db, sql, err);
		free(sql);
		if (rc)
			return rc;
	}
	return segment_exec(db, "COMMIT", err);
}

/*
 * By its name first, which becomes a leftover's. A reader that still has it open keeps the index of its log (-shm) alive:
 * who opens the database beside an index without its log looks for pages in an empty log, which SQLite calls an I/O
 * error. A kill between two removals would leave it so.
 */
static void remove_open_segment(const char *path)
{
	char *leftover = xasprintf("%s.tmp", path);

	(void)rename(path, leftover);
	remove_database(path);
	unlink(leftover);
	free(leftover);
}

/* A database with all tables at a temporary path, closed: a reader of the directory sees it finished or
 * not. */
static int make_database(const char *path, enum segment_durability durability, struct err *err)
{
	sqlite3 *db = NULL;
	int rc;

	remove_database(path);
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) != SQLITE_OK)
		rc = segment_failed(db, err, "cannot create '%s'", path);
	else
		rc = make_tables(db, durability, err);
	sqlite3_close(db);
	if (!rc && chmod(path, 0600))
		rc = err_set_errno(err, errno, "cannot set the mode of '%s'", path);
	return rc;
}

static int open_created(
	const struct segment_file *file, enum segment_durability durability, sqlite3 **ret, struct err *err)
{
	sqlite3 *db;
	int rc = segment_open(file, true, &db, err);

	if (!rc && durability == SEGMENT_UNTIL_SEALED) {
		rc = segment_exec(db, "PRAGMA synchronous = OFF", err);
		if (rc)
			sqlite3_close(db);
	}
	if (!rc)
		*ret = db;
	return rc;
}

int segment_create(const char *tape_path, uint32_t number, enum segment_durability durability, sqlite3 **ret,
	struct err *err)
{
	char *path = open_path(tape_path, number), *temporary = xasprintf("%s.tmp", path);
	struct segment_file file = {number, false, path};
	int rc;

	remove_database(path); /* a log left behind would be taken for the new segment's */
	rc = make_database(temporary, durability, err);
	if (!rc && rename(temporary, path))
		rc = err_set_errno(err, errno, "cannot rename '%s' to '%s'", temporary, path);
	if (rc)
		remove_database(temporary);
	if (!rc && durability == SEGMENT_DURABLE)
		rc = segment_sync_directory(tape_path, err);
	if (!rc)
		rc = open_created(&file, durability, ret, err);
	free(temporary);
	free(path);
	return rc;
}

static bool is_sound(sqlite3 *db)
{
	sqlite3_stmt *statement;
	bool sound;

	if (segment_prepare(db, "PRAGMA quick_check(1)", &statement, NULL))
		return false;
	sound = sqlite3_step(statement) == SQLITE_ROW &&
		sqlite3_stricmp((const char *)sqlite3_column_text(statement, 0), "ok") == 0;
	sqlite3_finalize(statement);
	return sound;
}

/* Where blocks are small, small pages: a block's last page is half empty on average. */
static int sealed_page_bytes(sqlite3 *db, int64_t *ret, struct err *err)
{
	int64_t mean_bytes;
	int rc = segment_number(
		db, "SELECT CAST(avg(length(data)) AS INTEGER) FROM block", 0, &mean_bytes, err);

	if (rc)
		return rc;
	*ret = mean_bytes < SMALL_BLOCK_BYTES ? FORMAT_SMALL_PAGE_BYTES : FORMAT_PAGE_BYTES;
	return 0;
}

static int copy_compact(sqlite3 *db, const char *to, struct err *err)
{
	sqlite3_stmt *statement;
	int64_t page_bytes = FORMAT_PAGE_BYTES;
	char sql[40];
	int rc = sealed_page_bytes(db, &page_bytes, err);

	if (rc)
		return rc;
	snprintf(sql, sizeof(sql), "PRAGMA page_size = %d", (int)page_bytes);
	/* Of the copy only: in WAL mode the database keeps its own. */
	if ((rc = segment_exec(db, sql, err)) || (rc = segment_prepare(db, "VACUUM INTO ?", &statement, err)))
		return rc;
	sqlite3_bind_text(statement, 1, to, -1, SQLITE_STATIC);
	if (sqlite3_step(statement) != SQLITE_DONE)
		rc = segment_failed(db, err, "cannot write '%s'", to);
	sqlite3_finalize(statement);
	/* Then it is the copy that could not be read back, and its file's own error is gone with it. */
	if (rc == ERR_CORRUPT && is_sound(db))
		rc = err_set_errno(err, EIO, "cannot write '%s'", to);
	return rc;
}

static int make_sealed_file(
	sqlite3 *db, const char *temporary, const char *sealed, char digest_hex[33], struct err *err)
{
	int rc;

	if ((rc = copy_compact(db, temporary, err)) || (rc = seal_append(temporary, digest_hex, err)))
		return rc;
	if (rename(temporary, sealed))
		return err_set_errno(err, errno, "cannot rename '%s' to '%s'", temporary, sealed);
	return 0;
}

void segment_discard(const char *tape_path, uint32_t number, sqlite3 *db)
{
	char *path = open_path(tape_path, number);

	sqlite3_close(db);
	remove_open_segment(path);
	free(path);
}

int segment_seal(const char *tape_path, uint32_t number, sqlite3 *db, char digest_hex[33], struct err *err)
{
	char *opened = open_path(tape_path, number);
	char *sealed = sealed_path(tape_path, number);
	char *temporary = xasprintf("%s.tmp", sealed);
	int rc;

	remove_database(temporary);
	rc = make_sealed_file(db, temporary, sealed, digest_hex, err);
	if (rc) {
		remove_database(temporary);
	} else {
		rc = segment_sync_directory(tape_path, err);
		if (rc)
			unlink(sealed); /* not known to be durable: the open one goes on */
	}
	if (!rc) {
		/* All of it is in the sealed file. */
		sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
		sqlite3_close(db);
		remove_open_segment(opened);
	}
	free(opened);
	free(sealed);
	free(temporary);
	return rc;
}
