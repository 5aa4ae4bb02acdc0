/* conn.c: see conn.h. */
#include "replayer/wire/conn.h"

#include "replayer/wire/http1_conn.h"
#include "replayer/wire/http2_conn.h"
#include "replayer/wire/server.h"
#include "schema/base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define HANDSHAKE_NS     (10 * NS_PER_S)
#define HELD_FREE_BYTES  (16u << 10)     /* what every connection may keep, however many there are */
#define SLICE_NS         (4 * NS_PER_MS) /* of a turn, for one connection */
#define READ_A_TURN      (256u << 10)    /* so that one busy peer does not hold up the others */
#define TLS_WRITE_BYTES  (16u << 10)     /* one record */
#define IOVECS_MAX       64
#define CACHE_LINE_BYTES 64
#define PREFACE          "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" /* RFC 9113, section 3.4 */
#define PREFACE_BYTES    (sizeof(PREFACE) - 1)

enum conn_state {
	CONN_HANDSHAKE, /* TLS is being agreed on */
	CONN_RUNNING,   /* the protocol is in charge */
	CONN_CLOSED,    /* waiting for libuv to let go of the handle */
};

struct conn {
	uv_poll_t poll;
	struct server *server;
	int fd, events;
	enum conn_state state;
	bool socket_full;      /* a write came up short; waiting for the socket */
	bool may_be_http2;     /* no TLS, and what has come so far is a part of HTTP/2's preface */
	bool freezing, frozen; /* freezing: frozen as soon as it is flushed */
	uint64_t frozen_by;
	struct peer peer;
	struct tls_session *tls;
	const struct conn_protocol *protocol;
	void *self;
	struct buf in;
	size_t in_max;
	size_t held; /* as conn_hold said, and the input */
	int64_t progress_ns;
	int64_t began_ns; /* of its time in this turn */
	int64_t flush_ns; /* when a flush turned out to be a long one */
	int64_t spent_ns; /* of the loop's time, lately */
	struct conn_links links;
};

struct conn_links *conn_links(struct conn *c)
{
	return &c->links;
}

struct buf *conn_input(struct conn *c)
{
	return &c->in;
}

struct server *conn_server(struct conn *c)
{
	return c->server;
}

struct peer *conn_peer(struct conn *c)
{
	return &c->peer;
}

bool conn_is_closed(const struct conn *c)
{
	return c->state == CONN_CLOSED;
}

int64_t conn_progress_ns(const struct conn *c)
{
	return c->progress_ns;
}

void conn_wake(struct conn *c)
{
	if (c->state != CONN_CLOSED)
		server_wake(c->server, c);
}

static void on_event(uv_poll_t *handle, int status, int events);

static void poll_for_what_is_needed(struct conn *c)
{
	int events = (c->in.len < c->in_max ? UV_READABLE : 0) | (c->socket_full ? UV_WRITABLE : 0);

	if (c->freezing)
		events &= ~UV_READABLE;
	if (c->frozen)
		events = 0;
	if (c->state == CONN_CLOSED || events == c->events)
		return;
	c->events = events;
	if (events)
		uv_poll_start(&c->poll, events, on_event);
	else
		uv_poll_stop(&c->poll);
}

void conn_set_input_max(struct conn *c, size_t max)
{
	c->in_max = max;
	poll_for_what_is_needed(c);
}

void conn_freeze(struct conn *c, uint64_t by)
{
	bool was = conn_is_frozen(c);

	c->frozen_by |= by;
	if (was)
		return;
	c->freezing = true;
	poll_for_what_is_needed(c);
	conn_wake(c);
}

/* The peer's silence while it was frozen is not held against it. */
void conn_thaw(struct conn *c, uint64_t by)
{
	c->frozen_by &= ~by;
	if (c->frozen_by || !conn_is_frozen(c))
		return;
	c->freezing = c->frozen = false;
	c->progress_ns = clock_mono_ns(&clock_system);
	poll_for_what_is_needed(c);
	conn_wake(c);
}

bool conn_is_frozen(const struct conn *c)
{
	return c->freezing || c->frozen;
}

