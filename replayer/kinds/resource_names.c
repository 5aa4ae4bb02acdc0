/* resource_names.c: see resource_names.h. */
#include "replayer/kinds/resource_names.h"

#include "replayer/kinds/builtin.h"
#include "replayer/kinds/write_table.h"
#include "schema/base/limits.h"
#include "schema/base/text_map.h"

#include <ctype.h>
#include <stdlib.h>

/* ---- discovery ---- */

static bool read_document(struct tape *t, const char *path, const char *variant, struct buf *body)
{
	struct tape_document document;

	buf_clear(body);
	return tape_document(t, path, variant, 0, &document, body, NULL) == 0;
}

static bool add_aggregated(struct tape *t, const char *path, struct catalog *to)
{
	struct buf body;
	bool added;

	buf_init(&body, LIMIT_DOCUMENT_BYTES);
	added = read_document(t, path, "aggregated", &body) &&
		catalog_add_aggregated(to, buf_slice(&body), NULL) == 0;
	buf_release(&body);
	return added;
}

struct classic {
	struct tape *tape;
	struct catalog *to;
	struct buf body;
};

static void add_classic(struct classic *c, const char *path)
{
	if (read_document(c->tape, path, "", &c->body))
		(void)!catalog_add_classic(c->to, buf_slice(&c->body), NULL);
}

static int add_version(void *context, struct slice group_version)
{
	char *path = xasprintf("/apis/%.*s", (int)group_version.len, group_version.ptr);

	add_classic(context, path);
	free(path);
	return 0;
}

/* Servers before Kubernetes 1.27 have a document for each version of each group. */
static void add_groups(struct tape *t, struct catalog *to)
{
	struct classic c = {.tape = t, .to = to};
	struct buf list;

	buf_init(&c.body, LIMIT_DOCUMENT_BYTES);
	buf_init(&list, LIMIT_DOCUMENT_BYTES);
	add_classic(&c, "/api/v1");
	if (read_document(t, "/apis", "", &list))
		(void)!catalog_group_versions(buf_slice(&list), add_version, &c, NULL);
	buf_release(&list);
	buf_release(&c.body);
}

/* ---- what is there without discovery ---- */

static char *lower(const char *text)
{
	char *copy = xstrdup(text);

	for (char *c = copy; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return copy;
}

/* Terminated by NULL, or NULL. */
static char **well_known_names(const char *group, const char *resource)
{
	const char *all = builtin_short_names(slice_of(group), slice_of(resource));
	char **names = NULL;
	size_t count = 0;

	while (*all) {
		size_t len = strcspn(all, ",");

		names = xrealloc(names, (count + 2) * sizeof(*names));
		names[count++] = slice_dup((struct slice){all, len});
		names[count] = NULL;
		all += len + (all[len] == ',');
	}
	return names;
}

/* A catalog that knows what it has: a tape may have any number of resources. */
struct known {
	struct catalog *catalog;
	struct text_map names;
	char **keys;
	size_t count;
};

/* False if it is there. */
static bool resource_names_note(struct known *k, const char *group, const char *version, const char *resource)
{
	char *key = xasprintf("%s\n%s\n%s", group, version, resource);

	if (text_map_get(&k->names, key)) {
		free(key);
		return false;
	}
	k->keys = xgrow(k->keys, k->count, sizeof(*k->keys));
	k->keys[k->count++] = key;
	text_map_put(&k->names, key, key);
	return true;
}

static void release_known(struct known *k)
{
	text_map_release(&k->names);
	for (size_t i = 0; i < k->count; i++)
		free(k->keys[i]);
	free(k->keys);
}

static void add_unless_known(struct known *to, const char *group, const char *version, const char *resource,
	const char *kind, bool namespaced)
{
	if (!resource_names_note(to, group, version, resource))
		return;
	catalog_add(to->catalog, &(struct catalog_resource){.group = xstrdup(group),
					 .version = xstrdup(version),
					 .resource = xstrdup(resource),
					 .kind = xstrdup(kind),
					 .singular = lower(kind),
					 .short_names = well_known_names(group, resource),
					 .namespaced = namespaced,
					 .watchable = true});
}

static void add_recorded(struct tape *t, struct known *to)
{
	const struct tape_resource *r;

	for (size_t i = 0; t && (r = tape_resource_at(t, i)); i++)
		add_unless_known(to, r->apigroup, r->version, r->resource, r->kind, r->namespaced);
}

static void add_builtin(struct known *to)
{
	for (unsigned i = 0; i < write_resource_count; i++) {
		const struct write_resource *r = &write_resources[i];

		add_unless_known(to, r->group, r->version, r->resource, r->kind, r->namespaced);
	}
}

void resource_names_of(struct tape *t, struct catalog *ret)
{
	struct known known = {.catalog = ret};

	*ret = (struct catalog){0};
	if (t) {
		bool core = add_aggregated(t, "/api", ret), rest = add_aggregated(t, "/apis", ret);

		if (!core || !rest)
			add_groups(t, ret);
	}
	for (size_t i = 0; i < ret->count; i++)
		(void)resource_names_note(
			&known, ret->items[i].group, ret->items[i].version, ret->items[i].resource);
	add_recorded(t, &known);
	add_builtin(&known);
	release_known(&known);
}

void resource_names_offer(const struct catalog *c, struct similar *s)
{
	for (size_t i = 0; i < c->count; i++) {
		similar_offer(s, c->items[i].resource, &c->items[i]);
		similar_offer(s, c->items[i].singular, &c->items[i]);
	}
}

char *resource_names_meant(const struct catalog *c, const char *name)
{
	struct similar similar = similar_to((struct slice){name, strcspn(name, ".")});
	const struct catalog_resource *meant;

	resource_names_offer(c, &similar);
	meant = similar.choice;
	return meant ? xasprintf("%s%s%s", meant->resource, *meant->group ? "." : "", meant->group) : NULL;
}
