/* tls_client.c: see tls_client.h. */
#include "replayer/wire/tls_client.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define DIGEST_BYTES 32 /* of SHA-256 */

struct tls_client {
	SSL_CTX *context;
	SSL *ssl;
};

void tls_client_free(struct tls_client *c)
{
	if (!c)
		return;
	SSL_free(c->ssl);
	SSL_CTX_free(c->context);
	ERR_clear_error();
	free(c);
}

static bool has_fingerprint(const struct tls_client *c, const char *fingerprint)
{
	X509 *cert = SSL_get1_peer_certificate(c->ssl);
	unsigned char digest[DIGEST_BYTES];
	char text[2 * DIGEST_BYTES + 1] = "";
	unsigned len = 0;

	if (cert && X509_digest(cert, EVP_sha256(), digest, &len) == 1 && len == DIGEST_BYTES) {
		for (size_t i = 0; i < DIGEST_BYTES; i++)
			snprintf(text + 2 * i, 3, "%02x", digest[i]);
	}
	X509_free(cert);
	return *text && strcasecmp(text, fingerprint) == 0;
}

int tls_client_open(int fd, const char *fingerprint, struct tls_client **ret, struct err *err)
{
	struct tls_client *c = xcalloc(1, sizeof(*c));
	int rc = 0;

	c->context = SSL_CTX_new(TLS_client_method());
	c->ssl = c->context ? SSL_new(c->context) : NULL;
	if (!c->ssl || SSL_set_fd(c->ssl, fd) != 1 || SSL_connect(c->ssl) != 1)
		rc = err_set(err, ERR_NETWORK, "what answers does not speak TLS");
	else if (!has_fingerprint(c, fingerprint))
		rc = err_set(err, ERR_NETWORK, "what answers is not the replay: it has another certificate");
	if (rc) {
		tls_client_free(c);
		return rc;
	}
	*ret = c;
	return 0;
}

ssize_t tls_client_read(struct tls_client *c, char *to, size_t max)
{
	size_t got;

	if (SSL_read_ex(c->ssl, to, max, &got) == 1)
		return (ssize_t)got;
	return SSL_get_error(c->ssl, 0) == SSL_ERROR_ZERO_RETURN ? 0 : -1;
}

bool tls_client_write(struct tls_client *c, struct slice bytes)
{
	size_t sent;

	return SSL_write_ex(c->ssl, bytes.ptr, bytes.len, &sent) == 1 && sent == bytes.len;
}
