/*
 * shell.h: a shell for SQL over a tape, statement by statement, with commands that begin with a dot
 * (`.help`).
 *
 * At a terminal there are a prompt, a history and completion, errors are printed and the shell continues,
 * Ctrl-C stops the running statement and Ctrl-D leaves. Text from elsewhere may have the same commands; there
 * the first error ends the shell.
 */
#ifndef TOOLS_SHELL_H
#define TOOLS_SHELL_H

#include "tools/shell/query_run.h"

/* Asks the person at the terminal for statements until they leave. The session is the caller's. */
int shell_run(struct sql_session *s, const char *tape_path, const struct query_run_options *o,
	struct err *err) MUST_CHECK;

/* Runs a text. */
int shell_run_text(struct sql_session *s, const struct query_run_options *o, struct slice text,
	struct err *err) MUST_CHECK;

#endif
