/* tee_tls.c: see tee_tls.h. */
#include "tools/tee/tee_tls.h"

#include "replayer/wire/authority.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

struct tee_tls {
	SSL_CTX *server, *client; /* to clients; to the server */
	struct authority *authority;
	char *server_name;
};

/* ---- the client's hello ---- */

/* The extension is the list after its length of two bytes. */
static int on_hello(SSL *ssl, int *alert, void *unused)
{
	struct hello *h = SSL_get_app_data(ssl);
	const unsigned char *list = NULL;
	size_t len = 0;

	(void)unused;
	if (!h->has_come && SSL_client_hello_get0_ext(
				    ssl, TLSEXT_TYPE_application_layer_protocol_negotiation, &list, &len)) {
		if (len < 2 || len - 2 > sizeof(h->offered)) {
			*alert = SSL_AD_DECODE_ERROR;
			return SSL_CLIENT_HELLO_ERROR;
		}
		h->offered_len = len - 2;
		memcpy(h->offered, list + 2, h->offered_len);
	}
	h->has_come = true;
	return h->may_answer ? SSL_CLIENT_HELLO_SUCCESS : SSL_CLIENT_HELLO_RETRY;
}

static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
	const unsigned char *offered, unsigned offered_len, void *unused)
{
	const struct hello *h = SSL_get_app_data(ssl);

	(void)unused;
	for (unsigned at = 0; h->chosen_len && at < offered_len; at += 1u + offered[at]) {
		if (offered[at] == h->chosen_len && memcmp(offered + at + 1, h->chosen, h->chosen_len) == 0) {
			*out = offered + at + 1;
			*out_len = offered[at];
			return SSL_TLSEXT_ERR_OK;
		}
	}
	return SSL_TLSEXT_ERR_NOACK;
}

void tee_tls_take_choice(SSL *server, struct hello *h)
{
	const unsigned char *chosen;
	unsigned len;

	SSL_get0_alpn_selected(server, &chosen, &len);
	h->chosen_len = len < sizeof(h->chosen) ? len : 0;
	if (h->chosen_len)
		memcpy(h->chosen, chosen, h->chosen_len);
	h->may_answer = true;
}

bool hello_chose(const struct hello *h, const char *protocol)
{
	return h->chosen_len == strlen(protocol) && memcmp(h->chosen, protocol, h->chosen_len) == 0;
}

/* ---- contexts ---- */

/* Buffers of records are given back while a connection is idle; sessions are not kept: connections are few
 * and long. */
static bool configure(SSL_CTX *context)
{
	SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
					  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
	SSL_CTX_set_read_ahead(context, 1); /* a record's head and body in one call */
	SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_num_tickets(context, 0);
	return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1;
}

static int trust_data(SSL_CTX *context, struct slice pem, struct err *err)
{
	BIO *memory = BIO_new_mem_buf(pem.ptr, (int)pem.len);
	size_t count = 0;
	X509 *cert;

	while (memory && (cert = PEM_read_bio_X509(memory, NULL, NULL, NULL))) {
		count += X509_STORE_add_cert(SSL_CTX_get_cert_store(context), cert) == 1;
		X509_free(cert);
	}
	BIO_free(memory);
	ERR_clear_error();
	return count ? 0
		     : err_set(err, ERR_PROTOCOL,
			       "the certificate authority of the kubeconfig is no certificate");
}

static int trust(SSL_CTX *context, const struct tee_tls_options *o, struct err *err)
{
	if (o->insecure)
		return 0;
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	if (o->server_ca.len)
		return trust_data(context, o->server_ca, err);
	if (!o->server_ca_file)
		return SSL_CTX_set_default_verify_paths(context) == 1
			       ? 0
			       : authority_fail(err, "read the certificates that the system trusts");
	if (SSL_CTX_load_verify_locations(context, o->server_ca_file, NULL) == 1)
		return 0;
	ERR_clear_error();
	return err_set(err, ERR_PROTOCOL, "cannot read a certificate authority from '%s'", o->server_ca_file);
}

static int open_server_side(struct tee_tls *t, const struct tee_tls_options *o, struct err *err)
{
	int rc;

	t->server = SSL_CTX_new(TLS_server_method());
	if (!t->server || !configure(t->server))
		return authority_fail(err, "set up TLS");
	SSL_CTX_set_client_hello_cb(t->server, on_hello, NULL);
	SSL_CTX_set_alpn_select_cb(t->server, choose_protocol, NULL);
	rc = o->authority_folder ? authority_keep(o->authority_folder, "kubetape tee", &t->authority, err)
				 : authority_new("kubetape tee", &t->authority, err);
	return rc ? rc : authority_certify(t->authority, o->host, t->server, err);
}

