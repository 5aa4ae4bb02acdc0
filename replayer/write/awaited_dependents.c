/* awaited_dependents.c: see awaited_dependents.h. */
#include "replayer/write/awaited_dependents.h"

#include "replayer/world/owner_index.h"
#include "schema/base/json_scan.h"

#include <stdlib.h>

void awaited_dependents_release(struct awaited_dependents *d)
{
	hidden_objects_release(&d->objects);
	text_map_release(&d->hidden);
}

void awaited_dependents_await(struct awaited_dependents *d, const char *uid)
{
	text_map_put(&d->hidden, uid, d);
}

void awaited_dependents_made(struct awaited_dependents *d, const char *uid)
{
	text_map_remove(&d->hidden, uid);
	for (size_t i = 0; i < d->objects.count; i++) {
		if (strcmp(d->objects.items[i].owner, uid) == 0)
			hidden_objects_make_due(&d->objects, i);
	}
}

/* The first hidden owner that the object names, or NULL; the caller frees. */
static char *hidden_owner(const struct awaited_dependents *d, struct slice object)
{
	struct slice uid;
	struct json_iter it;
	bool has_any = owner_uids_begin(object, &it);

	while (has_any && owner_uids_next(&it, &uid)) {
		char *text = slice_dup(uid);

		if (text_map_get(&d->hidden, text))
			return text;
		free(text);
	}
	return NULL;
}

static void hide(struct awaited_dependents *d, struct world *world, const struct collection *in,
	const struct change *c, char *owner)
{
	struct object_meta meta;
	struct slice uid = json_scan_object(c->object, &meta, NULL) ? (struct slice){0} : meta.uid;
	struct hidden_object *o = hidden_objects_add(&d->objects, in, c);

	o->uid = slice_dup(uid);
	o->owner = owner;
	awaited_dependents_await(d, o->uid);
	world_hide(world, world_collection(world, in->resource.id), c->namespace, c->name);
}

void awaited_dependents_before(struct awaited_dependents *d, struct world *world, const struct collection *in,
	const struct change *c)
{
	size_t at = hidden_objects_find(&d->objects, in, c);
	char *owner;

	if (at < d->objects.count && c->type != EVENT_DELETED) {
		d->objects.items[at].seq = c->seq;
	} else if (at < d->objects.count) {
		text_map_remove(&d->hidden, d->objects.items[at].uid);
		hidden_objects_drop(&d->objects, at);
	} else if (c->type == EVENT_ADDED && !live_set_find(&in->live, c->namespace, c->name) &&
		   (owner = hidden_owner(d, c->object)) != NULL) {
		hide(d, world, in, c, owner);
	}
}

bool awaited_dependents_has(
	const struct awaited_dependents *d, const struct collection *in, const struct change *c)
{
	return hidden_objects_find(&d->objects, in, c) < d->objects.count;
}

bool awaited_dependents_is_busy(const struct awaited_dependents *d)
{
	return d->objects.due_count > 0;
}

void awaited_dependents_work(struct awaited_dependents *d, struct api *api)
{
	struct hidden_object shown;

	while (hidden_objects_show_next(&d->objects, api, &shown)) {
		awaited_dependents_made(d, shown.uid);
		hidden_object_release(&shown);
	}
}
