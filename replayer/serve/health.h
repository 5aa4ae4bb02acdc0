/* health.h: /healthz, /livez, /readyz and the paths below them. */
#ifndef REPLAYER_HEALTH_H
#define REPLAYER_HEALTH_H

#include "replayer/serve/call.h"

/* False if the path is none of these (nothing was answered). */
bool health_serve(struct api_call *call);

#endif
