/* export_sql.h: the queries of `kubetape export`. */
#ifndef TOOLS_EXPORT_SQL_H
#define TOOLS_EXPORT_SQL_H

#include <stddef.h>

struct export_table {
	const char *name;
	const char *sql; /* of all its rows; %s takes an event predicate where it is `events`, else nothing */
};

/* Tables that can be exported, in the order in which `--table all` writes them; ended by a NULL name. */
extern const struct export_table export_tables[];

/* The events that a predicate leaves out: a row for each stream that lacks some, with :where in it. */
extern const char export_left_out_sql[];

/*
 * Statements that each give trace events (the JSON that Chrome's and Perfetto's timelines read) in their
 * first column; ended by NULL. Process 1 is the connections, 2 the gaps, one thread for each stream; from 10
 * on there is a process for each namespace and resource with a thread for each name. Times are microseconds
 * after the first event, connection or gap of the tape, parameter :start; spans that did not end extend to
 * its last event, :end. The argument `time` is the time by the wall clock. %s takes an event predicate.
 */
extern const char *const export_trace_sql[];

/* Gives :start and :end, in one row; NULL if the tape has nothing. */
extern const char export_bounds_sql[];

/* The same for a run that was added to the session: process 3, its writes, faults and the deliveries that
 * were at least :late nanoseconds late, as marks at the tape's time. */
extern const char *const export_run_sql[];

#endif
