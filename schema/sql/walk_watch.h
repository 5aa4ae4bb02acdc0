/*
 * walk_watch.h: how far a statement is, for progress lines, and what went wrong with it that SQLite does not
 * know. Free of SQLite, so that both sides can include it: the tables, and the program that runs statements.
 */
#ifndef SCHEMA_SQL_WALK_WATCH_H
#define SCHEMA_SQL_WALK_WATCH_H

#include "schema/tape/position.h"

/* How far the outermost walk of the statement that runs is. */
struct walk_progress {
	const char *table; /* NULL: no walk that reports it */
	double share;      /* 0 to 1 */
};

/* Given to the SQL function kubetape_watch() by a program that wants to know; filled there. Both have to be valid as long as
 * the connection. */
struct walk_watch {
	void *registry;
	struct walk_progress (*look)(void *registry);
	/* A text that was no time: as time_reader_failure. */
	int (*failure)(void *registry, struct err *err);
	/* Remarks of tape_position_remark about positions named since the last call: for how many tapes there is one. `to`
	 * is the first, *ret_path the path of its tape, the registry's own. */
	size_t (*remark)(void *registry, char to[POSITION_REMARK_BYTES], const char **ret_path);
	/* Of the statement that comes: a table that has positions and is given none is an error, ERR_USAGE. Over several
	 * tapes SQLite gives only constants to the tables; what it compares itself would silently be no row. */
	void (*need_position)(void *registry, bool needs);
	/* Set by that program, or NULL. Called when a tape cannot be read to the end of a walk: the walk ends there, and the
	 * statement goes on. With NULL the statement fails. */
	void (*lost)(void *context, const char *tape_path, const char *sentence);
	void *context;
};

#define WALK_WATCH_TYPE "kubetape walk watch"

#endif
