/*
 * flow_control.h: the two header fields by which the API server says under which rule of priority and
 * fairness it took a request: the UIDs of a FlowSchema and of its PriorityLevelConfiguration. A replay holds
 * nobody back, so that all requests are taken as those of administrators are: by `exempt`.
 */
#ifndef REPLAYER_FLOW_CONTROL_H
#define REPLAYER_FLOW_CONTROL_H

#include "replayer/wire/http.h"
#include "replayer/world/world.h"
#include "schema/base/uuid.h"

#define FLOW_HEADERS 2

struct flow_control {
	bool known; /* the rest is filled in */
	char schema[UUID_TEXT_BYTES], level[UUID_TEXT_BYTES];
	struct http_header headers[FLOW_HEADERS];
};

/* The header fields, which are made once: with the UIDs that the tape has at the world's position, or with
 * made-up ones that are the same in all replays. FLOW_HEADERS of them; borrowed from f. */
const struct http_header *flow_control_headers(struct flow_control *f, struct world *w);

#endif