/* ---- closing ---- */

static void on_closed(uv_handle_t *handle)
{
	struct conn *c = handle->data;
	struct server *server = c->server;

	if (c->protocol)
		c->protocol->closed(c->self);
	tls_session_free(c->tls);
	buf_release(&c->in);
	free(c);
	server_forget(server);
}

static void close_socket(struct conn *c, bool goodbye)
{
	if (c->state == CONN_CLOSED)
		return;
	if (goodbye && c->tls)
		tls_shutdown(c->tls);
	c->state = CONN_CLOSED;
	server_hold(c->server, c->held, 0);
	server_remove(c->server, c);
	uv_close((uv_handle_t *)&c->poll, on_closed);
	close(c->fd);
}

void conn_close(struct conn *c)
{
	close_socket(c, true);
}

void conn_reset(struct conn *c)
{
	static const struct linger hard = {.l_onoff = 1, .l_linger = 0};

	if (c->state != CONN_CLOSED)
		setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	close_socket(c, false);
}

bool conn_is_spare(const struct conn *c)
{
	if (c->peer.beside || conn_is_frozen(c))
		return false;
	return c->state == CONN_HANDSHAKE || (c->state == CONN_RUNNING && c->protocol->idle(c->self));
}

void conn_retire(struct conn *c)
{
	if (c->peer.beside)
		return;
	if (c->state != CONN_RUNNING || c->protocol->idle(c->self))
		conn_reset(c);
	else
		c->protocol->retire(c->self);
}

/* ---- protocol ---- */

static void run_http1(struct conn *c)
{
	c->state = CONN_RUNNING;
	c->protocol = &http1_protocol;
	c->self = http1_conn_new(c);
}

static void run_http2(struct conn *c)
{
	c->state = CONN_RUNNING;
	c->protocol = &http2_protocol;
	c->self = http2_conn_new(c);
}

/* Without TLS a client that knows beforehand speaks HTTP/2 from the first byte. True
 * when that is still open. */
static bool is_undecided(struct conn *c)
{
	size_t len = c->in.len < PREFACE_BYTES ? c->in.len : PREFACE_BYTES;

	if (!c->may_be_http2)
		return false;
	c->may_be_http2 = memcmp(c->in.ptr, PREFACE, len) == 0;
	if (!c->may_be_http2 || len < PREFACE_BYTES)
		return c->may_be_http2;
	c->may_be_http2 = false;
	c->protocol->closed(c->self);
	run_http2(c);
	return false;
}

static void shake_hands(struct conn *c)
{
	switch (tls_handshake(c->tls)) {
	case TLS_DONE:
		if (tls_chose_http2(c->tls))
			run_http2(c);
		else
			run_http1(c);
		return;
	case TLS_WANT_READ: return;
	case TLS_WANT_WRITE: c->socket_full = true; return;
	default: conn_close(c);
	}
}

/* ---- reading ---- */

/* Bytes read, 0 when there are none now, negative when the peer is gone. */
static ssize_t read_some(struct conn *c, char *to, size_t max)
{
	ssize_t n;
	size_t got;

	if (c->tls) {
		switch (tls_read(c->tls, to, max, &got)) {
		case TLS_DONE: return (ssize_t)got;
		case TLS_WANT_READ:
		case TLS_WANT_WRITE: return 0;
		default: return -1;
		}
	}
	do
		n = read(c->fd, to, max);
	while (n < 0 && errno == EINTR);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return 0;
	return n > 0 ? n : -1;
}

/* ---- what is kept ---- */

bool conn_hold(struct conn *c, size_t bytes)
{
	size_t held = bytes + c->in.cap, all = server_hold(c->server, c->held, held);

	c->held = held;
	return held <= LIMIT_CONN_HELD_BYTES && (held <= HELD_FREE_BYTES || all <= LIMIT_HELD_BYTES);
}

/* ---- its time ---- */

bool conn_has_had_its_time(const struct conn *c)
{
	return clock_mono_ns(&clock_system) - c->began_ns > SLICE_NS;
}

