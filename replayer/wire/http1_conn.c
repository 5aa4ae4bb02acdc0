/* http1_conn.c: see http1_conn.h. */
#include "replayer/wire/http1_conn.h"

#include "replayer/wire/exchange.h"
#include "replayer/wire/http1.h"
#include "replayer/wire/server.h"
#include "schema/base/clock.h"
#include "schema/base/limits.h"

#include <stddef.h>
#include <stdlib.h>

#define HEAD_NS        (32 * NS_PER_S) /* for a request's head to arrive */
#define BODY_NS        (60 * NS_PER_S) /* ... and for its body */
#define IDLE_NS        (90 * NS_PER_S) /* between requests */
#define PIECES_A_WRITE 64
#define WRITE_A_TURN   (1u << 20) /* then others have their turn */
/* Pipelined bytes kept while an answer runs, and at other times; more wait in the socket. */
#define INPUT_WHILE_BUSY (64u << 10)
#define INPUT_OTHERWISE  CONN_INPUT_MAX_BYTES
#define ANSWER_HEAD_MAX  (64u << 10)

enum http1_state { HTTP1_HEAD, HTTP1_BODY, HTTP1_ANSWER, HTTP1_UPGRADED };

struct http1_conn {
	struct conn *conn;
	enum http1_state state;
	struct exchange exchange;
	struct http1_framing framing; /* of the request being read or answered */
	struct http1_chunks chunks;
	struct buf body;   /* decoded chunks */
	size_t scanned;    /* of the head */
	size_t head_bytes; /* of the request whose body is being read */
	size_t body_bytes; /* of the body, unless it comes in chunks */
	uint64_t to_drop;  /* of a body that is too large */
	int64_t since_ns;  /* when the head, or the body, began to arrive; 0: it has not */
	bool last;         /* close after this answer */
	bool old;          /* the request was HTTP/1.0 */
	bool is_too_large; /* ... and its body too large */
};

static void http1_conn_enter(struct http1_conn *h, enum http1_state state)
{
	h->state = state;
	conn_set_input_max(h->conn, state == HTTP1_ANSWER ? INPUT_WHILE_BUSY : INPUT_OTHERWISE);
}

static struct http1_conn *of_exchange(struct exchange *x)
{
	return (struct http1_conn *)((char *)x - offsetof(struct http1_conn, exchange));
}

/* ---- the answer ---- */

/* Queues the head: the given fields, then Date, then how the body is marked off. */
static enum exchange_framing send_head(
	struct exchange *x, int status, const struct http_header *headers, size_t count, int64_t length)
{
	struct http1_conn *h = of_exchange(x);
	struct http_header all[HTTP_HEADERS_MAX];
	char date[HTTP_DATE_BYTES], digits[24];
	struct buf head;
	size_t n = 0;
	bool bodiless = status == 101 || status == 304 || status == 204;

	for (; n < count && n < HTTP_HEADERS_MAX - 3; n++)
		all[n] = headers[n];
	if (status != 101)
		all[n++] = (struct http_header){slice_of("Date"), http_date_now(date)};
	if (length < 0 && h->old)
		h->last = true;
	if (h->last && status != 101)
		all[n++] = (struct http_header){slice_of("Connection"), slice_of("close")};
	snprintf(digits, sizeof(digits), "%lld", (long long)length);
	if (length >= 0 && !bodiless)
		all[n++] = (struct http_header){slice_of("Content-Length"), slice_of(digits)};
	else if (!h->old && !bodiless && !x->head_only)
		all[n++] = (struct http_header){slice_of("Transfer-Encoding"), slice_of("chunked")};
	buf_init(&head, ANSWER_HEAD_MAX);
	if (http1_write_head(&head, status, all, n, NULL) == 0) {
		struct blob *b = blob_of(buf_slice(&head));

		exchange_push_raw(x, b);
		blob_unref(b);
	}
	buf_release(&head);
	if (status == 101)
		http1_conn_enter(h, HTTP1_UPGRADED);
	return length < 0 && !h->old && !bodiless ? FRAMING_CHUNKS : FRAMING_NONE;
}

static void wake(struct exchange *x)
{
	conn_wake(of_exchange(x)->conn);
}

static void abort_answer(struct exchange *x, enum exchange_abort how, uint32_t code)
{
	(void)code;
	if (how == ABORT_FIN || how == ABORT_GOAWAY)
		conn_close(of_exchange(x)->conn);
	else
		conn_reset(of_exchange(x)->conn);
}

static void freeze(struct exchange *x, uint64_t by)
{
	conn_freeze(of_exchange(x)->conn, by);
}

static bool is_frozen(struct exchange *x)
{
	return conn_is_frozen(of_exchange(x)->conn);
}

static void go_on(struct exchange *x)
{
	conn_yield(of_exchange(x)->conn);
}

static const struct exchange_carrier carrier = {send_head, wake, go_on, abort_answer, freeze, is_frozen};

