/*
 * time_collation.h: the collating sequence of columns that hold times. A text in any form of moment.h
 * compares with them as the time that it means: `time >= '2026-11-21 08:00'`, `time < '9:51:40'`,
 * `time > '-5m'`.
 *
 * A text that is no time must not become an empty result. A collating sequence cannot fail, so that this one
 * keeps the sentence, and the code that runs the statement asks for it: the virtual tables before each row, the
 * session after each.
 */
#ifndef SCHEMA_SQL_TIME_COLLATION_H
#define SCHEMA_SQL_TIME_COLLATION_H

#include "schema/base/moment.h"

struct sqlite3;

#define TIME_COLLATION "kubetape_time"

/* How the texts of one connection are read. */
struct time_reader {
	struct sqlite3 *db;
	struct moment_frame frame; /* of the only tape */
	size_t tape_count;         /* with another number of tapes the frame is of no use */
	struct err wrong;          /* the first text that was no time, until somebody asks; code 0: none */
};

/* Makes the collating sequence; the reader is borrowed as long as the connection lives. */
int time_collation_register(struct sqlite3 *db, const char *name, struct time_reader *r);

/* ERR_USAGE if the text is no time, or one that this connection cannot tell the day of. */
int time_reader_read(
	const struct time_reader *r, struct slice text, int64_t *ret_ns, struct err *err) MUST_CHECK;

/* The error that was kept, which is then forgotten; 0 if there is none. */
int time_reader_failure(struct time_reader *r, struct err *err) MUST_CHECK;

#endif
