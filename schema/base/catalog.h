/*
 * catalog.h: the resources a cluster offers, as its discovery documents say, and names of resources as
 * kubectl takes them: `pods`, `pod`, `po`, `deployments.apps`, `deployments.v1.apps`, a category such as
 * `all`, several separated by commas.
 */
#ifndef SCHEMA_BASE_CATALOG_H
#define SCHEMA_BASE_CATALOG_H

#include "schema/base/buf.h"

struct catalog_resource {
	char *group, *version, *resource, *kind, *singular;
	char **short_names, **categories; /* terminated by NULL, or NULL */
	bool namespaced;
	bool watchable; /* has the verbs list and watch */
};

/* In the server's order: the core group first, in each group the preferred version first. */
struct catalog {
	struct catalog_resource *items;
	size_t count;
};

void catalog_release(struct catalog *c);

/* Adds the resources of an APIGroupDiscoveryList or an APIResourceList. ERR_PROTOCOL if it is neither. */
int catalog_add_aggregated(struct catalog *c, struct slice json, struct err *err) MUST_CHECK;
int catalog_add_classic(struct catalog *c, struct slice json, struct err *err) MUST_CHECK;

/* Takes the resource over. */
void catalog_add(struct catalog *c, const struct catalog_resource *r);

/* In just that version; NULL if it is not there. */
const struct catalog_resource *catalog_find_version(
	const struct catalog *c, const char *group, const char *version, const char *resource);
/* In whatever version. */
bool catalog_has(const struct catalog *c, const char *group, const char *resource);

/* The versions an APIGroupList names, each as "group/version", preferred first. */
int catalog_group_versions(struct slice json, int (*each)(void *context, struct slice group_version),
	void *context, struct err *err) MUST_CHECK;

/* A choice of resources, in no order; the pointers are the catalog's. */
struct catalog_choice {
	const struct catalog_resource **items;
	size_t count;
};

void catalog_choice_release(struct catalog_choice *choice);

/* Adds the resources that `names` means (once each). ERR_NOT_FOUND names the first that is not there, or
 * that cannot be listed and watched. */
int catalog_choose(const struct catalog *c, const char *names, struct catalog_choice *choice,
	struct err *err) MUST_CHECK;

/* Adds the resources that one name means, even those that cannot be listed and watched; of twins (see
 * catalog_drop_twins) both, unless the name has a group. Returns false if the name is unknown. */
bool catalog_find(const struct catalog *c, const char *name, struct catalog_choice *choice);

/* Adds everything that can be listed and watched, each resource in one version. */
void catalog_choose_all(const struct catalog *c, struct catalog_choice *choice);

/* Removes the resources that `names` means; "*.GROUP" is a whole group. A name without a group removes the
 * twin as well: without `events` there should be none under another group either. Unknown names remove
 * nothing. */
void catalog_exclude(const struct catalog *c, const char *names, struct catalog_choice *choice);

/* Calls `each` for every one of `names` that does not name anything in the catalog to catalog_exclude, with a
 * sentence that says so. Resources that cannot be listed and watched count as known. */
void catalog_unknown(const struct catalog *c, const char *names, void (*each)(const struct err *why));

/* Takes out the resources whose objects another one of the choice shows as well (core events are those of
 * events.k8s.io: twins). Returns how many. */
size_t catalog_drop_twins(struct catalog_choice *choice);

#endif
