/*
 * live_set.h: the objects of one resource that exist at a position, in the order in which the API server
 * lists them: by storage key, "namespace/name" or "name", bytewise. It knows where each object's bytes are on
 * the tape, not the bytes.
 */
#ifndef REPLAYER_LIVE_SET_H
#define REPLAYER_LIVE_SET_H

#include "schema/base/buf.h"

struct live {
	uint64_t seq; /* of the event that gave this version */
	uint32_t key_len;
	uint32_t namespace_len; /* 0: cluster-scoped, the key is the name */
	char key[];
};

/* Sorted by key. All zero is the empty set. Sets that are kept as snapshots are shared by reference. */
struct live_set {
	struct live **items;
	size_t count, cap;
};

void live_set_release(struct live_set *s);

/* Fills an empty set with the same. */
void live_set_copy(const struct live_set *s, struct live_set *to);

/* Both return the seq of the version that was there before, 0 if there was none. */
uint64_t live_set_put(struct live_set *s, struct slice namespace, struct slice name, uint64_t seq);
uint64_t live_set_remove(struct live_set *s, struct slice namespace, struct slice name);

/* NULL if it does not exist; borrowed until the next change. */
const struct live *live_set_find(const struct live_set *s, struct slice namespace, struct slice name);

/* Index of the first item whose key is not below `key`; count if there is none. */
size_t live_set_lower_bound(const struct live_set *s, struct slice key);

/* Where the objects of a namespace begin and end. The empty slice is all of them. */
void live_set_range(const struct live_set *s, struct slice namespace, size_t *ret_begin, size_t *ret_end);

static inline struct slice live_key(const struct live *l)
{
	return (struct slice){l->key, l->key_len};
}
static inline struct slice live_namespace(const struct live *l)
{
	return (struct slice){l->key, l->namespace_len};
}
static inline struct slice live_name(const struct live *l)
{
	size_t skip = l->namespace_len ? l->namespace_len + 1 : 0;

	return (struct slice){l->key + skip, l->key_len - skip};
}

#endif
