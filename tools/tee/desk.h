/*
 * desk.h: what the feed tells is written down, by a thread of its own: nothing of a watch waits for it.
 */
#ifndef TOOLS_TEE_DESK_H
#define TOOLS_TEE_DESK_H

#include "tools/tee/feed.h"

struct desk;

struct desk_options {
	struct feed *feed;
};

/* Starts the thread. Borrows what the options point to. */
int desk_open(const struct desk_options *options, struct desk **ret, struct err *err) MUST_CHECK;

struct desk_summary {
	uint64_t requests;
};

/* After feed_close: waits until all is written down. */
int desk_close(struct desk *d, struct desk_summary *ret, struct err *err);

#endif
