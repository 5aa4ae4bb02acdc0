/*
 * builtin.h: resources that every Kubernetes has. Groups that the API server itself serves are distinguished
 * from those of custom resources, because the two differ in the layout of their JSON and in the selectable
 * fields.
 */
#ifndef REPLAYER_BUILTIN_H
#define REPLAYER_BUILTIN_H

#include "replayer/kinds/write_table.h"
#include "schema/base/buf.h"

/* Whether the API server itself serves the group; "" is the core group. */
bool builtin_group(struct slice group);

/* NULL: Kubernetes has no such resource. */
const struct write_resource *builtin_resource(
	struct slice group, struct slice version, struct slice resource);

/* The short names of a built-in resource, separated by commas ("po"); "" when it has none. */
const char *builtin_short_names(struct slice group, struct slice resource);

/* Whether `kubectl get all` means it, too. */
bool builtin_is_in_all(struct slice group, struct slice resource);

/* Leases, and events in both groups; and either, which programs write whatever else they do. */
bool builtin_is_lease(struct slice group, struct slice resource);
bool builtin_is_event(struct slice group, struct slice resource);
bool builtin_is_aside(struct slice group, struct slice resource);

#endif
