/*
 * control_client.h: asking a running replay to do something; see control.h for what.
 */
#ifndef REPLAYER_CONTROL_CLIENT_H
#define REPLAYER_CONTROL_CLIENT_H

#include "schema/base/buf.h"

struct control_question {
	const char *address;
	const char *action;       /* of control.h */
	const char *name, *value; /* a parameter, or NULL */
	int64_t timeout_ns;       /* for the answer */
};

/*
 * Sends one request and appends the JSON of the answer. `address` is one of
 *
 *     http://127.0.0.1:1234/kubetape/v1/?token=T     the control address that the replay prints; with TLS it
 *                                                    also identifies the certificate
 *     1234, 127.0.0.1:1234, http://127.0.0.1:1234    a replay of this machine and user, reached by its control
 *                                                    socket; also the line "serving X.tape at http://..."
 *
 * ERR_NETWORK if no replay answers in time, ERR_USAGE with the replay's words if it refuses.
 */
int control_ask(const struct control_question *q, struct buf *to, struct err *err) MUST_CHECK;

#endif
