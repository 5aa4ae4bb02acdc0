/* extension.h: the entry point that SQLite calls, by the name it derives from "kubetape.so", and what tables there
 * are then. Includes nothing of SQLite's, so that both sides of its function table can include it. */
#ifndef SCHEMA_SQL_EXTENSION_H
#define SCHEMA_SQL_EXTENSION_H

#include <stddef.h>

struct sqlite3;
struct sqlite3_api_routines;

int sqlite3_kubetape_init(struct sqlite3 *db, char **ret_message, const struct sqlite3_api_routines *api);

/* The tables of a tape and what a row of each is; NULL past the end. */
const char *sql_table_name(size_t index, const char **ret_summary);

#endif
