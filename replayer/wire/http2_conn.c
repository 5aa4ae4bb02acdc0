/* http2_conn.c: see http2_conn.h. */
#include "replayer/wire/http2_conn.h"

#include "replayer/wire/http2_internal.h"
#include "replayer/wire/server.h"
#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/base/limits.h"

#include <stdlib.h>

#define STREAMS_MAX   1000         /* at once on a connection, as the API server allows */
#define OUT_MAX       (256u << 10) /* frames not yet taken by the socket */
#define WRITE_A_TURN  (1u << 20)   /* then others have their turn */
#define IDLE_NS       (90 * NS_PER_S)
#define REQUEST_NS    (60 * NS_PER_S) /* for a request to arrive */
#define PREFACE_BYTES 24              /* before the first frame */
#define UPDATE_BYTES  4               /* in a WINDOW_UPDATE */
#define STEP_BYTES    2048
#define INPUT_BYTES   (64u << 10)

void http2_session_speaks(struct http2_conn *h)
{
	h->session_speaks = true;
	conn_wake(h->conn);
}

/* ---- what nghttp2 tells ---- */

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	struct http2_conn *h = user;

	if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
		nghttp2_session_set_stream_user_data(
			session, frame->hd.stream_id, http2_stream_new(h, frame->hd.stream_id));
	return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
	size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags, void *user)
{
	struct http2_stream *s = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

	(void)flags;
	(void)user;
	if (!s || s->whole)
		return 0;
	if (http2_stream_add_field(s, (struct slice){(const char *)name, name_len},
		    (struct slice){(const char *)value, value_len})) {
		http2_stream_reset(s, NGHTTP2_ENHANCE_YOUR_CALM);
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	}
	return 0;
}

