/*
 * live_map.h: keys and what was last known of each: the state while events go by.
 */
#ifndef SCHEMA_TAPE_LIVE_MAP_H
#define SCHEMA_TAPE_LIVE_MAP_H

#include "schema/tape/extent.h"

struct live_object {
	uint64_t seq;      /* of the event that gave this version; 0: deleted, or never seen */
	uint32_t resource; /* 0: the slot is free */
	bool noted;        /* for the user of the map */
	struct slice namespace, name, uid, rv;
	uint64_t object_hash; /* for who sets it */
};

struct live_map {
	struct live_object *slots;
	size_t slot_count, used;
	size_t live;            /* objects that have a seq */
	struct extent *strings; /* only its arena is used */
};

void live_map_init(struct live_map *m);
void live_map_release(struct live_map *m);

/* The object of a key, made when it is not known; valid until the next call. resource is not 0. */
struct live_object *live_map_at(
	struct live_map *m, uint32_t resource, struct slice namespace, struct slice name);

/* Takes event `index` of x, which is the last one of its key so far. */
struct live_object *live_map_note(struct live_map *m, const struct extent *x, size_t index);

/* Index of the last event at or before seq of the objects [first, end) of a sorted extent, which share a key;
 * SIZE_MAX when there is none. */
size_t live_last_of_key(const struct extent *x, size_t first, size_t end, uint64_t seq);

/* One past the last object that has the key of object `first`. */
size_t live_end_of_key(const struct extent *x, size_t first);

#endif
