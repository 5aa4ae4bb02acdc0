/*
 * derived_discovery.h: discovery documents made from the resources of a tape, for tapes that hold none (made
 * from other sources than a live cluster), or not all. Verbs are those that a replay answers.
 */
#ifndef REPLAYER_DERIVED_DISCOVERY_H
#define REPLAYER_DERIVED_DISCOVERY_H

#include "replayer/world/world.h"

struct derived_from {
	const struct world *world;
	bool with_builtins; /* also what every Kubernetes has: the tape has no discovery that would tell, and it is served,
			       empty */
};

/* Each appends one document. ERR_NOT_FOUND if there is no such group or version. `core`: of /api, else of
 * /apis. */
int derive_aggregated(const struct derived_from *from, bool core, struct buf *to, struct err *err) MUST_CHECK;
int derive_core_versions(const struct derived_from *from, struct buf *to, struct err *err) MUST_CHECK;
int derive_group_list(const struct derived_from *from, struct buf *to, struct err *err) MUST_CHECK;
int derive_group(
	const struct derived_from *from, struct slice group, struct buf *to, struct err *err) MUST_CHECK;
int derive_resources(const struct derived_from *from, struct slice group, struct slice version,
	struct buf *to, struct err *err) MUST_CHECK;

#endif
