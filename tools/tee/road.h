/*
 * road.h: one connection's bytes in both directions. The client's bytes are cut at the heads of its requests,
 * which are rewritten (rewrite.h); everything else passes unchanged. The server's bytes pass untouched, and
 * are read afterwards, only to describe them to the feed.
 *
 *     TLS agreed on h2 ----------------------------------------> HTTP2 --+
 *     TLS, anything else --------------------------------------> HTTP1 --+-- not HTTP, or upgraded --> RAW
 *     no TLS --> UNDECIDED --the first bytes are the preface---> HTTP2   |
 *                       \----anything else---------------------> HTTP1 --+
 *
 * If a client asks for an upgrade, its further bytes wait until the answer has come.
 */
#ifndef TOOLS_TEE_ROAD_H
#define TOOLS_TEE_ROAD_H

#include "tools/tee/feed.h"
#include "tools/tee/rewrite.h"

enum road_protocol { ROAD_UNDECIDED, ROAD_HTTP1, ROAD_HTTP2, ROAD_RAW };

struct road_options {
	struct feed *feed;
	const struct rewrite *rewrite;
	uint64_t connection;
	uint64_t *last_request; /* what requests are numbered from, shared by all connections */
};

struct road;

/* Borrows what the options point to. */
struct road *road_new(const struct road_options *options, enum road_protocol protocol);
void road_free(struct road *r); /* accepts NULL; road_end was called */

enum road_protocol road_protocol(const struct road *r);

/* The client's bytes: appends the bytes for the server to `out`, and removes the used ones from *in: all of
 * them, unless road_waits. A negative return, with a sentence: the connection must be closed. */
int road_request(struct road *r, struct slice *in, struct buf *out, struct err *err) MUST_CHECK;

/* The client's next bytes have to wait for an answer. */
bool road_waits(const struct road *r);

/* The server's bytes, already passed on. A negative return as above. */
int road_answer(struct road *r, struct slice bytes, struct err *err) MUST_CHECK;

/* One side has ended the connection. Running requests end with it. If it was the client, which may still wait
 * for answers, they end only when the server's side ends, too, or with a reset. */
void road_end(struct road *r, enum road_party by, enum road_end how);

#endif
