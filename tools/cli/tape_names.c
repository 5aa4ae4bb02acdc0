/* tape_names.c: see tape_names.h. */
#include "tools/cli/tape_names.h"

#include "replayer/kinds/resource_names.h"

#include <stdlib.h>

static bool is_resource(const struct tape_resource *r, const struct catalog_resource *c)
{
	return strcmp(r->apigroup, c->group) == 0 && strcmp(r->version, c->version) == 0 &&
	       strcmp(r->resource, c->resource) == 0;
}

static void tape_names_take(struct tape *t, const struct catalog_choice *choice, struct tape_names *ret)
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

static int not_there(struct tape *t, const char *names, struct err *err)
{
	struct similar similar = similar_to(slice_of(names));
	const struct tape_resource *r;

	for (size_t i = 0; (r = tape_resource_at(t, i)); i++)
		similar_offer(&similar, r->resource, r);
	if (!similar.meant)
		return err_set(err, ERR_NOT_FOUND, "the tape has no resource '%s'", names);
	return err_set(err, ERR_NOT_FOUND, "the tape has no resource '%s'; did you mean '%s'?", names,
		similar.meant);
}

int tape_names_choose(struct tape *t, const char *names, struct tape_names *ret, struct err *err)
{
	struct catalog known = {0};
	struct catalog_choice choice = {0};
	struct tape_names found = {0};
	int rc;

	resource_names_of(t, &known);
	rc = catalog_choose(&known, names, &choice, NULL);
	if (!rc)
		tape_names_take(t, &choice, &found);
	catalog_choice_release(&choice);
	catalog_release(&known);
	if (rc || found.count == 0)
		return not_there(t, names, err);
	*ret = found;
	return 0;
}

void tape_names_release(struct tape_names *n)
{
	free(n->items);
	*n = (struct tape_names){0};
}
