/* backlog.c: see backlog.h. */
#include "recorder/backlog.h"

#include <stdlib.h>

bool backlog_add(struct backlog *b, void *owner, struct slice bytes, int64_t time_ns)
{
	struct backlog_item *item;

	if (b->bytes + bytes.len > b->max_bytes)
		return false;
	item = xmalloc(sizeof(*item) + bytes.len);
	*item = (struct backlog_item){.owner = owner, .time_ns = time_ns, .len = bytes.len};
	memcpy(item->bytes, bytes.ptr, bytes.len);
	if (b->last)
		b->last->next = item;
	else
		b->first = item;
	b->last = item;
	b->bytes += bytes.len;
	return true;
}

struct backlog_item *backlog_take(struct backlog *b)
{
	struct backlog_item *item = b->first;

	if (!item)
		return NULL;
	b->first = item->next;
	if (!b->first)
		b->last = NULL;
	b->bytes -= item->len;
	return item;
}

void backlog_forget(struct backlog *b, const void *owner)
{
	for (struct backlog_item *item = b->first; item; item = item->next) {
		if (item->owner == owner)
			item->owner = NULL;
	}
}

void backlog_release(struct backlog *b)
{
	struct backlog_item *item;

	while ((item = backlog_take(b)))
		free(item);
}
