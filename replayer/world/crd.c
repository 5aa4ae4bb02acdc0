/* crd.c: see crd.h. */
#include "replayer/world/crd.h"

#include "schema/base/json_scan.h"

#include <stdlib.h>

/* Old tapes may have them as v1beta1 alone. */
static struct collection *find_crds(struct world *w)
{
	const struct slice group = slice_of("apiextensions.k8s.io"),
			   resource = slice_of("customresourcedefinitions");
	struct collection *crds = world_find(w, group, slice_of("v1"), resource);

	return crds ? crds : world_find(w, group, slice_of("v1beta1"), resource);
}

uint64_t crd_find_named(struct world *w, struct slice name, struct slice *ret)
{
	struct collection *crds = find_crds(w);
	const struct slice none = {NULL, 0};
	const struct live *crd = crds ? live_set_find(&crds->live, none, name) : NULL;
	const struct overlay_version *absorbed = crds && !crd ? world_remembered(w, crds, none, name) : NULL;
	uint64_t seq = crd ? crd->seq : absorbed && absorbed->type != EVENT_DELETED ? absorbed->seq : 0;

	return !seq || world_object(w, seq, ret, NULL) ? 0 : seq;
}

uint64_t crd_find(struct world *w, const struct collection *c, struct slice *ret)
{
	char *name = xasprintf("%s.%s", c->resource.resource, c->resource.apigroup);
	uint64_t seq = crd_find_named(w, slice_of(name), ret);

	free(name);
	return seq;
}

struct slice crd_version(struct slice crd, const char *version)
{
	struct slice versions, key, entry, name, found = {NULL, 0};
	struct json_iter it;

	if (json_get(crd, "spec.versions", &versions, NULL) <= 0 || json_iter_begin(versions, &it, NULL))
		return found;
	while (json_iter_next(&it, &key, &entry, NULL) > 0) {
		if (json_get(entry, "name", &name, NULL) <= 0 || name.len < 2)
			continue;
		if (slice_is((struct slice){name.ptr + 1, name.len - 2}, version))
			found = entry;
	}
	return found;
}

bool crd_says(struct slice crd, const char *version, const char *what, struct slice *ret)
{
	const char *schema = "schema.";
	bool is_schema = strncmp(what, schema, strlen(schema)) == 0;
	char *of_all;
	bool found;

	if (json_get(crd_version(crd, version), what, ret, NULL) > 0)
		return true;
	of_all = xasprintf(
		"spec.%s%s", is_schema ? "validation." : "", is_schema ? what + strlen(schema) : what);
	found = json_get(crd, of_all, ret, NULL) > 0;
	free(of_all);
	return found;
}

/* ---- those that programs write ---- */

static bool is_true(struct slice json, const char *path)
{
	struct slice value;

	return json_get(json, path, &value, NULL) > 0 && slice_is(value, "true");
}

struct slice crd_stored_version(struct slice crd)
{
	struct slice versions, key, entry;
	struct json_iter it;

	if (json_get(crd, "spec.versions", &versions, NULL) <= 0 || json_iter_begin(versions, &it, NULL))
		return (struct slice){NULL, 0};
	while (json_iter_next(&it, &key, &entry, NULL) > 0) {
		if (is_true(entry, "storage") && is_true(entry, "served"))
			return json_get_text(entry, "name");
	}
	return (struct slice){NULL, 0};
}

/* In any version. */
static bool is_there(const struct world *w, struct slice group, struct slice resource, bool recorded)
{
	for (size_t i = 0; i < (recorded ? w->recorded_count : w->count); i++) {
		const struct tape_resource *r = &w->collections[i].resource;

		if (r->resource && slice_is(resource, r->resource) && slice_is(group, r->apigroup))
			return true;
	}
	return false;
}

static bool is_written(struct world *w, struct slice name)
{
	const struct collection *crds = find_crds(w);
	const struct slice none = {NULL, 0};

	return crds &&
	       (live_set_find(&crds->written, none, name) || live_set_find(&crds->absorbed, none, name));
}

static struct collection *add_defined(struct world *w, struct slice crd)
{
	struct tape_resource r = {.apigroup = slice_dup(json_get_text(crd, "spec.group")),
		.version = slice_dup(crd_stored_version(crd)),
		.resource = slice_dup(json_get_text(crd, "spec.names.plural")),
		.kind = slice_dup(json_get_text(crd, "spec.names.kind")),
		.namespaced = slice_is(json_get_text(crd, "spec.scope"), "Namespaced")};
	struct collection *c = world_add(w, &r);

	if (c)
		c->defined = true;
	free(r.apigroup);
	free(r.version);
	free(r.resource);
	free(r.kind);
	return c;
}

struct collection *crd_define(
	struct world *w, struct slice group, struct slice version, struct slice resource)
{
	char *name = xasprintf("%.*s.%.*s", (int)resource.len, resource.ptr, (int)group.len, group.ptr);
	struct collection *c = NULL;
	struct slice crd;

	if (is_written(w, slice_of(name)) && crd_find_named(w, slice_of(name), &crd) &&
		slice_equal(crd_stored_version(crd), version) && !is_there(w, group, resource, false))
		c = add_defined(w, crd);
	free(name);
	return c;
}

void crd_refresh(struct world *w, struct collection *c)
{
	char *name;
	struct slice crd;
	bool is_gone;

	if (!c->custom)
		return;
	name = xasprintf("%s.%s", c->resource.resource, c->resource.apigroup);
	is_gone = (c->defined || is_written(w, slice_of(name))) && !crd_find_named(w, slice_of(name), &crd);
	free(name);
	if (is_gone == c->undefined)
		return;
	c->undefined = is_gone;
	c->served = !is_gone;
}

static void tell_defining(struct world *w, const struct live_set *names,
	void (*each)(void *context, struct slice crd), void *context)
{
	struct slice crd;

	for (size_t i = 0; i < names->count; i++) {
		if (crd_find_named(w, live_name(names->items[i]), &crd) && crd_stored_version(crd).len &&
			!is_there(w, json_get_text(crd, "spec.group"),
				json_get_text(crd, "spec.names.plural"), true))
			each(context, crd);
	}
}

void crd_each_defining(struct world *w, void (*each)(void *context, struct slice crd), void *context)
{
	const struct collection *crds = find_crds(w);

	if (!crds)
		return;
	tell_defining(w, &crds->written, each, context);
	tell_defining(w, &crds->absorbed, each, context);
}
