/*
 * registry.h: the resources and streams of a tape. In every segment whole, so both sides keep them in memory,
 * and find them in constant time: a stranger's tape, or an import, may have hundreds of thousands.
 */
#ifndef SCHEMA_TAPE_REGISTRY_H
#define SCHEMA_TAPE_REGISTRY_H

#include "schema/base/text_map.h"
#include "schema/tape/event.h"

#include <sqlite3.h>

struct registry {
	struct tape_resource *resources; /* [id - 1] */
	size_t resource_count;
	struct tape_stream *streams; /* [id - 1] */
	size_t stream_count;
	struct text_map resource_ids, stream_ids; /* by identity; of equal ones the first */
	char **keys;                              /* of both maps */
	size_t key_count;
};

void registry_release(struct registry *r);

/* Adds the resources and streams of a segment that r lacks. ERR_CORRUPT if ids have holes. */
int registry_load(struct registry *r, sqlite3 *db, struct err *err) MUST_CHECK;

/* The id, 0 if unknown. Identity: group, version and resource; resource, namespace and selectors. */
uint32_t registry_find_resource(const struct registry *r, const struct tape_resource *resource);
uint32_t registry_find_stream(const struct registry *r, const struct tape_stream *stream);

/* Copies it under the next id, which is returned. */
uint32_t registry_add_resource(struct registry *r, const struct tape_resource *resource);
uint32_t registry_add_stream(struct registry *r, const struct tape_stream *stream);

/* NULL if there is none. */
const struct tape_stream *registry_stream(const struct registry *r, uint32_t id);
const struct tape_resource *registry_resource(const struct registry *r, uint32_t id);

#endif
