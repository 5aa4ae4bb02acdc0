/*
 * tee_tls.h: TLS on both sides of the tee: a server to clients, under an authority of its own, and a client
 * to the real API server.
 *
 * Which protocol is spoken on top is for the real server to choose: a client is heard first, then the server
 * is offered the same, and the client is answered what the server chose.
 */
#ifndef TOOLS_TEE_TEE_TLS_H
#define TOOLS_TEE_TEE_TLS_H

#include "schema/base/buf.h"

#include <openssl/ssl.h>

#define HELLO_PROTOCOLS_MAX 512

/* The client's offer, and the answer to it. */
struct hello {
	unsigned char offered[HELLO_PROTOCOLS_MAX]; /* each with its length before it */
	size_t offered_len;
	bool has_come, may_answer;
	unsigned char chosen[256]; /* by the server */
	size_t chosen_len;         /* 0: none */
};

struct tee_tls_options {
	const char *host;             /* a name for the tee's certificate; NULL: that of this machine alone */
	const char *authority_folder; /* where the authority is kept; NULL: one for this time only */
	struct slice server_ca;       /* PEM; empty: server_ca_file */
	const char *server_ca_file;   /* NULL: those the system trusts */
	const char *server_name;      /* to ask for and to verify; a name or an address */
	bool insecure;                /* believe any server */
};

struct tee_tls;
int tee_tls_new(const struct tee_tls_options *options, struct tee_tls **ret, struct err *err) MUST_CHECK;
void tee_tls_free(struct tee_tls *t); /* accepts NULL */

/* The certificate of the tee's authority, for clients; borrowed. */
const char *tee_tls_authority_pem(const struct tee_tls *t);

/* A session with a client on a connected socket; `hello` must live as long. NULL if memory is out. */
SSL *tee_tls_accept(struct tee_tls *t, int fd, struct hello *hello);

/* A session with the server that offers what the client did. certificate and key: PEM, empty for none. */
int tee_tls_connect(struct tee_tls *t, int fd, const struct hello *hello, struct slice certificate,
	struct slice key, SSL **ret, struct err *err) MUST_CHECK;

enum handshake {
	HANDSHAKE_DONE,
	HANDSHAKE_READS,
	HANDSHAKE_WRITES,
	HANDSHAKE_HEARD, /* the client's hello has come; continue when hello->may_answer */
	HANDSHAKE_FAILED,
};

/* Continues the handshake; a sentence says why it failed. */
enum handshake tee_tls_shake(SSL *ssl, struct err *err);

/* Copies what the server chose. */
void tee_tls_take_choice(SSL *server, struct hello *hello);
bool hello_chose(const struct hello *hello, const char *protocol);

#endif
