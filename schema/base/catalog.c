/* catalog.c: see catalog.h. */
#include "schema/base/catalog.h"

#include "schema/base/json_scan.h"

#include <stdlib.h>

/* ---- reading discovery documents ---- */

static void resource_release(struct catalog_resource *r)
{
	free(r->group);
	free(r->version);
	free(r->resource);
	free(r->kind);
	free(r->singular);
	free_texts(r->short_names);
	free_texts(r->categories);
}

void catalog_release(struct catalog *c)
{
	for (size_t i = 0; i < c->count; i++)
		resource_release(&c->items[i]);
	free(c->items);
	*c = (struct catalog){0};
}

static struct slice unquote(struct slice value)
{
	if (value.len < 2 || value.ptr[0] != '"')
		return (struct slice){0};
	return (struct slice){value.ptr + 1, value.len - 2};
}

/* The text of the string at `path`, empty when it is no string. Names in discovery need no unescaping. */
static struct slice string_at(struct slice json, const char *path)
{
	struct slice value;

	return json_get(json, path, &value, NULL) > 0 ? unquote(value) : (struct slice){0};
}

static bool true_at(struct slice json, const char *path)
{
	struct slice value;

	return json_get(json, path, &value, NULL) > 0 && slice_is(value, "true");
}

/* Calls `each` for the items of the array at `path`; an absent array has none. */
static int each_item(struct slice json, const char *path, int (*each)(void *context, struct slice item),
	void *context, struct err *err)
{
	struct slice array, key, item;
	struct json_iter it;
	int rc = json_get(json, path, &array, err);

	if (rc <= 0 || slice_is(array, "null"))
		return rc < 0 ? rc : 0;
	rc = json_iter_begin(array, &it, err);
	while (rc == 0 && (rc = json_iter_next(&it, &key, &item, err)) > 0)
		rc = each(context, item);
	return rc;
}

struct strings {
	char **items;
	size_t count;
};

static int add_string(void *context, struct slice item)
{
	struct strings *s = context;

	s->items = xrealloc(s->items, (s->count + 2) * sizeof(*s->items));
	s->items[s->count++] = slice_dup(unquote(item));
	s->items[s->count] = NULL;
	return 0;
}

static char **strings_at(struct slice json, const char *path)
{
	struct strings s = {0};

	/* A broken array leaves what came before it. */
	(void)!each_item(json, path, add_string, &s, NULL);
	return s.items;
}

static bool is_watchable(struct slice json)
{
	char **verbs = strings_at(json, "$.verbs");
	unsigned found = 0;

	for (char **v = verbs; v && *v; v++)
		found |= (strcmp(*v, "list") == 0) | (strcmp(*v, "watch") == 0) << 1;
	free_texts(verbs);
	return found == 3;
}

void catalog_add(struct catalog *c, const struct catalog_resource *r)
{
	c->items = xgrow(c->items, c->count, sizeof(*c->items));
	c->items[c->count++] = *r;
}

struct place {
	struct catalog *catalog;
	struct slice group, version;
	struct err *err;
};

static int add_aggregated_resource(void *context, struct slice json)
{
	const struct place *at = context;
	struct slice kind = string_at(json, "$.responseKind.kind");

	if (!kind.len)
		return 0;
	catalog_add(at->catalog, &(struct catalog_resource){
					 .group = slice_dup(at->group),
					 .version = slice_dup(at->version),
					 .resource = slice_dup(string_at(json, "$.resource")),
					 .kind = slice_dup(kind),
					 .singular = slice_dup(string_at(json, "$.singularResource")),
					 .short_names = strings_at(json, "$.shortNames"),
					 .categories = strings_at(json, "$.categories"),
					 .namespaced = slice_is(string_at(json, "$.scope"), "Namespaced"),
					 .watchable = is_watchable(json),
				 });
	return 0;
}

static int add_aggregated_version(void *context, struct slice json)
{
	struct place *at = context;

	at->version = string_at(json, "$.version");
	return each_item(json, "$.resources", add_aggregated_resource, at, at->err);
}

static int add_aggregated_group(void *context, struct slice json)
{
	struct place *at = context;

	at->group = string_at(json, "$.metadata.name");
	return each_item(json, "$.versions", add_aggregated_version, at, at->err);
}

int catalog_add_aggregated(struct catalog *c, struct slice json, struct err *err)
{
	struct place at = {.catalog = c, .err = err};

	if (!slice_is(string_at(json, "$.kind"), "APIGroupDiscoveryList"))
		return err_set(err, ERR_PROTOCOL, "aggregated discovery is no APIGroupDiscoveryList");
	return each_item(json, "$.items", add_aggregated_group, &at, err);
}

static int add_classic_resource(void *context, struct slice json)
{
	const struct place *at = context;
	struct slice name = string_at(json, "$.name"), kind = string_at(json, "$.kind");

	if (!name.len || !kind.len || memchr(name.ptr, '/', name.len))
		return 0;
	catalog_add(at->catalog, &(struct catalog_resource){
					 .group = slice_dup(at->group),
					 .version = slice_dup(at->version),
					 .resource = slice_dup(name),
					 .kind = slice_dup(kind),
					 .singular = slice_dup(string_at(json, "$.singularName")),
					 .short_names = strings_at(json, "$.shortNames"),
					 .categories = strings_at(json, "$.categories"),
					 .namespaced = true_at(json, "$.namespaced"),
					 .watchable = is_watchable(json),
				 });
	return 0;
}

int catalog_add_classic(struct catalog *c, struct slice json, struct err *err)
{
	struct place at = {.catalog = c, .err = err};
	struct slice gv = string_at(json, "$.groupVersion");
	const char *slash = gv.len ? memchr(gv.ptr, '/', gv.len) : NULL;

	if (!slice_is(string_at(json, "$.kind"), "APIResourceList") || !gv.len)
		return err_set(err, ERR_PROTOCOL, "discovery document is no APIResourceList");
	at.version = gv;
	if (slash) {
		at.group = (struct slice){gv.ptr, (size_t)(slash - gv.ptr)};
		at.version = (struct slice){slash + 1, gv.len - at.group.len - 1};
	}
	return each_item(json, "$.resources", add_classic_resource, &at, err);
}

struct version_walk {
	int (*each)(void *context, struct slice group_version);
	void *context;
	struct slice preferred;
	struct err *err;
};

static int walk_version(void *context, struct slice json)
{
	struct version_walk *walk = context;
	struct slice gv = string_at(json, "$.groupVersion");

	return !gv.len || slice_equal(gv, walk->preferred) ? 0 : walk->each(walk->context, gv);
}

static int walk_group(void *context, struct slice json)
{
	struct version_walk *walk = context;
	int rc = 0;

	walk->preferred = string_at(json, "$.preferredVersion.groupVersion");
	if (walk->preferred.len)
		rc = walk->each(walk->context, walk->preferred);
	return rc ? rc : each_item(json, "$.versions", walk_version, walk, walk->err);
}

int catalog_group_versions(struct slice json, int (*each)(void *context, struct slice group_version),
	void *context, struct err *err)
{
	struct version_walk walk = {.each = each, .context = context, .err = err};

	if (!slice_is(string_at(json, "$.kind"), "APIGroupList"))
		return err_set(err, ERR_PROTOCOL, "document at '/apis' is no APIGroupList");
	return each_item(json, "$.groups", walk_group, &walk, err);
}
