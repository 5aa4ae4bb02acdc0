/*
 * extension.c: the entry point of kubetape.so, and of the same code inside the program.
 *
 * In stock sqlite3: `.load build/kubetape`, then `SELECT kubetape_open('X.tape');` for all tables of a tape,
 * or `CREATE VIRTUAL TABLE t USING kubetape('X.tape', 'gaps')` for one.
 */
#include "schema/sql/extension.h"

#include "schema/sql/functions.h"
#include "schema/sql/rv_collation.h"
#include "schema/sql/vtab.h"

#include <sqlite3ext.h>

SQLITE_EXTENSION_INIT1

__attribute__((visibility("default"))) int sqlite3_kubetape_init(
	sqlite3 *db, char **ret_message, const sqlite3_api_routines *api)
{
	int rc;

	SQLITE_EXTENSION_INIT2(api);
	(void)ret_message;
	rc = vtab_register(db);
	if (rc == SQLITE_OK)
		rc = rv_collation_register(db);
	return rc == SQLITE_OK ? functions_register(db) : rc;
}

const char *sql_table_name(size_t index, const char **ret_summary)
{
	const struct table_kind *kind = table_kind_at(index);

	if (!kind)
		return NULL;
	*ret_summary = kind->summary;
	return kind->name;
}
