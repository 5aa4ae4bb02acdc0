/*
 * sql_progress.h: the progress of long statements, on one line of the terminal, and Ctrl-C to stop them.
 * Prints nothing if stderr is not a terminal.
 */
#ifndef TOOLS_SQL_PROGRESS_H
#define TOOLS_SQL_PROGRESS_H

#include "schema/sql/session.h"

#include <stdio.h>

struct sql_progress {
	struct sql_session *session;
	const char *verb; /* "exporting ", "" */
	struct sql_sink rows;
	int64_t begin_ns;
	bool is_wanted, is_shown;
	bool is_beside_rows; /* rows go to the same terminal: the line ends with the first row */
};

/* Watches the statements of the session from now on, whose rows go to `to` and are meant for `rows`. Returns
 * the sink to run them with; `p` stays where it is until sql_progress_end(). `to` is NULL if the rows are kept for later. The
 * statement is interrupted after a signal that progress.h notes. */
struct sql_sink sql_progress_begin(struct sql_progress *p, struct sql_session *s, const char *verb, FILE *to,
	const struct sql_sink *rows);
void sql_progress_end(struct sql_progress *p);

/* One statement, whose rows go to stdout or nowhere; Ctrl-C stops it. */
int sql_progress_run(
	struct sql_session *s, struct slice sql, const struct sql_sink *rows, struct err *err) MUST_CHECK;

#endif
