/*
 * tls_client.h: the other side of tls.h: a connection to a replay, which is known by the fingerprint of its
 * certificate (tls_fingerprint).
 */
#ifndef REPLAYER_TLS_CLIENT_H
#define REPLAYER_TLS_CLIENT_H

#include "schema/base/buf.h"

#include <sys/types.h>

struct tls_client;

/* Shakes hands on a connected, blocking socket. ERR_NETWORK if that fails, or if the certificate is a
 * different one: then nothing has been sent. */
int tls_client_open(int fd, const char *fingerprint, struct tls_client **ret, struct err *err) MUST_CHECK;
void tls_client_free(struct tls_client *c); /* accepts NULL; the socket stays open */

/* As read(): 0 at the end, negative on failure, also when the socket's time-out is over. */
ssize_t tls_client_read(struct tls_client *c, char *to, size_t max);

/* Writes all of it; false on failure. */
bool tls_client_write(struct tls_client *c, struct slice bytes);

#endif
