/*
 * openapi.h: /openapi/v3, its documents as recorded, and /openapi/v2, which is not recorded.
 */
#ifndef REPLAYER_OPENAPI_H
#define REPLAYER_OPENAPI_H

#include "replayer/api/api.h"

/* False when the path is none of them (nothing was answered). */
bool openapi_serve(struct api_call *call);

#endif
