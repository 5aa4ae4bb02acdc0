/*
 * road.h: one connection's bytes in both directions. What the client sends is cut at the heads of its
 * requests, which are rewritten (rewrite.h); everything else goes on as it came. What the server sends goes
 * on untouched, and is read afterwards, only to tell the feed what it was.
 *
 *     TLS agreed on h2 ----------------------------------------> HTTP2 --+
 *     TLS, anything else --------------------------------------> HTTP1 --+-- not HTTP, or upgraded --> RAW
 *     no TLS --> UNDECIDED --the first bytes are the preface---> HTTP2   |
 *                       \----anything else---------------------> HTTP1 --+
 *
 * A client that asks for an upgrade has to be heard out first: until its answer has come, what it sends
 * waits.
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

/* What the client sent: appends to `out` what goes on to the server, and takes off *in what was used. All of
 * it is, unless road_waits. A negative return, with a sentence: the connection must be closed. */
int road_request(struct road *r, struct slice *in, struct buf *out, struct err *err) MUST_CHECK;

/* The client's next bytes have to wait for an answer. */
bool road_waits(const struct road *r);

/* What the server sent, and was passed on. A negative return as above. */
int road_answer(struct road *r, struct slice bytes, struct err *err) MUST_CHECK;

/* One side has ended the connection. Requests that are under way end with it, but where it was the client,
 * who may still wait for answers, only as soon as the server's side ends, too, or with a reset. */
void road_end(struct road *r, enum road_party by, enum road_end how);

#endif
