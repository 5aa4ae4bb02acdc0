/* http2_stream.c: a request on an HTTP/2 connection and its answer; see http2_internal.h. */
#include "replayer/wire/http2_conn.h"
#include "replayer/wire/http2_internal.h"
#include "replayer/wire/server.h"
#include "schema/base/clock.h"
#include "schema/base/limits.h"

#include <ctype.h>
#include <stdlib.h>

#define ANSWERS_MAX_BYTES (4u << 20) /* that wait to be sent, before further requests are handed over */

/* ---- the answer ---- */

/* nghttp2 asks for a body when its head is out, and again when it is resumed. */
static ssize_t read_end(nghttp2_session *session, int32_t id, uint8_t *to, size_t max, uint32_t *flags,
	nghttp2_data_source *source, void *user)
{
	const struct http2_stream *s = source->ptr;

	(void)session;
	(void)id;
	(void)to;
	(void)max;
	(void)user;
	if (!s->has_ended)
		return NGHTTP2_ERR_DEFERRED;
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	return 0;
}

static nghttp2_nv field_of(struct slice name, struct slice value)
{
	return (nghttp2_nv){(uint8_t *)(uintptr_t)name.ptr, (uint8_t *)(uintptr_t)value.ptr, name.len,
		value.len, NGHTTP2_NV_FLAG_NONE};
}

/* Names are lower case in HTTP/2. `texts` keeps them and the values until they are submitted (nghttp2
 * copies); it has room for them. */
static nghttp2_nv field_of_header(const struct http_header *h, struct buf *texts)
{
	struct slice name = {texts->ptr + texts->len, h->name.len}, value;

	for (size_t i = 0; i < h->name.len; i++)
		texts->ptr[texts->len++] = (char)tolower((unsigned char)h->name.ptr[i]);
	value = (struct slice){texts->ptr + texts->len, h->value.len};
	(void)!http_append_value(texts, h->value, NULL);
	return field_of(name, value);
}

static enum exchange_framing send_head(
	struct exchange *x, int status, const struct http_header *headers, size_t count, int64_t length)
{
	struct http2_stream *s = http2_stream_of(x);
	nghttp2_data_provider body = {.source.ptr = s, .read_callback = read_end};
	nghttp2_nv all[32];
	char code[8], digits[24], date[HTTP_DATE_BYTES];
	struct buf texts;
	size_t n = 0, room = 1;
	bool has_room;

	for (size_t i = 0; i < count; i++)
		room += headers[i].name.len + headers[i].value.len;
	buf_init(&texts, LIMIT_REQUEST_HEAD_BYTES);
	has_room = buf_reserve(&texts, room) != NULL;
	snprintf(code, sizeof(code), "%d", status);
	snprintf(digits, sizeof(digits), "%lld", (long long)length);
	all[n++] = field_of(slice_of(":status"), slice_of(code));
	for (size_t i = 0; has_room && i < count && n < 30; i++)
		all[n++] = field_of_header(&headers[i], &texts);
	all[n++] = field_of(slice_of("date"), http_date_now(date));
	if (length >= 0 && status != 304)
		all[n++] = field_of(slice_of("content-length"), slice_of(digits));
	nghttp2_submit_response(s->on->session, s->id, all, n, &body);
	buf_release(&texts);
	http2_session_speaks(s->on);
	return FRAMING_NONE;
}

static void wake(struct exchange *x)
{
	struct http2_stream *s = http2_stream_of(x);

	s->on->has_broken |= x->state == EXCHANGE_BROKEN;
	http2_data_ready(s);
	conn_wake(s->on->conn);
}

/* A connection ends when all of its streams have sent what they had. */
static void abort_answer(struct exchange *x, enum exchange_abort how, uint32_t code)
{
	struct http2_stream *s = http2_stream_of(x);

	switch (how) {
	case ABORT_STREAM: nghttp2_submit_rst_stream(s->on->session, NGHTTP2_FLAG_NONE, s->id, code); break;
	case ABORT_GOAWAY:
		http2_conn_goaway(s->on);
		s->on->must_close = true;
		break;
	case ABORT_FIN: s->on->must_close = true; break;
	case ABORT_RST: s->on->must_close = s->on->must_reset = true; break;
	}
	http2_session_speaks(s->on);
}

static void freeze(struct exchange *x, uint64_t by)
{
	conn_freeze(http2_stream_of(x)->on->conn, by);
}

static bool is_frozen(struct exchange *x)
{
	return conn_is_frozen(http2_stream_of(x)->on->conn);
}

static void go_on(struct exchange *x)
{
	struct http2_stream *s = http2_stream_of(x);

	s->on->going_on += !s->goes_on;
	s->goes_on = true;
	conn_yield(s->on->conn);
}

static const struct exchange_carrier carrier = {send_head, wake, go_on, abort_answer, freeze, is_frozen};

/* ---- streams ---- */

struct http2_stream *http2_stream_new(struct http2_conn *h, int32_t id)
{
	struct http2_stream *s = xcalloc(1, sizeof(*s));

	s->on = h;
	s->id = id;
	s->progress_ns = clock_mono_ns(&clock_system);
	exchange_init(&s->exchange, &carrier, &h->account);
	buf_init(&s->head, LIMIT_REQUEST_HEAD_BYTES);
	buf_init(&s->body, LIMIT_REQUEST_BODY_BYTES);
	s->next = h->streams;
	if (s->next)
		s->next->previous = s;
	h->streams = s;
	h->stream_count++;
	return s;
}

/* The request is nobody's any more. */
static void drop_request(struct http2_stream *s)
{
	s->on->kept -= s->kept;
	s->kept = 0;
	buf_release(&s->head);
	buf_release(&s->body);
	free(s->fields);
	s->fields = NULL;
	s->field_count = 0;
}

