/*
 * control.h: steering a replay over HTTP, on the address on which it serves:
 *
 *     GET  /kubetape/v1/status                also /kubetape/v1/
 *     POST /kubetape/v1/pause, /resume, /rewind
 *     POST /kubetape/v1/step?count=N          N events, 1 unless given
 *     POST /kubetape/v1/speed?value=N|max
 *     POST /kubetape/v1/seek?to=POSITION
 *     POST /kubetape/v1/run?until=POSITION    or ?when=SQL-EXPRESSION over the columns of `events`
 *     POST /kubetape/v1/break?how=end|rst|expired[&resource=NAME]   breaks the watches that run now
 *     POST /kubetape/v1/view                  opens the page beside the replay (view/viewer.h)
 *
 * Each takes the control token, as ?token= or "Authorization: Bearer". From the same machine and user they
 * are also served at control_address.h, without it, and where they get through while a fault refuses
 * connections.
 *
 * Each answers with the status as it is then (`notice`: that the position asked for last is a guess, and
 * why; `view`: the address of the page, once it is open), or with an error of kind Status. The status has the event that happened last as `event`, and as
 * `stop` what became of the latest run: its `number`, and a `state` of none, ahead, reached or failed (see
 * player_stop).
 */
#ifndef REPLAYER_CONTROL_H
#define REPLAYER_CONTROL_H

#include "replayer/serve/call.h"

/* False if the path is not of these (nothing was answered). */
bool control_serve(struct api_call *call);

/* Whether the request is one of these. */
bool control_is_asked(const struct api_call *call);

/* Does what the last part of such a path says, "seek", and appends the status. Returns an HTTP status; from
 * 400 on nothing is appended and `err` has a sentence. */
int control_act(struct deck *d, struct slice method, struct slice name, const struct query *q, struct buf *to,
	struct err *err) MUST_CHECK;

/* The control address: the replay's address, the token, and the SHA-256 of its certificate in hexadecimal
 * digits (NULL: it has none). The caller frees. */
char *control_url(const char *url, const char *token, const char *fingerprint);

#endif
