/* http2_conn.c: see http2_conn.h. */
#include "replayer/wire/http2_conn.h"

#include "replayer/wire/exchange.h"
#include "replayer/wire/http2_memory.h"
#include "replayer/wire/server.h"
#include "schema/base/clock.h"
#include "schema/base/limits.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#define STREAMS_MAX    1000         /* at once on a connection, as the API server allows */
#define OUT_MAX        (256u << 10) /* frames not yet taken by the socket */
#define WRITE_A_TURN   (1u << 20)   /* then others have their turn */
#define IDLE_NS        (90 * NS_PER_S)
#define PIECES_A_FRAME 16

/* A field of the request head: where its bytes are in the stream's buffer. */
struct field {
	uint32_t name, name_len, value, value_len;
};

struct http2_stream {
	struct exchange exchange;
	struct http2_conn *on;
	int32_t id;
	bool handed_over;
	bool asleep;  /* nghttp2 was told that there is no data for now */
	bool aborted; /* was BROKEN, and that is done */
	struct buf head;
	struct field *fields;
	size_t field_count;
	struct buf body;
	int64_t progress_ns; /* when a byte of the answer went out last */
	struct http2_stream *next, *previous;
};

struct http2_conn {
	struct conn *conn;
	nghttp2_session *session;
	struct http2_memory memory;
	struct buf out;
	struct http2_stream *streams;
	size_t stream_count;
	bool has_broken; /* some stream is to be broken off */
	bool must_close; /* when what is queued is out ... */
	bool must_reset; /* ... and so */
};

static struct http2_stream *of_exchange(struct exchange *x)
{
	return (struct http2_stream *)((char *)x - offsetof(struct http2_stream, exchange));
}

/* ---- the answer ---- */

/* The bytes of the next DATA frame; when there are none, nghttp2 does not ask again until it is resumed. */
static ssize_t read_body(nghttp2_session *session, int32_t id, uint8_t *to, size_t max, uint32_t *flags,
	nghttp2_data_source *source, void *user)
{
	struct http2_stream *s = source->ptr;
	struct exchange *x = &s->exchange;
	struct slice pieces[PIECES_A_FRAME];
	size_t n, used = 0;

	(void)session;
	(void)id;
	(void)user;
	exchange_refill(x);
	n = exchange_peek(x, pieces, PIECES_A_FRAME);
	for (size_t i = 0; i < n && used < max; i++) {
		size_t len = pieces[i].len < max - used ? pieces[i].len : max - used;

		memcpy(to + used, pieces[i].ptr, len);
		used += len;
	}
	exchange_sent(x, used);
	if (used)
		s->progress_ns = clock_mono_ns(&clock_system);
	if (x->state == EXCHANGE_FINISHED && x->count == 0) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
		return (ssize_t)used;
	}
	s->asleep = used == 0;
	return used ? (ssize_t)used : NGHTTP2_ERR_DEFERRED;
}

static nghttp2_nv field_of(struct slice name, struct slice value)
{
	return (nghttp2_nv){(uint8_t *)(uintptr_t)name.ptr, (uint8_t *)(uintptr_t)value.ptr, name.len,
		value.len, NGHTTP2_NV_FLAG_NONE};
}

/* Names are lower case in HTTP/2; `names` keeps them until they are submitted (nghttp2 copies). */
static nghttp2_nv lower_field(const struct http_header *h, struct buf *names)
{
	struct slice name = {names->ptr + names->len, h->name.len};

	for (size_t i = 0; i < h->name.len; i++)
		names->ptr[names->len++] = (char)tolower((unsigned char)h->name.ptr[i]);
	return field_of(name, h->value);
}

static struct slice date_now(char to[40])
{
	time_t now = time(NULL);
	struct tm tm;

	gmtime_r(&now, &tm);
	return (struct slice){to, strftime(to, 40, "%a, %d %b %Y %H:%M:%S GMT", &tm)};
}

static enum exchange_framing send_head(
	struct exchange *x, int status, const struct http_header *headers, size_t count, int64_t length)
{
	struct http2_stream *s = of_exchange(x);
	nghttp2_data_provider body = {.source.ptr = s, .read_callback = read_body};
	nghttp2_nv all[32];
	char code[8], digits[24], date[40];
	struct buf names;
	size_t n = 0, names_len = 0;

