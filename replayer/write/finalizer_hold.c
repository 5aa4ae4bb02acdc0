/* finalizer_hold.c: see finalizer_hold.h. */
#include "replayer/write/finalizer_hold.h"

#include "replayer/write/own_part.h"
#include "replayer/write/own_write.h"
#include "schema/base/log.h"

#include <stdlib.h>

static bool is_to_hold(const struct api *api, const char *name)
{
	for (size_t i = 0; i < api->held_finalizer_count; i++) {
		if (strcmp(api->held_finalizers[i], name) == 0)
			return true;
	}
	return false;
}

static bool has_one_to_hold(const struct api *api, const cJSON *object)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, json_tree_at(object, "metadata", "finalizers", NULL))
	{
		if (cJSON_IsString(item) && is_to_hold(api, item->valuestring))
			return true;
	}
	return false;
}

/* Any event may be the one that takes it away; most objects have none. */
static bool mentions_one(const struct api *api, struct slice object)
{
	for (size_t i = 0; i < api->held_finalizer_count; i++) {
		const char *name = api->held_finalizers[i];

		if (memmem(object.ptr, object.len, name, strlen(name)))
			return true;
	}
	return false;
}

static void adopt(struct api *api, const struct collection *of, const struct change *c)
{
	struct collection *in = world_collection(api->world, of->resource.id);
	struct own_write o;
	struct err err;

	own_write_begin(&o, api, in, VERB_UPDATE, c->namespace, c->name);
	if (own_write_is_allowed(&o) && has_one_to_hold(api, o.w.old) &&
		world_adopt(api->world, in, c->namespace, c->name, slice_of(OWN_PART_NONE), &err))
		log_warn("%s of %s is not held: %s", o.w.name, in->resource.resource, err.text);
	own_write_end(&o);
}

void finalizer_hold_before(struct api *api, const struct collection *in, const struct change *c)
{
	const struct live *l =
		api->held_finalizer_count ? live_set_find(&in->live, c->namespace, c->name) : NULL;
	struct slice object;
	struct err err;

	if (!l || overlay_has(l->seq))
		return;
	if (world_object(api->world, l->seq, &object, &err))
		log_warn("%s", err.text);
	else if (mentions_one(api, object))
		adopt(api, in, c);
}

void finalizer_hold_keep(struct write *w)
{
	const struct api *api = w->call->api;
	const cJSON *item;

	cJSON_ArrayForEach(item, json_tree_at(w->old, "metadata", "finalizers", NULL))
	{
		char *part;

		if (!cJSON_IsString(item) || !is_to_hold(api, item->valuestring))
			continue;
		part = own_part_hold(w->part, item->valuestring);
		free(w->part);
		w->part = part;
	}
}
