/*
 * time_collation.h: the collating sequence of columns that hold times. Two texts that are both RFC 3339 times
 * (any fraction, Z or an offset, a date alone is its midnight UTC) compare as times, so that
 * `time >= '2026-11-21T08:00:00Z'` and `time < '2026-11-22'` mean what they say; everything else comes after
 * the times, bytewise.
 */
#ifndef SCHEMA_SQL_TIME_COLLATION_H
#define SCHEMA_SQL_TIME_COLLATION_H

#include "schema/sql/vtab.h"

#define TIME_COLLATION "kubetape_time"

int time_collation_register(sqlite3 *db);

/* False when the text is no such time or does not fit. */
bool time_collation_parse(struct slice text, int64_t *ret_ns);

#endif
