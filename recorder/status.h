/* status.h: the one line on a terminal that says how a recording goes. */
#ifndef RECORDER_STATUS_H
#define RECORDER_STATUS_H

#include "recorder/context.h"
#include "recorder/push/pusher.h"

struct status {
	bool on_terminal;
	int64_t last_mono_ns;
	uint64_t last_events;
};

/* Looks whether stderr is a terminal. */
void status_init(struct status *s);

/* How the streams fare. */
struct status_streams {
	size_t total, watched, failing;
	int64_t failing_ns;  /* the longest of those */
	const char *failure; /* and why; borrowed */
};

/* Redraws the line; call it about once a second. Does nothing if stderr is not a terminal. The pusher may be
 * NULL. */
void status_draw(struct status *s, const struct recorder_context *x, const struct status_streams *streams,
	struct pusher *pusher);

#endif
