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

		if (e->length >= CHAIN_MIN_BYTES)
			continue;
		if (e->block != block)
			break;
		first = at;
	}
	return first;
}

int pack_names(const struct extent *x, uint32_t index, struct buf *to, struct err *err)
{
	uint32_t block = x->events[index].block, last = UINT32_MAX;
	const struct extent_object *o = &x->objects[x->events[index].object];
	size_t at = o->first;

	/* The object's first versions may lie in the block before. */
	while (x->events[x->layout[at]].block != block)
		at++;
	for (at = first_in_block(x, at, block); at < x->event_count; at++) {
		const struct extent_event *e = &x->events[x->layout[at]];

		if (e->length >= CHAIN_MIN_BYTES)
			continue;
		if (e->block != block)
			break;
		if (e->object != last && pack_names_add(&x->objects[e->object], to, err))
			return ERR_TOO_LARGE;
		last = e->object;
	}
	return 0;
}

static const char *const kind_names[] = {
	[BLOCK_PACK] = "pack", [BLOCK_CHAIN] = "chain", [BLOCK_NAMED] = "named"};

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
