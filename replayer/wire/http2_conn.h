/*
 * http2_conn.h: HTTP/2 on a connection: many exchanges at once, framed by nghttp2 and, where it
 * counts, by http2_data.c.
 *
 *     a stream:  HEADERS (and DATA) --request whole--> handed over --answer out, or reset--> gone
 */
#ifndef REPLAYER_HTTP2_CONN_H
#define REPLAYER_HTTP2_CONN_H

#include "replayer/wire/conn.h"

extern const struct conn_protocol http2_protocol;

void *http2_conn_new(struct conn *c);

/* Sends GOAWAY: running streams continue, the client opens new ones elsewhere. */
void http2_conn_goaway(void *self);

#endif