/* ---- the request ---- */

/* What cannot be read as a request is answered in plain text, and the connection ends. */
static void http1_conn_refuse(struct http1_conn *h, int status)
{
	const struct http_header headers[] = {
		{slice_of("Content-Type"), slice_of("text/plain; charset=utf-8")},
		{slice_of("Retry-After"), slice_of("1")}};
	char *text = xasprintf("%d %s", status, http_reason(status));
	struct blob *b = blob_of(slice_of(text));

	h->last = true;
	http1_conn_enter(h, HTTP1_ANSWER);
	exchange_answer(&h->exchange, status, headers, status == 429 ? 2 : 1, (int64_t)strlen(text));
	exchange_push(&h->exchange, b);
	exchange_finish(&h->exchange);
	blob_unref(b);
	free(text);
}

/* The request is whole: it is the first head_bytes + body_bytes of the input. */
static void dispatch(struct http1_conn *h)
{
	struct buf *in = conn_input(h->conn);
	struct http_request request;
	struct http1_framing framing;
	size_t scanned = 0;

	if (http1_read_head(buf_slice(in), &scanned, &request, &framing, NULL) <= 0)
		return;
	request.body = h->framing.chunked ? buf_slice(&h->body)
					  : (struct slice){in->ptr + h->head_bytes, h->body_bytes};
	request.peer = conn_peer(h->conn);
	request.is_too_large = h->is_too_large || h->chunks.is_too_large;
	h->last = !framing.keep_alive || h->to_drop;
	h->exchange.head_only = slice_is(request.method, "HEAD");
	http1_conn_enter(h, HTTP1_ANSWER);
	server_dispatch(conn_server(h->conn), &h->exchange, &request);
	if (conn_is_closed(h->conn))
		return;
	h->since_ns = 0;
	buf_consume(in, h->head_bytes + h->body_bytes);
	buf_release(&h->body);
	if (in->len == 0)
		buf_release(in);
}

/* True when the state moved on. */
static bool read_head(struct http1_conn *h)
{
	static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
	struct http_request request;
	struct err err;
	int n = http1_read_head(buf_slice(conn_input(h->conn)), &h->scanned, &request, &h->framing, &err);

	if (n < 0) {
		http1_conn_refuse(h, n == ERR_TOO_LARGE ? 431 : 400);
		return false;
	}
	if (n == 0)
		return false;
	h->head_bytes = (size_t)n;
	h->body_bytes = 0;
	h->since_ns = conn_progress_ns(h->conn);
	h->scanned = 0;
	h->chunks = (struct http1_chunks){0};
	h->is_too_large = h->framing.content_length > LIMIT_REQUEST_BODY_BYTES;
	h->to_drop = h->is_too_large ? h->framing.content_length : 0;
	h->old = memmem(conn_input(h->conn)->ptr, (size_t)n, " HTTP/1.0\r\n", 11) != NULL;
	buf_clear(&h->body);
	if (h->to_drop > LIMIT_DROPPED_BYTES) {
		http1_conn_refuse(h, 413);
		return false;
	}
	http1_conn_enter(h, HTTP1_BODY);
	if (h->framing.expect_continue && !h->is_too_large &&
		(h->framing.chunked || h->framing.content_length)) {
		struct blob *b = blob_of(slice_of(go_on));

		exchange_push_raw(&h->exchange, b);
		blob_unref(b);
	}
	return true;
}

/* Takes chunks out of the input, where the head stays. True when the last one has come. */
static bool read_chunks(struct http1_conn *h)
{
	struct buf *in = conn_input(h->conn);
	char *at = in->ptr + h->head_bytes;
	size_t have = in->len - h->head_bytes;
	int n = http1_read_chunks(&h->chunks, (struct slice){at, have}, &h->body, NULL);

	if (n < 0) {
		http1_conn_refuse(h, n == ERR_TOO_LARGE ? 413 : 400);
		return false;
	}
	memmove(at, at + n, have - (size_t)n);
	in->len -= (size_t)n;
	return h->chunks.state == HTTP1_CHUNK_DONE;
}

/* Takes a body that is too large out of the input, because a client may read no answer before it is sent.
 * True when all has come; at once if the client has asked whether to send it. */
static bool drop_body(struct http1_conn *h)
{
	struct buf *in = conn_input(h->conn);
	char *at = in->ptr + h->head_bytes;
	size_t have = in->len - h->head_bytes, n = have < h->to_drop ? have : (size_t)h->to_drop;

	memmove(at, at + n, have - n);
	in->len -= n;
	h->to_drop -= n;
	return h->to_drop == 0 || h->framing.expect_continue;
}

