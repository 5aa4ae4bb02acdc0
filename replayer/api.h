/*
 * api.h: the router: which file answers which request.
 *
 *     server --api_handle--> access_check --> a call: path, verb, query --> faults --> route
 *     route --> discovery, list, watch, get, write, review, health, openapi, control
 */
#ifndef REPLAYER_API_H
#define REPLAYER_API_H

#include "replayer/serve/call.h"

/* The server's handler; context is a struct api. */
void api_handle(void *context, struct exchange *x, const struct http_request *r);

/* Routes a call again whose request has been copied; it is counted and stored already. */
void api_route_again(struct api_call *call);

#endif
