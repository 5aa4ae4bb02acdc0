/*
 * live_map.h: the live objects, by their keys, as events pass. A deleted object leaves nothing, so that
 * memory depends on the number of live objects only.
 */
#ifndef SCHEMA_TAPE_LIVE_MAP_H
#define SCHEMA_TAPE_LIVE_MAP_H

#include "schema/tape/extent.h"

struct live_object {
	struct live_object *next; /* in the bucket */
	uint64_t seq;             /* of the event that gave this version */
	uint64_t object_hash;     /* for the user of the map */
	uint32_t resource;
	bool noted; /* for the user of the map */
	uint16_t namespace_len, name_len, uid_len, rv_len, rv_room;
	char text[]; /* one after the other: namespace, name, uid, rv */
};

struct live_map {
	struct live_object **buckets;
	size_t bucket_count, count;
	size_t bytes, max_bytes;
	bool is_full; /* more was to be noted than max_bytes */
};

void live_map_init(struct live_map *m, size_t max_bytes);
void live_map_release(struct live_map *m);

/* NULL if there is none; valid until the next call of live_map_note. */
struct live_object *live_map_find(
	const struct live_map *m, uint32_t resource, struct slice namespace, struct slice name);

/* Takes event `index` of x, which is the last one of its key so far. NULL if that is a deletion, or if there
 * is no room: then the map is_full and accepts no more. */
struct live_object *live_map_note(struct live_map *m, const struct extent *x, size_t index);

static inline struct slice live_object_namespace(const struct live_object *o)
{
	return (struct slice){o->text, o->namespace_len};
}
static inline struct slice live_object_name(const struct live_object *o)
{
	return (struct slice){o->text + o->namespace_len, o->name_len};
}
static inline struct slice live_object_uid(const struct live_object *o)
{
	return (struct slice){o->text + o->namespace_len + o->name_len, o->uid_len};
}
static inline struct slice live_object_rv(const struct live_object *o)
{
	return (struct slice){o->text + o->namespace_len + o->name_len + o->uid_len, o->rv_len};
}

/* Index of the last event at or before seq of the objects [first, end) of a sorted extent, which share a key;
 * SIZE_MAX if there is none. */
size_t live_last_of_key(const struct extent *x, size_t first, size_t end, uint64_t seq);

/* One past the last object that has the key of object `first`. */
size_t live_end_of_key(const struct extent *x, size_t first);

#endif
