/* hidden_objects.c: see hidden_objects.h. */
#include "replayer/write/hidden_objects.h"

#include "replayer/write/own_write.h"

#include <stdlib.h>

void hidden_object_release(struct hidden_object *o)
{
	free(o->namespace);
	free(o->name);
	free(o->uid);
	free(o->owner);
}

void hidden_objects_release(struct hidden_objects *h)
{
	for (size_t i = 0; i < h->count; i++)
		hidden_object_release(&h->items[i]);
	free(h->items);
}

size_t hidden_objects_find(
	const struct hidden_objects *h, const struct collection *in, const struct change *c)
{
	size_t i = h->count && live_set_find(&in->written, c->namespace, c->name) ? 0 : h->count;

	while (i < h->count &&
		!(h->items[i].resource == in->resource.id && slice_is(c->namespace, h->items[i].namespace) &&
			slice_is(c->name, h->items[i].name)))
		i++;
	return i;
}

struct hidden_object *hidden_objects_add(
	struct hidden_objects *h, const struct collection *in, const struct change *c)
{
	h->items = xgrow(h->items, h->count, sizeof(*h->items));
	h->items[h->count] = (struct hidden_object){.resource = in->resource.id,
		.namespace = slice_dup(c->namespace),
		.name = slice_dup(c->name),
		.seq = c->seq};
	return &h->items[h->count++];
}

/* The caller releases it. */
static struct hidden_object take(struct hidden_objects *h, size_t at)
{
	struct hidden_object o = h->items[at];

	h->due_count -= o.is_due;
	memmove(h->items + at, h->items + at + 1, (--h->count - at) * sizeof(*h->items));
	return o;
}

void hidden_objects_drop(struct hidden_objects *h, size_t at)
{
	struct hidden_object o = take(h, at);

	hidden_object_release(&o);
}

void hidden_objects_make_due(struct hidden_objects *h, size_t at)
{
	h->due_count += !h->items[at].is_due;
	h->items[at].is_due = true;
}

bool hidden_objects_show_next(struct hidden_objects *h, struct api *api, struct hidden_object *ret)
{
	size_t i = 0;

	if (!h->due_count)
		return false;
	while (!h->items[i].is_due)
		i++;
	*ret = take(h, i);
	own_write_show(api, ret->resource, slice_of(ret->namespace), slice_of(ret->name), ret->seq);
	return true;
}
