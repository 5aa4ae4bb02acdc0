/* namespace_ending.c: see namespace_ending.h. */
#include "replayer/write/namespace_ending.h"

#include "replayer/world/owner_index.h"
#include "replayer/write/own_write.h"

static void delete_one(struct api *api, struct collection *c, const struct object_ref *object)
{
	cJSON *options = cJSON_CreateObject();
	struct own_write o;

	json_tree_set(options, "gracePeriodSeconds", cJSON_CreateNumber(0));
	own_write_begin(&o, api, c, VERB_DELETE, slice_of(object->namespace), slice_of(object->name));
	if (o.w.old)
		own_write_remove(&o, options);
	else
		cJSON_Delete(options);
	own_write_end(&o);
}

static void empty_one(struct api *api, struct collection *c, struct slice namespace)
{
	struct object_ref *refs;
	size_t count = object_refs_of(&c->written, c->resource.id, namespace, &refs);

	for (size_t i = 0; i < count; i++)
		delete_one(api, c, &refs[i]);
	object_refs_free(refs, count);
}

void namespace_ending_before(struct api *api, const struct collection *in, const struct change *c)
{
	struct world *w = api->world;

	if (c->type != EVENT_DELETED || !write_is_of_namespaces(in) ||
		live_set_find(&in->written, c->namespace, c->name))
		return;
	for (size_t i = 0; i < w->count; i++)
		empty_one(api, &w->collections[i], c->name);
}