bool conn_flushes_long(struct conn *c, size_t rounds)
{
	int64_t now_ns;

	if (rounds < 2)
		return false;
	now_ns = clock_mono_ns(&clock_system);
	if (rounds == 2)
		c->flush_ns = now_ns;
	return now_ns - c->flush_ns > SLICE_NS;
}

bool conn_is_busy(const struct conn *c)
{
	return c->spent_ns > SLICE_NS;
}

static void begin_slice(struct conn *c)
{
	c->began_ns = clock_mono_ns(&clock_system);
}

static void end_slice(struct conn *c)
{
	c->spent_ns += clock_mono_ns(&clock_system) - c->began_ns;
}

void conn_yield(struct conn *c)
{
	if (c->state != CONN_CLOSED)
		server_wait(c->server, c);
}

/* ---- what arrives ---- */

/* TLS may hold decrypted bytes that poll does not know of, so it is read until nothing comes. */
static void read_input(struct conn *c)
{
	char *scratch = server_scratch(c->server);
	size_t total = 0;
	ssize_t n = 0;

	while (total < READ_A_TURN && c->in.len < c->in_max && !conn_is_frozen(c)) {
		n = read_some(c, scratch, SERVER_SCRATCH_BYTES);
		if (n <= 0)
			break;
		total += (size_t)n;
		if (buf_append(&c->in, scratch, (size_t)n, NULL)) {
			n = -1;
			break;
		}
		if (!c->tls && (size_t)n < SERVER_SCRATCH_BYTES)
			break;
	}
	if (total) {
		c->progress_ns = clock_mono_ns(&clock_system);
		if (!is_undecided(c))
			c->protocol->readable(c->self);
	}
	if (n < 0)
		conn_close(c);
	if (c->in.len == 0)
		buf_release(&c->in);
	if (c->state == CONN_RUNNING && !conn_hold(c, c->protocol->kept(c->self))) {
		c->protocol->relieve(c->self);
		(void)!conn_hold(c, c->protocol->kept(c->self));
	}
}

static void take_input(struct conn *c)
{
	if (c->state == CONN_HANDSHAKE)
		shake_hands(c);
	if (c->state == CONN_RUNNING)
		read_input(c);
}

static void on_readable(struct conn *c)
{
	begin_slice(c);
	take_input(c);
	end_slice(c);
}

static void on_event(uv_poll_t *handle, int status, int events)
{
	struct conn *c = handle->data;

	if (status < 0) {
		conn_close(c);
		return;
	}
	if (events & UV_WRITABLE)
		c->socket_full = false;
	if (!(events & UV_READABLE) && c->state == CONN_HANDSHAKE)
		shake_hands(c);
	if (events & UV_READABLE) {
		/* What is not read now is told again. */
		if (server_is_pressed(c->server) || conn_is_busy(c))
			conn_yield(c);
		else
			on_readable(c);
	}
	if (c->state == CONN_RUNNING && (events & UV_WRITABLE))
		conn_flush(c);
	poll_for_what_is_needed(c);
}

/* ---- writing ---- */

