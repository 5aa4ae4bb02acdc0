/*
 * relist.h: what a recorder learned by listing again after a gap, brought into an order in which it could
 * have happened. Such events stand on the tape in the order of the list, the deletions it implies among them;
 * a watch must see them by resourceVersion. So they are held back until the list is complete, and given out
 * sorted. A deletion whose moment is unknown comes right before the object that took its name, and bears that
 * one's version; without such a successor it comes last, with the version of the list.
 */
#ifndef REPLAYER_RELIST_H
#define REPLAYER_RELIST_H

#include "schema/tape/event.h"

struct relist_item {
	uint64_t seq, rv; /* rv: in the order given out, never falling */
	bool deletion;
	char *key; /* namespace/name */
};

/* The events of one stream that are held back. */
struct relist {
	uint32_t stream;
	struct relist_item *items;
	size_t count, cap;
	struct relist *next; /* in a set */
};

/* All that are open. NULL is the empty set. */
void relist_add(struct relist **set, const struct event *e);

/* The list of that stream is complete: takes its events out of the set, sorted; NULL if there are none. The
 * caller frees. */
struct relist *relist_take(struct relist **set, uint32_t stream);

/* The same for whichever stream comes first, at the end of the tape. */
struct relist *relist_take_any(struct relist **set);

void relist_free(struct relist *r);
void relist_free_all(struct relist **set);

#endif
