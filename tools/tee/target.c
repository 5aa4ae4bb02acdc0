/* target.c: see target.h. */
#include "tools/tee/target.h"

#include "schema/base/buf.h"
#include "schema/base/clock.h"

#include <stdlib.h>
#include <string.h>

#define FRESH_NS (5 * NS_PER_S) /* an answer of the name service counts for this long */

struct target_wait {
	uv_getaddrinfo_t request;
	struct target *target; /* NULL: it is gone */
	struct target_wait *next;
	void (*done)(void *context, const struct addrinfo *list, const struct err *err);
	void *context; /* NULL: nobody waits any more */
};

/* "host", "host:port", "[v6]", "[v6]:port" */
static int take_host(struct target *t, struct slice where, struct err *err)
{
	bool is_v6 = where.len && where.ptr[0] == '[';
	const char *end = is_v6 ? memchr(where.ptr, ']', where.len) : memrchr(where.ptr, ':', where.len);
	size_t host_len = end ? (size_t)(end - where.ptr) : where.len, skip = is_v6 ? 1 : 0;
	struct slice rest;

	if (is_v6 && !end)
		return err_set(err, ERR_USAGE, "server '%.*s' is no address", (int)where.len, where.ptr);
	rest = (struct slice){where.ptr + host_len + skip, where.len - host_len - skip};
	t->host = slice_dup((struct slice){where.ptr + skip, host_len - skip});
	if (slice_skip(&rest, ":") && rest.len)
		t->port = slice_dup(rest);
	else
		t->port = xstrdup(t->has_tls ? "443" : "80");
	return *t->host ? 0 : err_set(err, ERR_USAGE, "the server's URL names no host");
}

int target_init(struct target *t, uv_loop_t *loop, const char *url, struct err *err)
{
	struct slice rest = slice_of(url), where;
	int rc;

	*t = (struct target){.loop = loop, .has_tls = slice_skip(&rest, "https://")};
	if (!t->has_tls && !slice_skip(&rest, "http://"))
		return err_set(err, ERR_USAGE, "server '%s' is no http or https URL", url);
	where = slice_cut(&rest, '/');
	t->path = rest.ptr && rest.len ? xasprintf("/%.*s", (int)rest.len, rest.ptr) : xstrdup("");
	t->authority = slice_dup(where);
	rc = take_host(t, where, err);
	if (rc)
		target_release(t);
	return rc;
}

void target_release(struct target *t)
{
	for (struct target_wait *w = t->waits; w; w = w->next) {
		w->target = NULL;
		uv_cancel((uv_req_t *)&w->request);
	}
	if (t->found)
		uv_freeaddrinfo(t->found);
	free(t->host);
	free(t->port);
	free(t->authority);
	free(t->path);
	*t = (struct target){.host = NULL};
}

static void unlink_wait(struct target_wait *w)
{
	struct target_wait **at = &w->target->waits;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
}

static void on_found(uv_getaddrinfo_t *request, int status, struct addrinfo *list)
{
	struct target_wait *w = request->data;
	struct target *t = w->target;
	struct err err = {0};

	if (!t) {
		uv_freeaddrinfo(list);
		free(w);
		return;
	}
	unlink_wait(w);
	if (status == 0) {
		if (t->found)
			uv_freeaddrinfo(t->found);
		t->found = list;
		t->found_mono_ns = clock_mono_ns(&clock_system);
	} else {
		err_set(&err, ERR_NETWORK, "cannot find '%s': %s", t->host, uv_strerror(status));
	}
	if (w->context)
		w->done(w->context, status == 0 ? list : NULL, &err);
	free(w);
}

void target_resolve(struct target *t,
	void (*done)(void *context, const struct addrinfo *list, const struct err *err), void *context)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	bool is_fresh = t->found && clock_mono_ns(&clock_system) - t->found_mono_ns < FRESH_NS;
	struct target_wait *w;
	struct err err = {0};
	int rc;

	if (is_fresh) {
		done(context, t->found, &err);
		return;
	}
	w = xcalloc(1, sizeof(*w));
	w->target = t;
	w->done = done;
	w->context = context;
	w->request.data = w;
	rc = uv_getaddrinfo(t->loop, &w->request, on_found, t->host, t->port, &hints);
	if (rc) {
		free(w);
		err_set(&err, ERR_NETWORK, "cannot find '%s': %s", t->host, uv_strerror(rc));
		done(context, NULL, &err);
		return;
	}
	w->next = t->waits;
	t->waits = w;
}

void target_forget(struct target *t, const void *context)
{
	for (struct target_wait *w = t->waits; w; w = w->next) {
		if (w->context == context)
			w->context = NULL;
	}
}