int tee_tls_new(const struct tee_tls_options *o, struct tee_tls **ret, struct err *err)
{
	struct tee_tls *t = xcalloc(1, sizeof(*t));
	int rc = open_server_side(t, o, err);

	t->server_name = xstrdup(o->server_name);
	t->client = SSL_CTX_new(TLS_client_method());
	if (rc == 0 && (!t->client || !configure(t->client)))
		rc = authority_fail(err, "set up TLS");
	if (rc == 0)
		rc = trust(t->client, o, err);
	if (rc)
		tee_tls_free(t);
	else
		*ret = t;
	return rc;
}

void tee_tls_free(struct tee_tls *t)
{
	if (!t)
		return;
	SSL_CTX_free(t->server);
	SSL_CTX_free(t->client);
	authority_free(t->authority);
	free(t->server_name);
	free(t);
}

const char *tee_tls_authority_pem(const struct tee_tls *t)
{
	return authority_pem(t->authority);
}

/* ---- sessions ---- */

SSL *tee_tls_accept(struct tee_tls *t, int fd, struct hello *hello)
{
	SSL *ssl = SSL_new(t->server);

	if (!ssl || SSL_set_fd(ssl, fd) != 1) {
		SSL_free(ssl);
		return NULL;
	}
	SSL_set_app_data(ssl, hello);
	SSL_set_accept_state(ssl);
	return ssl;
}

/* The first certificate is ours, those that follow lead to one that is trusted. */
static bool use_certificates(SSL *ssl, struct slice pem)
{
	BIO *memory = BIO_new_mem_buf(pem.ptr, (int)pem.len);
	X509 *cert = memory ? PEM_read_bio_X509(memory, NULL, NULL, NULL) : NULL;
	bool ok = cert && SSL_use_certificate(ssl, cert) == 1;

	X509_free(cert);
	while (ok && (cert = PEM_read_bio_X509(memory, NULL, NULL, NULL))) {
		ok = SSL_add1_chain_cert(ssl, cert) == 1;
		X509_free(cert);
	}
	BIO_free(memory);
	ERR_clear_error();
	return ok;
}

static bool use_key(SSL *ssl, struct slice pem)
{
	BIO *memory = BIO_new_mem_buf(pem.ptr, (int)pem.len);
	EVP_PKEY *key = memory ? PEM_read_bio_PrivateKey(memory, NULL, NULL, NULL) : NULL;
	bool ok = key && SSL_use_PrivateKey(ssl, key) == 1;

	EVP_PKEY_free(key);
	BIO_free(memory);
	ERR_clear_error();
	return ok;
}

/* Servers are asked for by name only, and verified by either. */
static bool name_server(SSL *ssl, const char *name)
{
	unsigned char address[16];
	bool is_address = inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1;

	if (is_address)
		return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1;
	return SSL_set_tlsext_host_name(ssl, name) == 1 && SSL_set1_host(ssl, name) == 1;
}

int tee_tls_connect(struct tee_tls *t, int fd, const struct hello *hello, struct slice certificate,
	struct slice key, SSL **ret, struct err *err)
{
	SSL *ssl = SSL_new(t->client);
	int rc = 0;

	if (!ssl || SSL_set_fd(ssl, fd) != 1 || !name_server(ssl, t->server_name))
		rc = authority_fail(err, "set up TLS");
	if (rc == 0 && hello->offered_len)
		SSL_set_alpn_protos(ssl, hello->offered, (unsigned)hello->offered_len);
	if (rc == 0 && certificate.len && (!use_certificates(ssl, certificate) || !use_key(ssl, key)))
		rc = err_set(err, ERR_PROTOCOL, "the kubeconfig's client certificate and key do not fit");
	if (rc) {
		SSL_free(ssl);
		return rc;
	}
	SSL_set_connect_state(ssl);
	*ret = ssl;
	return 0;
}

static void say_why(SSL *ssl, struct err *err)
{
	unsigned long code = ERR_peek_last_error();
	const char *reason = code ? ERR_reason_error_string(code) : NULL;
	long verdict = SSL_get_verify_result(ssl);

	if (verdict != X509_V_OK)
		err_set(err, ERR_DENIED, "its certificate is not accepted: %s",
			X509_verify_cert_error_string(verdict));
	else
		err_set(err, ERR_NETWORK, "%s", reason ? reason : "the connection was closed");
}

enum handshake tee_tls_shake(SSL *ssl, struct err *err)
{
	enum handshake result = HANDSHAKE_FAILED;
	int rc = SSL_do_handshake(ssl);

	if (rc == 1)
		return HANDSHAKE_DONE;
	switch (SSL_get_error(ssl, rc)) {
	case SSL_ERROR_WANT_READ: result = HANDSHAKE_READS; break;
	case SSL_ERROR_WANT_WRITE: result = HANDSHAKE_WRITES; break;
	case SSL_ERROR_WANT_CLIENT_HELLO_CB: result = HANDSHAKE_HEARD; break;
	default: say_why(ssl, err); break;
	}
	ERR_clear_error();
	return result;
}
