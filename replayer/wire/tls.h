/*
 * tls.h: the server's side of TLS, with an authority and a certificate made at start: nothing is kept, the
 * kubeconfig carries the authority's certificate. Only this file's .c knows OpenSSL's TLS.
 */
#ifndef REPLAYER_TLS_H
#define REPLAYER_TLS_H

#include "schema/base/buf.h"

#include <sys/types.h>

struct tls;         /* one for the server */
struct tls_session; /* one for each connection */

/* Makes an authority and a certificate for 127.0.0.1, ::1, localhost and `host` (may be NULL). Offers "h2"
 * and "http/1.1", or only the latter. */
int tls_new(const char *host, bool offer_http2, struct tls **ret, struct err *err) MUST_CHECK;
void tls_free(struct tls *t);

/* The authority's certificate in PEM, for clients; borrowed. */
const char *tls_authority_pem(const struct tls *t);

/* The SHA-256 of the server's certificate, in hexadecimal digits: a client that has it can recognize the
 * server without the authority; borrowed. */
const char *tls_fingerprint(const struct tls *t);

/* A session on a connected, non-blocking socket; NULL if memory is out. */
struct tls_session *tls_session_new(struct tls *t, int fd);
void tls_session_free(struct tls_session *s);

enum tls_result {
	TLS_DONE = 1,
	TLS_WANT_READ = 0,
	TLS_WANT_WRITE = -1,
	TLS_CLOSED = -2, /* the peer said goodbye */
	TLS_BROKEN = -3,
};

/* Goes on with the handshake. */
enum tls_result tls_handshake(struct tls_session *s);
/* After the handshake: the peer chose HTTP/2. */
bool tls_chose_http2(const struct tls_session *s);

/* TLS_DONE with the number of bytes in *ret. */
enum tls_result tls_read(struct tls_session *s, char *to, size_t max, size_t *ret);
enum tls_result tls_write(struct tls_session *s, struct slice bytes, size_t *ret);

/* Has the cache fetch what tls_write begins with; s may be NULL. */
void tls_prefetch(const struct tls_session *s);

/* Says goodbye; does not wait for an answer. */
void tls_shutdown(struct tls_session *s);

#endif
