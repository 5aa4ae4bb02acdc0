/* http2_data.c: DATA frames and the windows for them; see http2_internal.h. */
#include "replayer/wire/http2_internal.h"
#include "schema/base/clock.h"

#define FRAME_MAX_BYTES 16384 /* what every peer takes */
#define PIECES_A_FRAME  16
#define WINDOW_MAX      INT32_MAX

/* ---- who has something to send ---- */

void http2_data_ready(struct http2_stream *s)
{
	struct http2_conn *h = s->on;

	if (s->is_ready)
		return;
	s->is_ready = true;
	s->next_ready = NULL;
	if (h->ready)
		h->last_ready->next_ready = s;
	else
		h->ready = s;
	h->last_ready = s;
}

static struct http2_stream *take_ready(struct http2_conn *h)
{
	struct http2_stream *s = h->ready;

	h->ready = s->next_ready;
	s->is_ready = false;
	return s;
}

void http2_data_forget(struct http2_stream *s)
{
	struct http2_conn *h = s->on;
	struct http2_stream *before = NULL;

	if (!s->is_ready)
		return;
	for (struct http2_stream *at = h->ready; at != s; at = at->next_ready)
		before = at;
	if (before)
		before->next_ready = s->next_ready;
	else
		h->ready = s->next_ready;
	if (h->last_ready == s)
		h->last_ready = before;
	s->is_ready = false;
}

/* ---- windows ---- */

/* Settings may make it negative. */
static int64_t window_of(const struct http2_stream *s)
{
	return s->credit +
	       nghttp2_session_get_remote_settings(s->on->session, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE);
}

/* Its window may be open now. Only who waits for that is woken: others keep the order of their events. */
static void try_again(struct http2_stream *s)
{
	if (s->exchange.count)
		http2_data_ready(s);
}

bool http2_data_take_update(struct http2_conn *h, int32_t id, uint32_t increment)
{
	struct http2_stream *s;

	if (increment == 0)
		return false;
	if (id == 0) {
		if (h->window <= 0)
			http2_data_retry(h);
		h->window += increment;
		if (h->window > WINDOW_MAX)
			nghttp2_session_terminate_session(h->session, NGHTTP2_FLOW_CONTROL_ERROR);
		return true;
	}
	s = nghttp2_session_get_stream_user_data(h->session, id);
	if (!s)
		return false;
	s->credit += increment;
	if (window_of(s) > WINDOW_MAX)
		http2_stream_reset(s, NGHTTP2_FLOW_CONTROL_ERROR);
	try_again(s);
	/* The session never sends a byte, but keeps back a stream's end while it thinks its window shut. */
	return nghttp2_session_get_stream_remote_window_size(h->session, id) > 0;
}

void http2_data_retry(struct http2_conn *h)
{
	for (struct http2_stream *s = h->streams; s; s = s->next)
		try_again(s);
}

/* ---- frames ---- */

static void put_head(char *to, size_t len, uint8_t flags, int32_t id)
{
	const unsigned char head[HTTP2_HEAD_BYTES] = {(unsigned char)(len >> 16), (unsigned char)(len >> 8),
		(unsigned char)len, NGHTTP2_DATA, flags, (unsigned char)(id >> 24), (unsigned char)(id >> 16),
		(unsigned char)(id >> 8), (unsigned char)id};

	memcpy(to, head, HTTP2_HEAD_BYTES);
}

static size_t smaller(size_t a, int64_t b)
{
	if (b < 0)
		return 0;
	return (uint64_t)b < a ? (size_t)b : a;
}

static size_t copy_body(struct exchange *x, char *to, size_t max)
{
	struct slice pieces[PIECES_A_FRAME];
	size_t n = exchange_peek(x, pieces, PIECES_A_FRAME), used = 0;

	for (size_t i = 0; i < n && used < max; i++) {
		size_t len = pieces[i].len < max - used ? pieces[i].len : max - used;

		memcpy(to + used, pieces[i].ptr, len);
		used += len;
	}
	exchange_sent(x, used);
	return used;
}

/* One frame of a stream; 0 when it has none, or no window. The end of it needs no window. */
static size_t put_frame(struct http2_stream *s, char *to)
{
	struct http2_conn *h = s->on;
	struct exchange *x = &s->exchange;
	size_t body = x->count ? smaller(smaller(FRAME_MAX_BYTES, h->window), window_of(s)) : 0;
	bool end;

	if (body)
		body = copy_body(x, to + HTTP2_HEAD_BYTES, body);
	end = exchange_is_all_sent(x) && !s->has_ended;
	if (body == 0 && !end)
		return 0;
	put_head(to, body, end ? NGHTTP2_FLAG_END_STREAM : NGHTTP2_FLAG_NONE, s->id);
	h->window -= (int64_t)body;
	s->credit -= (int64_t)body;
	s->progress_ns = clock_mono_ns(&clock_system);
	if (end) {
		s->has_ended = true;
		nghttp2_session_resume_data(h->session, s->id);
		http2_session_speaks(h);
	}
	return HTTP2_HEAD_BYTES + body;
}

/* Who has sent something is asked again: its owner may have more. */
size_t http2_data_gather(struct http2_conn *h, char *to, size_t max)
{
	size_t have = 0;

	while (h->ready && max - have >= HTTP2_HEAD_BYTES + FRAME_MAX_BYTES) {
		struct http2_stream *s = take_ready(h);
		const bool has_head = s->exchange.state != EXCHANGE_OPEN;
		size_t n;

		exchange_refill(&s->exchange);
		if (!has_head) { /* an answer that has begun only now: its head is out first */
			if (s->exchange.state != EXCHANGE_OPEN)
				http2_data_ready(s);
			break;
		}
		n = put_frame(s, to + have);
		have += n;
		if (n && !s->has_ended)
			http2_data_ready(s);
	}
	return have;
}

bool http2_data_is_end(const uint8_t *frame, size_t len)
{
	return len == HTTP2_HEAD_BYTES && frame[3] == NGHTTP2_DATA;
}
