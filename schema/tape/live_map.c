/* live_map.c: see live_map.h. Open addressing; nothing is ever removed, a deleted key may come again. */
#include "schema/tape/live_map.h"

#include "schema/tape/codec.h"

#include <stdlib.h>

#define FIRST_SLOTS 4096

void live_map_init(struct live_map *m)
{
	*m = (struct live_map){.strings = extent_new(), .slot_count = FIRST_SLOTS};
	m->slots = xcalloc(m->slot_count, sizeof(*m->slots));
}

void live_map_release(struct live_map *m)
{
	free(m->slots);
	extent_unref(m->strings);
	*m = (struct live_map){0};
}

static struct live_object *slot_of(
	const struct live_map *m, uint32_t resource, struct slice namespace, struct slice name)
{
	uint64_t hash = codec_hash_for_memory(name) * 31 + codec_hash_for_memory(namespace) + resource;
	size_t at = (size_t)hash & (m->slot_count - 1);

	for (; m->slots[at].resource; at = (at + 1) & (m->slot_count - 1)) {
		const struct live_object *o = &m->slots[at];

		if (o->resource == resource && slice_equal(o->name, name) &&
			slice_equal(o->namespace, namespace))
			break;
	}
	return &m->slots[at];
}

static void grow(struct live_map *m)
{
	struct live_object *old = m->slots;
	size_t old_count = m->slot_count;

	m->slot_count *= 2;
	m->slots = xcalloc(m->slot_count, sizeof(*m->slots));
	for (size_t i = 0; i < old_count; i++) {
		if (old[i].resource)
			*slot_of(m, old[i].resource, old[i].namespace, old[i].name) = old[i];
	}
	free(old);
}

struct live_object *live_map_at(
	struct live_map *m, uint32_t resource, struct slice namespace, struct slice name)
{
	struct live_object *o;

	if (2 * m->used >= m->slot_count)
		grow(m);
	o = slot_of(m, resource, namespace, name);
	if (!o->resource) {
		m->used++;
		*o = (struct live_object){.resource = resource,
			.namespace = extent_keep(m->strings, namespace),
			.name = extent_keep(m->strings, name)};
	}
	return o;
}

/* Texts are copied again only when they changed: most versions differ in the rv alone. */
struct live_object *live_map_note(struct live_map *m, const struct extent *x, size_t index)
{
	char rv[RV_TEXT_BYTES];
	struct live_object *o;
	struct event e;

	extent_event_get(x, index, rv, &e);
	o = live_map_at(m, e.resource, e.namespace, e.name);
	if (!slice_equal(o->uid, e.uid))
		o->uid = extent_keep(m->strings, e.uid);
	if (e.type != EVENT_DELETED)
		o->rv = extent_keep(m->strings, e.rv);
	m->live -= o->seq != 0;
	o->seq = e.type == EVENT_DELETED ? 0 : e.seq;
	m->live += o->seq != 0;
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
