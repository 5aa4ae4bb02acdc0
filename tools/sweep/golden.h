/*
 * golden.h: a replay whose writes are compared, when it is over, with those of an earlier run.
 *
 * Order of calls: open, the replay, judge, close.
 */
#ifndef TOOLS_GOLDEN_H
#define TOOLS_GOLDEN_H

#include "tools/sweep/run_verdict.h"

struct golden_options {
	const char *path; /* of the earlier run; NULL: nothing is compared, and all calls do nothing */
	struct verdict_options verdict;
	const char *compare; /* "exit", "writes" or "exit,writes": compared is what a sweep compares; NULL:
				the writes */
	struct compare_rules *ignored; /* with `compare`; our own */
	char *own_run;                 /* a file of our own, because nobody wants to have the run */
};

/* Checks before hours are spent that there will be a verdict. *run is where the replay's run goes; when it is
 * NULL it becomes a temporary file. ERR_USAGE if the rules make no sense, the earlier run cannot be read,
 * or would be overwritten. */
int golden_open(struct golden_options *g, const char **run, struct err *err) MUST_CHECK;

/* `tape` is the replayed tape. Prints the differences and sets the exit code: that of a failed child stays; a
 * difference is 1, even if the replay was late (3). */
int golden_judge(struct golden_options *g, const char *tape, const char *run, int *exit_code,
	struct err *err) MUST_CHECK;

void golden_close(struct golden_options *g);

#endif
