/*
 * sweep_recorded.h: the program's own work on the tape, which was recorded while it ran. In the runs that are compared
 * the tape does not take the program's finalizers away (replayer/write/finalizer_hold.h).
 */
#ifndef TOOLS_SWEEP_SWEEP_RECORDED_H
#define TOOLS_SWEEP_SWEEP_RECORDED_H

#include "schema/sql/session.h"
#include "tools/cli/options.h"

struct sweep_recorded {
	struct text_list finalizers; /* owned: that both the program and the tape take away */
	uint64_t made;               /* objects that the program has created and the tape makes later */
};

/* Of the session's run, into an empty one; the caller releases, also after a failure. */
int sweep_recorded_read(struct sql_session *s, struct sweep_recorded *ret, struct err *err) MUST_CHECK;
void sweep_recorded_release(struct sweep_recorded *r);

/* Adds what another run has shown; its finalizers only if they are to be held. */
void sweep_recorded_add(struct sweep_recorded *r, const struct sweep_recorded *other, bool holds);

#endif
