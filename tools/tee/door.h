/*
 * door.h: where clients come in: the listening socket, and all pairs.
 *
 *     OPEN --the real server refuses connections--> SHUT --it takes them again--> OPEN
 *
 * While it is shut nobody listens, and connections are refused by the kernel, as it would have been by the
 * server's: clients take that for another thing than a connection that is broken off. Whether the server is
 * there again is tried with connections that say nothing.
 */
#ifndef TOOLS_TEE_DOOR_H
#define TOOLS_TEE_DOOR_H

#include "tools/tee/pair.h"

struct door;

struct door_options {
	const char *host; /* numeric address; borrowed */
	int port;         /* 0: a free one */
	/* Everything but closed, unreached, look, tell and owner, which are the door's. */
	struct pair_context pairs;
};

/* Listens. ERR_USAGE for a bad address, ERR_NETWORK if it is not available. */
int door_open(const struct door_options *options, struct door **ret, struct err *err) MUST_CHECK;

/* Closes everything. Freed when libuv lets go. Accepts NULL. */
void door_close(struct door *d);

int door_port(const struct door *d);

/* The identity of requests from now on. Certificates count for new connections. */
struct identity;
void door_identify(struct door *d, struct identity *i);

/* The desk has room again; from any thread. */
void door_tell_room(void *door);

struct door_figures {
	uint64_t connections, requests, unreached;
	size_t pairs; /* now */
};
struct door_figures door_figures(const struct door *d);

#endif
