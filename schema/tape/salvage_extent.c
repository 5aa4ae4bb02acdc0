/* salvage_extent.c: the objects of one extent of a damaged tape, each held against the index. */

#include "schema/tape/salvage_extent.h"

#include <stdlib.h>

/* Blocks that are kept open: as many as that, and no more than this many bytes unless it is one. */
#define OPEN_BLOCKS      64
#define OPEN_BLOCK_BYTES (32u << 20)

/* A block as the index describes it, in short. */
struct shape {
	uint32_t index, events;
	uint64_t raw_bytes;
};

struct open_block {
	uint32_t number;
	uint64_t used;
	struct block *block; /* NULL: it cannot be opened */
};

struct extent_objects {
	struct salvaged *segment;
	const struct kept_extent *extent;
	struct extent *x;
	struct shape *shapes;
	uint32_t shape_count;
	struct open_block open[OPEN_BLOCKS];
	size_t open_count;
	uint64_t open_bytes, tick;
	struct buf scratch;
};

static void measure_blocks(struct extent_objects *o)
{
	const struct extent *x = o->x;

	for (size_t i = 0; i < x->event_count; i++)
		o->shape_count =
			x->events[i].block >= o->shape_count ? x->events[i].block + 1 : o->shape_count;
	o->shapes = xcalloc(o->shape_count, sizeof(*o->shapes));
	for (size_t i = 0; i < x->event_count; i++) {
		struct shape *shape = &o->shapes[x->events[i].block];

		shape->index = (uint32_t)i;
		shape->events++;
		shape->raw_bytes += x->events[i].length;
	}
}

struct extent_objects *extent_objects_new(struct salvaged *s, const struct kept_extent *e, struct extent *x)
{
	struct extent_objects *o = xcalloc(1, sizeof(*o));

	o->segment = s;
	o->extent = e;
	o->x = extent_ref(x);
	buf_init(&o->scratch, HOT_SCRATCH_BYTES);
	if (!e->is_hot)
		measure_blocks(o);
	return o;
}

void extent_objects_free(struct extent_objects *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < o->open_count; i++)
		block_free(o->open[i].block);
	buf_release(&o->scratch);
	extent_unref(o->x);
	free(o->shapes);
	free(o);
}

const struct extent *extent_objects_index(const struct extent_objects *o)
{
	return o->x;
}

/* ---- blocks ---- */

static uint64_t bytes_of(const struct block *b)
{
	return b ? b->bytes.max + b->data.cap : 0;
}

static void close_oldest(struct extent_objects *o)
{
	size_t oldest = 0;

	for (size_t i = 1; i < o->open_count; i++) {
		if (o->open[i].used < o->open[oldest].used)
			oldest = i;
	}
	o->open_bytes -= bytes_of(o->open[oldest].block);
	block_free(o->open[oldest].block);
	o->open[oldest] = o->open[--o->open_count];
}

static struct open_block *open_block(struct extent_objects *o, uint32_t number)
{
	const struct shape *s = &o->shapes[number];
	const struct block_shape shape = {.is_chain = pack_is_chained(o->x, &o->x->events[s->index]),
		.events = s->events,
		.raw_bytes = s->raw_bytes,
		.x = o->x,
		.index = s->index};
	struct open_block *open;

	while (o->open_count == OPEN_BLOCKS ||
		(o->open_count && o->open_bytes + s->raw_bytes > OPEN_BLOCK_BYTES))
		close_oldest(o);
	open = &o->open[o->open_count++];
	*open = (struct open_block){.number = number};
	if (!salvage_block(o->segment, o->extent->id, number, &shape, &open->block))
		open->block = NULL;
	o->open_bytes += bytes_of(open->block);
	return open;
}

static struct block *block_at(struct extent_objects *o, uint32_t number)
{
	struct open_block *open = NULL;

	for (size_t i = 0; i < o->open_count && !open; i++) {
		if (o->open[i].number == number)
			open = &o->open[i];
	}
	open = open ? open : open_block(o, number);
	open->used = ++o->tick;
	return open->block;
}

/* ---- objects ---- */

static bool is_that_event(struct extent_objects *o, uint32_t index, struct slice object)
{
	char rv[RV_TEXT_BYTES];
	struct event want, have;

	extent_event_get(o->x, index, rv, &want);
	have = want;
	return hot_identify(&have, object, &o->scratch, NULL) == 0 &&
	       slice_equal(have.namespace, want.namespace) && slice_equal(have.name, want.name) &&
	       slice_equal(have.uid, want.uid) && slice_equal(have.rv, want.rv);
}

bool extent_objects_get(struct extent_objects *o, uint32_t index, struct slice *ret)
{
	const struct extent_event *e = &o->x->events[index];
	struct block *block;

	if (o->extent->is_hot) {
		*ret = (struct slice){o->x->bytes.ptr + e->offset, e->length};
		return true;
	}
	block = block_at(o, e->block);
	return block && block_get(block, e->offset, e->length, ret, NULL) == 0 &&
	       is_that_event(o, index, *ret);
}

/* ---- in the order of seq ---- */

static void measure_slice(struct object_slice *s, const struct extent *x, uint32_t begin)
{
	uint64_t bytes = 0;

	s->begin = s->end = begin;
	do
		bytes += x->events[s->end++].length;
	while (s->end < x->event_count && bytes + x->events[s->end].length <= OBJECT_SLICE_BYTES);
	free(s->places);
	s->places = xcalloc(s->end - s->begin, sizeof(*s->places));
	s->bytes.max = bytes;
	buf_clear(&s->bytes);
}

void object_slice_read(struct object_slice *s, struct extent_objects *o, uint32_t begin)
{
	const struct extent *x = o->x;

	measure_slice(s, x, begin);
	for (size_t i = 0; i < x->event_count; i++) {
		uint32_t index = x->layout[i];
		struct slice object;

		if (index < s->begin || index >= s->end || lost_bits_has(o->extent->lost, index) ||
			!extent_objects_get(o, index, &object))
			continue;
		s->places[index - s->begin] = (struct slice_place){s->bytes.len, object.len};
		if (buf_append(&s->bytes, object.ptr, object.len, NULL))
			abort(); /* the lengths were added up */
	}
}

void object_slice_release(struct object_slice *s)
{
	buf_release(&s->bytes);
	free(s->places);
	*s = (struct object_slice){0};
}
