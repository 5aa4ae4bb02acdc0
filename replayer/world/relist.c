/* relist.c: see relist.h. */
#include "replayer/world/relist.h"

#include "schema/base/rv.h"

#include <stdlib.h>

static struct relist *find_or_add(struct relist **set, uint32_t stream)
{
	struct relist *r = *set;

	while (r && r->stream != stream)
		r = r->next;
	if (r)
		return r;
	r = xcalloc(1, sizeof(*r));
	r->stream = stream;
	r->next = *set;
	*set = r;
	return r;
}

void relist_add(struct relist **set, const struct event *e)
{
	struct relist *r = find_or_add(set, e->stream);
	struct relist_item *item;

	if (r->count == r->cap) {
		r->cap = r->cap ? 2 * r->cap : 64;
		r->items = xrealloc(r->items, r->cap * sizeof(*r->items));
	}
	item = &r->items[r->count++];
	*item = (struct relist_item){.seq = e->seq, .deletion = e->type == EVENT_DELETED};
	if (!rv_to_u64(e->rv, &item->rv))
		item->rv = 0;
	item->key = xasprintf(
		"%.*s/%.*s", (int)e->namespace.len, e->namespace.ptr, (int)e->name.len, e->name.ptr);
}

static int by_key(const void *a, const void *b)
{
	const struct relist_item *x = a, *y = b;
	int c = strcmp(x->key, y->key);

	return c ? c : (x->seq > y->seq) - (x->seq < y->seq);
}

static int by_rv(const void *a, const void *b)
{
	const struct relist_item *x = a, *y = b;

	if (x->rv != y->rv)
		return x->rv > y->rv ? 1 : -1;
	if (x->deletion != y->deletion)
		return x->deletion ? -1 : 1;
	return (x->seq > y->seq) - (x->seq < y->seq);
}

/* A deletion that stands before its successor takes that one's version; then all are sorted by version. */
static void sort(struct relist *r)
{
	qsort(r->items, r->count, sizeof(*r->items), by_key);
	for (size_t i = 0; i + 1 < r->count; i++) {
		struct relist_item *item = &r->items[i], *next = item + 1;

		if (item->deletion && !next->deletion && strcmp(item->key, next->key) == 0)
			item->rv = next->rv;
	}
	qsort(r->items, r->count, sizeof(*r->items), by_rv);
}

struct relist *relist_take(struct relist **set, uint32_t stream)
{
	struct relist *r;

	while (*set && (*set)->stream != stream)
		set = &(*set)->next;
	r = *set;
	if (!r)
		return NULL;
	*set = r->next;
	r->next = NULL;
	sort(r);
	return r;
}

struct relist *relist_take_any(struct relist **set)
{
	return *set ? relist_take(set, (*set)->stream) : NULL;
}

void relist_free(struct relist *r)
{
	for (size_t i = 0; r && i < r->count; i++)
		free(r->items[i].key);
	if (r)
		free(r->items);
	free(r);
}

void relist_free_all(struct relist **set)
{
	struct relist *r;

	while ((r = relist_take_any(set)))
		relist_free(r);
}
