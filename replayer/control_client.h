/*
 * control_client.h: asking a running replay to do something; see control.h for what.
 */
#ifndef REPLAYER_CONTROL_CLIENT_H
#define REPLAYER_CONTROL_CLIENT_H

#include "schema/base/buf.h"

/*
 * Sends one request and appends the JSON of the answer. `address` is what the replay said it serves at
 * (https://127.0.0.1:1234), or host:port, which is tried with TLS and then without. `name` and `value` are a
 * query parameter, or NULL. The certificate is not checked: it was made for this replay alone, and nothing
 * secret is sent. ERR_NETWORK when nobody answers, ERR_USAGE with the replay's words when it refuses.
 */
int control_ask(const char *address, const char *action, const char *name, const char *value, struct buf *to,
	struct err *err) MUST_CHECK;

#endif
