/*
 * defined_discovery.h: discovery of the custom resources that programs have defined, laid into what was recorded or derived.
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

/* Lays them into the document; `body` may be empty where there is none yet. group and version: those that the document is of.
 * Returns whether anything was laid into it. */
bool defined_discovery_add(struct world *w, enum defined_document what, struct slice group,
	struct slice version, struct buf *body);

#endif
