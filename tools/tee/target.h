/*
 * target.h: where the real API server is: its URL taken apart, and its addresses.
 */
#ifndef TOOLS_TEE_TARGET_H
#define TOOLS_TEE_TARGET_H

#include "schema/base/err.h"

#include <netdb.h>
#include <stdbool.h>
#include <uv.h>

struct target {
	char *host, *port; /* host without the brackets of an IPv6 address */
	bool has_tls;
	char *authority; /* "host:port" as URLs have it; without a port that goes without saying */
	char *path;      /* what all requests begin with, "" for nothing */
	uv_loop_t *loop;
	struct addrinfo *found; /* the latest answer, or NULL */
	int64_t found_mono_ns;
	struct target_wait *waits; /* pending questions */
};

/* url: http or https. ERR_USAGE. */
int target_init(struct target *t, uv_loop_t *loop, const char *url, struct err *err) MUST_CHECK;
void target_release(struct target *t);

/* Gives the addresses, at once where they were found a moment ago. They are borrowed for the call; list NULL:
 * there are none, and err says why. The question may be dropped by its context. */
void target_resolve(struct target *t,
	void (*done)(void *context, const struct addrinfo *list, const struct err *err), void *context);
void target_forget(struct target *t, const void *context);

#endif
