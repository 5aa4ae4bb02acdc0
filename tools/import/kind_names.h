/*
 * kind_names.h: what the resources of kinds are called, and whether their objects lie in namespaces, as far as it is known:
 * from an API server's discovery, from every Kubernetes, and from definitions of custom resources.
 */
#ifndef TOOLS_IMPORT_KIND_NAMES_H
#define TOOLS_IMPORT_KIND_NAMES_H

#include "schema/base/catalog.h"
#include "schema/base/text_map.h"

struct kind_name {
	char *key; /* "apps/v1 Deployment"; of a definition without the version: "stable.example.com CronTab" */
	char *plural;
	bool namespaced;
};

/* All zero: nothing is known. */
struct kind_names {
	struct kind_name *items;
	size_t count;
	struct text_map by_key;
};

/* Each adds what is not known yet. */
void kind_names_add_catalog(struct kind_names *n, const struct catalog *c);
void kind_names_add_builtin(struct kind_names *n);
void kind_names_add_definition(struct kind_names *n, struct slice crd);

void kind_names_release(struct kind_names *n);

/* NULL: not known. Borrowed until the next is added. */
const struct kind_name *kind_names_find(
	const struct kind_names *n, struct slice api_version, struct slice kind);

#endif
