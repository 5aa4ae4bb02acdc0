/* derived_discovery.c: see derived_discovery.h. */
#include "replayer/serve/derived_discovery.h"

#include "replayer/kinds/builtin.h"
#include "schema/base/count_of.h"
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

/* ---- what there is ---- */

/* Texts are borrowed. */
struct known {
	const char *group, *version, *resource, *kind;
	bool namespaced;
	const char *parts; /* subresources that are documents, separated by commas */
};

struct all_known {
	struct known *items;
	size_t count;
};

static bool has(const struct all_known *all, const char *group, const char *version, const char *resource)
{
	for (size_t i = 0; i < all->count; i++) {
		const struct known *k = &all->items[i];

		if (strcmp(k->resource, resource) == 0 && strcmp(k->group, group) == 0 &&
			strcmp(k->version, version) == 0)
			return true;
	}
	return false;
}

/* Not those that can only be created (reviews, bindings), and no versions that a server does not serve by itself. */
static bool is_everywhere(const struct write_resource *k)
{
	return !strstr(k->version, "alpha") && !strstr(k->version, "beta") && !strstr(k->group, "internal") &&
	       strcmp(k->group, "authentication.k8s.io") != 0 &&
	       strcmp(k->group, "authorization.k8s.io") != 0 && strcmp(k->resource, "bindings") != 0 &&
	       strcmp(k->resource, "componentstatuses") != 0;
}

/* The newest version of a group comes first: clients prefer it. */
static void add_builtins(struct all_known *all, bool of_v1)
{
	for (unsigned i = 0; i < write_resource_count; i++) {
		const struct write_resource *k = &write_resources[i];

		if (!is_everywhere(k) || (strcmp(k->version, "v1") == 0) != of_v1 ||
			has(all, k->group, k->version, k->resource))
			continue;
		all->items[all->count++] = (struct known){
			k->group, k->version, k->resource, k->kind, k->namespaced, k->subresources};
	}
}

/* What is on the tape, and then what every Kubernetes has. The caller frees the items. */
static struct all_known all_known(const struct derived_from *from)
{
	const struct world *w = from->world;
	struct all_known all = {.items = xcalloc(w->count + write_resource_count, sizeof(*all.items))};

	for (size_t i = 0; i < w->count; i++) {
		const struct collection *c = &w->collections[i];
		const struct tape_resource *r = &c->resource;
		const struct write_resource *builtin;

		if (!r->resource || !c->served)
			continue;
		builtin =
			builtin_resource(slice_of(r->apigroup), slice_of(r->version), slice_of(r->resource));
		all.items[all.count++] = (struct known){r->apigroup, r->version, r->resource, r->kind,
			r->namespaced, builtin ? builtin->subresources : ""};
	}
	if (from->with_builtins) {
		add_builtins(&all, false);
		add_builtins(&all, true);
	}
	return all;
}

static bool is_in(const struct known *k, const char *group, const char *version)
{
	return strcmp(k->group, group) == 0 && (!version || strcmp(k->version, version) == 0);
}

/* True when no earlier resource is of the same group (and version). */
static bool is_first(const struct all_known *all, size_t i, bool with_version)
{
	const struct known *k = &all->items[i];

	for (size_t n = 0; n < i; n++) {
		if (is_in(&all->items[n], k->group, with_version ? k->version : NULL))
			return false;
	}
	return true;
}

/* ---- one resource ---- */