	for (size_t i = 0; i < count; i++)
		names_len += headers[i].name.len;
	buf_init(&names, LIMIT_REQUEST_HEAD_BYTES);
	snprintf(code, sizeof(code), "%d", status);
	snprintf(digits, sizeof(digits), "%lld", (long long)length);
	all[n++] = field_of(slice_of(":status"), slice_of(code));
	for (size_t i = 0; i < count && n < 30 && buf_reserve(&names, names_len + 1); i++)
		all[n++] = lower_field(&headers[i], &names);
	all[n++] = field_of(slice_of("date"), date_now(date));
	if (length >= 0 && status != 304)
		all[n++] = field_of(slice_of("content-length"), slice_of(digits));
	nghttp2_submit_response(s->on->session, s->id, all, n, &body);
	buf_release(&names);
	conn_wake(s->on->conn);
	return FRAMING_NONE;
}

static void wake(struct exchange *x)
{
	struct http2_stream *s = of_exchange(x);

	if (s->asleep) {
		s->asleep = false;
		nghttp2_session_resume_data(s->on->session, s->id);
	}
	s->on->has_broken |= x->state == EXCHANGE_BROKEN;
	conn_wake(s->on->conn);
}

/* A connection ends when all of its streams have sent what they had. */
static void abort_answer(struct exchange *x, enum exchange_abort how, uint32_t code)
{
	struct http2_stream *s = of_exchange(x);

	switch (how) {
	case ABORT_STREAM: nghttp2_submit_rst_stream(s->on->session, NGHTTP2_FLAG_NONE, s->id, code); break;
	case ABORT_GOAWAY:
		http2_conn_goaway(s->on);
		s->on->must_close = true;
		break;
	case ABORT_FIN: s->on->must_close = true; break;
	case ABORT_RST: s->on->must_close = s->on->must_reset = true; break;
	}
	conn_wake(s->on->conn);
}

static void freeze(struct exchange *x, uint64_t by)
{
	conn_freeze(of_exchange(x)->on->conn, by);
}

static bool is_frozen(struct exchange *x)
{
	return conn_is_frozen(of_exchange(x)->on->conn);
}

static const struct exchange_carrier carrier = {send_head, wake, abort_answer, freeze, is_frozen};

/* ---- streams ---- */

static struct http2_stream *stream_new(struct http2_conn *h, int32_t id)
{
	struct http2_stream *s = xcalloc(1, sizeof(*s));

	s->on = h;
	s->id = id;
	s->progress_ns = clock_mono_ns(&clock_system);
	exchange_init(&s->exchange, &carrier);
	buf_init(&s->head, LIMIT_REQUEST_HEAD_BYTES);
	buf_init(&s->body, LIMIT_REQUEST_BODY_BYTES);
	s->next = h->streams;
	if (s->next)
		s->next->previous = s;
	h->streams = s;
	h->stream_count++;
	return s;
}

static void stream_free(struct http2_stream *s)
{
	exchange_release(&s->exchange);
	if (s->previous)
		s->previous->next = s->next;
	else
		s->on->streams = s->next;
	if (s->next)
		s->next->previous = s->previous;
	s->on->stream_count--;
	buf_release(&s->head);
	buf_release(&s->body);
	free(s->fields);
	free(s);
}

static void reset_stream(struct http2_stream *s, uint32_t code)
{
	nghttp2_submit_rst_stream(s->on->session, NGHTTP2_FLAG_NONE, s->id, code);
}

/* ---- the request ---- */

static struct slice head_bytes(const struct http2_stream *s, uint32_t at, uint32_t len)
{
	return (struct slice){s->head.ptr + at, len};
}

/* The pseudo fields become what they are in HTTP/1.1. */
static void fill_request(const struct http2_stream *s, struct http_request *r)
{
	*r = (struct http_request){.major = 2, .body = buf_slice(&s->body)};
	for (size_t i = 0; i < s->field_count; i++) {
		struct slice name = head_bytes(s, s->fields[i].name, s->fields[i].name_len);
		struct slice value = head_bytes(s, s->fields[i].value, s->fields[i].value_len);

		if (slice_is(name, ":method"))
			r->method = value;
		else if (slice_is(name, ":path"))
			r->target = value;
		else if (slice_is(name, ":authority"))
			r->headers[r->header_count++] = (struct http_header){slice_of("Host"), value};
		else if (name.len && name.ptr[0] != ':')
			r->headers[r->header_count++] = (struct http_header){name, value};
		if (r->header_count == HTTP_HEADERS_MAX)
			return;
	}
}