static ssize_t write_plain(struct conn *c, const struct slice *pieces, size_t count)
{
	struct iovec iov[IOVECS_MAX];
	size_t n = count < IOVECS_MAX ? count : IOVECS_MAX;
	struct msghdr message = {.msg_iov = iov, .msg_iovlen = n};
	ssize_t sent;

	for (size_t i = 0; i < n; i++)
		iov[i] = (struct iovec){(void *)(uintptr_t)pieces[i].ptr, pieces[i].len};
	do
		sent = sendmsg(c->fd, &message, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	if (sent < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -1;
	return sent;
}

/* The bytes of one record: TLS wants them in one piece, so several are gathered. */
static struct slice join_for_record(struct conn *c, const struct slice *pieces, size_t count)
{
	char *scratch = server_scratch(c->server);
	size_t have = 0;

	if (count == 1 || pieces[0].len >= TLS_WRITE_BYTES)
		return (struct slice){
			pieces[0].ptr, pieces[0].len < TLS_WRITE_BYTES ? pieces[0].len : TLS_WRITE_BYTES};
	for (size_t i = 0; i < count && have < TLS_WRITE_BYTES; i++) {
		size_t n = pieces[i].len < TLS_WRITE_BYTES - have ? pieces[i].len : TLS_WRITE_BYTES - have;

		memcpy(scratch + have, pieces[i].ptr, n);
		have += n;
	}
	return (struct slice){scratch, have};
}

static ssize_t write_tls(struct conn *c, const struct slice *pieces, size_t count)
{
	size_t sent;

	switch (tls_write(c->tls, join_for_record(c, pieces, count), &sent)) {
	case TLS_DONE: return (ssize_t)sent;
	case TLS_WANT_READ:
	case TLS_WANT_WRITE: return 0;
	default: return -1;
	}
}

ssize_t conn_write(struct conn *c, const struct slice *pieces, size_t count)
{
	ssize_t sent;

	if (c->state != CONN_RUNNING)
		return -1;
	if (c->socket_full || c->frozen)
		return 0;
	sent = c->tls ? write_tls(c, pieces, count) : write_plain(c, pieces, count);
	if (sent > 0)
		c->progress_ns = clock_mono_ns(&clock_system);
	if (sent == 0) {
		c->socket_full = true;
		poll_for_what_is_needed(c);
	}
	return sent;
}

void conn_prefetch(const struct conn *c, int depth)
{
	if (depth == 0) {
		__builtin_prefetch(&c->server);
		__builtin_prefetch(&c->self);
		__builtin_prefetch(&c->links);
	} else if (depth == 1) {
		__builtin_prefetch(c->self);
		__builtin_prefetch((const char *)c->self + CACHE_LINE_BYTES);
		tls_prefetch(c->tls);
	} else if (c->state == CONN_RUNNING && c->protocol->prefetch) {
		c->protocol->prefetch(c->self);
	}
}

void conn_flush(struct conn *c)
{
	if (c->state == CONN_RUNNING && !c->socket_full && !c->frozen)
		c->protocol->flush(c->self);
	if (c->freezing && !c->socket_full) {
		c->freezing = false;
		c->frozen = true;
	}
	poll_for_what_is_needed(c);
}

/* Input that the protocol left, if it may take any, further input, and what is to be written. */
void conn_continue(struct conn *c)
{
	begin_slice(c);
	if (c->state == CONN_RUNNING && !c->may_be_http2 && !conn_is_frozen(c))
		c->protocol->readable(c->self);
	if (!conn_has_had_its_time(c))
		take_input(c);
	conn_flush(c);
	end_slice(c);
	poll_for_what_is_needed(c);
}

void conn_tick(struct conn *c, int64_t now_ns)
{
	c->spent_ns /= 2;
	if (c->frozen)
		return;
	if (c->state == CONN_RUNNING)
		c->protocol->tick(c->self, now_ns);
	else if (c->state == CONN_HANDSHAKE && now_ns - c->progress_ns > HANDSHAKE_NS)
		conn_close(c);
}

void conn_open(struct server *server, int fd, struct tls *tls, bool beside)
{
	struct conn *c = xcalloc(1, sizeof(*c));

	c->server = server;
	c->fd = fd;
	c->peer = (struct peer){.fd = fd, .beside = beside, .is_secure = tls != NULL};
	c->in_max = CONN_INPUT_MAX_BYTES;
	c->progress_ns = clock_mono_ns(&clock_system);
	buf_init(&c->in, CONN_INPUT_MAX_BYTES + SERVER_SCRATCH_BYTES);
	c->tls = tls ? tls_session_new(tls, fd) : NULL;
	if ((tls && !c->tls) || uv_poll_init(server_loop(server), &c->poll, fd)) {
		tls_session_free(c->tls);
		close(fd);
		free(c);
		return;
	}
	c->poll.data = c;
	server_add(server, c);
	c->may_be_http2 = !tls;
	if (!tls)
		run_http1(c);
	poll_for_what_is_needed(c);
}
