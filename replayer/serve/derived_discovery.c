/* derived_discovery.c: see derived_discovery.h. */
#include "replayer/serve/derived_discovery.h"

#include "replayer/kinds/builtin.h"
#include "schema/base/json_scan.h"

#include <ctype.h>
#include <stdlib.h>

/* A document being written; after the first failure nothing more is written. */
struct writer {
	struct buf *to;
	struct err *err;
	int rc;
};

static void derived_discovery_put(struct writer *w, const char *text)
{
	if (w->rc == 0)
		w->rc = buf_append(w->to, text, strlen(text), w->err);
}

/* The key's text is written as it is: `,"name":` or `{"name":`. */
static void put_string(struct writer *w, const char *key, const char *value)
{
	derived_discovery_put(w, key);
	if (w->rc == 0)
		w->rc = json_escape(slice_of(value), w->to, w->err);
}

static const struct tape_resource *resource_at(const struct world *w, size_t i)
{
	const struct collection *c = &w->collections[i];

	return c->resource.resource && c->served ? &c->resource : NULL;
}

static bool is_in(const struct tape_resource *r, const char *group, const char *version)
{
	return r && strcmp(r->apigroup, group) == 0 && (!version || strcmp(r->version, version) == 0);
}

/* True when no earlier resource is of the same group (and version). */
static bool is_first(const struct world *w, size_t i, bool with_version)
{
	const struct tape_resource *r = resource_at(w, i);

	for (size_t k = 0; r && k < i; k++) {
		if (is_in(resource_at(w, k), r->apigroup, with_version ? r->version : NULL))
			return false;
	}
	return r != NULL;
}

