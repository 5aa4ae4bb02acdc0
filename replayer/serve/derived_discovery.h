/*
 * derived_discovery.h: discovery documents made from the resources of a tape, for tapes that hold none (made
 * from other sources than a live cluster). Verbs are those that a replay answers.
 */
#ifndef REPLAYER_DERIVED_DISCOVERY_H
#define REPLAYER_DERIVED_DISCOVERY_H

#include "replayer/world/world.h"

/* Each appends one document. ERR_NOT_FOUND if there is no such group or version. `core`: of /api, else of
 * /apis. */
int derive_aggregated(const struct world *w, bool core, struct buf *to, struct err *err) MUST_CHECK;
int derive_core_versions(const struct world *w, struct buf *to, struct err *err) MUST_CHECK;
int derive_group_list(const struct world *w, struct buf *to, struct err *err) MUST_CHECK;
int derive_group(const struct world *w, struct slice group, struct buf *to, struct err *err) MUST_CHECK;
int derive_resources(const struct world *w, struct slice group, struct slice version, struct buf *to,
	struct err *err) MUST_CHECK;

#endif
