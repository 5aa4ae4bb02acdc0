/*
 * run_tables.h: the tables of a run file (schema/run/run_file.h) beside those of a tape, in one connection.
 *
 * The file is attached as `run`. A run must open in any SQLite, so that its times are plain texts; views
 * replace its tables, and give the columns the collating sequences of times.
 */
#ifndef SCHEMA_SQL_RUN_TABLES_H
#define SCHEMA_SQL_RUN_TABLES_H

#include "schema/sql/time_collation.h"

struct sqlite3;

/* Read-only; at most one a connection. `times` reads what times of the wall clock are compared with, counted
 * from the run's begin and end, and is borrowed as long as the connection lives. */
int run_tables_add(
	struct sqlite3 *db, const char *path, struct time_reader *times, struct err *err) MUST_CHECK;

#endif
