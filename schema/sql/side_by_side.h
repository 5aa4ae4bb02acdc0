/*
 * side_by_side.h: several tapes in one connection. Each table is a view over those of all tapes with a column `cluster`
 * before its own; a condition on it passes the other tapes by. `tapes` has a row for each.
 */
#ifndef SCHEMA_SQL_SIDE_BY_SIDE_H
#define SCHEMA_SQL_SIDE_BY_SIDE_H

#include "schema/sql/session.h"

#include <sqlite3.h>

/* As many as SQLite joins in one view. */
#define SIDE_BY_SIDE_MAX 500

/* Makes tables and views in a connection that has the extension. Problems as for sql_session_open_many. */
int side_by_side_open(sqlite3 *db, struct sql_tape *tapes, size_t count, struct err *err) MUST_CHECK;

/* What turned out to be the problem of a tape, counted from 1. */
int side_by_side_note(sqlite3 *db, size_t number, const char *problem, struct err *err) MUST_CHECK;

#endif
