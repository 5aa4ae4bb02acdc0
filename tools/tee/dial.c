/* dial.c: see dial.h. */
#include "tools/tee/dial.h"

#include "schema/base/buf.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define ADDRESSES_MAX 8
#define IMPATIENCE_MS 3000 /* an address that says nothing for this long is left, if there is another one */

struct address {
	struct sockaddr_storage bytes;
	socklen_t len;
};

/* A handle of libuv belongs to one socket and outlives its end a little: each attempt has one of its own. */
struct attempt {
	uv_poll_t poll;
	struct dial *dial;
	int fd;
};

struct dial {
	struct target *target;
	dial_done *done;
	void *context;
	struct address addresses[ADDRESSES_MAX];
	size_t count, next;
	struct attempt *attempt; /* NULL: none runs */
	uv_timer_t timer;
	bool is_over;
	bool all_refused;
	int why; /* errno of the last failure */
};

/* ---- the end ---- */

static void free_attempt(uv_handle_t *handle)
{
	free(handle->data);
}

/* The socket stays. */
static void drop_attempt(struct dial *d)
{
	if (d->attempt)
		uv_close((uv_handle_t *)&d->attempt->poll, free_attempt);
	d->attempt = NULL;
}

static void free_dial(uv_handle_t *handle)
{
	free(handle->data);
}

static void let_go(struct dial *d)
{
	d->is_over = true;
	target_forget(d->target, d);
	drop_attempt(d);
	uv_close((uv_handle_t *)&d->timer, free_dial);
}

void dial_drop(struct dial *d)
{
	if (!d)
		return;
	if (d->attempt)
		close(d->attempt->fd);
	let_go(d);
}

static void dial_fail(struct dial *d, const struct err *err)
{
	let_go(d);
	d->done(d->context, -1, d->count && d->all_refused, err);
}

/* ---- attempts ---- */

static void try_next(struct dial *d);

static void fail_attempt(struct dial *d, int number)
{
	if (d->attempt)
		close(d->attempt->fd);
	drop_attempt(d);
	uv_timer_stop(&d->timer);
	d->why = number;
	d->all_refused &= number == ECONNREFUSED;
	try_next(d);
}

static void on_impatience(uv_timer_t *timer)
{
	fail_attempt(timer->data, ETIMEDOUT);
}

static void on_connected(uv_poll_t *handle, int status, int events)
{
	struct attempt *a = handle->data;
	struct dial *d = a->dial;
	int number = 0, fd = a->fd;
	socklen_t len = sizeof(number);

	(void)status;
	(void)events;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &number, &len))
		number = errno;
	if (number) {
		fail_attempt(d, number);
		return;
	}
	let_go(d);
	d->done(d->context, fd, false, NULL);
}

static int begin_attempt(struct dial *d, const struct address *to)
{
	int fd = socket(to->bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), number;
	struct attempt *a;

	if (fd < 0)
		return errno;
	if (connect(fd, (const struct sockaddr *)&to->bytes, to->len) && errno != EINPROGRESS) {
		number = errno;
		close(fd);
		return number;
	}
	a = xcalloc(1, sizeof(*a));
	a->dial = d;
	a->fd = fd;
	if (uv_poll_init(d->target->loop, &a->poll, fd)) {
		close(fd);
		free(a);
		return EMFILE;
	}
	a->poll.data = a;
	d->attempt = a;
	uv_poll_start(&a->poll, UV_WRITABLE, on_connected);
	if (d->next < d->count)
		uv_timer_start(&d->timer, on_impatience, IMPATIENCE_MS, 0);
	return 0;
}

static void try_next(struct dial *d)
{
	struct err err;

	while (d->next < d->count) {
		int number = begin_attempt(d, &d->addresses[d->next++]);

		if (number == 0)
			return;
		d->why = number;
		d->all_refused &= number == ECONNREFUSED;
	}
	err_set(&err, ERR_NETWORK, "cannot reach '%s': %s", d->target->authority, strerror(d->why));
	dial_fail(d, &err);
}

static void on_resolved(void *context, const struct addrinfo *list, const struct err *err)
{
	struct dial *d = context;

	for (; list && d->count < ADDRESSES_MAX; list = list->ai_next) {
		struct address *a = &d->addresses[d->count++];

		memcpy(&a->bytes, list->ai_addr, list->ai_addrlen);
		a->len = list->ai_addrlen;
	}
	if (d->count)
		try_next(d);
	else
		dial_fail(d, err);
}

struct dial *dial_start(struct target *t, dial_done *done, void *context)
{
	struct dial *d = xcalloc(1, sizeof(*d));

	d->target = t;
	d->done = done;
	d->context = context;
	d->all_refused = true;
	d->why = EADDRNOTAVAIL;
	uv_timer_init(t->loop, &d->timer);
	d->timer.data = d;
	target_resolve(t, on_resolved, d);
	return d->is_over ? NULL : d;
}
