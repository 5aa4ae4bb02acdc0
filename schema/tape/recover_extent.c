/* recover_extent.c: the objects of one extent of a damaged tape, each held against the index. */
#include "schema/tape/recover_internal.h"

#include <stdlib.h>

struct extent_blocks {
	struct salvaged *segment;
	const struct kept_extent *extent;
	struct block_shape *shapes;
	struct block **blocks;
	bool *tried;
	uint32_t count;
	struct buf scratch;
};

static void measure_blocks(struct extent_blocks *b, const struct extent *x)
{
	for (size_t i = 0; i < x->event_count; i++)
		b->count = x->events[i].block >= b->count ? x->events[i].block + 1 : b->count;
	b->shapes = xcalloc(b->count, sizeof(*b->shapes));
	b->blocks = xcalloc(b->count, sizeof(struct block *));
	b->tried = xcalloc(b->count, sizeof(*b->tried));
	for (size_t i = 0; i < x->event_count; i++) {
		struct block_shape *shape = &b->shapes[x->events[i].block];

		shape->is_chain = x->events[i].length >= CHAIN_MIN_BYTES;
		shape->x = x;
		shape->index = (uint32_t)i;
		shape->events++;
		shape->raw_bytes += x->events[i].length;
	}
}

struct extent_blocks *extent_blocks_new(struct salvaged *s, const struct kept_extent *e)
{
	struct extent_blocks *b = xcalloc(1, sizeof(*b));

	b->segment = s;
	b->extent = e;
	buf_init(&b->scratch, HOT_SCRATCH_BYTES);
	if (!e->is_hot)
		measure_blocks(b, e->x);
	return b;
}

void extent_blocks_free(struct extent_blocks *b)
{
	if (!b)
		return;
	for (uint32_t i = 0; i < b->count; i++)
		block_free(b->blocks[i]);
	buf_release(&b->scratch);
	free(b->shapes);
	free(b->blocks);
	free(b->tried);
	free(b);
}

static bool is_that_event(struct extent_blocks *b, uint32_t index, struct slice object)
{
	char rv[RV_TEXT_BYTES];
	struct event want, have;

	extent_event_get(b->extent->x, index, rv, &want);
	have = want;
	return hot_identify(&have, object, &b->scratch, NULL) == 0 &&
	       slice_equal(have.namespace, want.namespace) && slice_equal(have.name, want.name) &&
	       slice_equal(have.uid, want.uid) && slice_equal(have.rv, want.rv);
}

bool extent_blocks_object(struct extent_blocks *b, uint32_t index, struct slice *ret)
{
	const struct extent *x = b->extent->x;
	const struct extent_event *e = &x->events[index];

	if (b->extent->is_hot) {
		*ret = (struct slice){x->bytes.ptr + e->offset, e->length};
		return true;
	}
	if (!b->tried[e->block]) {
		b->tried[e->block] = true;
		if (!salvage_block(
			    b->segment, b->extent->id, e->block, &b->shapes[e->block], &b->blocks[e->block]))
			b->blocks[e->block] = NULL;
	}
	return b->blocks[e->block] && block_get(b->blocks[e->block], e->offset, e->length, ret, NULL) == 0 &&
	       is_that_event(b, index, *ret);
}
