/*
 * hidden_objects.h: objects of the tape that nobody sees for now, in the order in which they were hidden, each until it is due
 * to be shown. Others say why: held_names.h, awaited_dependents.h.
 */
#ifndef REPLAYER_HIDDEN_OBJECTS_H
#define REPLAYER_HIDDEN_OBJECTS_H

#include "replayer/serve/call.h"

struct hidden_object {
	uint32_t resource;
	char *namespace, *name;
	char *uid, *owner; /* for who needs them; else NULL */
	uint64_t seq;      /* the last event */
	bool is_due, is_given_up;
};

/* All zero: there are none. */
struct hidden_objects {
	struct hidden_object *items;
	size_t count;
	size_t due_count;
};
void hidden_objects_release(struct hidden_objects *h);

/* The index of the object under that name, which is written (world.h); h->count if none is hidden there. */
size_t hidden_objects_find(
	const struct hidden_objects *h, const struct collection *in, const struct change *c);

/* Appends the object of that event; borrowed until the next call. */
struct hidden_object *hidden_objects_add(
	struct hidden_objects *h, const struct collection *in, const struct change *c);

void hidden_objects_drop(struct hidden_objects *h, size_t at);
void hidden_objects_make_due(struct hidden_objects *h, size_t at);

/* Shows the first object that is due, and takes it out; the caller releases *ret. False: none is due. */
bool hidden_objects_show_next(struct hidden_objects *h, struct api *api, struct hidden_object *ret);
void hidden_object_release(struct hidden_object *o);

#endif
