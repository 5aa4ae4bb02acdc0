/* unrecorded.h: resources that are asked for and are not on the tape. */
#ifndef REPLAYER_UNRECORDED_H
#define REPLAYER_UNRECORDED_H

#include "replayer/serve/call.h"

/* The collection that the call's path names. One that is not on the tape is empty if the recorded discovery
 * names it, or, for want of a discovery or to be written to, if Kubernetes has it; it is served from then on.
 * NULL: nobody knows it. */
struct collection *collection_find(struct api_call *call);

#endif
