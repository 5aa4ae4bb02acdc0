/* own_write.c: see own_write.h. */
#include "replayer/write/own_write.h"

#include "replayer/write/own_part.h"
#include "schema/base/log.h"

#include <stdlib.h>

void own_write_begin(struct own_write *o, struct api *api, struct collection *c, enum verb verb,
	struct slice namespace, struct slice name)
{
	const struct tape_resource *r = &c->resource;

	*o = (struct own_write){.call = {.api = api, .verb = verb}};
	o->call.request = &o->request;
	o->call.path = (struct api_path){.kind = API_PATH_RESOURCE,
		.group = slice_of(r->apigroup),
		.version = slice_of(r->version),
		.resource = slice_of(r->resource),
		.namespace = namespace,
		.in_namespace = r->namespaced,
		.name = name};
	write_init(&o->w, &o->call, c);
	o->w.policy = WRITE_OVERLAY;
	if (write_load(&o->w, name))
		log_warn("%.*s of %s cannot be read: %s", (int)name.len, name.ptr, r->resource,
			o->w.st.message);
}

void own_write_end(struct own_write *o)
{
	write_release(&o->w);
}

const char *own_write_uid(const struct own_write *o)
{
	return json_tree_text(json_tree_at(o->w.old, "metadata", NULL), "uid");
}

static void tell_failure(const struct own_write *o, int rc)
{
	if (rc)
		log_warn("%s of %s could not be written by the replay itself: %s", o->w.name,
			o->w.c->resource.resource, o->w.st.message);
}

void own_write_remove(struct own_write *o, cJSON *options)
{
	tell_failure(o, write_remove(&o->w, options));
	cJSON_Delete(options);
}

void own_write_replace(struct own_write *o, cJSON *object)
{
	tell_failure(o, write_store_changed(&o->w, object));
	cJSON_Delete(object);
}

void own_write_drop_finalizer(struct own_write *o, const char *name)
{
	cJSON *object = cJSON_Duplicate(o->w.old, true);

	write_drop_finalizer(object, name);
	own_write_replace(o, object);
}

static void show(struct own_write *o, uint64_t seq)
{
	struct slice text;
	cJSON *object = NULL;
	struct err err;
	int rc = world_object(o->call.api->world, seq, &text, &err);

	if (rc == 0)
		rc = json_tree_parse(text, &object, &err);
	if (rc) {
		log_warn("%s", err.text);
		return;
	}
	o->w.tape_seq = seq;
	o->w.is_late = true;
	o->w.managed = true;
	free(o->w.part);
	o->w.part = xstrdup(OWN_PART_NONE);
	if (write_store(&o->w, EVENT_ADDED, object))
		log_warn("%s of %s is not shown: %s", o->w.name, o->w.c->resource.resource, o->w.st.message);
	cJSON_Delete(object);
}

void own_write_show(
	struct api *api, uint32_t resource, struct slice namespace, struct slice name, uint64_t seq)
{
	struct own_write o;

	own_write_begin(&o, api, world_collection(api->world, resource), VERB_CREATE, namespace, name);
	if (!o.w.old && seq <= api->world->seq)
		show(&o, seq);
	own_write_end(&o);
}

void own_write_adopt(struct api *api, const struct collection *in, const struct change *c, const char *part)
{
	struct collection *of = world_collection(api->world, in->resource.id);
	struct own_write o;
	struct err err;

	own_write_begin(&o, api, of, VERB_UPDATE, c->namespace, c->name);
	if (own_write_is_allowed(&o) &&
		world_adopt(api->world, of, c->namespace, c->name, slice_of(part), &err))
		log_warn(
			"%s of %s does not lie over the tape: %s", o.w.name, of->resource.resource, err.text);
	own_write_end(&o);
}

bool own_write_is_allowed(const struct own_write *o)
{
	const struct tape_resource *r = &o->w.c->resource;
	const struct slice whole = {NULL, 0};

	return write_rules_find(o->call.api->rules, slice_of(r->apigroup), slice_of(r->resource), whole,
		       o->w.verb, r->id < o->call.api->world->recorded_count) == WRITE_OVERLAY;
}