static int on_data(
	nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *bytes, size_t len, void *user)
{
	struct http2_stream *s = nghttp2_session_get_stream_user_data(session, id);

	(void)flags;
	(void)user;
	if (s && !s->whole && http2_stream_add_body(s, (struct slice){(const char *)bytes, len}))
		http2_stream_reset(s, NGHTTP2_ENHANCE_YOUR_CALM);
	return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	struct http2_stream *s;

	if (frame->hd.type == NGHTTP2_SETTINGS)
		http2_data_retry(user);
	if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
		return 0;
	s = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
	if (s && !s->whole && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		http2_stream_complete(s);
	return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *user)
{
	struct http2_stream *s = nghttp2_session_get_stream_user_data(session, id);

	(void)code;
	(void)user;
	if (s) {
		nghttp2_session_set_stream_user_data(session, id, NULL);
		http2_stream_free(s);
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

/* What the session has to say. When it has nothing more to say or to hear, that is the end. */
static bool gather_session(struct http2_conn *h, char *to, size_t *have)
{
	while (*have < SERVER_SCRATCH_BYTES / 2) {
		const uint8_t *bytes;
		ssize_t n = nghttp2_session_mem_send(h->session, &bytes);

		if (n < 0 || (size_t)n > SERVER_SCRATCH_BYTES - *have)
			return false;
		if (n == 0) {
			h->session_speaks = false;
			h->must_close |= !nghttp2_session_want_read(h->session) &&
					 !nghttp2_session_want_write(h->session);
			return true;
		}
		if (http2_data_is_end(bytes, (size_t)n))
			continue;
		memcpy(to + *have, bytes, (size_t)n);
		*have += (size_t)n;
	}
	return true;
}

/* Puts frames together in the server's scratch, so that a burst leaves in few writes and an idle connection
 * holds no buffer. The session comes first: the head of an answer before its body. */
static bool gather(struct http2_conn *h, struct slice *ret)
{
	char *to = server_frame_scratch(conn_server(h->conn));
	size_t have = 0, before;

	do {
		before = have;
		if (h->session_speaks && !gather_session(h, to, &have))
			return false;
		if (have < SERVER_SCRATCH_BYTES / 2)
			have += http2_data_gather(h, to + have, SERVER_SCRATCH_BYTES - have);
	} while (have < SERVER_SCRATCH_BYTES / 2 && (have > before || h->session_speaks));
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
	size_t total = 0, rounds = 0;
	bool more = true;

	while (total < WRITE_A_TURN && !conn_flushes_long(h->conn, rounds++)) {
		struct slice bytes;

		if (!write_rest(h, &total))
			return;
		if (!gather(h, &bytes) || conn_is_closed(h->conn)) {
			conn_close(h->conn);
			return;
		}
		more = bytes.len > 0 || http2_streams_break_off(h);
		if (!more)
			break;
		if (!write_gathered(h, bytes, &total))
			return;
	}
	if (h->must_close && !more)
		close_now(h);
	else if (more || http2_streams_may_dispatch(h))
		conn_yield(h->conn);
}

static size_t body_bytes_of(const unsigned char *head)
{
	return (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
}

static bool is_update(const unsigned char *head)
{
	return head[3] == NGHTTP2_WINDOW_UPDATE && body_bytes_of(head) == UPDATE_BYTES;
}

/* How many bytes from the front are not of a WINDOW_UPDATE. */
static size_t before_update(struct http2_conn *h, const unsigned char *in, size_t len)
{
	size_t n = 0, step;

	for (; n < len; n += step, h->frame_left -= step) {
		if (h->frame_left == 0) {
			if (len - n < HTTP2_HEAD_BYTES || is_update(in + n))
				break;
			h->frame_left = HTTP2_HEAD_BYTES + body_bytes_of(in + n);
		}
		step = h->frame_left < len - n ? h->frame_left : len - n;
	}
	return n;
}

/* True when the WINDOW_UPDATE was taken. */
static bool take_update(struct http2_conn *h, const unsigned char *frame)
{
	const unsigned char *id = frame + 5, *by = frame + HTTP2_HEAD_BYTES;

	return http2_data_take_update(h, (id[0] & 0x7f) << 24 | id[1] << 16 | id[2] << 8 | id[3],
		(uint32_t)(by[0] & 0x7f) << 24 | (uint32_t)by[1] << 16 | (uint32_t)by[2] << 8 | by[3]);
}

/* A WINDOW_UPDATE that is whole. */
static bool is_update_next(const struct http2_conn *h, struct slice in)
{
	return h->frame_left == 0 && in.len >= HTTP2_HEAD_BYTES + UPDATE_BYTES &&
	       is_update((const unsigned char *)in.ptr);
}

/* Gives the session a step of what is there, but no WINDOW_UPDATE that is ours. Returns how many bytes were
 * used, 0 when a part of a frame's head waits for the rest; negative when it makes no sense. */
static ssize_t read_step(struct http2_conn *h, struct slice in)
{
	const unsigned char *bytes = (const unsigned char *)in.ptr;
	size_t n;

	if (is_update_next(h, in)) {
		if (take_update(h, bytes))
			return HTTP2_HEAD_BYTES + UPDATE_BYTES;
		h->frame_left = HTTP2_HEAD_BYTES + UPDATE_BYTES;
	}
	n = before_update(h, bytes, in.len < STEP_BYTES ? in.len : STEP_BYTES);
	return n && nghttp2_session_mem_recv(h->session, bytes, n) < 0 ? -1 : (ssize_t)n;
}

/* A few bytes may stand for much that they refer to, so it is looked how long they take. False when the
 * connection is to be closed. */
static bool read_frames(struct http2_conn *h)
{
	struct slice in = buf_slice(conn_input(h->conn));
	ssize_t n = 1;

	while (in.len && n > 0 && !h->is_too_much) {
		n = read_step(h, in);
		if (n < 0)
			return false;
		in = (struct slice){in.ptr + n, in.len - (size_t)n};
		if (n && in.len && conn_has_had_its_time(h->conn)) {
			conn_yield(h->conn);
			break;
		}
	}
	buf_consume(conn_input(h->conn), conn_input(h->conn)->len - in.len);
	return !h->is_too_much;
}

static void on_readable(void *self)
{
	struct http2_conn *h = self;

	if (conn_input(h->conn)->len && !read_frames(h)) {
		conn_close(h->conn);
		return;
	}
	http2_streams_go_on(h);
	http2_streams_dispatch(h);
	http2_session_speaks(h);
}

/* A request has no more time than over HTTP/1.1. */
static void give_up_late(struct http2_stream *s, int64_t now_ns)
{
	if (now_ns - s->progress_ns <= REQUEST_NS)
		return;
	s->progress_ns = now_ns;
	http2_stream_reset(s, NGHTTP2_CANCEL);
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
		http2_session_speaks(h);
	}
	for (struct http2_stream *s = h->streams; s; s = s->next) {
		if (!s->whole) {
			give_up_late(s, now_ns);
		} else if (!exchange_waiting(&s->exchange)) {
			s->progress_ns = now_ns;
		} else if (now_ns - s->progress_ns > stall_ns) {
			server_count_cut(conn_server(h->conn));
			s->progress_ns = now_ns;
			http2_stream_reset(s, NGHTTP2_CANCEL);
		}
	}
}

static void on_closed(void *self)
{
	struct http2_conn *h = self;

	while (h->streams)
		http2_stream_free(h->streams);
	nghttp2_session_del(h->session);
	buf_release(&h->out);
	free(h);
}

static bool is_idle(const void *self)
{
	return ((const struct http2_conn *)self)->stream_count == 0;
}

static size_t kept(const void *self)
{
	return ((const struct http2_conn *)self)->kept;
}

static void relieve(void *self)
{
	http2_streams_relieve(self);
}

static void prefetch(const void *self)
{
	const struct http2_stream *s = ((const struct http2_conn *)self)->ready;

	if (!s)
		return;
	__builtin_prefetch(s);
	__builtin_prefetch(&s->on);
	__builtin_prefetch(&s->credit);
}

const struct conn_protocol http2_protocol = {
	on_readable, on_flush, on_tick, on_closed, is_idle, http2_conn_goaway, kept, relieve, prefetch};

void http2_conn_goaway(void *self)
{
	struct http2_conn *h = self;

	nghttp2_submit_goaway(h->session, NGHTTP2_FLAG_NONE,
		nghttp2_session_get_last_proc_stream_id(h->session), NGHTTP2_NO_ERROR, NULL, 0);
	http2_session_speaks(h);
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
	h->window = HTTP2_WINDOW_BYTES;
	h->account.parent = server_account(conn_server(c));
	conn_set_input_max(c, INPUT_BYTES);
	h->frame_left = PREFACE_BYTES;
	buf_init(&h->out, OUT_MAX);
	if (nghttp2_option_new(&option))
		abort();
	nghttp2_option_set_no_closed_streams(option, 1);
	/* An empty variable in a script makes "Bearer ", which the API server takes for a request as well. */
	nghttp2_option_set_no_rfc9113_leading_and_trailing_ws_validation(option, 1);
	if (nghttp2_session_server_new3(&h->session, cb, h, option, &memory))
		abort();
	nghttp2_option_del(option);
	nghttp2_session_callbacks_del(cb);
	nghttp2_submit_settings(h->session, NGHTTP2_FLAG_NONE, settings, COUNT_OF(settings));
	http2_session_speaks(h);
	return h;
}
