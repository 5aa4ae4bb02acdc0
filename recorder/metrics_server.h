/*
 * metrics_server.h: answers GET on a small set of paths over plain HTTP/1.1, one request a connection, from
 * the recorder's loop. A client that asks slowly or not at all costs a buffer and is left after ten seconds; at most 32
 * are served at a time, and none that would take one of the last descriptors, which the recording may need.
 */
#ifndef RECORDER_METRICS_SERVER_H
#define RECORDER_METRICS_SERVER_H

#include "schema/base/buf.h"

#include <uv.h>

struct metrics_server;

/* Appends the body of `path` to `text` and returns the status; 404 for what there is not. */
typedef int metrics_answer(void *context, struct slice path, struct buf *text);

/* Listens on "PORT" or ":PORT" of 127.0.0.1, or on "ADDRESS:PORT" ("[::1]:9090"); names are not resolved.
 * Port 0 is any that is free. ERR_USAGE if it is not an address, ERR_NETWORK if it is not available. */
int metrics_server_open(uv_loop_t *loop, const char *address, metrics_answer *answer, void *context,
	struct metrics_server **ret, struct err *err) MUST_CHECK;

/* "127.0.0.1:9090"; borrowed. */
const char *metrics_server_address(const struct metrics_server *m);

/* The loop must run once more before it is closed. NULL is fine. */
void metrics_server_close(struct metrics_server *m);

#endif
