/*
 * peer.h: who is at the other end of a connection: another machine, a process of this one and its user, or a
 * client of the control socket. The kernel is asked once for each connection, when that is first needed.
 */
#ifndef REPLAYER_PEER_H
#define REPLAYER_PEER_H

#include <stdbool.h>
#include <sys/types.h>

enum peer_kind {
	PEER_UNASKED, /* nobody wanted to know yet */
	PEER_REMOTE,  /* does not come over loopback */
	PEER_LOCAL,   /* over loopback, a process of `uid` */
	PEER_NOBODY,  /* over loopback, and the kernel does not say whose process: it may be gone */
};

struct peer {
	int fd;         /* of the connection; borrowed */
	bool beside;    /* it came by the control socket */
	bool is_secure; /* it speaks TLS */
	enum peer_kind kind;
	uid_t uid;
};

/* Asks if nobody has; PEER_UNASKED is never returned. */
enum peer_kind peer_find(struct peer *p);

/* A process of our user, or of root. */
bool peer_is_ours(struct peer *p);

/* Whether this system shows the users of processes at loopback connections. */
bool peer_can_be_found(void);

/* Whether the numeric address is a loopback address. */
bool peer_is_loopback_address(const char *host);

#endif
