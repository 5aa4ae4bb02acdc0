/*
 * pair.h: one client's connection and the one to the real API server that stands for it.
 *
 *     HELLO ----------> CONNECTING -----> SERVER -------------> CLIENT -----------> OPEN -------> CLOSED
 *       the client's     TCP to the        TLS with it, with     TLS with the        bytes pass,   when libuv
 *       first words      server            the client's          client, with the    both ways     lets go
 *       (TLS only)                         offers                server's choice
 *
 * Without TLS a pair begins CONNECTING and is then OPEN. A failure before OPEN resets the client: it sees the
 * same as if it had not reached the real server.
 *
 * A lane takes bytes from one end to the other. It reads again when the other end has taken what it has read,
 * so that a slow reader is sent to slowly. When its source ends, its sink does, in the same way, after all
 * bytes were sent.
 */
#ifndef TOOLS_TEE_PAIR_H
#define TOOLS_TEE_PAIR_H

#include "schema/base/err.h"
#include "tools/tee/road.h"
#include "tools/tee/target.h"
#include "tools/tee/tee_tls.h"

struct pair;

/* Shared by all pairs, which borrow it. */
struct pair_context {
	uv_loop_t *loop;
	struct target *target;
	struct tee_tls *tls; /* NULL: without TLS on both sides */
	struct feed *feed;
	struct rewrite rewrite;
	struct slice certificate, key; /* to show to the server; empty: none */
	bool waits_for_desk;           /* what the desk has no room for is not read */
	uint64_t last_connection, last_request;
	char *scratch; /* CHANNEL_PIECE_BYTES */
	/* A pair has closed; the server refused a connection, or could not be reached, with a sentence. */
	void (*closed)(void *owner, struct pair *p);
	void (*unreached)(void *owner, bool is_refused, const struct err *err);
	/* The server has ended a connection. Before the client is closed, the callback may check whether the
	 * server still listens; then it calls pair_looked, at once or soon. */
	void (*look)(void *owner, struct pair *p);
	/* A sentence for the log. */
	void (*tell)(void *owner, const char *what, const char *detail);
	void *owner;
};

/* Takes over the socket; NULL if the system has no room for it. Nothing happens before pair_begin, which
 * may close it at once. */
struct pair *pair_open(struct pair_context *x, int client_fd);
void pair_begin(struct pair *p);

/* Closes both ends, as a tee does that ends. Freed when libuv lets go. */
void pair_close(struct pair *p);

/* Somebody has looked. */
void pair_looked(struct pair *p);

/* The desk has room again. */
void pair_go_on(struct pair *p);

/* About once a second: gives up what takes too long to come about. */
void pair_tick(struct pair *p, int64_t now_mono_ns);

/* For the owner's list. */
struct pair_links {
	struct pair *next, *previous;
};
struct pair_links *pair_links(struct pair *p);

#endif
