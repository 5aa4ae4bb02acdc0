/* tls.c: see tls.h. */
#include "replayer/wire/tls.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

#define VALID_BACK_S  3600L               /* clocks of client machines may be behind */
#define VALID_AHEAD_S (10L * 365 * 86400) /* nothing is kept, so this only outlives the longest replay */

struct tls {
	SSL_CTX *context;
	char *authority_pem;
	bool offer_http2;
};

/* A tls_session is OpenSSL's object, without another one around it. */
static SSL *ssl_of(const struct tls_session *s)
{
	return (SSL *)(uintptr_t)s;
}

static int fail(struct err *err, const char *what)
{
	char text[256] = "no reason given";
	unsigned long code = ERR_get_error();

	if (code)
		ERR_error_string_n(code, text, sizeof(text));
	return err_set(err, ERR_FAILED, "cannot %s: %s", what, text);
}

/* ---- certificates ---- */

static bool set_serial(X509 *cert)
{
	unsigned char bytes[16];
	BIGNUM *number = NULL;
	bool ok = RAND_bytes(bytes, sizeof(bytes)) == 1;

	bytes[0] &= 0x7f;
	number = ok ? BN_bin2bn(bytes, sizeof(bytes), NULL) : NULL;
	ok = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert));
	BN_free(number);
	return ok;
}

static bool add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX context;
	X509_EXTENSION *extension;
	bool ok;

	X509V3_set_ctx_nodb(&context);
	X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
	ok = extension && X509_add_ext(cert, extension, -1);
	X509_EXTENSION_free(extension);
	return ok;
}

/* A certificate without extensions; NULL when something failed. issuer NULL: its own. */
static X509 *new_certificate(const char *name, EVP_PKEY *key, X509 *issuer)
{
	X509 *cert = X509_new();
	X509_NAME *subject = cert ? X509_get_subject_name(cert) : NULL;
	bool ok = subject && X509_set_version(cert, 2) && set_serial(cert) &&
		  X509_gmtime_adj(X509_getm_notBefore(cert), -VALID_BACK_S) &&
		  X509_gmtime_adj(X509_getm_notAfter(cert), VALID_AHEAD_S) && X509_set_pubkey(cert, key) &&
		  X509_NAME_add_entry_by_txt(
			  subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0) &&
		  X509_set_issuer_name(cert, issuer ? X509_get_subject_name(issuer) : subject);

	if (ok)
		return cert;
	X509_free(cert);
	return NULL;
}

static X509 *make_authority(EVP_PKEY *key)
{
	X509 *cert = new_certificate("kubetape replay", key, NULL);
	bool ok = cert && add_extension(cert, cert, NID_basic_constraints, "critical,CA:TRUE") &&
		  add_extension(cert, cert, NID_key_usage, "critical,keyCertSign,cRLSign") &&
		  add_extension(cert, cert, NID_subject_key_identifier, "hash") &&
		  X509_sign(cert, key, EVP_sha256());

	if (ok)
		return cert;
	X509_free(cert);
	return NULL;
}

/* Clients look at the alternative names only, and want an address there as an address. */
static char *alternative_names(const char *host)
{
	unsigned char address[16];
	bool is_address =
		host && (inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1);
	bool any = !host || strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;

	return xasprintf("DNS:localhost,IP:127.0.0.1,IP:::1%s%s",
		any          ? ""
		: is_address ? ",IP:"
			     : ",DNS:",
		any ? "" : host);
}

static X509 *make_server_certificate(
	const char *host, EVP_PKEY *key, X509 *authority, EVP_PKEY *authority_key)
{
	X509 *cert = new_certificate("kubetape replay server", key, authority);
	char *names = alternative_names(host);
	bool ok = cert && add_extension(cert, authority, NID_basic_constraints, "critical,CA:FALSE") &&
		  add_extension(cert, authority, NID_key_usage, "critical,digitalSignature") &&
		  add_extension(cert, authority, NID_ext_key_usage, "serverAuth") &&
		  add_extension(cert, authority, NID_subject_alt_name, names) &&
		  X509_sign(cert, authority_key, EVP_sha256());

	free(names);
	if (ok)
		return cert;
	X509_free(cert);
	return NULL;
}

static char *to_pem(X509 *cert)
{
	BIO *memory = BIO_new(BIO_s_mem());
	char *bytes, *text = NULL;
	long len;

	if (memory && PEM_write_bio_X509(memory, cert)) {
		len = BIO_get_mem_data(memory, &bytes);
		text = slice_dup((struct slice){bytes, (size_t)len});
	}
	BIO_free(memory);
	return text;
}

static bool use_new_certificates(struct tls *t, const char *host)
{
	EVP_PKEY *authority_key = EVP_EC_gen("P-256"), *key = EVP_EC_gen("P-256");
	X509 *authority = authority_key && key ? make_authority(authority_key) : NULL;
	X509 *cert = authority ? make_server_certificate(host, key, authority, authority_key) : NULL;
	bool ok = cert && SSL_CTX_use_certificate(t->context, cert) == 1 &&
		  SSL_CTX_use_PrivateKey(t->context, key) == 1;

	if (ok)
		t->authority_pem = to_pem(authority);
	X509_free(cert);
	X509_free(authority);
	EVP_PKEY_free(key);
	EVP_PKEY_free(authority_key);
	return ok && t->authority_pem;
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

int tls_new(const char *host, bool offer_http2, struct tls **ret, struct err *err)
{
	struct tls *t = xcalloc(1, sizeof(*t));

	t->offer_http2 = offer_http2;
	t->context = SSL_CTX_new(TLS_server_method());
	if (!t->context || !configure(t->context, t)) {
		tls_free(t);
		return fail(err, "set up TLS");
	}
	if (!use_new_certificates(t, host)) {
		tls_free(t);
		return fail(err, "make a certificate");
	}
	*ret = t;
	return 0;
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
