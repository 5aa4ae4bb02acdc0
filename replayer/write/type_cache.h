/*
 * type_cache.h: the types of a replay's resources: for a custom resource from its CRD, for others from the
 * recorded OpenAPI document of their version, else from the generated table. The most recently used documents
 * stay parsed.
 */
#ifndef REPLAYER_TYPE_CACHE_H
#define REPLAYER_TYPE_CACHE_H

#include "replayer/world/world.h"
#include "replayer/write/field_type.h"

#define TYPE_DOCUMENTS_KEPT 8

struct type_cache;

struct type_cache *type_cache_new(void);
void type_cache_free(struct type_cache *t); /* accepts NULL */

/* The type at the world's position; borrowed until the next call, or for as long as it is pinned. */
struct field_type type_cache_find(struct type_cache *t, struct world *w, const struct collection *c);

/* Pins the sources of that type in the cache; NULL: unpins. */
void type_cache_pin(struct type_cache *t, const struct field_type *type);

#endif
