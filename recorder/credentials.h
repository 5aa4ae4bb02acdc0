/*
 * credentials.h: our identity at the server: a fixed token, a token file that is read again when it changes,
 * a user name with password, client certificates, or the output of a credential plugin.
 *
 * A plugin runs beside the loop; until it has answered the credentials are not ready and requests wait.
 */
#ifndef RECORDER_CREDENTIALS_H
#define RECORDER_CREDENTIALS_H

#include "recorder/kubeconfig.h"
#include "schema/base/clock.h"

#include <uv.h>

struct credentials;

/* config, clock and loop are borrowed for the life of the credentials. */
struct credentials *credentials_new(
	uv_loop_t *loop, const struct clock *clock, const struct cluster_config *config);
void credentials_free(struct credentials *c);

/* False while a plugin has to be asked (first use, expiry, or after credentials_refused). */
bool credentials_ready(const struct credentials *c);

/* Asks the plugin unless it is being asked, then calls `done` once, with an err whose code is 0 or a failure.
 * Must not be called when ready. */
void credentials_prepare(
	struct credentials *c, void (*done)(void *context, const struct err *err), void *context);

/* The server answered 401 to a request that began then. Unless the credentials have been replaced meanwhile,
 * the token file is read and the plugin run again before the next use. */
void credentials_refused(struct credentials *c, int64_t used_mono_ns);

/* The whole Authorization header line, or NULL for none; borrowed until the next call. A token file that
 * cannot be read is an error. */
int credentials_header(struct credentials *c, const char **ret_line, struct err *err) MUST_CHECK;

/* Client certificate and key as PEM; empty if there is none but perhaps a file. Borrowed until the next
 * credentials_prepare. */
struct slice credentials_certificate(const struct credentials *c);
struct slice credentials_key(const struct credentials *c);

#endif
