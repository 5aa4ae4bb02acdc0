/*
 * authority.h: a certificate authority made for the occasion: clients trust it through the kubeconfig that
 * carries its certificate, and a server shows a certificate that it has signed.
 */
#ifndef REPLAYER_AUTHORITY_H
#define REPLAYER_AUTHORITY_H

#include "schema/base/buf.h"

#include <openssl/ssl.h>

struct authority;

/* Makes one. The server's certificates have the same name followed by " server". */
int authority_new(const char *name, struct authority **ret, struct err *err) MUST_CHECK;

/* Reads one, or makes one and writes it: DIR/ca.crt and DIR/ca.key, both PEM. The directory is made if it
 * does not exist. With the key anybody can pose as any server to those who trust the certificate: mode
 * 0600. */
int authority_keep(
	const char *directory, const char *name, struct authority **ret, struct err *err) MUST_CHECK;

void authority_free(struct authority *a); /* accepts NULL */

/* Its certificate in PEM; borrowed. */
const char *authority_pem(const struct authority *a);

/* Gives the context a new key and a certificate for 127.0.0.1, ::1, localhost and `host` (may be NULL). */
int authority_certify(
	const struct authority *a, const char *host, SSL_CTX *context, struct err *err) MUST_CHECK;

/* "cannot WHAT: " and what OpenSSL says of its last failure; ERR_FAILED. */
int authority_fail(struct err *err, const char *what);

#endif
