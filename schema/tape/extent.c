/*
 * extent.c: see extent.h. Strings live in an arena of chunks that never move, so that slices into it stay
 * valid while it grows; objects are found by a hash table that only hot extents have.
 */
#include "schema/tape/extent.h"

#include "schema/base/limits.h"
#include "schema/base/rv.h"
#include "schema/tape/codec.h"

#include <stdlib.h>
#include <sys/mman.h> /* GNU: madvise */
#include <unistd.h>

#define ARENA_CHUNK_BYTES 65536

struct arena {
	struct arena *older;
	size_t used, size;
	char bytes[];
};

static char *arena_take(struct arena **arena, size_t len)
{
	if (!*arena || (*arena)->size - (*arena)->used < len) {
		size_t size = len > ARENA_CHUNK_BYTES ? len : ARENA_CHUNK_BYTES;
		struct arena *fresh = xmalloc(sizeof(*fresh) + size);

		*fresh = (struct arena){.older = *arena, .size = size};
		*arena = fresh;
	}
	(*arena)->used += len;
	return (*arena)->bytes + (*arena)->used - len;
}

struct extent *extent_new(void)
{
	struct extent *x = xcalloc(1, sizeof(*x));

	x->refs = 1;
	x->min_time_ns = INT64_MAX;
	x->max_time_ns = INT64_MIN;
	buf_init(&x->bytes, LIMIT_CHUNK_BYTES);
	return x;
}

void extent_take_room(struct extent *x, struct extent *from)
{
	struct extent old = *x;

	x->events = from->events;
	x->event_cap = from->event_cap;
	x->objects = from->objects;
	x->object_cap = from->object_cap;
	x->bytes = from->bytes;
	x->room = extent_memory(from);
	buf_clear(&x->bytes);
	from->events = old.events;
	from->objects = old.objects;
	from->bytes = old.bytes;
	from->room = old.room;
	from->event_count = from->event_cap = 0;
	from->object_count = from->object_cap = 0;
}

size_t extent_memory(const struct extent *x)
{
	return x->bytes.len > x->room ? x->bytes.len : x->room;
}

void extent_trim(struct extent *x)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)x->bytes.ptr;
	uintptr_t begin = (at + x->bytes.len + page - 1) / page * page, end = (at + x->room) / page * page;

	if (begin < end && madvise((void *)begin, end - begin, MADV_DONTNEED) == 0)
		x->room = x->bytes.len;
}

struct extent *extent_ref(struct extent *x)
{
	x->refs++;
	return x;
}

void extent_unref(struct extent *x)
{
	if (!x || --x->refs)
		return;
	while (x->arena) {
		struct arena *older = x->arena->older;

		free(x->arena);
		x->arena = older;
	}
	buf_release(&x->bytes);
	free(x->events);
	free(x->objects);
	free(x->layout);
	free(x->texts);
	free(x->slots);
	free(x);
}

struct slice extent_keep(struct extent *x, struct slice bytes)
{
	char *at = arena_take(&x->arena, bytes.len);

	x->kept_bytes += bytes.len;
	if (bytes.len)
		memcpy(at, bytes.ptr, bytes.len);
	return (struct slice){at, bytes.len};
}

void extent_reserve(struct extent *x, size_t events, size_t objects)
{
	if (events > x->event_cap) {
		x->events = xrealloc(x->events, events * sizeof(*x->events));
		x->event_cap = events;
	}
	if (objects > x->object_cap) {
		x->objects = xrealloc(x->objects, objects * sizeof(*x->objects));
		x->object_cap = objects;
	}
}

uint64_t extent_add_text(struct extent *x, struct slice text)
{
	x->texts = xgrow(x->texts, x->text_count, sizeof(*x->texts));
	x->texts[x->text_count] = extent_keep(x, text);
	return x->text_count++;
}

static size_t key_hash(uint32_t resource, struct slice uid, struct slice name)
{
	return (size_t)(codec_hash_for_memory(uid) * 31 + codec_hash_for_memory(name) + resource);
}

static bool is_object(const struct extent_object *o, const struct event *e)
{
	return o->resource == e->resource && slice_equal(o->uid, e->uid) && slice_equal(o->name, e->name) &&
	       slice_equal(o->namespace, e->namespace);
}

