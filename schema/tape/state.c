/*
 * state.c: the live objects at a position.
 *
 * The last event of each key decides. A segment begins with the state at its start, so only that segment's
 * extents up to the position are looked at, and of those only the indexes.
 */
#include "schema/tape/reader_internal.h"

#include <stdlib.h>

struct known {
	uint64_t seq; /* of the last event so far; 0: deleted */
	uint32_t resource;
	struct slice namespace, name, uid, rv;
};

struct state_map {
	struct extent *strings; /* only its arena is used */
	struct known *slots;
	size_t slot_count, used;
};

static size_t hash_of(uint32_t resource, struct slice namespace, struct slice name)
{
	return (size_t)(codec_hash(name) * 31 + codec_hash(namespace) + resource);
}

static struct known *slot_of(struct state_map *m, const struct extent_object *key)
{
	size_t at = hash_of(key->resource, key->namespace, key->name) & (m->slot_count - 1);

	for (; m->slots[at].resource; at = (at + 1) & (m->slot_count - 1)) {
		const struct known *k = &m->slots[at];

		if (k->resource == key->resource && slice_equal(k->name, key->name) &&
			slice_equal(k->namespace, key->namespace))
			break;
	}
	return &m->slots[at];
}

static void grow(struct state_map *m)
{
	struct known *old = m->slots;
	size_t old_count = m->slot_count;

	m->slot_count = old_count ? old_count * 2 : 4096;
	m->slots = xcalloc(m->slot_count, sizeof(*m->slots));
	for (size_t i = 0; i < old_count; i++) {
		struct extent_object key = {old[i].resource, 0, 0, old[i].namespace, old[i].name, {NULL, 0}};

		if (old[i].resource)
			*slot_of(m, &key) = old[i];
	}
	free(old);
}

/* Texts are copied again only when they changed: most versions differ in the rv alone. */
static void note(struct state_map *m, const struct extent *x, uint32_t index)
{
	char rv[RV_TEXT_BYTES];
	const struct extent_object *key = &x->objects[x->events[index].object];
	struct known *k;
	struct event e;

	if (2 * m->used >= m->slot_count)
		grow(m);
	k = slot_of(m, key);
	extent_event_get(x, index, rv, &e);
	if (!k->resource) {
		m->used++;
		*k = (struct known){.resource = key->resource,
			.namespace = extent_keep(m->strings, e.namespace),
			.name = extent_keep(m->strings, e.name)};
	}
	if (!slice_equal(k->uid, e.uid))
		k->uid = extent_keep(m->strings, e.uid);
	if (e.type != EVENT_DELETED)
		k->rv = extent_keep(m->strings, e.rv);
	k->seq = e.type == EVENT_DELETED ? 0 : e.seq;
}

/* Index of the last event of the objects [o, end), which share a key, at or before seq; SIZE_MAX for none. */
static size_t last_of_key(const struct extent *x, size_t o, size_t end, uint64_t seq)
{
	size_t best = SIZE_MAX;

	for (; o < end; o++) {
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

static void take_extent(struct state_map *m, const struct extent *x, uint64_t seq, uint32_t resource)
{
	size_t end;

	for (size_t o = 0; o < x->object_count; o = end) {
		size_t last;

		for (end = o + 1; end < x->object_count; end++) {
			if (extent_compare_key(&x->objects[o], &x->objects[end]) != 0)
				break;
		}
		if (resource && x->objects[o].resource != resource)
			continue;
		last = last_of_key(x, o, end, seq);
		if (last != SIZE_MAX)
			note(m, x, (uint32_t)last);
	}
}

/* The last segment that begins with a state and not behind the position. */
static size_t first_segment(const struct tape *t, uint64_t seq)
{
	size_t segment = 0;

	for (size_t i = 0; i < t->segment_count; i++) {
		if (t->segments[i].has_state && t->segments[i].first_seq <= seq + 1)
			segment = i;
	}
	return segment;
}

static int collect_list(struct tape *t, struct extent_list *list, size_t first, size_t last,
	struct state_map *m, uint64_t seq, uint32_t resource, struct err *err)
{
	for (size_t i = 0; i < list->count; i++) {
		struct tape_extent *entry = &list->items[i];
		struct extent *x;

		if (entry->segment < first || entry->segment > last || entry->first_seq > seq)
			continue;
		if (reader_extent(t, entry, &x, err))
			return err->code;
		take_extent(m, x, seq, resource);
	}
	return 0;
}

static int collect(struct tape *t, struct state_map *m, uint64_t seq, uint32_t resource, struct err *err)
{
	size_t first = first_segment(t, seq);
	int failed = collect_list(t, &t->states, first, first, m, seq, resource, err);

	return failed ? failed : collect_list(t, &t->events, first, SIZE_MAX, m, seq, resource, err);
}

/* Bytewise order of "namespace/name", as the API server's storage keys: "a-b/" comes before "a/". */
static int compare_storage_key(const struct tape_live *a, const struct tape_live *b)
{
	size_t n = a->namespace.len < b->namespace.len ? a->namespace.len : b->namespace.len;
	int c = n ? memcmp(a->namespace.ptr, b->namespace.ptr, n) : 0;

	if (c || a->namespace.len == b->namespace.len)
		return c ? c : slice_compare(a->name, b->name);
	if (a->namespace.len > n)
		return (unsigned char)a->namespace.ptr[n] < '/' ? -1 : 1;
	return (unsigned char)b->namespace.ptr[n] < '/' ? 1 : -1;
}

static int compare_live(const void *left, const void *right)
{
	const struct tape_live *a = left, *b = right;

	if (a->resource != b->resource)
		return a->resource < b->resource ? -1 : 1;
	return compare_storage_key(a, b);
}

static struct slice move_text(char **to, struct slice text)
{
	char *at = *to;

	if (text.len)
		memcpy(at, text.ptr, text.len);
	*to += text.len;
	return (struct slice){at, text.len};
}

static struct tape_state *make_state(const struct state_map *m)
{
	struct tape_state *s = xcalloc(1, sizeof(*s));
	size_t bytes = 0;
	char *to;

	for (size_t i = 0; i < m->slot_count; i++) {
		const struct known *k = &m->slots[i];

		s->count += k->seq != 0;
		bytes += k->seq ? k->namespace.len + k->name.len + k->uid.len + k->rv.len : 0;
	}
	s->live = xcalloc(s->count, sizeof(*s->live));
	s->strings = to = xmalloc(bytes);
	s->count = 0;
	for (size_t i = 0; i < m->slot_count; i++) {
		const struct known *k = &m->slots[i];
		struct tape_live *live = &s->live[s->count];

		if (!k->seq)
			continue;
		*live = (struct tape_live){.seq = k->seq, .resource = k->resource};
		live->namespace = move_text(&to, k->namespace);
		live->name = move_text(&to, k->name);
		live->uid = move_text(&to, k->uid);
		live->rv = move_text(&to, k->rv);
		s->count++;
	}
	if (s->count)
		qsort(s->live, s->count, sizeof(*s->live), compare_live);
	return s;
}

int tape_state_at(struct tape *t, uint64_t seq, uint32_t resource, struct tape_state **ret, struct err *err)
{
	struct err local;
	struct state_map m = {.strings = extent_new()};
	int failed;

	err = err ? err : &local;
	grow(&m);
	failed = collect(t, &m, seq, resource, err);
	if (!failed)
		*ret = make_state(&m);
	extent_unref(m.strings);
	free(m.slots);
	return failed;
}

void tape_state_free(struct tape_state *s)
{
	if (!s)
		return;
	free(s->live);
	free(s->strings);
	free(s);
}
