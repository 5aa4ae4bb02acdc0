/*
 * defined_discovery.h: discovery of the custom resources that programs have defined, merged into recorded or
 * derived documents. Derived documents also get what the CRDs on the tape say about its resources: their
 * subresources and names.
 */
#ifndef REPLAYER_DEFINED_DISCOVERY_H
#define REPLAYER_DEFINED_DISCOVERY_H

#include "replayer/world/world.h"

/* Which document it is. */
enum defined_document {
	DEFINED_AGGREGATED, /* APIGroupDiscoveryList of /apis */
	DEFINED_GROUPS,     /* APIGroupList */
	DEFINED_GROUP,      /* APIGroup */
	DEFINED_RESOURCES,  /* APIResourceList */
};

/* Merges them into the document; `body` may be empty if there is none yet. group and version are those of the
 * document, `derived` says that it was not recorded. Returns whether anything was merged. */
bool defined_discovery_add(struct world *w, enum defined_document what, struct slice group,
	struct slice version, bool derived, struct buf *body);

#endif
