/*
 * discovery.h: what the server says it has: /api, /apis, their groups and versions in the classic and the
 * aggregated form, /version, OpenAPI. Recorded documents are answered as they were at the position; where
 * none were recorded, discovery is derived from the resources on the tape.
 */
#ifndef REPLAYER_DISCOVERY_H
#define REPLAYER_DISCOVERY_H

#include "replayer/api/api.h"

/* /api, /apis, /apis/{group}, /api/v1, /apis/{group}/{version}. */
void discovery_serve(struct api_call *call);

/* /version, /openapi/..., and any other path that was recorded. False when it is none of them (nothing was
 * answered). */
bool document_serve(struct api_call *call);

/* Whether the group in the call's path exists, and whether discovery names the resource there. */
bool discovery_knows_group(struct api_call *call);
bool discovery_knows_resource(struct api_call *call);

#endif
