/*
 * staleness.h: two views over a live run (kubetape tee) and the tape of a recorder that watched the same
 * cluster at the same time: how much later the run's clients got each event, and which writes they made on
 * old news.
 *
 *     staleness     one row for each event of the tape that a client was sent, when it was first sent it.
 *                   What happened before the client made its first request is left out.
 *     stale_writes  one row for each update, patch and delete of an object that had versions which the client
 *                   had not been sent, had not read since, and had not written itself
 *
 * Both times are from wall clocks: if they are of two machines, the clocks' difference is added.
 */
#ifndef SCHEMA_SQL_STALENESS_H
#define SCHEMA_SQL_STALENESS_H

#include "schema/base/err.h"

struct sqlite3;

/* After the run was attached. Adds nothing where the run is that of a replay. */
int staleness_add(struct sqlite3 *db, struct err *err) MUST_CHECK;

#endif
