/* tape_names.c: see tape_names.h. */
#include "tools/tape_names.h"

#include "recorder/catalog.h"
#include "replayer/api/builtin.h"
#include "schema/base/limits.h"

#include <ctype.h>
#include <stdlib.h>

/* What was recorded of discovery helps to understand names; a tape without it, or with something odd there,
 * is read all the same. */
static void add_discovery(struct tape *t, struct catalog *known)
{
	static const char *const paths[] = {"/api", "/apis"};
	struct tape_document document;
	struct buf body;

	buf_init(&body, LIMIT_DOCUMENT_BYTES);
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		buf_clear(&body);
		if (tape_document(t, paths[i], "aggregated", 0, &document, &body, NULL) ||
			catalog_add_aggregated(known, buf_slice(&body), NULL))
			continue;
	}
	buf_release(&body);
}

static bool is_resource(const struct tape_resource *r, const struct catalog_resource *c)
{
	return strcmp(r->apigroup, c->group) == 0 && strcmp(r->version, c->version) == 0 &&
	       strcmp(r->resource, c->resource) == 0;
}

static bool is_known(const struct catalog *known, const struct tape_resource *r)
{
	for (size_t i = 0; i < known->count; i++) {
		if (is_resource(r, &known->items[i]))
			return true;
	}
	return false;
}

static char *lower(const char *text)
{
	char *copy = xstrdup(text);

	for (char *c = copy; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return copy;
}

/* Short names that every cluster has, for tapes without discovery documents. Terminated by NULL, or NULL. */
static char **well_known_names(const struct tape_resource *r)
{
	const char *all = builtin_short_names(slice_of(r->apigroup), slice_of(r->resource));
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

static void add_recorded(struct tape *t, struct catalog *known)
{
	const struct tape_resource *r;

	for (size_t i = 0; (r = tape_resource_at(t, i)); i++) {
		if (is_known(known, r))
			continue;
		known->items = xrealloc(known->items, (known->count + 1) * sizeof(*known->items));
		known->items[known->count++] = (struct catalog_resource){.group = xstrdup(r->apigroup),
			.version = xstrdup(r->version),
			.resource = xstrdup(r->resource),
			.kind = xstrdup(r->kind),
			.singular = lower(r->kind),
			.short_names = well_known_names(r),
			.namespaced = r->namespaced,
			.watchable = true};
	}
}

static void take(struct tape *t, const struct catalog_choice *choice, struct tape_names *ret)
{
	const struct tape_resource *r;

	for (size_t i = 0; i < choice->count; i++) {
		for (size_t k = 0; (r = tape_resource_at(t, k)); k++) {
			if (!is_resource(r, choice->items[i]))
				continue;
			ret->items = xrealloc(ret->items, (ret->count + 1) * sizeof(*ret->items));
			ret->items[ret->count++] = r;
		}
	}
}

int tape_names_choose(struct tape *t, const char *names, struct tape_names *ret, struct err *err)
{
	struct catalog known = {0};
	struct catalog_choice choice = {0};
	struct tape_names found = {0};
	struct err unknown;
	int failed;

	add_discovery(t, &known);
	add_recorded(t, &known);
	failed = catalog_choose(&known, names, &choice, &unknown);
	if (!failed)
		take(t, &choice, &found);
	catalog_choice_release(&choice);
	catalog_release(&known);
	if (failed || found.count == 0)
		return err_set(err, ERR_NOT_FOUND, "the tape has no resource '%s'", names);
	*ret = found;
	return 0;
}

void tape_names_release(struct tape_names *n)
{
	free(n->items);
	*n = (struct tape_names){0};
}
