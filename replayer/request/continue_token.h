/*
 * continue_token.h: the token between two pages of a list: base64url without padding of
 * {"v":"meta.k8s.io/v1","rv":4711,"start":"/ns/name\u0000"}, as the API server's.
 */
#ifndef REPLAYER_CONTINUE_TOKEN_H
#define REPLAYER_CONTINUE_TOKEN_H

#include "schema/base/buf.h"

#define CONTINUE_LATEST INT64_C(-1) /* rv of a token that continues at the newest state */

struct continue_token {
	int64_t rv; /* of the snapshot, or CONTINUE_LATEST */
	char *key;  /* where the next page begins, relative to the collection, without a leading slash */
	size_t key_len;
};

/* ERR_PROTOCOL: the text follows "invalid continue token: " in the 400. The caller releases. */
int continue_token_parse(struct slice text, struct continue_token *ret, struct err *err) MUST_CHECK;
void continue_token_release(struct continue_token *t);

/* The token for the page after the item `last_key`, relative to the collection: "ns/name", or "name" inside
 * a namespace and for cluster-scoped kinds. slash: as the watch cache writes it. The caller frees. */
char *continue_token_make(int64_t rv, struct slice last_key, bool slash);

#endif
