/*
 * http1_conn.h: HTTP/1.1 on a connection: one request at a time, kept alive, further requests wait in the
 * input until the answer is out.
 *
 *     HEAD --head read--> BODY --body complete--> ANSWER --answer sent--> HEAD
 *                                                   |                       (or closed, as the request said)
 *                                                   +--status 101--> UPGRADED
 */
#ifndef REPLAYER_HTTP1_CONN_H
#define REPLAYER_HTTP1_CONN_H

#include "replayer/wire/conn.h"

extern const struct conn_protocol http1_protocol;

void *http1_conn_new(struct conn *c);

#endif
