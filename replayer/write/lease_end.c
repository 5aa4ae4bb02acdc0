/* lease_end.c: see lease_end.h. */
#include "replayer/write/lease_end.h"

#include "replayer/kinds/builtin.h"
#include "replayer/world/overlay.h"
#include "replayer/write/own_write.h"

#include <stdlib.h>

static void end_one(struct api *api, struct collection *c, struct slice namespace, struct slice name)
{
	struct own_write o;

	own_write_begin(&o, api, c, VERB_DELETE, namespace, name);
	if (json_tree_at(json_tree_at(o.w.old, "spec", NULL), "leaseTransitions", NULL))
		own_write_remove(&o, cJSON_CreateObject());
	own_write_end(&o);
}

/* From the last one on: what is deleted is no longer in the set. */
static void end_written(struct api *api, struct collection *c)
{
	for (size_t i = c->live.count; i--;) {
		const struct live *l = c->live.items[i];
		char *namespace = slice_dup(live_namespace(l)), *name = slice_dup(live_name(l));

		if (overlay_has(l->seq))
			end_one(api, c, slice_of(namespace), slice_of(name));
		free(name);
		free(namespace);
	}
}

void lease_end_all(struct api *api)
{
	for (size_t i = 0; i < api->world->count; i++) {
		struct collection *c = &api->world->collections[i];

		if (c->resource.resource &&
			builtin_is_lease(slice_of(c->resource.apigroup), slice_of(c->resource.resource)))
			end_written(api, c);
	}
}
