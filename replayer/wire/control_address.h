/*
 * control_address.h: the second address of a replay, for control requests from the same machine: an abstract
 * Unix socket named after the port. It listens also while a fault makes the kernel refuse connections to the
 * port, and speaks plain HTTP/1.1.
 */
#ifndef REPLAYER_CONTROL_ADDRESS_H
#define REPLAYER_CONTROL_ADDRESS_H

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Fills it in and returns its length. */
static inline socklen_t control_address(struct sockaddr_un *to, int port)
{
	int len;

	memset(to, 0, sizeof(*to));
	to->sun_family = AF_UNIX;
	len = snprintf(to->sun_path + 1, sizeof(to->sun_path) - 1, "kubetape-control-%d", port);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

#endif