static void grow_slots(struct extent *x)
{
	do
		x->slot_count = x->slot_count ? x->slot_count * 2 : 1024;
	while (x->slot_count <= 2 * x->object_count);
	free(x->slots);
	x->slots = xcalloc(x->slot_count, sizeof(*x->slots));
	for (size_t i = 0; i < x->object_count; i++) {
		const struct extent_object *o = &x->objects[i];
		size_t at = key_hash(o->resource, o->uid, o->name) & (x->slot_count - 1);

		while (x->slots[at])
			at = (at + 1) & (x->slot_count - 1);
		x->slots[at] = (uint32_t)i + 1;
	}
}

static uint32_t intern_object(struct extent *x, const struct event *e)
{
	size_t at;

	if (2 * x->object_count >= x->slot_count)
		grow_slots(x);
	at = key_hash(e->resource, e->uid, e->name) & (x->slot_count - 1);
	for (; x->slots[at]; at = (at + 1) & (x->slot_count - 1)) {
		if (is_object(&x->objects[x->slots[at] - 1], e))
			return x->slots[at] - 1;
	}
	if (x->object_count == x->object_cap)
		extent_reserve(x, 0, x->object_cap ? x->object_cap * 2 : 256);
	x->objects[x->object_count] = (struct extent_object){
		.resource = e->resource,
		.namespace = extent_keep(x, e->namespace),
		.name = extent_keep(x, e->name),
		.uid = extent_keep(x, e->uid),
	};
	x->slots[at] = (uint32_t)++x->object_count;
	return x->slots[at] - 1;
}

size_t extent_index_memory(const struct extent *x)
{
	return x->event_count * (sizeof(*x->events) + sizeof(*x->layout)) +
	       x->object_count * sizeof(*x->objects) + x->slot_count * sizeof(*x->slots) +
	       x->text_count * sizeof(*x->texts) + x->kept_bytes;
}

/* What one event may add: its object, four names, a doubling of the slots and the rest. */
static int check_room(const struct extent *x, struct err *err)
{
	size_t more = 2 * x->slot_count * sizeof(*x->slots) + 5 * LIMIT_NAME_BYTES;

	if (x->event_count < LIMIT_EXTENT_EVENTS && extent_index_memory(x) + more <= LIMIT_EXTENT_MEMORY)
		return 0;
	return err_set(err, ERR_TOO_LARGE, "extent is full: %zu events of %zu objects take %zu bytes",
		x->event_count, x->object_count, extent_index_memory(x));
}

int extent_add(struct extent *x, const struct event *e, struct slice object, struct err *err)
{
	size_t offset = x->bytes.len;
	int rc = buf_append(&x->bytes, object.ptr, object.len, err);

	if (rc)
		return err_prefix(err, rc, "extent is full");
	rc = extent_add_placed(x, e, offset, object.len, err);
	if (rc)
		x->bytes.len = offset;
	return rc;
}

int extent_add_placed(struct extent *x, const struct event *e, size_t offset, size_t length, struct err *err)
{
	struct extent_event *to;
	uint64_t rv = 0;
	bool numeric = rv_to_u64(e->rv, &rv);
	int rc = check_room(x, err);

	if (rc)
		return rc;
	if (x->event_count == x->event_cap)
		extent_reserve(x, x->event_cap ? x->event_cap * 2 : 1024, 0);
	to = &x->events[x->event_count++];
	*to = (struct extent_event){
		.seq = e->seq,
		.time_ns = e->time_ns,
		.rv = numeric ? rv : extent_add_text(x, e->rv),
		.rv_is_text = !numeric,
		.object = intern_object(x, e),
		.stream = e->stream,
		.length = (uint32_t)length,
		.offset = (uint32_t)offset,
		.head = head_of(e),
	};
	x->sorted = false;
	x->raw_bytes += length;
	x->min_time_ns = e->time_ns < x->min_time_ns ? e->time_ns : x->min_time_ns;
	x->max_time_ns = e->time_ns > x->max_time_ns ? e->time_ns : x->max_time_ns;
	return 0;
}