static void leave_whole(struct http2_stream *s)
{
	if (!s->whole || s->handed_over)
		return;
	s->handed_over = true;
	if (s->previous_whole)
		s->previous_whole->next_whole = s->next_whole;
	else
		s->on->whole = s->next_whole;
	if (s->next_whole)
		s->next_whole->previous_whole = s->previous_whole;
	else
		s->on->last_whole = s->previous_whole;
}

void http2_stream_free(struct http2_stream *s)
{
	leave_whole(s);
	exchange_release(&s->exchange);
	http2_data_forget(s);
	if (s->previous)
		s->previous->next = s->next;
	else
		s->on->streams = s->next;
	if (s->next)
		s->next->previous = s->previous;
	s->on->stream_count--;
	s->on->going_on -= s->goes_on;
	drop_request(s);
	free(s);
}

void http2_stream_reset(struct http2_stream *s, uint32_t code)
{
	nghttp2_submit_rst_stream(s->on->session, NGHTTP2_FLAG_NONE, s->id, code);
	http2_session_speaks(s->on);
}

bool http2_streams_break_off(struct http2_conn *h)
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

/* ---- the request ---- */

/* Counts what is kept of the request. ERR_TOO_LARGE: with this it is too much. */
static int http2_stream_keep(struct http2_stream *s, size_t bytes)
{
	s->kept += bytes;
	s->on->kept += bytes;
	if (conn_hold(s->on->conn, s->on->kept))
		return 0;
	s->on->is_too_much = s->on->kept > LIMIT_CONN_HELD_BYTES / 2;
	return ERR_TOO_LARGE;
}

int http2_stream_add_field(struct http2_stream *s, struct slice name, struct slice value)
{
	struct http2_field f = {(uint32_t)s->head.len, (uint32_t)name.len, (uint32_t)(s->head.len + name.len),
		(uint32_t)value.len};

	if (s->field_count == HTTP_HEADERS_MAX || http2_stream_keep(s, name.len + value.len + sizeof(f)) ||
		buf_append(&s->head, name.ptr, name.len, NULL) ||
		buf_append(&s->head, value.ptr, value.len, NULL))
		return ERR_TOO_LARGE;
	if (s->field_count % 16 == 0)
		s->fields = xrealloc(s->fields, (s->field_count + 16) * sizeof(*s->fields));
	s->fields[s->field_count++] = f;
	return 0;
}

/* Of a body that is too large nothing is kept, but it is read, because a client may read no answer before it
 * is sent. */
static int http2_stream_drop(struct http2_stream *s, size_t bytes)
{
	s->dropped += s->body.len + bytes;
	s->kept -= s->body.len;
	s->on->kept -= s->body.len;
	buf_release(&s->body);
	return s->dropped > LIMIT_DROPPED_BYTES ? ERR_TOO_LARGE : 0;
}

int http2_stream_add_body(struct http2_stream *s, struct slice bytes)
{
	int rc;

	if (s->dropped || s->body.len + bytes.len > LIMIT_REQUEST_BODY_BYTES)
		return http2_stream_drop(s, bytes.len);
	rc = http2_stream_keep(s, bytes.len);
	return rc ? rc : buf_append(&s->body, bytes.ptr, bytes.len, NULL);
}

static struct slice head_bytes(const struct http2_stream *s, uint32_t at, uint32_t len)
{
	return (struct slice){s->head.ptr + at, len};
}

/* The pseudo fields become what they are in HTTP/1.1. */
static void fill_request(const struct http2_stream *s, struct http_request *r)
{
	*r = (struct http_request){.major = 2,
		.body = buf_slice(&s->body),
		.is_too_large = s->dropped > 0,
		.peer = conn_peer(s->on->conn)};
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

void http2_stream_complete(struct http2_stream *s)
{
	struct http2_conn *h = s->on;

	s->whole = true;
	s->previous_whole = h->last_whole;
	if (h->last_whole)
		h->last_whole->next_whole = s;
	else
		h->whole = s;
	h->last_whole = s;
}

static void hand_over(struct http2_stream *s)
{
	struct http_request r;

	leave_whole(s);
	fill_request(s, &r);
	s->exchange.head_only = slice_is(r.method, "HEAD");
	if (r.target.len == 0 || r.target.ptr[0] != '/')
		http2_stream_reset(s, NGHTTP2_PROTOCOL_ERROR);
	else
		server_dispatch(conn_server(s->on->conn), &s->exchange, &r);
	drop_request(s);
}

bool http2_streams_may_dispatch(const struct http2_conn *h)
{
	return h->whole && h->account.bytes <= ANSWERS_MAX_BYTES;
}

void http2_streams_dispatch(struct http2_conn *h)
{
	while (http2_streams_may_dispatch(h) && !conn_is_closed(h->conn)) {
		hand_over(h->whole);
		if (h->whole && conn_has_had_its_time(h->conn)) {
			conn_yield(h->conn);
			return;
		}
	}
}

void http2_streams_relieve(struct http2_conn *h)
{
	for (struct http2_stream *s = h->streams; s; s = s->next) {
		if (s->handed_over || !s->kept)
			continue;
		leave_whole(s);
		s->whole = s->handed_over = true;
		drop_request(s);
		http2_stream_reset(s, NGHTTP2_REFUSED_STREAM);
	}
}

void http2_streams_go_on(struct http2_conn *h)
{
	for (struct http2_stream *s = h->streams; s && h->going_on; s = s->next) {
		if (!s->goes_on)
			continue;
		s->goes_on = false;
		h->going_on--;
		http2_data_ready(s);
	}
}
