/*
 * sweep_held.h: finalizers that the program takes away, and that the tape takes away as well: it was recorded while
 * the program ran. In the runs that are compared the tape does not (replayer/write/finalizer_hold.h).
 */
#ifndef TOOLS_SWEEP_SWEEP_HELD_H
#define TOOLS_SWEEP_SWEEP_HELD_H

#include "schema/sql/session.h"
#include "tools/cli/options.h"

/* Adds those of the session's run; the caller frees each, and the list. */
int sweep_held_read(struct sql_session *s, struct text_list *to, struct err *err) MUST_CHECK;

/* Adds copies of those that are not there yet. */
void sweep_held_add(struct text_list *to, const struct text_list *found);

void sweep_held_release(struct text_list *list);

#endif
