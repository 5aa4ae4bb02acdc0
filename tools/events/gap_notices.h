/*
 * gap_notices.h: reports the gaps of a resource on stderr while a command follows a tape: when one begins,
 * and when it has ended.
 */
#ifndef TOOLS_GAP_NOTICES_H
#define TOOLS_GAP_NOTICES_H

#include "tools/events/event_gaps.h"

struct gap_notices {
	const char *command; /* that speaks: "get" */
	struct object_patterns *patterns;
	struct event_gaps_wanted wanted;
	struct event_gaps gaps;
	int64_t looked_ns; /* by the monotonic clock; 0: never */
};

/* Of gaps that reach past from_ns. `namespace` "" is any; it is borrowed. All zero is not open. */
int gap_notices_open(struct gap_notices *n, const char *command, struct tape *t,
	const struct tape_resource *r, const char *namespace, int64_t from_ns, struct err *err) MUST_CHECK;
void gap_notices_close(struct gap_notices *n);

/* Reports new ones. Looks once a second, unless it is the last time. */
int gap_notices_tell(struct gap_notices *n, struct tape *t, bool is_last, struct err *err) MUST_CHECK;

#endif
