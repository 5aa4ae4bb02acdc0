/*
 * backlog.h: what has arrived while it could not be taken in: copies in the order of arrival, with the time
 * of arrival, up to a maximum.
 */
#ifndef RECORDER_BACKLOG_H
#define RECORDER_BACKLOG_H

#include "schema/base/buf.h"

struct backlog_item {
	struct backlog_item *next;
	void *owner; /* NULL: nobody wants it any more */
	int64_t time_ns;
	size_t len;
	char bytes[];
};

struct backlog {
	struct backlog_item *first, *last;
	size_t bytes, max_bytes;
};

/* False when it is full: nothing was taken. */
bool backlog_add(struct backlog *b, void *owner, struct slice bytes, int64_t time_ns);

/* The oldest item, the caller's to free; NULL when empty. */
struct backlog_item *backlog_take(struct backlog *b);

/* The owner goes: its items lose it. */
void backlog_forget(struct backlog *b, const void *owner);

void backlog_release(struct backlog *b);

#endif
