/*
 * sandbox.c: see sandbox.h.
 *
 * SQLite is asked before each access (the authorizer) and may read, call functions and recurse; everything
 * else is denied. That stands beside, not in place of, the tables having no way to be written.
 */
#include "schema/sql/sandbox.h"

#include "schema/base/count_of.h"
#include "schema/sql/extension.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

/* The extension gets SQLite's function table as if it had been loaded; only this connection gets it. */
int sandbox_open(sqlite3 **ret, struct err *err)
{
	void (*entry)(void) = (void (*)(void))sqlite3_kubetape_init;
	int rc = sqlite3_auto_extension(entry);

	if (rc == SQLITE_OK)
		rc = sqlite3_open_v2(
			":memory:", ret, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, NULL);
	sqlite3_cancel_auto_extension(entry);
	if (rc != SQLITE_OK)
		return err_set(err, ERR_FAILED, "cannot open a database in memory: %s", sqlite3_errstr(rc));
	return 0;
}

static bool is_harmless_pragma(const char *name, const char *argument)
{
	static const char *const with_argument[] = {"table_info", "table_xinfo", "table_list"};
	static const char *const without[] = {
		"table_list", "function_list", "module_list", "database_list", "collation_list"};

	for (size_t i = 0; argument && i < COUNT_OF(with_argument); i++) {
		if (sqlite3_stricmp(name, with_argument[i]) == 0)
			return true;
	}
	for (size_t i = 0; !argument && i < COUNT_OF(without); i++) {
		if (sqlite3_stricmp(name, without[i]) == 0)
			return true;
	}
	return false;
}

static bool is_harmless_function(const char *name)
{
	return sqlite3_stricmp(name, "load_extension") != 0 && sqlite3_stricmp(name, "kubetape_open") != 0 &&
	       sqlite3_stricmp(name, "fts3_tokenizer") != 0;
}

/* SQLite makes the declaration of a virtual table look like a change of its schema table when the table is
 * first used, as json_each is, or used again after an error. A statement that tried to make such a change is
 * refused all the same, because nobody may modify that table. */
static bool is_schema_table(const char *name)
{
	return sqlite3_stricmp(name, "sqlite_master") == 0 ||
	       sqlite3_stricmp(name, "sqlite_temp_master") == 0;
}

/* The same statement would answer otherwise another time. */
static bool is_fickle_function(const char *name)
{
	static const char *const names[] = {"random", "randomblob", "current_time", "current_date",
		"current_timestamp", "changes", "total_changes", "last_insert_rowid"};

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		if (sqlite3_stricmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

/* context: NULL when fickle functions may be called. */
static int authorize(
	void *context, int action, const char *a, const char *b, const char *database, const char *trigger)
{
	(void)database, (void)trigger;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE: return SQLITE_OK;
	case SQLITE_FUNCTION:
		return is_harmless_function(b) && !(context && is_fickle_function(b)) ? SQLITE_OK
										      : SQLITE_DENY;
	case SQLITE_PRAGMA: return is_harmless_pragma(a, b) ? SQLITE_OK : SQLITE_DENY;
	case SQLITE_UPDATE: return is_schema_table(a) ? SQLITE_OK : SQLITE_DENY;
	default: return SQLITE_DENY;
	}
}

void sandbox_close_doors(sqlite3 *db, enum sandbox_answers answers)
{
	static char steady;

	sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_set_authorizer(db, authorize, answers == SANDBOX_STEADY ? &steady : NULL);
}
