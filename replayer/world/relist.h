/*
 * relist.h: events that a recorder inferred from a list after a gap, in an order in which they could have
 * happened. The tape has them in the order of the list, with the deletions that it implies; a watch must see
 * them by resourceVersion. So they are held back until the list is complete, and given out sorted. A deletion
 * at an unknown moment comes right before the object that took its name, and has that object's version;
 * without such a successor it comes last, with the version of the list.
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
