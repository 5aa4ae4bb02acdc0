/* crd_ending.c: see crd_ending.h. */
#include "replayer/write/crd_ending.h"

#include "replayer/serve/watch.h"
#include "replayer/world/owner_index.h"
#include "replayer/write/own_write.h"
#include "schema/base/json_scan.h"

#include <stdlib.h>

struct crd_ending {
	struct api *api;
	char **names; /* of CRDs that are being deleted */
	size_t count;
	bool is_busy;
};

struct crd_ending *crd_ending_new(struct api *api)
{
	struct crd_ending *e = xcalloc(1, sizeof(*e));

	e->api = api;
	return e;
}

void crd_ending_free(struct crd_ending *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < e->count; i++)
		free(e->names[i]);
	free(e->names);
	free(e);
}

/* ---- what was written ---- */

static void add_name(struct crd_ending *e, struct slice name)
{
	for (size_t i = 0; i < e->count; i++) {
		if (slice_is(name, e->names[i]))
			return;
	}
	e->names = xrealloc(e->names, (e->count + 1) * sizeof(*e->names));
	e->names[e->count++] = slice_dup(name);
}

static void end_watches(struct crd_ending *e, struct slice crd)
{
	struct slice plural;

	if (json_get(crd, "spec.names.plural", &plural, NULL) > 0 && plural.len > 2)
		watches_break(e->api->watches, WATCHES_END, (struct slice){plural.ptr + 1, plural.len - 2});
}

void crd_ending_wrote(struct crd_ending *e, const struct collection *in, const struct change *c)
{
	struct slice when;

	if (!write_is_crd(in)) {
		e->is_busy |= e->count && in->custom && c->type == EVENT_DELETED;
		return;
	}
	if (c->type == EVENT_DELETED) {
		end_watches(e, c->object);
	} else if (json_get(c->object, "metadata.deletionTimestamp", &when, NULL) > 0) {
		add_name(e, c->name);
		e->is_busy = true;
	}
}

bool crd_ending_is_busy(const struct crd_ending *e)
{
	return e->is_busy;
}

/* ---- what is done ---- */

static void delete_one(struct crd_ending *e, struct collection *c, const struct object_ref *object)
{
	struct own_write o;

	own_write_begin(&o, e->api, c, VERB_DELETE, slice_of(object->namespace), slice_of(object->name));
	if (o.w.old && !write_is_asked_to_end(o.w.old))
		own_write_remove(&o, cJSON_CreateObject());
	own_write_end(&o);
}

/* Returns how many stay, for their finalizers. */
static size_t delete_objects(struct crd_ending *e, struct collection *c)
{
	struct object_ref *refs;
	size_t count = object_refs_of(&c->live, c->resource.id, (struct slice){NULL, 0}, &refs);

	for (size_t i = 0; i < count; i++)
		delete_one(e, c, &refs[i]);
	object_refs_free(refs, count);
	return c->live.count;
}

static size_t delete_instances(struct crd_ending *e, const cJSON *crd)
{
	const cJSON *spec = json_tree_at(crd, "spec", NULL);
	const char *group = json_tree_text(spec, "group"),
		   *plural = json_tree_text(json_tree_at(spec, "names", NULL), "plural");
	struct world *w = e->api->world;
	size_t left = 0;

	for (size_t i = 0; i < w->count; i++) {
		const struct tape_resource *r = &w->collections[i].resource;

		if (r->resource && strcmp(r->resource, plural) == 0 && strcmp(r->apigroup, group) == 0)
			left += delete_objects(e, &w->collections[i]);
	}
	return left;
}

/* Whether it is done with. */
static bool end_one(struct crd_ending *e, const char *name)
{
	struct collection *crds = world_find(e->api->world, slice_of("apiextensions.k8s.io"), slice_of("v1"),
		slice_of("customresourcedefinitions"));
	const struct slice none = {NULL, 0};
	struct own_write o;
	bool done;

	own_write_begin(&o, e->api, crds, VERB_UPDATE, none, slice_of(name));
	done = !write_is_asked_to_end(o.w.old);
	if (!done && delete_instances(e, o.w.old) == 0) {
		own_write_drop_finalizer(&o, FINALIZER_CRD);
		done = true;
	}
	own_write_end(&o);
	return done;
}

void crd_ending_work(struct crd_ending *e)
{
	size_t left = 0;

	while (e->is_busy) {
		e->is_busy = false;
		left = 0;
		for (size_t i = 0; i < e->count; i++) {
			char *name = e->names[i];

			if (end_one(e, name))
				free(name);
			else
				e->names[left++] = name;
		}
		e->count = left;
	}
}