int extent_compare_key(const struct extent_object *a, const struct extent_object *b)
{
	int c = (a->resource > b->resource) - (a->resource < b->resource);

	c = c ? c : slice_compare(a->namespace, b->namespace);
	return c ? c : slice_compare(a->name, b->name);
}

int extent_compare_object(const struct extent_object *a, const struct extent_object *b)
{
	int c = extent_compare_key(a, b);

	return c ? c : slice_compare(a->uid, b->uid);
}

static int compare_objects(const void *left, const void *right)
{
	return extent_compare_object(left, right);
}

/* Sorts the objects; before the sort `first` carries each one's old index, after it the map is read off. */
static void renumber_objects(struct extent *x)
{
	uint32_t *fresh = xmalloc(x->object_count * sizeof(*fresh));

	for (size_t i = 0; i < x->object_count; i++) {
		x->objects[i].first = (uint32_t)i;
		x->objects[i].count = 0;
	}
	qsort(x->objects, x->object_count, sizeof(*x->objects), compare_objects);
	for (size_t i = 0; i < x->object_count; i++)
		fresh[x->objects[i].first] = (uint32_t)i;
	for (size_t i = 0; i < x->event_count; i++) {
		x->events[i].object = fresh[x->events[i].object];
		x->objects[x->events[i].object].count++;
	}
	free(fresh);
}

void extent_sort(struct extent *x)
{
	uint32_t first = 0;

	if (x->sorted)
		return;
	if (x->object_count)
		renumber_objects(x);
	x->layout = xrealloc(x->layout, (x->event_count ? x->event_count : 1) * sizeof(*x->layout));
	for (size_t i = 0; i < x->object_count; i++) {
		x->objects[i].first = first;
		first += x->objects[i].count;
		x->objects[i].count = 0;
	}
	for (size_t i = 0; i < x->event_count; i++) {
		struct extent_object *o = &x->objects[x->events[i].object];

		x->layout[o->first + o->count++] = (uint32_t)i;
	}
	free(x->slots); /* it maps to the old numbers */
	x->slots = NULL;
	x->slot_count = 0;
	x->sorted = true;
}

/* Every event that is walked over comes by here: snprintf would be a tenth of the walk. */
static struct slice rv_digits(uint64_t rv, char text[RV_TEXT_BYTES])
{
	char *at = text + RV_TEXT_BYTES;

	do {
		*--at = (char)('0' + rv % 10);
		rv /= 10;
	} while (rv);
	return (struct slice){at, (size_t)(text + RV_TEXT_BYTES - at)};
}

struct slice extent_event_rv(const struct extent *x, const struct extent_event *e, char text[RV_TEXT_BYTES])
{
	return e->rv_is_text ? x->texts[e->rv] : rv_digits(e->rv, text);
}

void extent_event_get(const struct extent *x, size_t i, char rv_text[RV_TEXT_BYTES], struct event *ret)
{
	const struct extent_event *from = &x->events[i];
	const struct extent_object *o = &x->objects[from->object];

	*ret = (struct event){
		.seq = from->seq,
		.time_ns = from->time_ns,
		.type = from->head & HEAD_TYPE_MASK,
		.origin = (from->head & HEAD_ORIGIN_MASK) >> HEAD_ORIGIN_SHIFT,
		.flags = from->head & HEAD_TYPED ? EVENT_TYPED : 0,
		.stream = from->stream,
		.resource = o->resource,
		.namespace = o->namespace,
		.name = o->name,
		.uid = o->uid,
		.bytes = from->length,
	};
	ret->rv = extent_event_rv(x, from, rv_text);
}

size_t extent_find_seq(const struct extent *x, uint64_t seq)
{
	size_t low = 0, high = x->event_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (x->events[middle].seq < seq)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t extent_find_key(
	const struct extent *x, uint32_t resource, struct slice namespace, struct slice name, size_t *ret_end)
{
	struct extent_object key = {.resource = resource, .namespace = namespace, .name = name};
	size_t low = 0, high = x->object_count, end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (extent_compare_key(&x->objects[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < x->object_count && extent_compare_key(&x->objects[end], &key) == 0;)
		end++;
	*ret_end = end;
	return low;
}