static void put_singular(struct writer *w, const char *key, const char *kind)
{
	char *name = xstrdup(kind);

	for (char *c = name; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	put_string(w, key, name);
	free(name);
}

static void put_other_names(struct writer *w, const struct known *r)
{
	const char *names = builtin_short_names(slice_of(r->group), slice_of(r->resource));

	if (builtin_is_in_all(slice_of(r->group), slice_of(r->resource)))
		derived_discovery_put(w, ",\"categories\":[\"all\"]");
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

#define PART_VERBS ",\"verbs\":[\"get\",\"patch\",\"update\"]"

static const char *const parts[] = {"status", "scale"};

static bool has_part(const struct known *k, const char *part)
{
	size_t len = strlen(part);

	for (const char *at = k->parts; (at = strstr(at, part)); at += len) {
		if ((at == k->parts || at[-1] == ',') && (at[len] == ',' || !at[len]))
			return true;
	}
	return false;
}

/* ---- aggregated ---- */

static void put_response_kind(struct writer *w, const struct known *k, bool is_scale)
{
	put_string(w, ",\"responseKind\":{\"group\":", is_scale ? "autoscaling" : k->group);
	put_string(w, ",\"version\":", is_scale ? "v1" : k->version);
	put_string(w, ",\"kind\":", is_scale ? "Scale" : k->kind);
	derived_discovery_put(w, "}");
}

static void put_aggregated_parts(struct writer *w, const struct known *k)
{
	const char *begin = ",\"subresources\":[{\"subresource\":", *end = "";

	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		if (!has_part(k, parts[i]))
			continue;
		put_string(w, begin, parts[i]);
		put_response_kind(w, k, strcmp(parts[i], "scale") == 0);
		derived_discovery_put(w, PART_VERBS "}");
		begin = ",{\"subresource\":";
		end = "]";
	}
	derived_discovery_put(w, end);
}

static void put_aggregated_resource(struct writer *w, const struct known *k)
{
	put_string(w, "{\"resource\":", k->resource);
	put_response_kind(w, k, false);
	derived_discovery_put(w, k->namespaced ? ",\"scope\":\"Namespaced\"" : ",\"scope\":\"Cluster\"");
	put_singular(w, ",\"singularResource\":", k->kind);
	derived_discovery_put(w, VERBS);
	put_other_names(w, k);
	put_aggregated_parts(w, k);
	derived_discovery_put(w, "}");
}

static void put_aggregated_version(
	struct writer *w, const struct all_known *all, const char *group, const char *version)
{
	const char *comma = "";

	put_string(w, "{\"version\":", version);
	derived_discovery_put(w, ",\"resources\":[");
	for (size_t i = 0; i < all->count; i++) {
		if (!is_in(&all->items[i], group, version))
			continue;
		derived_discovery_put(w, comma);
		put_aggregated_resource(w, &all->items[i]);
		comma = ",";
	}
	derived_discovery_put(w, "],\"freshness\":\"Current\"}");
}

static void put_aggregated_group(struct writer *w, const struct all_known *all, const char *group)
{
	const char *comma = "";

	derived_discovery_put(w, "{\"metadata\":{");
	if (*group)
		put_string(w, "\"name\":", group);
	derived_discovery_put(w, "},\"versions\":[");
	for (size_t i = 0; i < all->count; i++) {
		if (!is_first(all, i, true) || !is_in(&all->items[i], group, NULL))
			continue;
		derived_discovery_put(w, comma);
		put_aggregated_version(w, all, group, all->items[i].version);
		comma = ",";
	}
	derived_discovery_put(w, "]}");
}

int derive_aggregated(const struct derived_from *from, bool core, struct buf *to, struct err *err)
{
	struct all_known all = all_known(from);
	struct writer w = {to, err, 0};
	const char *comma = "";

	derived_discovery_put(&w,
		"{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\",\"metadata\":{},\"items\":[");
	for (size_t i = 0; i < all.count; i++) {
		if (!is_first(&all, i, false) || !*all.items[i].group != core)
			continue;
		derived_discovery_put(&w, comma);
		put_aggregated_group(&w, &all, all.items[i].group);
		comma = ",";
	}
	derived_discovery_put(&w, "]}");
	free(all.items);
	return w.rc;
}

/* ---- classic ---- */

int derive_core_versions(const struct derived_from *from, struct buf *to, struct err *err)
{
	struct all_known all = all_known(from);
	struct writer w = {to, err, 0};
	const char *comma = "";

	derived_discovery_put(&w, "{\"kind\":\"APIVersions\",\"versions\":[");
	for (size_t i = 0; i < all.count; i++) {
		if (!is_first(&all, i, true) || *all.items[i].group)
			continue;
		put_string(&w, comma, all.items[i].version);
		comma = ",";
	}
	derived_discovery_put(&w, "],\"serverAddressByClientCIDRs\":[]}");
	free(all.items);
	return w.rc;
}

static void put_group_version(struct writer *w, const struct known *k)
{
	char *both = xasprintf("%s%s%s", k->group, *k->group ? "/" : "", k->version);

	put_string(w, "{\"groupVersion\":", both);
	put_string(w, ",\"version\":", k->version);
	derived_discovery_put(w, "}");
	free(both);
}

static void put_group(struct writer *w, const struct all_known *all, const struct known *first)
{
	const char *comma = "";

	put_string(w, "\"name\":", first->group);
	derived_discovery_put(w, ",\"versions\":[");
	for (size_t i = 0; i < all->count; i++) {
		if (!is_first(all, i, true) || !is_in(&all->items[i], first->group, NULL))
			continue;
		derived_discovery_put(w, comma);
		put_group_version(w, &all->items[i]);
		comma = ",";
	}
	derived_discovery_put(w, "],\"preferredVersion\":");
	put_group_version(w, first);
	derived_discovery_put(w, "}");
}

int derive_group_list(const struct derived_from *from, struct buf *to, struct err *err)
{
	struct all_known all = all_known(from);
	struct writer w = {to, err, 0};
	const char *comma = "";

	derived_discovery_put(&w, "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[");
	for (size_t i = 0; i < all.count; i++) {
		if (!is_first(&all, i, false) || !*all.items[i].group)
			continue;
		derived_discovery_put(&w, comma);
		derived_discovery_put(&w, "{");
		put_group(&w, &all, &all.items[i]);
		comma = ",";
	}
	derived_discovery_put(&w, "]}");
	free(all.items);
	return w.rc;
}

static int put_one_group(const struct all_known *all, struct slice group, struct buf *to, struct err *err)
{
	struct writer w = {to, err, 0};

	for (size_t i = 0; i < all->count; i++) {
		if (!slice_is(group, all->items[i].group))
			continue;
		derived_discovery_put(&w, "{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",");
		put_group(&w, all, &all->items[i]);
		return w.rc;
	}
	return err_set(err, ERR_NOT_FOUND, "no group '%.*s'", (int)group.len, group.ptr);
}

int derive_group(const struct derived_from *from, struct slice group, struct buf *to, struct err *err)
{
	struct all_known all = all_known(from);
	int rc = put_one_group(&all, group, to, err);

	free(all.items);
	return rc;
}

static void put_part(struct writer *w, const struct known *k, const char *part)
{
	char *name = xasprintf("%s/%s", k->resource, part);
	bool is_scale = strcmp(part, "scale") == 0;

	put_string(w, ",{\"name\":", name);
	derived_discovery_put(w, ",\"singularName\":\"\"");
	derived_discovery_put(w, k->namespaced ? ",\"namespaced\":true" : ",\"namespaced\":false");
	if (is_scale)
		derived_discovery_put(w, ",\"group\":\"autoscaling\",\"version\":\"v1\"");
	put_string(w, ",\"kind\":", is_scale ? "Scale" : k->kind);
	derived_discovery_put(w, PART_VERBS "}");
	free(name);
}

static void put_resource(struct writer *w, const struct known *k)
{
	put_string(w, "{\"name\":", k->resource);
	put_singular(w, ",\"singularName\":", k->kind);
	derived_discovery_put(w, k->namespaced ? ",\"namespaced\":true" : ",\"namespaced\":false");
	put_string(w, ",\"kind\":", k->kind);
	derived_discovery_put(w, VERBS);
	put_other_names(w, k);
	derived_discovery_put(w, "}");
	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		if (has_part(k, parts[i]))
			put_part(w, k, parts[i]);
	}
}

static int put_resources(const struct all_known *all, struct slice group, struct slice version,
	struct buf *to, struct err *err)
{
	struct writer w = {to, err, 0};
	bool any = false;

	for (size_t i = 0; i < all->count && w.rc == 0; i++) {
		const struct known *k = &all->items[i];

		if (!slice_is(group, k->group) || !slice_is(version, k->version))
			continue;
		if (!any)
			w.rc = buf_printf(to, err,
				"{\"kind\":\"APIResourceList\",%s\"groupVersion\":\"%s%s%s\",\"resources\":[",
				group.len ? "\"apiVersion\":\"v1\"," : "", k->group, group.len ? "/" : "",
				k->version);
		else
			derived_discovery_put(&w, ",");
		put_resource(&w, k);
		any = true;
	}
	if (!any)
		return err_set(err, ERR_NOT_FOUND, "no version '%.*s' of group '%.*s'", (int)version.len,
			version.ptr, (int)group.len, group.ptr);
	derived_discovery_put(&w, "]}");
	return w.rc;
}

int derive_resources(const struct derived_from *from, struct slice group, struct slice version,
	struct buf *to, struct err *err)
{
	struct all_known all = all_known(from);
	int rc = put_resources(&all, group, version, to, err);

	free(all.items);
	return rc;
}
