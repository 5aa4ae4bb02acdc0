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
 *     http://127.0.0.1:1234/kubetape/v1/?token=T     the control address that the replay prints; of a replay
 * with TLS it also says which certificate it has 1234, 127.0.0.1:1234, http://127.0.0.1:1234    a replay of
 * this machine and user, asked beside its port; also serving X.tape at http://127.0.0.1:1234        the line
 * in which it says where it serves
 *
 * ERR_NETWORK if nobody answers in time, or somebody
 * else than the replay does, ERR_USAGE with the replay's words when it refuses.
 */
int control_ask(const struct control_question *q, struct buf *to, struct err *err) MUST_CHECK;

#endif
