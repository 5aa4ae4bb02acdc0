/*
 * openapi.h: /openapi/v3 and its documents as recorded, and /openapi/v2, which is made of them.
 */
#ifndef REPLAYER_OPENAPI_H
#define REPLAYER_OPENAPI_H

#include "replayer/serve/call.h"

/* False if the path is none of them (nothing was answered). */
bool openapi_serve(struct api_call *call);

/* The cache between requests; may be all zero. */
void openapi_kept_release(struct openapi_kept *k);

#endif
