/*
 * query_run.h: one SQL text run for people: rows in a format on stdout, how far it is on a terminal, Ctrl-C
 * that stops the statement.
 */
#ifndef TOOLS_QUERY_RUN_H
#define TOOLS_QUERY_RUN_H

#include "schema/sql/session.h"
#include "tools/out/table_out.h"

struct query_run_options {
	enum table_format format;
	int64_t time_limit_ns; /* of the text, 0: none */
};

/* ERR_STOPPED for Ctrl-C and for the time limit; otherwise what sql_session_run returns. */
int query_run(struct sql_session *s, const struct query_run_options *o, struct slice sql,
	struct err *err) MUST_CHECK;

#endif
