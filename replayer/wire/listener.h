/*
 * listener.h: a socket that takes connections, may stop to, and take them again on the same port.
 */
#ifndef REPLAYER_LISTENER_H
#define REPLAYER_LISTENER_H

#include "schema/base/err.h"

struct listener {
	const char *host; /* numeric; borrowed */
	int fd, port;
};

/* "127.0.0.1:8080", "[::1]:0" or ":8080" (this machine alone) into host, which the caller frees, and port.
 * ERR_USAGE. */
int listener_parse(const char *text, char **ret_host, int *ret_port, struct err *err) MUST_CHECK;

/* Binds and listens; port 0 is a free one. ERR_USAGE for a bad address, ERR_NETWORK if it is not
 * available. */
int listener_open(struct listener *l, const char *host, int port, struct err *err) MUST_CHECK;
void listener_close(struct listener *l);

/* Nobody listens any more: connections are refused by the kernel, and those that wait to be accepted are
 * reset. The port stays ours. */
void listener_refuse(struct listener *l);
int listener_accept_again(struct listener *l, struct err *err) MUST_CHECK;

#endif