static void dispatch(struct http2_stream *s)
{
	struct http_request r;

	fill_request(s, &r);
	s->handed_over = true;
	s->exchange.head_only = slice_is(r.method, "HEAD");
	if (r.target.len == 0 || r.target.ptr[0] != '/') {
		reset_stream(s, NGHTTP2_PROTOCOL_ERROR);
		return;
	}
	server_dispatch(conn_server(s->on->conn), &s->exchange, &r);
	buf_release(&s->head);
	buf_release(&s->body);
	free(s->fields);
	s->fields = NULL;
	s->field_count = 0;
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	struct http2_conn *h = user;

	if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
		nghttp2_session_set_stream_user_data(
			session, frame->hd.stream_id, stream_new(h, frame->hd.stream_id));
	return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
	size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags, void *user)
{
	struct http2_stream *s = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
	struct field f;

	(void)flags;
	(void)user;
	if (!s || s->handed_over)
		return 0;
	f = (struct field){(uint32_t)s->head.len, (uint32_t)name_len, (uint32_t)(s->head.len + name_len),
		(uint32_t)value_len};
	if (s->field_count == HTTP_HEADERS_MAX || buf_append(&s->head, name, name_len, NULL) ||
		buf_append(&s->head, value, value_len, NULL)) {
		reset_stream(s, NGHTTP2_ENHANCE_YOUR_CALM);
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	}
	if (s->field_count % 16 == 0)
		s->fields = xrealloc(s->fields, (s->field_count + 16) * sizeof(*s->fields));
	s->fields[s->field_count++] = f;
	return 0;
}

