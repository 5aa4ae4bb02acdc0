/* namespace_ending.c: see namespace_ending.h. */
#include "replayer/write/namespace_ending.h"

#include "replayer/world/owner_index.h"
#include "replayer/write/own_write.h"

#include <stdlib.h>

static bool is_of_namespaces(const struct collection *c)
{
	return strcmp(c->resource.resource, "namespaces") == 0 && !*c->resource.apigroup;
}

/* Names of what programs wrote there. */
static size_t list_written(const struct collection *c, struct slice namespace, struct object_ref **ret)
{
	struct object_ref *refs;
	size_t begin, end;

	live_set_range(&c->written, namespace, &begin, &end);
	refs = xcalloc(end - begin + 1, sizeof(*refs));
	for (size_t i = begin; i < end; i++) {
		const struct live *l = c->written.items[i];

		refs[i - begin] = (struct object_ref){
			c->resource.id, slice_dup(live_namespace(l)), slice_dup(live_name(l))};
	}
	*ret = refs;
	return end - begin;
}

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
	size_t count = list_written(c, namespace, &refs);

	for (size_t i = 0; i < count; i++)
		delete_one(api, c, &refs[i]);
	object_refs_free(refs, count);
}

void namespace_ending_before(struct api *api, const struct collection *in, const struct change *c)
{
	struct world *w = api->world;

	if (c->type != EVENT_DELETED || !is_of_namespaces(in) ||
		live_set_find(&in->written, c->namespace, c->name))
		return;
	for (size_t i = 0; i < w->count; i++)
		empty_one(api, &w->collections[i], c->name);
}
