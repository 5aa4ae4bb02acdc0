/*
 * names.c: what the objects of a pack are called, as their JSON says it. The index has the names anyway, and
 * two thirds of them are random: a pack whose frame refers to them is a seventh smaller than one that has to
 * spell them again. FORMAT.md, section 5, has the text.
 */
#include "schema/base/count_of.h"
#include "schema/tape/pack.h"

static int names_put(struct buf *to, const char *before, struct slice value, struct err *err)
{
	int rc = buf_append(to, before, strlen(before), err);

	return rc ? rc : buf_append(to, value.ptr, value.len, err);
}

int pack_names_add(const struct extent_object *o, struct buf *to, struct err *err)
{
	static const char end[] = "\",\"resourceVersion\":\"";
	int rc;

	if ((rc = names_put(to, "\"name\":\"", o->name, err)) ||
		(o->namespace.len && (rc = names_put(to, "\",\"namespace\":\"", o->namespace, err))) ||
		(rc = names_put(to, "\",\"uid\":\"", o->uid, err)))
		return rc;
	return buf_append(to, end, sizeof(end) - 1, err);
}

/* Objects lie side by side, but for those in chains, which are passed over. */
static size_t first_in_block(const struct extent *x, size_t at, uint32_t block)
{
	size_t first = at;

	while (at > 0) {
		const struct extent_event *e = &x->events[x->layout[--at]];

		if (pack_is_chained(x, e))
			continue;
		if (e->block != block)
			break;
		first = at;
	}
	return first;
}

struct pack_walk pack_walk_begin(const struct extent *x, uint32_t index)
{
	uint32_t block = x->events[index].block;
	size_t at = x->objects[x->events[index].object].first;

	/* The object's first versions may lie in the block before. */
	while (x->events[x->layout[at]].block != block)
		at++;
	return (struct pack_walk){x, first_in_block(x, at, block), block};
}

const struct extent_event *pack_walk_next(struct pack_walk *w)
{
	while (w->at < w->x->event_count) {
		const struct extent_event *e = &w->x->events[w->x->layout[w->at++]];

		if (!pack_is_chained(w->x, e))
			return e->block == w->block ? e : NULL;
	}
	return NULL;
}

int pack_names(const struct extent *x, uint32_t index, struct buf *to, struct err *err)
{
	struct pack_walk walk = pack_walk_begin(x, index);
	const struct extent_event *e;
	uint32_t last = UINT32_MAX;

	while ((e = pack_walk_next(&walk))) {
		if (e->object != last && pack_names_add(&x->objects[e->object], to, err))
			return ERR_TOO_LARGE;
		last = e->object;
	}
	return 0;
}

static const char *const kind_names[] = {
	[BLOCK_PACK] = "pack", [BLOCK_CHAIN] = "chain", [BLOCK_NAMED] = "named", [BLOCK_BARE] = "bare"};

const char *block_kind_name(enum block_kind kind)
{
	return kind_names[kind];
}

bool block_kind_find(struct slice name, enum block_kind *ret)
{
	for (size_t i = 0; i < COUNT_OF(kind_names); i++) {
		if (!slice_is(name, kind_names[i]))
			continue;
		*ret = (enum block_kind)i;
		return true;
	}
	return false;
}
