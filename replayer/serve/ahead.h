/*
 * ahead.h: requests for a version that the replay has not reached. The API server keeps a watch from it
 * silent until it comes; a list, a get and a streaming list wait for three seconds and then get an error that
 * asks to try again. The API server does not know whether the version will ever come; a replay does
 * (reach.h), and by default waits only if it will. All other requests are asked at once to list again.
 *
 * What a fault makes late waits here as well: first lists, and answers to writes.
 */
#ifndef REPLAYER_AHEAD_H
#define REPLAYER_AHEAD_H

#include "replayer/serve/call.h"

#include <uv.h>

/* The requests that wait. */
struct ahead *ahead_new(uv_loop_t *loop);

/* None may wait any more. Freed when libuv has released its handle. */
void ahead_close(struct ahead *a); /* accepts NULL */

/* Whether to wait for a version above that of the collection. */
bool ahead_is_awaited(const struct api_call *call, const struct collection *c, uint64_t rv);

/* The error for a list, a get or a streaming list of such a version: fills st, returns ERR_FAILED. Where it
 * is worth waiting first, the call remembers that. */
int ahead_refuse(struct api_call *call, const struct collection *c, uint64_t rv, struct status *st);

/* After ahead_refuse, instead of sending the error: true if the request now waits, and is routed again
 * later, when the version has come or the time is up. */
bool ahead_park(struct api_call *call, struct collection *c);

/* The request waits that long and is then routed; earlier waits do not count. */
void ahead_delay(struct api_call *call, int64_t by_ns);
bool ahead_has_delayed(const struct ahead *a);

/* The request waits until that episode of a fault is over, and is then routed; the tape's clock does not wait for it. */
void ahead_hold(struct api_call *call, uint64_t episode);
void ahead_release(struct ahead *a, uint64_t episode);

/* The answer waits that long: a body that is laid out, which is copied. */
void ahead_answer(struct api_call *call, int status, struct slice body, int64_t by_ns);

#endif
