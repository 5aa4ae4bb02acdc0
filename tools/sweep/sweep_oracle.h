/*
 * sweep_oracle.h: signs that a run went wrong, beside its remains: panics and fatal lines in the command's
 * output, and invariants, which are queries over the tape and the run that must have no rows.
 */
#ifndef TOOLS_SWEEP_ORACLE_H
#define TOOLS_SWEEP_ORACLE_H

#include "schema/sql/session.h"
#include "tools/cli/options.h"

/* One of the library: "@no-hot-loop". */
struct sweep_invariant {
	const char *name, *help, *sql;
};
extern const struct sweep_invariant sweep_invariants[]; /* ends with a name that is NULL */

/* An invariant is "@NAME" of the library, "NAME=SQL" or "SQL". */

/* Refuses names that the library does not have, and two of one name. ERR_USAGE. */
int sweep_oracle_check(const struct text_list *invariants, struct err *err) MUST_CHECK;

/* The beginning of a finding about it: "invariant NAME is broken"; without a name it has the query. The
 * caller frees. */
char *sweep_oracle_line(const char *invariant);

/* Appends a line "invariant NAME is broken: ROW" if that query has rows. ERR_USAGE if it is not a query. */
int sweep_oracle_ask(
	struct sql_session *s, const char *invariant, struct buf *to, struct err *err) MUST_CHECK;

/* A line for each alarm: "panic: …" or "invariant NAME is broken: …". `s` has the run, `log` is the output of
 * the replay and of the command. The caller frees. */
int sweep_oracle_read(struct sql_session *s, const struct text_list *invariants, const char *log,
	char **ret_alarms, struct err *err) MUST_CHECK;

/* Whether such differences tell of a panic, a fatal error or a race. */
bool sweep_oracle_is_alarm(const char *differences);

#endif
