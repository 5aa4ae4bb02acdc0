/*
 * owner_index.h: which objects name which owners, by the owners' UIDs. An entry says that an object once
 * named the owner; its bytes show whether it still does.
 */
#ifndef REPLAYER_OWNER_INDEX_H
#define REPLAYER_OWNER_INDEX_H

#include "replayer/world/world.h"
#include "schema/base/json_scan.h"

/* An object by its name. */
struct object_ref {
	uint32_t resource;
	char *namespace, *name; /* owned; "" without a namespace */
};

struct owner_index;

struct owner_index *owner_index_new(void);
void owner_index_free(struct owner_index *x); /* accepts NULL */

/* Rebuilds the index from every live object of the world. Objects that cannot be read have no owners. */
void owner_index_fill(struct owner_index *x, struct world *w);

/* The UIDs of the owners that an object names, one by one; false: it names none, or no more. */
bool owner_uids_begin(struct slice object, struct json_iter *ret);
bool owner_uids_next(struct json_iter *it, struct slice *ret_uid);

/* The object is there with these bytes, or was and is gone. */
void owner_index_add(struct owner_index *x, const struct change *c);
void owner_index_remove(struct owner_index *x, const struct change *c);

/* The objects that name this owner, by resource, namespace and name. Returns how many; the caller frees the list with
 * object_refs_free. */
size_t owner_index_find(const struct owner_index *x, const char *uid, struct object_ref **ret);
/* The same of a set, in that namespace; the empty slice is all of them. */
size_t object_refs_of(
	const struct live_set *s, uint32_t resource, struct slice namespace, struct object_ref **ret);
void object_refs_free(struct object_ref *refs, size_t count);

#endif
