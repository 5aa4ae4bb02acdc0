/* kind_names.c: see kind_names.h. */
#include "tools/import/kind_names.h"

#include "replayer/kinds/write_table.h"
#include "schema/base/json_scan.h"

#include <stdlib.h>
#include <string.h>

/* Takes key and plural over. The first of a name stays. */
static void put(struct kind_names *n, char *key, char *plural, bool namespaced)
{
	if (text_map_get(&n->by_key, key)) {
		free(key);
		free(plural);
		return;
	}
	n->items = xgrow(n->items, n->count, sizeof(*n->items));
	n->items[n->count] = (struct kind_name){key, plural, namespaced};
	text_map_put(&n->by_key, key, text_map_position(n->count++));
}

static char *key_of(const char *group, const char *version, const char *kind)
{
	return xasprintf("%s%s%s %s", group, *group ? "/" : "", version, kind);
}

void kind_names_add_catalog(struct kind_names *n, const struct catalog *c)
{
	for (size_t i = 0; i < c->count; i++) {
		const struct catalog_resource *r = &c->items[i];

		if (!strchr(r->resource, '/'))
			put(n, key_of(r->group, r->version, r->kind), xstrdup(r->resource), r->namespaced);
	}
}

void kind_names_add_builtin(struct kind_names *n)
{
	for (unsigned i = 0; i < write_resource_count; i++) {
		const struct write_resource *r = &write_resources[i];

		put(n, key_of(r->group, r->version, r->kind), xstrdup(r->resource), r->namespaced);
	}
}

void kind_names_add_definition(struct kind_names *n, struct slice crd)
{
	struct slice group = json_get_text(crd, "spec.group"), kind = json_get_text(crd, "spec.names.kind"),
		     plural = json_get_text(crd, "spec.names.plural");

	if (plural.len)
		put(n, xasprintf("%.*s %.*s", (int)group.len, group.ptr, (int)kind.len, kind.ptr),
			slice_dup(plural), slice_is(json_get_text(crd, "spec.scope"), "Namespaced"));
}

static const struct kind_name *find(const struct kind_names *n, struct slice first, struct slice kind)
{
	char *key = xasprintf("%.*s %.*s", (int)first.len, first.ptr, (int)kind.len, kind.ptr);
	size_t at = text_map_position_of(text_map_get(&n->by_key, key));

	free(key);
	return at < n->count ? &n->items[at] : NULL;
}

const struct kind_name *kind_names_find(
	const struct kind_names *n, struct slice api_version, struct slice kind)
{
	const struct kind_name *found = find(n, api_version, kind);
	struct slice rest = api_version;

	return found ? found : find(n, slice_cut(&rest, '/'), kind);
}

void kind_names_release(struct kind_names *n)
{
	text_map_release(&n->by_key);
	for (size_t i = 0; i < n->count; i++) {
		free(n->items[i].key);
		free(n->items[i].plural);
	}
	free(n->items);
	*n = (struct kind_names){0};
}
