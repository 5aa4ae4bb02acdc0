/* held_names.c: see held_names.h. */
#include "replayer/write/held_names.h"

#include "replayer/write/hidden_objects.h"

#include <stdlib.h>

struct held_names {
	struct api *api;
	struct hidden_objects hidden; /* in the order of their last events; due when the name is free */
};

struct held_names *held_names_new(struct api *api)
{
	struct held_names *h = xcalloc(1, sizeof(*h));

	h->api = api;
	return h;
}

void held_names_free(struct held_names *h)
{
	if (!h)
		return;
	hidden_objects_release(&h->hidden);
	free(h);
}

void held_names_follow(
	struct held_names *h, const struct collection *in, const struct change *c, bool is_held)
{
	size_t at = hidden_objects_find(&h->hidden, in, c);

	if (at < h->hidden.count)
		hidden_objects_drop(&h->hidden, at);
	if (is_held)
		(void)hidden_objects_add(&h->hidden, in, c);
}

void held_names_wrote(struct held_names *h, const struct collection *in, const struct change *c)
{
	size_t at = c->type == EVENT_DELETED ? hidden_objects_find(&h->hidden, in, c) : h->hidden.count;

	if (at < h->hidden.count)
		hidden_objects_make_due(&h->hidden, at);
}

bool held_names_is_busy(const struct held_names *h)
{
	return h->hidden.due_count > 0;
}

bool held_names_is_owed(const struct held_names *h)
{
	for (size_t i = 0; i < h->hidden.count; i++) {
		if (!h->hidden.items[i].is_due && !h->hidden.items[i].is_given_up)
			return true;
	}
	return false;
}

void held_names_give_up(struct held_names *h)
{
	for (size_t i = 0; i < h->hidden.count; i++)
		h->hidden.items[i].is_given_up = true;
}

void held_names_work(struct held_names *h)
{
	struct hidden_object shown;

	while (hidden_objects_show_next(&h->hidden, h->api, &shown))
		hidden_object_release(&shown);
}
