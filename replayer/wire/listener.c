/* listener.c: see listener.h. */
#include "replayer/wire/listener.h"

#include "schema/base/buf.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 4096

int listener_parse(const char *text, char **ret_host, int *ret_port, struct err *err)
{
	const char *colon = strrchr(text, ':');
	char *end;
	long port = colon ? strtol(colon + 1, &end, 10) : -1;
	struct slice host = {text, colon ? (size_t)(colon - text) : 0};

	if (!colon || end == colon + 1 || *end || port < 0 || port > 65535)
		return err_set(err, ERR_USAGE, "bad address '%s': expected ADDRESS:PORT", text);
	if (host.len >= 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']')
		host = (struct slice){host.ptr + 1, host.len - 2};
	*ret_host = host.len ? slice_dup(host) : xstrdup("127.0.0.1");
	*ret_port = (int)port;
	return 0;
}

static int cannot_listen(const struct listener *l, struct err *err)
{
	err_set_errno(err, errno, "cannot listen on '%s' port %d", l->host, l->port);
	return err_recode(err, ERR_NETWORK);
}

/* A bound socket; *ret_bound is its address, with the port it got. Negative on failure, with errno. */
static int bound_socket(const struct sockaddr *address, socklen_t len, struct sockaddr_storage *ret_bound)
{
	static const int on = 1;
	socklen_t bound_len = sizeof(*ret_bound);
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, address, len) == 0 && getsockname(fd, (struct sockaddr *)ret_bound, &bound_len) == 0)
		return fd;
	close(fd);
	return -1;
}

/* A port that the kernel chose is given back as soon as nobody listens, one that was asked for stays with the
 * socket. So a chosen one is asked for by a second socket, while the first one holds it. */
static int bind_address(struct listener *l, const struct addrinfo *address, struct err *err)
{
	struct sockaddr_storage bound;
	int fd = bound_socket(address->ai_addr, address->ai_addrlen, &bound), again = -1;

	if (fd >= 0 && l->port == 0)
		again = bound_socket((const struct sockaddr *)&bound, address->ai_addrlen, &bound);
	if (again >= 0) {
		close(fd);
		fd = again;
	}
	if (fd < 0 || listen(fd, BACKLOG)) {
		cannot_listen(l, err);
		if (fd >= 0)
			close(fd);
		return ERR_NETWORK;
	}
	l->fd = fd;
	l->port = ntohs(bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&bound)->sin6_port
						    : ((struct sockaddr_in *)&bound)->sin_port);
	return 0;
}

int listener_open(struct listener *l, const char *host, int port, struct err *err)
{
	struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE, .ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	char number[16];
	int rc;

	*l = (struct listener){.host = host, .fd = -1, .port = port};
	snprintf(number, sizeof(number), "%d", port);
	if (getaddrinfo(host, number, &hints, &found))
		return err_set(err, ERR_USAGE, "'%s' is no numeric address to listen on", host);
	rc = bind_address(l, found, err);
	freeaddrinfo(found);
	return rc;
}

void listener_close(struct listener *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}

/* The socket keeps its port while it does not listen. */
void listener_refuse(struct listener *l)
{
	shutdown(l->fd, SHUT_RD);
}

int listener_accept_again(struct listener *l, struct err *err)
{
	return listen(l->fd, BACKLOG) ? cannot_listen(l, err) : 0;
}
