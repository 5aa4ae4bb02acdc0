/*
 * sweep_absent.h: what a program deleted because an older view lacked what it belongs to, and made again once the view was
 * current. A program that removes what is left over when it starts does so wherever its lists are old; one that asks
 * the server once more before it deletes does not.
 */
#ifndef TOOLS_SWEEP_ABSENT_H
#define TOOLS_SWEEP_ABSENT_H

#include "tools/sweep/sweep.h"

/* Of the counts of deletions that are higher in `answer` than in `ground`, adds to answer->made_again the keys of those that
 * deletions of that sort account for: what was deleted names (by name or UID, in its own name or contents) objects that
 * were live then, and of these the view of the place lacked each one. */
int sweep_absent_find(const char *tape, const char *run, const struct sweep_position *place,
	const struct sweep_ground *ground, struct sweep_answer *answer, struct err *err) MUST_CHECK;

#endif
