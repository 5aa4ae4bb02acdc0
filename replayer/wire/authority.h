/*
 * authority.h: a certificate authority made for the occasion: clients trust it through the kubeconfig that
 * carries its certificate, and a server shows a certificate that it has signed.
 */
#ifndef REPLAYER_AUTHORITY_H
#define REPLAYER_AUTHORITY_H

#include "schema/base/buf.h"

#include <openssl/ssl.h>

struct authority;

/* Makes one. The server's certificates bear the same name with " server" behind it. */
int authority_new(const char *name, struct authority **ret, struct err *err) MUST_CHECK;

/* Reads one, or makes one and writes it: DIR/ca.crt and DIR/ca.key, both PEM. The directory is made if it is
 * not there. Who reads the key can be taken for any server by those who trust the certificate: 0600. */
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
