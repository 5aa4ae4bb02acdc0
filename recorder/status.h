/* status.h: the one line on a terminal that says how a recording goes. */
#ifndef RECORDER_STATUS_H
#define RECORDER_STATUS_H

#include "recorder/context.h"

struct status {
	bool on_terminal;
	int64_t last_mono_ns;
	uint64_t last_events;
};

/* Looks whether stderr is a terminal. */
void status_init(struct status *s);

/* Draws the line anew; about once a second. Nothing happens when this is no terminal. */
void status_draw(struct status *s, const struct recorder_context *x, size_t streams, size_t watched);

#endif
