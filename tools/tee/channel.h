/*
 * channel.h: one end of the road: a connected socket, with TLS or without. Nothing here waits. It
 * distinguishes the ways in which a peer ends, so that each can be passed on to the other end.
 */
#ifndef TOOLS_TEE_CHANNEL_H
#define TOOLS_TEE_CHANNEL_H

#include "schema/base/buf.h"

#include <openssl/ssl.h>
#include <sys/types.h>

#define CHANNEL_PIECE_BYTES 16384 /* read and written at once at most; a record of TLS */

struct channel {
	int fd;   /* -1: none */
	SSL *ssl; /* NULL: without TLS */
	bool got_goodbye, said_goodbye;
	bool reads_by_writing; /* TLS has to write before it can read on */
};

enum channel_end {
	CHANNEL_GOODBYE = -1, /* TLS: no more data; the connection may still be open */
	CHANNEL_FIN = -2,
	CHANNEL_RESET = -3, /* or broken in any other way */
};

/* Bytes read, 0 if there are none now, or enum channel_end. */
ssize_t channel_read(struct channel *c, char *to, size_t max);

/* TLS has buffered data that the socket will not report. */
bool channel_has_read(const struct channel *c);

/* Bytes taken, 0 if the socket is full (the next call must offer the same bytes, and may offer more), or
 * CHANNEL_RESET. */
ssize_t channel_write(struct channel *c, struct slice bytes);

/* Says goodbye in TLS: 1, 0 if the socket is full. */
int channel_say_goodbye(struct channel *c);

/* Nothing more will be sent. */
void channel_say_fin(struct channel *c);

/* The peer has acknowledged all that was sent. */
bool channel_is_drained(const struct channel *c);

/* Closes; so that the peer sees a reset, or else a FIN after what the kernel still holds. */
void channel_close(struct channel *c, bool by_reset);

/* As every client and server of Go has it: small pieces at once, and a dead peer is found after minutes. */
void channel_set_options(int fd);

#endif
