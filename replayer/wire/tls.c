/* tls.c: see tls.h. */
#include "replayer/wire/tls.h"

#include "replayer/wire/authority.h"

#include <openssl/err.h>
#include <stdlib.h>

#define DIGEST_BYTES 32 /* of SHA-256 */

struct tls {
	SSL_CTX *context;
	char *authority_pem;
	char fingerprint[2 * DIGEST_BYTES + 1];
	bool offer_http2;
};

/* A tls_session is OpenSSL's object, without another one around it. */
static SSL *ssl_of(const struct tls_session *s)
{
	return (SSL *)(uintptr_t)s;
}

/* ---- the context ---- */

static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
	const unsigned char *offered, unsigned offered_len, void *argument)
{
	static const unsigned char both[] = "\x02h2\x08http/1.1", old[] = "\x08http/1.1";
	const struct tls *t = argument;
	unsigned char *chosen;
	int rc = SSL_select_next_proto(&chosen, out_len, t->offer_http2 ? both : old,
		t->offer_http2 ? sizeof(both) - 1 : sizeof(old) - 1, offered, offered_len);

	(void)ssl;
	*out = chosen;
	return rc == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

/* Sessions are neither kept nor handed out as tickets: connections are few and long. Record buffers are given
 * back while a connection is idle. */
static bool configure(SSL_CTX *context, struct tls *t)
{
	SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
					  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_COMPRESSION |
					     SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
	SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_num_tickets(context, 0);
	SSL_CTX_set_alpn_select_cb(context, choose_protocol, t);
	/* As servers in Go choose: the shorter key is the cheaper one. */
	SSL_CTX_set_ciphersuites(
		context, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256");
	return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1;
}

static int set_fingerprint(struct tls *t, struct err *err)
{
	unsigned char digest[DIGEST_BYTES];
	unsigned len = 0;

	if (X509_digest(SSL_CTX_get0_certificate(t->context), EVP_sha256(), digest, &len) != 1)
		return authority_fail(err, "digest a certificate");
	for (size_t i = 0; i < len; i++)
		snprintf(t->fingerprint + 2 * i, 3, "%02x", digest[i]);
	return 0;
}

int tls_new(const char *host, bool offer_http2, struct tls **ret, struct err *err)
{
	struct tls *t = xcalloc(1, sizeof(*t));
	struct authority *authority = NULL;
	int rc;

	t->offer_http2 = offer_http2;
	t->context = SSL_CTX_new(TLS_server_method());
	rc = t->context && configure(t->context, t) ? 0 : authority_fail(err, "set up TLS");
	if (rc == 0)
		rc = authority_new("kubetape replay", &authority, err);
	if (rc == 0)
		rc = authority_certify(authority, host, t->context, err);
	if (rc == 0)
		rc = set_fingerprint(t, err);
	if (rc == 0)
		t->authority_pem = xstrdup(authority_pem(authority));
	authority_free(authority);
	if (rc)
		tls_free(t);
	else
		*ret = t;
	return rc;
}

void tls_free(struct tls *t)
{
	if (!t)
		return;
	SSL_CTX_free(t->context);
	free(t->authority_pem);
	free(t);
}

const char *tls_authority_pem(const struct tls *t)
{
	return t->authority_pem;
}

const char *tls_fingerprint(const struct tls *t)
{
	return t->fingerprint;
}

/* ---- sessions ---- */

struct tls_session *tls_session_new(struct tls *t, int fd)
{
	SSL *ssl = SSL_new(t->context);

	if (!ssl || SSL_set_fd(ssl, fd) != 1) {
		SSL_free(ssl);
		return NULL;
	}
	SSL_set_accept_state(ssl);
	return (struct tls_session *)ssl;
}

void tls_session_free(struct tls_session *s)
{
	SSL_free(ssl_of(s));
}

/* Every failure empties the queue of errors, so that it is empty before each call, as SSL_get_error needs. */
static enum tls_result result_of(struct tls_session *s, int rc)
{
	enum tls_result result = TLS_BROKEN;

	if (rc > 0)
		return TLS_DONE;
	switch (SSL_get_error(ssl_of(s), rc)) {
	case SSL_ERROR_WANT_READ: result = TLS_WANT_READ; break;
	case SSL_ERROR_WANT_WRITE: result = TLS_WANT_WRITE; break;
	case SSL_ERROR_ZERO_RETURN: result = TLS_CLOSED; break;
	default: break;
	}
	ERR_clear_error();
	return result;
}

enum tls_result tls_handshake(struct tls_session *s)
{
	return result_of(s, SSL_do_handshake(ssl_of(s)));
}

bool tls_chose_http2(const struct tls_session *s)
{
	const unsigned char *name;
	unsigned len;

	SSL_get0_alpn_selected(ssl_of(s), &name, &len);
	return len == 2 && memcmp(name, "h2", 2) == 0;
}

enum tls_result tls_read(struct tls_session *s, char *to, size_t max, size_t *ret)
{
	return result_of(s, SSL_read_ex(ssl_of(s), to, max, ret));
}

enum tls_result tls_write(struct tls_session *s, struct slice bytes, size_t *ret)
{
	return result_of(s, SSL_write_ex(ssl_of(s), bytes.ptr, bytes.len, ret));
}

void tls_shutdown(struct tls_session *s)
{
	if (SSL_is_init_finished(ssl_of(s)))
		SSL_shutdown(ssl_of(s));
	ERR_clear_error();
}

/* The parts of the object that a write looks at: its first four cache lines. */
void tls_prefetch(const struct tls_session *s)
{
	for (size_t at = 0; at < 256; at += 64)
		__builtin_prefetch((const char *)s + at);
}
