/* extension.h: the entry point that SQLite calls, by the name it derives from "kubetape.so". Includes nothing
 * of SQLite's, so that both sides of its function table can include it. */
#ifndef SCHEMA_SQL_EXTENSION_H
#define SCHEMA_SQL_EXTENSION_H

struct sqlite3;
struct sqlite3_api_routines;

int sqlite3_kubetape_init(struct sqlite3 *db, char **ret_message, const struct sqlite3_api_routines *api);

#endif
