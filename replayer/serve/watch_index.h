/*
 * watch_index.h: the running watches of one collection by namespace, so that a change visits only those that
 * may want it: the watches of all namespaces, and those of its own.
 */
#ifndef REPLAYER_WATCH_INDEX_H
#define REPLAYER_WATCH_INDEX_H

#include "schema/base/buf.h"

#define WATCH_BUCKETS 256

struct watch;

/* Lists through struct watch's next and previous. Namespaces share buckets by hash. */
struct watch_index {
	struct watch *everywhere;
	struct watch *buckets[WATCH_BUCKETS];
};

/* The list of the watches that are about a namespace; the empty slice: about all. */
struct watch **watch_index_list(struct watch_index *x, struct slice namespace);

/* All lists, one after the other: 0 to WATCH_BUCKETS. */
static inline struct watch *watch_index_at(const struct watch_index *x, size_t i)
{
	return i ? x->buckets[i - 1] : x->everywhere;
}

#endif
