/* awaited_dependents.c: see awaited_dependents.h. */
#include "replayer/write/awaited_dependents.h"

#include "replayer/write/own_write.h"
#include "schema/base/json_scan.h"

#include <stdlib.h>

struct dependent {
	uint32_t resource;
	char *namespace, *name, *uid, *owner;
	uint64_t seq; /* its last event */
	bool is_due;
};

static void dependent_release(struct dependent *one)
{
	free(one->namespace);
	free(one->name);
	free(one->uid);
	free(one->owner);
}

void awaited_dependents_release(struct awaited_dependents *d)
{
	for (size_t i = 0; i < d->count; i++)
		dependent_release(&d->items[i]);
	free(d->items);
	text_map_release(&d->hidden);
}

/* d->count if it is not hidden. */
static size_t find(const struct awaited_dependents *d, const struct collection *in, const struct change *c)
{
	size_t i = live_set_find(&in->written, c->namespace, c->name) ? 0 : d->count;

	while (i < d->count &&
		!(d->items[i].resource == in->resource.id && slice_is(c->namespace, d->items[i].namespace) &&
			slice_is(c->name, d->items[i].name)))
		i++;
	return i;
}

/* The caller releases it. */
static struct dependent take(struct awaited_dependents *d, size_t at)
{
	struct dependent one = d->items[at];

	d->due_count -= one.is_due;
	text_map_remove(&d->hidden, one.uid);
	memmove(d->items + at, d->items + at + 1, (--d->count - at) * sizeof(*d->items));
	return one;
}

void awaited_dependents_await(struct awaited_dependents *d, const char *uid)
{
	text_map_put(&d->hidden, uid, d);
}

void awaited_dependents_made(struct awaited_dependents *d, const char *uid)
{
	text_map_remove(&d->hidden, uid);
	for (size_t i = 0; i < d->count; i++) {
		if (d->items[i].is_due || strcmp(d->items[i].owner, uid) != 0)
			continue;
		d->items[i].is_due = true;
		d->due_count++;
	}
}

/* The first hidden owner that the object names, or NULL; the caller frees. */
static char *hidden_owner(const struct awaited_dependents *d, struct slice object)
{
	struct slice owners, key, owner, uid;
	struct json_iter it;

	if (json_get(object, "metadata.ownerReferences", &owners, NULL) <= 0 ||
		json_iter_begin(owners, &it, NULL))
		return NULL;
	while (json_iter_next(&it, &key, &owner, NULL) > 0) {
		char *text;

		if (json_get(owner, "uid", &uid, NULL) <= 0 || uid.len <= 2)
			continue;
		text = slice_dup((struct slice){uid.ptr + 1, uid.len - 2});
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

	d->items = xgrow(d->items, d->count, sizeof(*d->items));
	d->items[d->count++] = (struct dependent){.resource = in->resource.id,
		.namespace = slice_dup(c->namespace),
		.name = slice_dup(c->name),
		.uid = slice_dup(uid),
		.owner = owner,
		.seq = c->seq};
	awaited_dependents_await(d, d->items[d->count - 1].uid);
	world_hide(world, world_collection(world, in->resource.id), c->namespace, c->name);
}

void awaited_dependents_before(struct awaited_dependents *d, struct world *world, const struct collection *in,
	const struct change *c)
{
	size_t at = find(d, in, c);
	struct dependent gone;
	char *owner;

	if (at < d->count && c->type != EVENT_DELETED) {
		d->items[at].seq = c->seq;
	} else if (at < d->count) {
		gone = take(d, at);
		dependent_release(&gone);
	} else if (c->type == EVENT_ADDED && !live_set_find(&in->live, c->namespace, c->name) &&
		   (owner = hidden_owner(d, c->object)) != NULL) {
		hide(d, world, in, c, owner);
	}
}

bool awaited_dependents_has(
	const struct awaited_dependents *d, const struct collection *in, const struct change *c)
{
	return find(d, in, c) < d->count;
}

void awaited_dependents_work(struct awaited_dependents *d, struct api *api)
{
	size_t i = 0;

	while (d->due_count && i < d->count) {
		struct dependent one;

		if (!d->items[i].is_due) {
			i++;
			continue;
		}
		one = take(d, i);
		own_write_show(api, one.resource, slice_of(one.namespace), slice_of(one.name), one.seq);
		awaited_dependents_made(d, one.uid);
		dependent_release(&one);
	}
}
