/* live_map.c: see live_map.h. Objects are allocated one by one, in chains of a table of buckets. */
#include "schema/tape/live_map.h"

#include "schema/tape/codec.h"

#include <stdlib.h>

#define FIRST_BUCKETS 4096

/* So that the next versions of an object need no other room: as long as a number can be. */
#define RV_ROOM 20

/* What malloc(3) takes beside what it gives. */
#define MALLOC_BYTES 16

void live_map_init(struct live_map *m, size_t max_bytes)
{
	*m = (struct live_map){.bucket_count = FIRST_BUCKETS, .max_bytes = max_bytes};
	m->buckets = xcalloc(m->bucket_count, sizeof(struct live_object *));
	m->bytes = m->bucket_count * sizeof(struct live_object *);
}

void live_map_release(struct live_map *m)
{
	for (size_t i = 0; i < m->bucket_count; i++) {
		while (m->buckets[i]) {
			struct live_object *next = m->buckets[i]->next;

			free(m->buckets[i]);
			m->buckets[i] = next;
		}
	}
	free(m->buckets);
	*m = (struct live_map){0};
}

static struct live_object **bucket_of(
	const struct live_map *m, uint32_t resource, struct slice namespace, struct slice name)
{
	uint64_t hash = codec_hash_for_memory(name) * 31 + codec_hash_for_memory(namespace) + resource;

	return &m->buckets[(size_t)hash & (m->bucket_count - 1)];
}

/* What points to the object of that key, or to the end of its chain. */
static struct live_object **link_of(
	const struct live_map *m, uint32_t resource, struct slice namespace, struct slice name)
{
	struct live_object **link = bucket_of(m, resource, namespace, name);

	for (; *link; link = &(*link)->next) {
		if ((*link)->resource == resource && slice_equal(live_object_name(*link), name) &&
			slice_equal(live_object_namespace(*link), namespace))
			break;
	}
	return link;
}

struct live_object *live_map_find(
	const struct live_map *m, uint32_t resource, struct slice namespace, struct slice name)
{
	return *link_of(m, resource, namespace, name);
}

static void live_map_grow(struct live_map *m)
{
	struct live_map old = *m;

	m->bucket_count *= 2;
	m->buckets = xcalloc(m->bucket_count, sizeof(struct live_object *));
	m->bytes += old.bucket_count * sizeof(struct live_object *);
	for (size_t i = 0; i < old.bucket_count; i++) {
		while (old.buckets[i]) {
			struct live_object *o = old.buckets[i], **bucket;

			old.buckets[i] = o->next;
			bucket = bucket_of(m, o->resource, live_object_namespace(o), live_object_name(o));
			o->next = *bucket;
			*bucket = o;
		}
	}
	free(old.buckets);
}

static size_t cost_of(const struct live_object *o)
{
	return sizeof(*o) + o->namespace_len + o->name_len + o->uid_len + o->rv_room + MALLOC_BYTES;
}

static void live_map_drop(struct live_map *m, struct live_object **link)
{
	struct live_object *o = *link;

	*link = o->next;
	m->bytes -= cost_of(o);
	m->count--;
	free(o);
}

static char *live_map_put(char *to, struct slice text)
{
	if (text.len)
		memcpy(to, text.ptr, text.len);
	return to + text.len;
}

/* Names of an index are at most LIMIT_NAME_BYTES. */
static struct live_object *new_object(const struct event *e)
{
	uint16_t rv_room = (uint16_t)(e->rv.len > RV_ROOM ? e->rv.len : RV_ROOM);
	size_t bytes = e->namespace.len + e->name.len + e->uid.len + rv_room;
	struct live_object *o = xmalloc(sizeof(*o) + bytes);

	*o = (struct live_object){.resource = e->resource,
		.namespace_len = (uint16_t)e->namespace.len,
		.name_len = (uint16_t)e->name.len,
		.uid_len = (uint16_t)e->uid.len,
		.rv_room = rv_room};
	live_map_put(live_map_put(live_map_put(o->text, e->namespace), e->name), e->uid);
	return o;
}

static bool live_map_fits(const struct live_object *o, const struct event *e)
{
	return slice_equal(live_object_uid(o), e->uid) && e->rv.len <= o->rv_room;
}

/* Puts the object of an event that has another uid, or a longer rv, into the place of the one before. */
static struct live_object *live_map_replace(
	struct live_map *m, struct live_object **link, const struct event *e)
{
	struct live_object *o = new_object(e);

	if (*link)
		live_map_drop(m, link);
	if (m->bytes + cost_of(o) > m->max_bytes) {
		m->is_full = true;
		free(o);
		return NULL;
	}
	o->next = *link;
	*link = o;
	m->bytes += cost_of(o);
	m->count++;
	return o;
}

struct live_object *live_map_note(struct live_map *m, const struct extent *x, size_t index)
{
	char rv[RV_TEXT_BYTES];
	struct live_object **link, *o;
	struct event e;

	if (m->is_full)
		return NULL;
	if (m->count >= m->bucket_count)
		live_map_grow(m);
	extent_event_get(x, index, rv, &e);
	link = link_of(m, e.resource, e.namespace, e.name);
	o = *link;
	if (e.type == EVENT_DELETED) {
		if (o)
			live_map_drop(m, link);
		return NULL;
	}
	if (!o || !live_map_fits(o, &e))
		o = live_map_replace(m, link, &e);
	if (!o)
		return NULL;
	o->seq = e.seq;
	o->rv_len = (uint16_t)e.rv.len;
	live_map_put(o->text + o->namespace_len + o->name_len + o->uid_len, e.rv);
	return o;
}

size_t live_last_of_key(const struct extent *x, size_t first, size_t end, uint64_t seq)
{
	size_t best = SIZE_MAX;

	for (size_t o = first; o < end; o++) {
		const struct extent_object *object = &x->objects[o];

		for (uint32_t k = object->count; k-- > 0;) {
			uint32_t index = x->layout[object->first + k];

			if (x->events[index].seq > seq)
				continue;
			if (best == SIZE_MAX || index > best)
				best = index;
			break;
		}
	}
	return best;
}

size_t live_end_of_key(const struct extent *x, size_t first)
{
	size_t end = first + 1;

	while (end < x->object_count && extent_compare_key(&x->objects[first], &x->objects[end]) == 0)
		end++;
	return end;
}
