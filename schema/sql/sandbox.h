/*
 * sandbox.h: a private database in memory for SQL that comes from outside: with our functions and our
 * virtual tables, and, once its doors are closed, without any way to write, attach, load or open something.
 */
#ifndef SCHEMA_SQL_SANDBOX_H
#define SCHEMA_SQL_SANDBOX_H

#include "schema/base/err.h"

struct sqlite3;

/* Doors open: for making the tables. The caller closes it with sqlite3_close. */
int sandbox_open(struct sqlite3 **ret, struct err *err) MUST_CHECK;

enum sandbox_answers {
	SANDBOX_ANY,    /* statements may ask for the time and for random numbers */
	SANDBOX_STEADY, /* the same data gives the same answer: no random numbers, no current_timestamp */
};

/* From now on every statement is checked before it runs. */
void sandbox_close_doors(struct sqlite3 *db, enum sandbox_answers answers);

#endif