static int on_data(
	nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *bytes, size_t len, void *user)
{
	struct http2_stream *s = nghttp2_session_get_stream_user_data(session, id);

	(void)flags;
	(void)user;
	if (s && !s->handed_over && buf_append(&s->body, bytes, len, NULL))
		reset_stream(s, NGHTTP2_ENHANCE_YOUR_CALM);
	return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	struct http2_stream *s;

	(void)user;
	if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
		return 0;
	s = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
	if (s && !s->handed_over && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		dispatch(s);
	return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *user)
{
	struct http2_stream *s = nghttp2_session_get_stream_user_data(session, id);

	(void)code;
	(void)user;
	if (s) {
		nghttp2_session_set_stream_user_data(session, id, NULL);
		stream_free(s);
	}
	return 0;
}

/* ---- the connection ---- */

/* What the socket did not take before. True when it is out. */
static bool write_rest(struct http2_conn *h, size_t *total)
{
	while (h->out.len) {
		struct slice bytes = buf_slice(&h->out);
		ssize_t sent = conn_write(h->conn, &bytes, 1);

		if (sent < 0)
			conn_close(h->conn);
		if (sent <= 0)
			return false;
		buf_consume(&h->out, (size_t)sent);
		*total += (size_t)sent;
	}
	buf_release(&h->out);
	return true;
}

/* Puts frames together in the server's scratch, so that a burst leaves in few writes and an idle connection
 * holds no buffer. */
static bool gather(struct http2_conn *h, struct slice *ret)
{
	char *to = server_frame_scratch(conn_server(h->conn));
	size_t have = 0;

	while (have < SERVER_SCRATCH_BYTES / 2) {
		const uint8_t *bytes;
		ssize_t n = nghttp2_session_mem_send(h->session, &bytes);

		if (n < 0 || (size_t)n > SERVER_SCRATCH_BYTES - have)
			return false;
		if (n == 0)
			break;
		memcpy(to + have, bytes, (size_t)n);
		have += (size_t)n;
	}
	*ret = (struct slice){to, have};
	return true;
}

/* Writes what was gathered; what the socket does not take is kept. False when there is no more to do now. */
static bool write_gathered(struct http2_conn *h, struct slice bytes, size_t *total)
{
	while (bytes.len) {
		ssize_t sent = conn_write(h->conn, &bytes, 1);

		if (sent < 0 || (sent == 0 && buf_append(&h->out, bytes.ptr, bytes.len, NULL))) {
			conn_close(h->conn);
			return false;
		}
		if (sent == 0)
			return false;
		bytes = (struct slice){bytes.ptr + sent, bytes.len - (size_t)sent};
		*total += (size_t)sent;
	}
	return true;
}

/* Breaks off the streams that have sent what they had. True when there is something to send for that. */
static bool break_off(struct http2_conn *h)
{
	bool any = false;

	if (!h->has_broken)
		return false;
	h->has_broken = false;
	for (struct http2_stream *s = h->streams; s; s = s->next) {
		struct exchange *x = &s->exchange;

		if (exchange_is_due_to_abort(x) && !s->aborted) {
			s->aborted = any = true;
			abort_answer(x, x->break_how, x->break_code);
		}
		h->has_broken |= x->state == EXCHANGE_BROKEN && !s->aborted;
	}
	return any;
}

static void close_now(struct http2_conn *h)
{
	if (h->must_reset)
		conn_reset(h->conn);
	else
		conn_close(h->conn);
}

static void on_flush(void *self)
{
	struct http2_conn *h = self;
	size_t total = 0;

	while (total < WRITE_A_TURN) {
		struct slice bytes;

		if (!write_rest(h, &total))
			return;
		if (!gather(h, &bytes) || conn_is_closed(h->conn)) {
			conn_close(h->conn);
			return;
		}
		if (bytes.len == 0 && !break_off(h))
			break;
		if (!write_gathered(h, bytes, &total))
			return;
	}
	if (h->must_close && total < WRITE_A_TURN) {
		close_now(h);
		return;
	}
	if (total >= WRITE_A_TURN)
		conn_yield(h->conn);
	else if (!nghttp2_session_want_read(h->session) && !nghttp2_session_want_write(h->session))
		conn_close(h->conn);
}

static void on_readable(void *self)
{
	struct http2_conn *h = self;
	struct buf *in = conn_input(h->conn);
	ssize_t n = nghttp2_session_mem_recv(h->session, (const uint8_t *)in->ptr, in->len);

	if (n < 0) {
		conn_close(h->conn);
		return;
	}
	buf_clear(in);
	conn_wake(h->conn);
}

static void on_tick(void *self, int64_t now_ns)
{
	struct http2_conn *h = self;
	int64_t stall_ns = server_stall_ns(conn_server(h->conn));
	int64_t quiet_ns = now_ns - conn_progress_ns(h->conn);

	if (h->out.len && quiet_ns > stall_ns) {
		server_count_cut(conn_server(h->conn));
		conn_reset(h->conn);
		return;
	}
	if (h->stream_count == 0 && quiet_ns > IDLE_NS) {
		nghttp2_session_terminate_session(h->session, NGHTTP2_NO_ERROR);
		conn_wake(h->conn);
	}
	for (struct http2_stream *s = h->streams; s; s = s->next) {
		if (!exchange_waiting(&s->exchange)) {
			s->progress_ns = now_ns;
		} else if (now_ns - s->progress_ns > stall_ns) {
			server_count_cut(conn_server(h->conn));
			s->progress_ns = now_ns;
			reset_stream(s, NGHTTP2_CANCEL);
		}
	}
	if (nghttp2_session_want_write(h->session))
		conn_wake(h->conn);
}

static void on_closed(void *self)
{
	struct http2_conn *h = self;

	while (h->streams)
		stream_free(h->streams);
	nghttp2_session_del(h->session);
	buf_release(&h->out);
	free(h);
}

static bool is_idle(const void *self)
{
	return ((const struct http2_conn *)self)->stream_count == 0;
}

const struct conn_protocol http2_protocol = {
	on_readable, on_flush, on_tick, on_closed, is_idle, http2_conn_goaway};

void http2_conn_goaway(void *self)
{
	struct http2_conn *h = self;

	nghttp2_submit_goaway(h->session, NGHTTP2_FLAG_NONE,
		nghttp2_session_get_last_proc_stream_id(h->session), NGHTTP2_NO_ERROR, NULL, 0);
	conn_wake(h->conn);
}

static nghttp2_session_callbacks *make_callbacks(void)
{
	nghttp2_session_callbacks *cb;

	if (nghttp2_session_callbacks_new(&cb))
		abort();
	nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_stream_close);
	return cb;
}

void *http2_conn_new(struct conn *c)
{
	static const nghttp2_settings_entry settings[] = {
		{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, STREAMS_MAX},
		{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, LIMIT_REQUEST_HEAD_BYTES},
	};
	struct http2_conn *h = xcalloc(1, sizeof(*h));
	nghttp2_session_callbacks *cb = make_callbacks();
	nghttp2_mem memory = http2_memory_functions(&h->memory);
	nghttp2_option *option;

	h->conn = c;
	buf_init(&h->out, OUT_MAX);
	if (nghttp2_option_new(&option))
		abort();
	nghttp2_option_set_no_closed_streams(option, 1);
	if (nghttp2_session_server_new3(&h->session, cb, h, option, &memory))
		abort();
	nghttp2_option_del(option);
	nghttp2_session_callbacks_del(cb);
	nghttp2_submit_settings(
		h->session, NGHTTP2_FLAG_NONE, settings, sizeof(settings) / sizeof(settings[0]));
	conn_wake(c);
	return h;
}
