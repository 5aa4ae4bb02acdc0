/* crd.h: what the CustomResourceDefinition of a recorded custom resource says, as it was at the position. */
#ifndef REPLAYER_CRD_H
#define REPLAYER_CRD_H

#include "replayer/world/world.h"

/* The CRD of a collection. Returns the seq of its version, 0 when there is none; *ret is borrowed until the
 * next object is read. */
uint64_t crd_find(struct world *w, const struct collection *c, struct slice *ret);

/* The entry of spec.versions with that name; the empty slice when there is none. */
struct slice crd_version(struct slice crd, const char *version);

#endif
