/* owners.h: the owners that an object names, and whether they still exist; see collector.h for what counts as
 * gone. */
#ifndef REPLAYER_OWNERS_H
#define REPLAYER_OWNERS_H

#include "replayer/world/owner_index.h"
#include "replayer/write/write_internal.h"

struct owners_count {
	size_t there, gone;
	size_t waiting; /* being deleted, once their dependents are */
};

/* Those of w->old. */
void owners_find(struct world *world, const struct write *w, struct owners_count *ret);

/* A copy of w->old that names only those that are there. */
cJSON *owners_without_lost(struct world *world, const struct write *w);

/* Takes an owner out of what the object names. */
void owners_drop(cJSON *object, const char *uid);

/* Whether the object names this owner, and as one that cannot go before it. */
bool owners_blocks(const cJSON *object, const char *uid);

/* Where the owner that this reference names would be, as seen from an object of that namespace. False if nobody knows its
 * kind, or it cannot be an owner from there. The caller frees the texts of *ret. */
bool owners_place(
	struct world *world, struct slice namespace, struct slice reference, struct object_ref *ret);

#endif
