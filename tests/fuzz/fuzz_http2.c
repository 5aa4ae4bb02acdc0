/*
 * fuzz_http2.c: what a client may send on an HTTP/2 connection. Input: a byte that says in what steps it
 * arrives, then the bytes, from the preface on. Every request is answered with a body. However the bytes are
 * cut, whole frames come out, and never more of bodies than the connection's window has room for.
 *
 * The connection below is a stand-in for conn.c and server.c: the input is its socket.
 */
#include "replayer/wire/http2_conn.h"
#include "replayer/wire/server.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#define HEAD_BYTES 9
#define BODY_BYTES 40000
#define OUT_MAX    (64u << 20)

struct conn {
	struct buf in, out;
	struct peer peer;
	struct exchange_account account;
	bool closed, awake;
	char scratch[SERVER_SCRATCH_BYTES];
};

/* ---- the stand-in ---- */

struct buf *conn_input(struct conn *c)
{
	return &c->in;
}

struct server *conn_server(struct conn *c)
{
	return (struct server *)c;
}

struct peer *conn_peer(struct conn *c)
{
	return &c->peer;
}

char *server_frame_scratch(struct server *s)
{
	return ((struct conn *)s)->scratch;
}

int64_t server_stall_ns(const struct server *s)
{
	(void)s;
	return INT64_MAX / 4;
}

void server_count_cut(struct server *s)
{
	(void)s;
}

bool conn_is_closed(const struct conn *c)
{
	return c->closed;
}

int64_t conn_progress_ns(const struct conn *c)
{
	(void)c;
	return 0;
}

void conn_wake(struct conn *c)
{
	c->awake = true;
}

void conn_yield(struct conn *c)
{
	c->awake = true;
}

bool conn_has_had_its_time(const struct conn *c)
{
	(void)c;
	return false;
}

bool conn_flushes_long(struct conn *c, size_t rounds)
{
	(void)c;
	(void)rounds;
	return false;
}

bool conn_hold(struct conn *c, size_t bytes)
{
	(void)c;
	return bytes <= LIMIT_CONN_HELD_BYTES;
}

void conn_set_input_max(struct conn *c, size_t max)
{
	(void)c;
	(void)max;
}

struct exchange_account *server_account(struct server *s)
{
	return &((struct conn *)s)->account;
}

void conn_close(struct conn *c)
{
	c->closed = true;
}

void conn_reset(struct conn *c)
{
	c->closed = true;
}

void conn_freeze(struct conn *c, uint64_t by)
{
	(void)c;
	(void)by;
}

bool conn_is_frozen(const struct conn *c)
{
	(void)c;
	return false;
}

ssize_t conn_write(struct conn *c, const struct slice *pieces, size_t count)
{
	size_t sent = 0;

	for (size_t i = 0; i < count; i++) {
		fuzz_demand(buf_append(&c->out, pieces[i].ptr, pieces[i].len, NULL) == 0);
		sent += pieces[i].len;
	}
	return (ssize_t)sent;
}

void server_dispatch(struct server *s, struct exchange *x, const struct http_request *r)
{
	static char body[BODY_BYTES];
	struct blob *b = blob_of((struct slice){body, sizeof(body)});

	(void)s;
	fuzz_demand(r->target.len && r->target.ptr[0] == '/' && r->header_count <= HTTP_HEADERS_MAX);
	exchange_answer(x, 200, NULL, 0, -1);
	exchange_push(x, b);
	exchange_finish(x);
	blob_unref(b);
}

/* ---- what must hold ---- */

static uint32_t number(const char *at, size_t len)
{
	uint32_t n = 0;

	for (size_t i = 0; i < len; i++)
		n = n << 8 | (unsigned char)at[i];
	return n;
}

/* Takes whole frames off the bytes; returns how much of bodies, or of updates of the window, they hold. */
static uint64_t sum_of(struct slice *bytes, int wanted_type)
{
	uint64_t sum = 0;

	while (bytes->len >= HEAD_BYTES) {
		size_t len = number(bytes->ptr, 3);

		if (bytes->len < HEAD_BYTES + len)
			break;
		if (bytes->ptr[3] == wanted_type && wanted_type == 0)
			sum += len;
		else if (bytes->ptr[3] == wanted_type && len == 4)
			sum += number(bytes->ptr + HEAD_BYTES, 4) & 0x7fffffff;
		*bytes = (struct slice){bytes->ptr + HEAD_BYTES + len, bytes->len - HEAD_BYTES - len};
	}
	return sum;
}

static void check(const struct conn *c, struct slice input)
{
	struct slice out = buf_slice(&c->out);
	uint64_t sent = sum_of(&out, 0), room = 65535;

	fuzz_demand(out.len == 0);
	if (input.len > 24) {
		input = (struct slice){input.ptr + 24, input.len - 24};
		room += sum_of(&input, 8);
	}
	fuzz_demand(sent <= room);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	size_t step = len && bytes[0] ? bytes[0] : 1 << 16;
	struct slice input = {(const char *)bytes + 1, len ? len - 1 : 0};
	struct conn *c = xcalloc(1, sizeof(*c));
	void *h;

	buf_init(&c->in, 16u << 20);
	buf_init(&c->out, OUT_MAX);
	h = http2_conn_new(c);
	for (size_t at = 0; at < input.len && !c->closed; at += step) {
		size_t n = input.len - at < step ? input.len - at : step;

		fuzz_demand(buf_append(&c->in, input.ptr + at, n, NULL) == 0);
		http2_protocol.readable(h);
		for (c->awake = true; c->awake && !c->closed;) {
			c->awake = false;
			http2_protocol.flush(h);
			if (c->awake && !c->closed)
				http2_protocol.readable(h);
		}
		check(c, (struct slice){input.ptr, at + n});
	}
	http2_protocol.closed(h);
	buf_release(&c->in);
	buf_release(&c->out);
	free(c);
	return 0;
}
