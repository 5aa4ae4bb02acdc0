/*
 * pod_logs.h: GET of a pod's log. The tape has the last lines of containers that died, if `record --logs` fetched
 * them; of one that still runs at the position those are shown that it had written by then.
 */
#ifndef REPLAYER_POD_LOGS_H
#define REPLAYER_POD_LOGS_H

#include "replayer/serve/call.h"

/* The pod lives at the position. */
void pod_logs_serve(struct api_call *call, struct collection *pods);

#endif
