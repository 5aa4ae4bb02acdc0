/*
 * time_collation.h: the collating sequence of columns that hold times. A text in any form of moment.h
 * compares with them as a time: `time >= '2026-11-21 08:00'`, `time < '9:51:40'`, `time > '-5m'`.
 *
 * A text that is not a time must not become an empty result. A collating sequence cannot fail. So this one
 * keeps the error, and the code that runs the statement asks for it: the virtual tables before each row, the
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
	bool needs_position;       /* see walk_watch.h */
	struct err wrong;          /* the first text that was not a time, until it is asked for; code 0:
				none */
};

/* Makes the collating sequence; the reader is borrowed as long as the connection lives. */
int time_collation_register(struct sqlite3 *db, const char *name, struct time_reader *r);

/* ERR_USAGE if the text is not a time, or a time of day whose day this connection does not know. */
int time_reader_read(
	const struct time_reader *r, struct slice text, int64_t *ret_ns, struct err *err) MUST_CHECK;

/* Returns the kept error and drops it; 0 if there is none. */
int time_reader_failure(struct time_reader *r, struct err *err) MUST_CHECK;

#endif
