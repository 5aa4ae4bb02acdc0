/*
 * events.h: the events of a tape as lines, in the order of their arrival, with the gaps between them; also of a tape that
 * is being recorded.
 */
#ifndef TOOLS_EVENTS_H
#define TOOLS_EVENTS_H

#include "schema/tape/position.h"
#include "tools/events/event_line.h"

struct events_wanted {
	const struct object_patterns *patterns;
	const char *namespace;            /* "" any */
	struct tape_position from, until; /* after the one, up to the other */
	bool follow;                      /* continues while the tape is recorded */
};

struct events_told {
	uint64_t shown;    /* events, without the gaps among them */
	uint64_t left_out; /* events that were not printed because they are bookkeeping */
};

/* Prints to stdout. Ends early, without an error, after a signal that progress.h notes. */
int events_print(struct tape *t, const struct events_wanted *wanted, const struct event_line_style *style,
	struct events_told *ret, struct err *err) MUST_CHECK;

#endif
