/*
 * event_gaps.h: the times in which nobody watched, in the order of a walk over events, each once. If the tape
 * is being recorded, a gap that was shown while it was open comes again when it has ended.
 */
#ifndef TOOLS_EVENT_GAPS_H
#define TOOLS_EVENT_GAPS_H

#include "tools/events/object_pattern.h"

#include "schema/tape/position.h"

struct event_gap {
	uint64_t id; /* 0: it has no row (schema/tape/coverage.h) */
	uint32_t stream;
	const struct tape_resource *resource; /* the tape's, until it is refreshed */
	char *namespace;                      /* of the stream; "" any */
	char *reason, *how_ended;
	uint64_t place; /* it is shown after the event of that number */
	int64_t begin_ns, end_ns, duration_ns;
	uint64_t modified, added, deleted, recreated;
	bool open;
	bool was_open; /* it was shown before, when it had not ended */
	bool told;
};

struct event_gaps {
	struct event_gap *items;
	size_t count, at;
};

/* Which gaps count. */
struct event_gaps_wanted {
	const struct object_patterns *patterns;
	const char *namespace; /* "" any */
	int64_t from_ns, until_ns;
};

/* Looks at the tape, again. All zero is the first time. */
int event_gaps_load(struct event_gaps *g, struct tape *t, const struct event_gaps_wanted *wanted,
	struct err *err) MUST_CHECK;
void event_gaps_release(struct event_gaps *g);

/* The gaps to show before the event `seq` (UINT64_MAX: all that are left) that have one reason and one end:
 * their number in *ret, 0 none. They then count as shown. Valid until the next load. */
size_t event_gaps_take(struct event_gaps *g, uint64_t seq, const struct event_gap **ret);

#endif
