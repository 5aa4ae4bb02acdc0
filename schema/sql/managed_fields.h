/* managed_fields.h: who wrote a field, according to metadata.managedFields. */
#ifndef SCHEMA_SQL_MANAGED_FIELDS_H
#define SCHEMA_SQL_MANAGED_FIELDS_H

#include "schema/base/buf.h"

/*
 * The manager that most likely made the change at `path` (as json_diff gives it) between two versions of an
 * object: of the entries that are new or different in `new` the one that owns the path, else the only such
 * entry. Else it is the manager that owns the path, because entries have times in whole seconds, and two
 * writes of one manager may leave the same entry. `old` may be empty. Returns 1 with the name (still escaped,
 * borrowed from `new`), 0 if it is not known, negative if something is not JSON.
 */
int managed_fields_manager(struct slice old, struct slice new, struct slice path, struct slice *ret_manager,
	struct err *err) MUST_CHECK;

/* The values of metadata.managedFields of two versions, empty where there are none. */
struct managed_entries {
	struct slice old, new;
};

int managed_fields_entries(
	struct slice old, struct slice new, struct managed_entries *ret, struct err *err) MUST_CHECK;

/* Whether the entry is an old one that lost its replicas to `kubectl scale --replicas=0`: for that Kubernetes notes no writer at all, but
 * takes the field from the manager that had it, which keeps the time of its own last write. */
bool managed_fields_lost_replicas(struct slice old_entries, struct slice entry);

/* managed_fields_manager() for a caller that has the entries. */
int managed_fields_owner(const struct managed_entries *entries, struct slice new, struct slice path,
	struct slice *ret_manager, struct err *err) MUST_CHECK;

/* The manager that wrote everything, whichever path it has, because all entries that are new or other are its own.
 * Returns as managed_fields_manager() does: 0 if there are several or none. */
int managed_fields_writer(
	const struct managed_entries *entries, struct slice *ret_manager, struct err *err) MUST_CHECK;

#endif
