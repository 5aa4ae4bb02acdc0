/*
 * state.c: the live objects at a position.
 *
 * The last event of each key decides. Some segments begin with the state at their start, so only the extents from
 * the last of them up to the position are looked at, and of those only the indexes.
 */
#include "schema/tape/live_map.h"
#include "schema/tape/reader_internal.h"

#include <stdlib.h>

struct wanted {
	uint64_t seq;      /* the position: everything up to this event */
	uint32_t resource; /* 0: all */
};

static void take_extent(struct live_map *m, const struct extent *x, const struct wanted *wanted)
{
	size_t end;

	for (size_t o = 0; o < x->object_count; o = end) {
		size_t last;

		end = live_end_of_key(x, o);
		if (wanted->resource && x->objects[o].resource != wanted->resource)
			continue;
		last = live_last_of_key(x, o, end, wanted->seq);
		if (last != SIZE_MAX)
			live_map_note(m, x, last);
	}
}

/* The last segment that begins with a state and not after the position. */
static size_t first_segment(const struct tape *t, uint64_t seq)
{
	size_t segment = 0;

	for (size_t i = 0; i < t->segment_count; i++) {
		if (t->segments[i].has_state && t->segments[i].first_seq <= seq + 1)
			segment = i;
	}
	return segment;
}

static int collect_extent(struct tape *t, struct tape_extent *entry, const struct wanted *wanted,
	struct live_map *m, struct err *err)
{
	struct extent *x;
	int rc = reader_extent(t, entry, &x, err);

	if (rc)
		return rc;
	take_extent(m, x, wanted);
	return 0;
}

static int state_collect(struct tape *t, const struct wanted *wanted, struct live_map *m, struct err *err)
{
	size_t first = first_segment(t, wanted->seq);
	int rc = 0;

	for (size_t i = 0; i < t->states.count && !rc; i++) {
		if (t->states.items[i].segment == first)
			rc = collect_extent(t, &t->states.items[i], wanted, m, err);
	}
	for (size_t i = 0; i < t->events.count && !rc; i++) {
		if (t->events.items[i].segment >= first && t->events.items[i].first_seq <= wanted->seq)
			rc = collect_extent(t, &t->events.items[i], wanted, m, err);
	}
	return rc;
}

/* The event of the last version of object o, if o is what lives under its key; SIZE_MAX if it is not. */
static size_t live_version(const struct live_map *m, const struct extent *x, size_t o)
{
	const struct extent_object *object = &x->objects[o];
	const struct live_object *live = live_map_find(m, object->resource, object->namespace, object->name);
	size_t i = live ? extent_find_seq(x, live->seq) : x->event_count;

	return i < x->event_count && x->events[i].seq == live->seq && x->events[i].object == o ? i : SIZE_MAX;
}

struct live_walk {
	int (*each)(void *context, const struct event *e, struct slice object);
	void *context;
	struct err *err;
};

static int walk_live(
	struct tape *t, struct tape_extent *entry, const struct live_map *m, const struct live_walk *walk)
{
	char rv[RV_TEXT_BYTES];
	struct slice bytes;
	struct extent *x;
	struct event e;
	int rc = reader_extent(t, entry, &x, walk->err);

	if (rc)
		return rc;
	x = extent_ref(x);
	for (size_t o = 0; o < x->object_count && !rc; o++) {
		size_t i = live_version(m, x, o);

		if (i == SIZE_MAX)
			continue;
		extent_event_get(x, i, rv, &e);
		rc = reader_object(t, entry, x, i, &bytes, walk->err);
		if (!rc)
			rc = walk->each(walk->context, &e, bytes);
	}
	extent_unref(x);
	return rc;
}

static int walk_all(struct tape *t, uint64_t seq, const struct live_map *m, const struct live_walk *walk)
{
	size_t first = first_segment(t, seq);
	int rc = 0;

	for (size_t i = 0; i < t->states.count && !rc; i++) {
		if (t->states.items[i].segment == first)
			rc = walk_live(t, &t->states.items[i], m, walk);
	}
	for (size_t i = 0; i < t->events.count && !rc; i++) {
		if (t->events.items[i].segment >= first && t->events.items[i].first_seq <= seq)
			rc = walk_live(t, &t->events.items[i], m, walk);
	}
	return rc;
}

static int too_many_live(const struct tape *t, uint64_t seq, const struct live_map *m, struct err *err)
{
	return err_set(err, ERR_TOO_LARGE,
		"state of '%s' after event %llu takes more than %zu bytes: the file has not that many objects",
		t->path, (unsigned long long)seq, m->max_bytes);
}

int reader_each_live(struct tape *t, uint64_t seq,
	int (*each)(void *context, const struct event *e, struct slice object), void *context,
	struct err *err)
{
	const struct live_walk walk = {each, context, err};
	const struct wanted wanted = {seq, 0};
	struct live_map m;
	int rc;

	live_map_init(&m, reader_state_bytes(t));
	rc = state_collect(t, &wanted, &m, err);
	if (!rc && m.is_full)
		rc = too_many_live(t, seq, &m, err);
	if (!rc)
		rc = walk_all(t, seq, &m, &walk);
	live_map_release(&m);
	return rc;
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

/* The slices point into the map, which the state owns from here on. */
static struct tape_state *make_state(struct live_map *m)
{
	struct tape_state *s = xcalloc(1, sizeof(*s));

	s->objects = m;
	s->live = xcalloc(m->count, sizeof(*s->live));
	for (size_t i = 0; i < m->bucket_count; i++) {
		for (const struct live_object *o = m->buckets[i]; o; o = o->next)
			s->live[s->count++] = (struct tape_live){
				.seq = o->seq,
				.resource = o->resource,
				.namespace = live_object_namespace(o),
				.name = live_object_name(o),
				.uid = live_object_uid(o),
				.rv = live_object_rv(o),
			};
	}
	if (s->count)
		qsort(s->live, s->count, sizeof(*s->live), compare_live);
	return s;
}

static void free_map(struct live_map *m)
{
	live_map_release(m);
	free(m);
}

int tape_state_at(struct tape *t, uint64_t seq, uint32_t resource, struct tape_state **ret, struct err *err)
{
	const struct wanted wanted = {seq, resource};
	struct live_map *m = xcalloc(1, sizeof(*m));
	int rc;

	live_map_init(m, reader_state_bytes(t));
	rc = state_collect(t, &wanted, m, err);
	if (!rc && m->is_full)
		rc = too_many_live(t, seq, m, err);
	if (rc)
		free_map(m);
	else
		*ret = make_state(m);
	return rc;
}

void tape_state_free(struct tape_state *s)
{
	if (!s)
		return;
	free_map(s->objects);
	free(s->live);
	free(s);
}
