/*
 * discovery.h: what the server says it has: /api, /apis, their groups and versions in the classic and the
 * aggregated form, /version. Recorded documents are answered as they were at the position; where
 * none were recorded, discovery is derived (derived_discovery.h).
 */
#ifndef REPLAYER_DISCOVERY_H
#define REPLAYER_DISCOVERY_H

#include "replayer/serve/call.h"

/* /api, /apis, /apis/{group}, /api/v1, /apis/{group}/{version}. */
void discovery_serve(struct api_call *call);

/* /version and any other path that was recorded. False if it is none of them (nothing was answered). */
bool document_serve(struct api_call *call);

/* The recorded document as it was at the position; its body is appended. False if there is none. */
bool discovery_find_document(struct api_call *call, const char *path, const char *variant,
	struct tape_document *ret, struct buf *body);

/* False: the tape does not say what its cluster had. What every Kubernetes has is served, and named, then. */
bool discovery_is_recorded(struct api_call *call);

/* An ETag made of the bytes: a hash spelled out to the length that clients are used to. */
void document_etag(struct slice body, char to[ETAG_BYTES]);

/* Whether the group in the call's path exists, and whether discovery names the resource there. */
bool discovery_knows_group(struct api_call *call);
bool discovery_knows_resource(struct api_call *call);

/* Whether the resource has the subresource ("/status"), as far as anything is known of it. */
bool discovery_may_know(struct api_call *call, const char *subresource);

#endif
