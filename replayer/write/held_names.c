/* held_names.c: see held_names.h. */
#include "replayer/write/held_names.h"

#include "replayer/write/own_write.h"
#include <stdlib.h>

struct held_name {
	uint32_t resource;
	char *namespace, *name;
	uint64_t seq; /* the last event of the hidden object */
	bool is_free, is_given_up;
};

struct held_names {
	struct api *api;
	struct held_name *names; /* in the order of their last events */
	size_t count, cap;
	size_t free_count;
};

struct held_names *held_names_new(struct api *api)
{
	struct held_names *h = xcalloc(1, sizeof(*h));

	h->api = api;
	return h;
}

static void held_name_release(struct held_name *n)
{
	free(n->namespace);
	free(n->name);
}

void held_names_free(struct held_names *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < h->count; i++)
		held_name_release(&h->names[i]);
	free(h->names);
	free(h);
}

/* The index of that object's name; h->count if it is not held. */
static size_t find(const struct held_names *h, const struct collection *in, const struct change *c)
{
	size_t i = 0;

	while (i < h->count &&
		!(h->names[i].resource == in->resource.id && slice_is(c->namespace, h->names[i].namespace) &&
			slice_is(c->name, h->names[i].name)))
		i++;
	return i;
}

/* The caller releases it. */
static struct held_name take(struct held_names *h, size_t at)
{
	struct held_name n = h->names[at];

	h->free_count -= n.is_free;
	memmove(h->names + at, h->names + at + 1, (--h->count - at) * sizeof(*h->names));
	return n;
}

static void add(struct held_names *h, const struct held_name *n)
{
	if (h->count == h->cap) {
		h->cap = h->cap ? 2 * h->cap : 16;
		h->names = xrealloc(h->names, h->cap * sizeof(*h->names));
	}
	h->names[h->count++] = *n;
}

void held_names_follow(
	struct held_names *h, const struct collection *in, const struct change *c, bool is_held)
{
	size_t at = find(h, in, c);

	if (at < h->count) {
		struct held_name n = take(h, at);

		held_name_release(&n);
	}
	if (is_held)
		add(h, &(struct held_name){.resource = in->resource.id,
			       .namespace = slice_dup(c->namespace),
			       .name = slice_dup(c->name),
			       .seq = c->seq});
}

void held_names_wrote(struct held_names *h, const struct collection *in, const struct change *c)
{
	size_t at = h->count && c->type == EVENT_DELETED ? find(h, in, c) : h->count;

	if (at == h->count || h->names[at].is_free)
		return;
	h->names[at].is_free = true;
	h->free_count++;
}

bool held_names_is_busy(const struct held_names *h)
{
	return h->free_count > 0;
}

bool held_names_is_owed(const struct held_names *h)
{
	for (size_t i = 0; i < h->count; i++) {
		if (!h->names[i].is_free && !h->names[i].is_given_up)
			return true;
	}
	return false;
}

void held_names_give_up(struct held_names *h)
{
	for (size_t i = 0; i < h->count; i++)
		h->names[i].is_given_up = true;
}

void held_names_work(struct held_names *h)
{
	size_t i = 0;

	while (h->free_count && i < h->count) {
		struct held_name n;

		if (!h->names[i].is_free) {
			i++;
			continue;
		}
		n = take(h, i);
		own_write_show(h->api, n.resource, slice_of(n.namespace), slice_of(n.name), n.seq);
		held_name_release(&n);
	}
}
