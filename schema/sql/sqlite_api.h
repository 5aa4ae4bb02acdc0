/* sqlite_api.h: SQLite as an extension calls it: by the table of functions that the entry point was given
 * (extension.c), which the macros of sqlite3ext.h put in place of each call. */
#ifndef SCHEMA_SQL_SQLITE_API_H
#define SCHEMA_SQL_SQLITE_API_H

#include <sqlite3ext.h>

extern const sqlite3_api_routines *sqlite3_api;

#endif
