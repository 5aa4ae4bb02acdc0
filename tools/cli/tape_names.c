/* tape_names.c: see tape_names.h. */
#include "tools/cli/tape_names.h"

#include "replayer/kinds/resource_names.h"

#include <stdio.h>
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

static int not_there(struct tape *t, const char *name, struct err *err)
{
	struct similar similar = similar_to(slice_of(name));
	const struct tape_resource *r;

	for (size_t i = 0; (r = tape_resource_at(t, i)); i++)
		similar_offer(&similar, r->resource, r);
	if (!similar.meant)
		return err_set(err, ERR_NOT_FOUND, "the tape has no resource '%s'", name);
	return err_set(
		err, ERR_NOT_FOUND, "the tape has no resource '%s'; did you mean '%s'?", name, similar.meant);
}

static int choose(struct tape *t, const struct catalog *known, const char *names, struct tape_names *ret)
{
	struct catalog_choice choice = {0};
	int rc = catalog_choose(known, names, &choice, NULL);

	if (!rc)
		tape_names_take(t, &choice, ret);
	catalog_choice_release(&choice);
	return rc || !ret->count ? ERR_NOT_FOUND : 0;
}

/* Of several names the first that the tape does not have. */
static int tell_missing(struct tape *t, const struct catalog *known, const char *names, struct err *err)
{
	int rc = 0;

	for (struct slice rest = slice_of(names); !rc && rest.len;) {
		char *name = slice_dup(slice_cut(&rest, ','));
		struct tape_names found = {0};

		if (choose(t, known, name, &found))
			rc = not_there(t, name, err);
		tape_names_release(&found);
		free(name);
	}
	return rc ? rc : not_there(t, names, err);
}

int tape_names_choose(struct tape *t, const char *names, struct tape_names *ret, struct err *err)
{
	struct catalog known = {0};
	struct tape_names found = {0};
	int rc;

	resource_names_of(t, &known);
	rc = choose(t, &known, names, &found);
	if (rc) {
		tape_names_release(&found);
		rc = tell_missing(t, &known, names, err);
	} else {
		*ret = found;
	}
	catalog_release(&known);
	return rc;
}

static bool is_other_version(const struct tape_resource *r, const struct tape_resource *of)
{
	return strcmp(r->resource, of->resource) == 0 && strcmp(r->apigroup, of->apigroup) == 0 &&
	       strcmp(r->version, of->version) != 0;
}

void tape_names_tell_versions(struct tape *t, const struct tape_names *n, const char *names)
{
	const struct tape_resource *r;

	for (size_t i = 0; i < n->count; i++) {
		const struct tape_resource *shown = n->items[i];

		if (strstr(names, shown->version))
			continue;
		for (size_t k = 0; (r = tape_resource_at(t, k)); k++) {
			if (is_other_version(r, shown))
				fprintf(stderr,
					"shown is version %s of %s; the tape has '%s.%s%s%s' as well\n",
					shown->version, shown->resource, r->resource, r->version,
					*r->apigroup ? "." : "", r->apigroup);
		}
	}
}

void tape_names_release(struct tape_names *n)
{
	free(n->items);
	*n = (struct tape_names){0};
}
