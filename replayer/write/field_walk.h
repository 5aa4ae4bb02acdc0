/*
 * field_walk.h: objects and the sets of their fields, for server-side apply. Lists that are known to be sets
 * or maps are handled item by item, others as a whole, and so are lists and maps of more than FIELD_WALK_MAX
 * items.
 */
#ifndef REPLAYER_FIELD_WALK_H
#define REPLAYER_FIELD_WALK_H

#include "replayer/write/field_set.h"
#include "replayer/write/field_type.h"

#define FIELD_WALK_MAX 5000 /* items are looked up one by one */

/* Checks that all items of lists are distinct. ERR_FAILED names the place. */
int field_walk_check(const cJSON *object, struct field_type type, struct err *err) MUST_CHECK;

/* The fields that an object has. */
cJSON *field_walk_set(const cJSON *object, struct field_type type);

struct field_changes {
	cJSON *removed, *modified, *added;
};

/* The caller releases it. */
void field_walk_compare(
	const cJSON *old, const cJSON *new, struct field_type type, struct field_changes *ret);
void field_changes_release(struct field_changes *c);

/* Lays `object` over `live`: plain values and fields that are handled as a whole replace, all else is
 * merged. */
void field_walk_merge(cJSON *live, const cJSON *object, struct field_type type);

/* Takes fields out of an object. Members that this empties stay as nulls until they are dropped. */
void field_walk_remove(cJSON *object, const cJSON *set, struct field_type type);
void field_walk_drop_emptied(cJSON *object);

/* Adds the named fields above those of the set. */
void field_walk_complete(cJSON *set, struct field_type type);

#endif
