/*
 * backlog.h: data that arrived while they could not be processed: copies in order of arrival, with the time
 * of arrival, up to a maximum. They are in blocks of their own, and leave no holes in the heap: except for a
 * few blocks their memory returns to the system as soon as they are taken.
 */
#ifndef RECORDER_BACKLOG_H
#define RECORDER_BACKLOG_H

#include "schema/base/buf.h"

struct backlog_item {
	void *owner; /* NULL: nobody wants it any more */
	int64_t time_ns;
	size_t len;
	char bytes[];
};

struct backlog_block;

struct backlog {
	struct backlog_block *first, *last, *spare;
	unsigned spare_count;
	size_t bytes, max_bytes;
};

/* False if it is full: nothing was taken. */
bool backlog_add(struct backlog *b, void *owner, struct slice bytes, int64_t time_ns);

/* The oldest item, valid until the next is taken; NULL if empty. */
const struct backlog_item *backlog_take(struct backlog *b);

/* The owner goes: its items lose it. */
void backlog_forget(struct backlog *b, const void *owner);

void backlog_release(struct backlog *b);

#endif