static bool read_body(struct http1_conn *h)
{
	struct buf *in = conn_input(h->conn);

	if (h->is_too_large) {
		if (!drop_body(h))
			return false;
	} else if (h->framing.chunked) {
		if (!read_chunks(h))
			return false;
	} else {
		h->body_bytes = (size_t)h->framing.content_length;
		if (in->len - h->head_bytes < h->body_bytes)
			return false;
	}
	dispatch(h);
	return true;
}

static void hand_over(struct http1_conn *h)
{
	struct buf *in = conn_input(h->conn);
	const struct exchange *x = &h->exchange;

	if (x->owner && x->owner->received)
		x->owner->received(x->owner_context, buf_slice(in));
	buf_clear(in);
}

static void on_readable(void *self)
{
	struct http1_conn *h = self;
	bool moved = true;

	if (h->state == HTTP1_HEAD && !h->since_ns)
		h->since_ns = conn_progress_ns(h->conn);
	while (moved && !conn_is_closed(h->conn) && conn_input(h->conn)->len) {
		moved = false;
		if (h->state == HTTP1_HEAD)
			moved = read_head(h);
		if (h->state == HTTP1_BODY)
			moved = read_body(h);
	}
	if (h->state == HTTP1_UPGRADED && conn_input(h->conn)->len)
		hand_over(h);
}

/* The answer is out: the next request may already wait. */
static void next_request(struct http1_conn *h)
{
	bool close = h->last || h->state == HTTP1_UPGRADED;

	exchange_release(&h->exchange);
	if (close) {
		conn_close(h->conn);
		return;
	}
	http1_conn_enter(h, HTTP1_HEAD);
	if (conn_input(h->conn)->len)
		conn_yield(h->conn);
}

/* Writes what waits, and what the owner adds meanwhile. True when there may be more for a later turn. */
static bool write_answer(struct http1_conn *h)
{
	struct slice pieces[PIECES_A_WRITE];
	size_t total = 0, rounds = 0;

	while (total < WRITE_A_TURN && !conn_flushes_long(h->conn, rounds++)) {
		size_t n;
		ssize_t sent;

		exchange_refill(&h->exchange);
		if (conn_is_closed(h->conn))
			return false;
		n = exchange_peek(&h->exchange, pieces, PIECES_A_WRITE);
		if (n == 0)
			return false;
		sent = conn_write(h->conn, pieces, n);
		if (sent < 0)
			conn_close(h->conn);
		if (sent <= 0)
			return false;
		exchange_sent(&h->exchange, (size_t)sent);
		total += (size_t)sent;
	}
	return true;
}

static void on_flush(void *self)
{
	struct http1_conn *h = self;
	struct exchange *x = &h->exchange;
	bool more = write_answer(h);

	if (conn_is_closed(h->conn))
		return;
	if (exchange_is_due_to_abort(x))
		abort_answer(x, x->break_how, x->break_code);
	else if (exchange_is_all_sent(x))
		next_request(h);
	else if (more)
		conn_yield(h->conn);
}

static void on_tick(void *self, int64_t now_ns)
{
	struct http1_conn *h = self;
	int64_t quiet_ns = now_ns - conn_progress_ns(h->conn);
	bool has_head = h->state == HTTP1_HEAD && h->since_ns; /* what waits for its turn is not slow */
	int64_t limit_ns = h->state == HTTP1_BODY ? BODY_NS : has_head ? HEAD_NS : INT64_MAX;

	if (exchange_waiting(&h->exchange) && quiet_ns > server_stall_ns(conn_server(h->conn))) {
		server_count_cut(conn_server(h->conn));
		conn_reset(h->conn);
	} else if ((limit_ns < INT64_MAX && now_ns - h->since_ns > limit_ns) ||
		   (h->state == HTTP1_HEAD && quiet_ns > IDLE_NS)) {
		conn_close(h->conn);
	}
}

static void on_closed(void *self)
{
	struct http1_conn *h = self;

	exchange_release(&h->exchange);
	buf_release(&h->body);
	free(h);
}

static size_t kept(const void *self)
{
	return ((const struct http1_conn *)self)->body.cap;
}

static void relieve(void *self)
{
	struct http1_conn *h = self;

	if (h->state != HTTP1_HEAD && h->state != HTTP1_BODY)
		return;
	http1_conn_refuse(h, 429);
	buf_release(conn_input(h->conn));
	buf_release(&h->body);
}

static void retire(void *self)
{
	((struct http1_conn *)self)->last = true;
}

static bool is_idle(const void *self)
{
	return ((const struct http1_conn *)self)->state == HTTP1_HEAD;
}

const struct conn_protocol http1_protocol = {
	on_readable, on_flush, on_tick, on_closed, is_idle, retire, kept, relieve, NULL};

void *http1_conn_new(struct conn *c)
{
	struct http1_conn *h = xcalloc(1, sizeof(*h));

	h->conn = c;
	buf_init(&h->body, LIMIT_REQUEST_BODY_BYTES);
	exchange_init(&h->exchange, &carrier, server_account(conn_server(c)));
	return h;
}
