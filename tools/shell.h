/*
 * shell.h: an SQL shell on a tape. It is the sqlite3 program with our extension loaded, which has history,
 * completion and dot commands, and keeps the readline library out of this process.
 */
#ifndef TOOLS_SHELL_H
#define TOOLS_SHELL_H

#include "schema/base/err.h"

/* Becomes the shell, with the tables of a run when its path is not NULL; returns only on failure: no sqlite3
 * program, no kubetape.so, no such tape. */
int shell_run(const char *tape_path, const char *run_path, struct err *err) MUST_CHECK;

#endif
