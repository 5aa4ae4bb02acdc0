/*
 * identity.h: the identity with which requests reach the real API server.
 *
 *     the client's    its token, password or credential plugin's token pass untouched: the kubeconfig that the
 *                     tee writes for clients has the user's own entry
 *     the tee's       with the kubeconfig's client certificate, which no proxy can pass on, or with an option:
 *                     with all credentials of the kubeconfig's user. Clients then send a secret that is only in
 *                     the kubeconfig that the tee writes
 *
 * The tee may also act as another user (Impersonate-User), if its own user has the right to.
 */
#ifndef TOOLS_TEE_IDENTITY_H
#define TOOLS_TEE_IDENTITY_H

#include "recorder/credentials.h"
#include "tools/tee/rewrite.h"

enum identity_choice { IDENTITY_FITTING, IDENTITY_CLIENT, IDENTITY_OWN };

struct identity_options {
	enum identity_choice choice;
	const char *as_user;    /* NULL: nobody */
	const char **as_groups; /* ended by NULL, or NULL */
};

struct identity;

/* Borrows config and options. ERR_USAGE if they contradict each other; a certificate file that cannot be
 * read is an error, too. */
int identity_open(uv_loop_t *loop, const struct cluster_config *config,
	const struct identity_options *options, struct identity **ret, struct err *err) MUST_CHECK;
void identity_close(struct identity *i); /* accepts NULL */

/* Calls `ready`, once, when the first credentials are available, or have failed; perhaps at once. */
void identity_begin(struct identity *i, void (*ready)(void *context, const struct err *err), void *context);

/* Checks whether files have changed or a token has expired; call it about once a second, and then call the
 * two functions below again. Logs a failure. */
void identity_tick(struct identity *i);

/* Fills in the credentials; borrowed until the next tick. */
void identity_fill(struct identity *i, struct rewrite *to);
struct slice identity_certificate(const struct identity *i); /* PEM; empty: none */
struct slice identity_key(const struct identity *i);

/* One sentence for the user. */
const char *identity_sentence(const struct identity *i);

/* Writes the kubeconfig for clients of the tee. */
int identity_write_kubeconfig(const struct identity *i, const char *path, const char *url,
	const char *authority_pem, struct err *err) MUST_CHECK;

#endif
