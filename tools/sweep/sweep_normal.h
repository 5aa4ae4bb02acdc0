/*
 * sweep_normal.h: one text for one meaning: what a program wrote, without what differs from run to run by itself. The time of
 * day becomes NOW, a resourceVersion that only this run gave out SWEEP_VERSION; one with which it showed an event of the
 * tape becomes the tape's. Members have an order, and so have items. See sweep.h.
 */
#ifndef TOOLS_SWEEP_NORMAL_H
#define TOOLS_SWEEP_NORMAL_H

#include "schema/sql/session.h"
#include "tools/cli/options.h"

struct sweep_shown {
	char *rv, *own; /* of an event of the tape: in this run, and on the tape */
};

struct sweep_normal {
	int64_t begin_ns, end_ns; /* of the run */
	bool rebased;             /* no time says anything: each run has moved it by another amount */
	/* Owned, sorted; of sweep_normal_read. */
	struct text_list given;
	struct sweep_shown *shown;
	size_t shown_count;
};

/* The versions of the session's run; the caller releases, also after a failure. */
int sweep_normal_read(struct sql_session *s, struct sweep_normal *n, struct err *err) MUST_CHECK;
void sweep_normal_release(struct sweep_normal *n);

/* The caller frees. What is no JSON is only rid of its times. */
char *sweep_normal_text(const struct sweep_normal *n, struct slice text);

#endif