static void put_singular(struct writer *w, const char *key, const char *kind)
{
	char *name = xstrdup(kind);

	for (char *c = name; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	put_string(w, key, name);
	free(name);
}

static void put_short_names(struct writer *w, const struct tape_resource *r)
{
	const char *names = builtin_short_names(slice_of(r->apigroup), slice_of(r->resource));

	if (!*names)
		return;
	derived_discovery_put(w, ",\"shortNames\":[\"");
	for (const char *c = names; *c; c++)
		derived_discovery_put(w, *c == ',' ? "\",\"" : (char[2]){*c, 0});
	derived_discovery_put(w, "\"]");
}

/* Writes belong to them, whatever --write does with each: clients (kopf) leave alone what takes no patch. */
#define VERBS                                                                                                \
	",\"verbs\":[\"create\",\"delete\",\"deletecollection\",\"get\",\"list\",\"patch\",\"update\",\"watch\"]"

/* ---- aggregated ---- */

static void put_aggregated_resource(struct writer *w, const struct tape_resource *r)
{
	put_string(w, "{\"resource\":", r->resource);
	put_string(w, ",\"responseKind\":{\"group\":", r->apigroup);
	put_string(w, ",\"version\":", r->version);
	put_string(w, ",\"kind\":", r->kind);
	derived_discovery_put(w, r->namespaced ? "},\"scope\":\"Namespaced\"" : "},\"scope\":\"Cluster\"");
	put_singular(w, ",\"singularResource\":", r->kind);
	derived_discovery_put(w, VERBS);
	put_short_names(w, r);
	derived_discovery_put(w, "}");
}

static void put_aggregated_version(
	struct writer *w, const struct world *world, const char *group, const char *version)
{
	const char *comma = "";

	put_string(w, "{\"version\":", version);
	derived_discovery_put(w, ",\"resources\":[");
	for (size_t i = 0; i < world->count; i++) {
		if (!is_in(resource_at(world, i), group, version))
			continue;
		derived_discovery_put(w, comma);
		put_aggregated_resource(w, resource_at(world, i));
		comma = ",";
	}
	derived_discovery_put(w, "],\"freshness\":\"Current\"}");
}

static void put_aggregated_group(struct writer *w, const struct world *world, const char *group)
{
	const char *comma = "";

	derived_discovery_put(w, "{\"metadata\":{");
	if (*group)
		put_string(w, "\"name\":", group);
	derived_discovery_put(w, "},\"versions\":[");
	for (size_t i = 0; i < world->count; i++) {
		if (!is_first(world, i, true) || !is_in(resource_at(world, i), group, NULL))
			continue;
		derived_discovery_put(w, comma);
		put_aggregated_version(w, world, group, resource_at(world, i)->version);
		comma = ",";
	}
	derived_discovery_put(w, "]}");
}

int derive_aggregated(const struct world *world, bool core, struct buf *to, struct err *err)
{
	struct writer w = {to, err, 0};
	const char *comma = "";

	derived_discovery_put(&w,
		"{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\",\"metadata\":{},\"items\":[");
	for (size_t i = 0; i < world->count; i++) {
		const struct tape_resource *r = resource_at(world, i);

		if (!is_first(world, i, false) || !*r->apigroup != core)
			continue;
		derived_discovery_put(&w, comma);
		put_aggregated_group(&w, world, r->apigroup);
		comma = ",";
	}
	derived_discovery_put(&w, "]}");
	return w.rc;
}

/* ---- classic ---- */

int derive_core_versions(const struct world *world, struct buf *to, struct err *err)
{
	struct writer w = {to, err, 0};
	const char *comma = "";

	derived_discovery_put(&w, "{\"kind\":\"APIVersions\",\"versions\":[");
	for (size_t i = 0; i < world->count; i++) {
		if (!is_first(world, i, true) || *resource_at(world, i)->apigroup)
			continue;
		put_string(&w, comma, resource_at(world, i)->version);
		comma = ",";
	}
	derived_discovery_put(&w, "],\"serverAddressByClientCIDRs\":[]}");
	return w.rc;
}

static void put_group_version(struct writer *w, const struct tape_resource *r)
{
	char *both = xasprintf("%s%s%s", r->apigroup, *r->apigroup ? "/" : "", r->version);

	put_string(w, "{\"groupVersion\":", both);
	put_string(w, ",\"version\":", r->version);
	derived_discovery_put(w, "}");
	free(both);
}

static void put_group(struct writer *w, const struct world *world, const struct tape_resource *first)
{
	const char *comma = "";

	put_string(w, "\"name\":", first->apigroup);
	derived_discovery_put(w, ",\"versions\":[");
	for (size_t i = 0; i < world->count; i++) {
		if (!is_first(world, i, true) || !is_in(resource_at(world, i), first->apigroup, NULL))
			continue;
		derived_discovery_put(w, comma);
		put_group_version(w, resource_at(world, i));
		comma = ",";
	}
	derived_discovery_put(w, "],\"preferredVersion\":");
	put_group_version(w, first);
	derived_discovery_put(w, "}");
}

int derive_group_list(const struct world *world, struct buf *to, struct err *err)
{
	struct writer w = {to, err, 0};
	const char *comma = "";

	derived_discovery_put(&w, "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[");
	for (size_t i = 0; i < world->count; i++) {
		if (!is_first(world, i, false) || !*resource_at(world, i)->apigroup)
			continue;
		derived_discovery_put(&w, comma);
		derived_discovery_put(&w, "{");
		put_group(&w, world, resource_at(world, i));
		comma = ",";
	}
	derived_discovery_put(&w, "]}");
	return w.rc;
}

int derive_group(const struct world *world, struct slice group, struct buf *to, struct err *err)
{
	struct writer w = {to, err, 0};

	for (size_t i = 0; i < world->count; i++) {
		const struct tape_resource *r = resource_at(world, i);

		if (!r || !slice_is(group, r->apigroup))
			continue;
		derived_discovery_put(&w, "{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",");
		put_group(&w, world, r);
		return w.rc;
	}
	return err_set(err, ERR_NOT_FOUND, "no group '%.*s'", (int)group.len, group.ptr);
}

static void put_resource(struct writer *w, const struct tape_resource *r)
{
	put_string(w, "{\"name\":", r->resource);
	put_singular(w, ",\"singularName\":", r->kind);
	derived_discovery_put(w, r->namespaced ? ",\"namespaced\":true" : ",\"namespaced\":false");
	put_string(w, ",\"kind\":", r->kind);
	derived_discovery_put(w, VERBS);
	put_short_names(w, r);
	derived_discovery_put(w, "}");
}

int derive_resources(
	const struct world *world, struct slice group, struct slice version, struct buf *to, struct err *err)
{
	struct writer w = {to, err, 0};
	bool any = false;

	for (size_t i = 0; i < world->count && w.rc == 0; i++) {
		const struct tape_resource *r = resource_at(world, i);

		if (!r || !slice_is(group, r->apigroup) || !slice_is(version, r->version))
			continue;
		if (!any)
			w.rc = buf_printf(to, err,
				"{\"kind\":\"APIResourceList\",%s\"groupVersion\":\"%s%s%s\",\"resources\":[",
				group.len ? "\"apiVersion\":\"v1\"," : "", r->apigroup, group.len ? "/" : "",
				r->version);
		else
			derived_discovery_put(&w, ",");
		put_resource(&w, r);
		any = true;
	}
	if (!any)
		return err_set(err, ERR_NOT_FOUND, "no version '%.*s' of group '%.*s'", (int)version.len,
			version.ptr, (int)group.len, group.ptr);
	derived_discovery_put(&w, "]}");
	return w.rc;
}
