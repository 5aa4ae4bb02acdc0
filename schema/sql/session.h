/*
 * session.h: SQL over one tape, or several, for code that does not use SQLite itself.
 *
 * A session is a private database in memory with the tables of the tape and nothing else. It can read them
 * and compute, and cannot write, attach, load or open anything, whatever the statement says. It is not
 * thread-safe, but sql_session_interrupt may be called from anywhere, even from a signal handler.
 */
#ifndef SCHEMA_SQL_SESSION_H
#define SCHEMA_SQL_SESSION_H

#include "schema/tape/position.h"

struct sql_session;

enum sql_type { SQL_NULL, SQL_INTEGER, SQL_REAL, SQL_TEXT, SQL_BLOB };

struct sql_value {
	enum sql_type type;
	int64_t integer;
	double real;
	struct slice bytes; /* of text and blobs */
};

/* Where the rows of a statement go. Names and values are borrowed for the call. A negative return stops the
 * statement and is returned from sql_session_run. begin and end may be NULL. */
struct sql_sink {
	int (*begin)(void *context, const char *const *names, size_t count, struct err *err);
	int (*row)(void *context, const struct sql_value *values, size_t count, struct err *err);
	int (*end)(void *context, struct err *err);
	void *context;
};

int sql_session_open(const char *tape_path, struct sql_session **ret, struct err *err) MUST_CHECK;

/* The same over several tapes: every table has the rows of all, with a column `cluster` before the others; a table
 * `tapes` has cluster, name and problem of each. A tape that has a problem is not asked; one that cannot be opened gets
 * one. What a walk cannot read of one ends that walk, and is its problem for the next statement. The error is that of the first when none can be. */
struct sql_tape {
	const char *path, *name, *cluster;
	char *problem; /* a sentence; NULL: none. To be freed. */
};
int sql_session_open_many(
	struct sql_tape *tapes, size_t count, struct sql_session **ret, struct err *err) MUST_CHECK;
void sql_session_close(struct sql_session *s);

/* Adds the tables of a run file (schema/run/run_file.h), read-only: requests, deliveries, writes, faults and
 * run. At most one, before the first statement. */
int sql_session_add_run(struct sql_session *s, const char *path, struct err *err) MUST_CHECK;

/* Both at once. The caller closes *ret, also after a failure. */
int sql_session_open_run(
	const char *tape_path, const char *run_path, struct sql_session **ret, struct err *err) MUST_CHECK;

/* Makes :name (and @name, $name) mean that value in every statement run from now on. A value that reads as an
 * integer is one. */
void sql_session_set(struct sql_session *s, const char *name, const char *value);

/* ERR_STOPPED after that long, counted from now; 0 for no limit. */
void sql_session_limit(struct sql_session *s, int64_t limit_ns);

/* Called about every 100 ms while a statement works; may be NULL. */
void sql_session_on_progress(struct sql_session *s, void (*call)(void *context), void *context);

/* How far the outermost walk of the running statement is: *ret_table is NULL if none reports it, and
 * *ret_share goes from 0 to 1. A statement of several walks begins again with each. For use in that call. */
void sql_session_progress(const struct sql_session *s, const char **ret_table, double *ret_share);

/* The next warning about the statements since NULL was returned last: a position that one named, as objects('12:03') does,
 * lies outside the tape, so that the answer is a guess, or is a time of day on several days (over several tapes it names the
 * first); or one of several tapes could not be read to its end. NULL: no other. The caller frees. */
char *sql_session_remark(struct sql_session *s);
/* Whether that has ever said something. */
bool sql_session_has_guessed(const struct sql_session *s);

void sql_session_interrupt(struct sql_session *s);

/* True if the text ends with a whole statement, semicolon included. */
bool sql_text_is_complete(const char *sql);

/* As sql_session_run, of a text that sqlite3_mprintf makes of these: %Q quotes a text. */
int sql_session_run_format(struct sql_session *s, const struct sql_sink *sink, struct err *err,
	const char *format, ...) MUST_CHECK;

/* Runs every statement of the text in turn. ERR_FAILED with SQLite's words if it does not understand or
 * refuses something. */
int sql_session_run(
	struct sql_session *s, struct slice sql, const struct sql_sink *sink, struct err *err) MUST_CHECK;

#endif
