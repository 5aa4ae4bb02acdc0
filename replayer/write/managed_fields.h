/*
 * managed_fields.h: metadata.managedFields: which manager set which fields, maintained as the API server
 * does. A manager is identified by its name, operation (Apply or Update), subresource, and for Update the
 * version; fields of other versions of a type count as fields of this one.
 */
#ifndef REPLAYER_MANAGED_FIELDS_H
#define REPLAYER_MANAGED_FIELDS_H

#include "replayer/write/field_walk.h"

#define MANAGED_UPDATERS_MAX 10  /* of Update; older ones become "ancient-changes" */
#define MANAGED_ENTRIES_MAX  256 /* a list of more makes no sense */

/* Who writes, and how. */
struct field_writer {
	const char *name, *api_version, *subresource; /* subresource: "" for the object itself */
	const char *now;                              /* RFC 3339, seconds */
	const char *ignored; /* a top member that this way does not write; NULL: none */
	struct field_type type;
};

/*
 * An object was written as a whole or patched. Sets the managed fields of `new`. old: NULL for one that is
 * created; else, where neither of them has any, none are kept, as in a cluster.
 */
void managed_update(const cJSON *old, cJSON *new, const struct field_writer *who);

/*
 * Applies `object` to `live` (NULL: there is none). *ret: the result with its managed fields, of the caller;
 * NULL if an unforced apply has conflicts: *ret_conflicts is then an array of {"manager": TEXT, "field":
 * PATH}, of the caller. ERR_FAILED: items of a list are not distinct.
 */
int managed_apply(const cJSON *live, const cJSON *object, const struct field_writer *who, bool force,
	cJSON **ret, cJSON **ret_conflicts, struct err *err) MUST_CHECK;

#endif
