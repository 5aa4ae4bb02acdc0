/*
 * run_schema.h: the tables of a run file, and the statement that fills each. FORMAT.md, section "The run
 * file", says what the columns mean.
 */
#ifndef SCHEMA_RUN_RUN_SCHEMA_H
#define SCHEMA_RUN_RUN_SCHEMA_H

enum run_statement {
	RUN_FACT,
	RUN_REQUEST,
	RUN_ANSWER,
	RUN_DELIVERY,
	RUN_WRITE,
	RUN_FAULT,
	RUN_CLIENT,
	RUN_SOCKET,
	RUN_SOCKET_END,
	RUN_FRAME,
	RUN_PIECE,
	RUN_PROBE,
	RUN_STATEMENTS,
};

/* Of the table `requests`: a watch that was opened, also as a WebSocket (fabric8 does that). */
#define RUN_IS_WATCH "verb = 'watch' AND status IN (101, 200)"

extern const char run_schema[];
extern const char run_go_on[];  /* when rows follow those of an earlier time */
extern const char run_finish[]; /* when no row follows: one file, and nothing beside it */
extern const char *const run_statements[RUN_STATEMENTS];

#endif
