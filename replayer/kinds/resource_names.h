/*
 * resource_names.h: resources by the names that kubectl takes: `pods`, `pod`, `po`, `deploy`,
 * `deployments.apps`, `deployments.v1.apps`, a category such as `all`, several separated by commas. Known are
 * those that the discovery documents of a tape name, those that are on it, and those of every Kubernetes.
 */
#ifndef REPLAYER_RESOURCE_NAMES_H
#define REPLAYER_RESOURCE_NAMES_H

#include "schema/base/catalog.h"
#include "schema/base/similar.h"
#include "schema/tape/reader.h"

/* A tape without discovery documents, or with something odd in them, is understood as far as it goes. NULL:
 * only what every Kubernetes has. The caller releases the catalog with catalog_release. */
void resource_names_of(struct tape *t, struct catalog *ret);

/* The resource that may have been meant by a name, as "deployments.apps"; the caller frees. NULL: none. */
char *resource_names_meant(const struct catalog *c, const char *name);

/* Offers all names of a catalog for what may have been meant by a word; `choice` is a struct
 * catalog_resource. */
void resource_names_offer(const struct catalog *c, struct similar *s);

#endif
