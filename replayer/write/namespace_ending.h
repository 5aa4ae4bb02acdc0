/*
 * namespace_ending.h: a namespace that the tape deletes takes along what programs wrote in it: its namespace controller had
 * emptied it by then. The tape itself has the deletion of what was there in the cluster.
 */
#ifndef REPLAYER_NAMESPACE_ENDING_H
#define REPLAYER_NAMESPACE_ENDING_H

#include "replayer/serve/call.h"

/* Before that event of the tape. Objects with finalizers stay until programs take these. */
void namespace_ending_before(struct api *api, const struct collection *in, const struct change *c);

#endif
