/*
 * http2_internal.h: shared by the files of an HTTP/2 connection: http2_conn.c (the session, reading,
 * writing), http2_stream.c (a request and its answer) and http2_data.c (DATA frames and the peer's windows).
 *
 * nghttp2 reads and writes everything but DATA and WINDOW_UPDATE frames. A watch is one small DATA frame
 * after the other, and nghttp2's queues took half of the instructions that those cost, TLS aside. So bodies
 * are framed here, within the windows that the peer has opened. These are counted here, too: nghttp2 does not
 * see WINDOW_UPDATE frames. For nghttp2 every body is empty: it learns when a stream has ended, and the empty
 * frame that it then makes is dropped, because our last one has already ended the stream.
 */
#ifndef REPLAYER_HTTP2_INTERNAL_H
#define REPLAYER_HTTP2_INTERNAL_H

#include "replayer/wire/conn.h"
#include "replayer/wire/exchange.h"
#include "replayer/wire/http2_memory.h"

#include <stddef.h>

#define HTTP2_WINDOW_BYTES 65535 /* of a connection at its beginning */
#define HTTP2_HEAD_BYTES   9     /* of a frame */

/* A field of the request head: where its bytes are in the stream's buffer. */
struct http2_field {
	uint32_t name, name_len, value, value_len;
};

struct http2_stream {
	struct exchange exchange;
	struct http2_conn *on;
	int32_t id;
	bool whole;                      /* the request has come */
	bool handed_over;                /* ... and was given to its handler */
	bool goes_on;                    /* ask its owner again in a later turn */
	bool is_ready;                   /* is in the connection's list of those with something to send */
	bool has_ended;                  /* its last DATA frame is made */
	bool aborted;                    /* was BROKEN, and that is done */
	int64_t credit;                  /* the peer's updates of its window, less what was sent */
	int64_t progress_ns;             /* when a byte of the answer went out last, or the request began */
	struct http2_stream *next_ready; /* in that list */
	struct buf head;
	struct http2_field *fields;
	size_t field_count;
	struct buf body;
	size_t kept;    /* bytes of head and body */
	size_t dropped; /* ... and of a body that was too large */
	struct http2_stream *next, *previous;
	struct http2_stream *next_whole, *previous_whole; /* of those that wait to be handed over */
};

struct http2_conn {
	struct conn *conn;
	nghttp2_session *session;
	bool session_speaks; /* it may have frames to send */
	bool has_broken;     /* break off some stream */
	bool must_close;     /* when the queued data are sent ... */
	bool must_reset;     /* ... and so */
	int64_t window;      /* this many bytes may be sent on all streams together */
	struct http2_stream *ready, *last_ready;
	struct buf out; /* frames that the socket has not taken yet */
	struct http2_stream *streams;
	size_t stream_count;
	struct http2_stream *whole, *last_whole; /* requests that wait to be handed over, in order */
	size_t kept;                             /* bytes of requests that were not handed over */
	bool is_too_much;                        /* ... more than any client needs */
	size_t going_on;                         /* streams that continue */
	struct exchange_account account;
	size_t frame_left; /* of what arrives: bytes up to the next head of a frame */
	struct http2_memory memory;
};

static inline struct http2_stream *http2_stream_of(struct exchange *x)
{
	return (struct http2_stream *)((char *)x - offsetof(struct http2_stream, exchange));
}

/* Has the connection flushed, and the session asked for frames then: after every nghttp2_submit_*. */
void http2_session_speaks(struct http2_conn *h);

/* ---- http2_stream.c ---- */

struct http2_stream *http2_stream_new(struct http2_conn *h, int32_t id);
void http2_stream_free(struct http2_stream *s);
void http2_stream_reset(struct http2_stream *s, uint32_t code);

/* A field of the request head. ERR_TOO_LARGE. */
int http2_stream_add_field(struct http2_stream *s, struct slice name, struct slice value);

/* A part of the body. ERR_TOO_LARGE. */
int http2_stream_add_body(struct http2_stream *s, struct slice bytes);

/* The request is whole: it waits to be handed over. */
void http2_stream_complete(struct http2_stream *s);

/* Hands over what waits, as long as there is time, and room for the answers. */
void http2_streams_dispatch(struct http2_conn *h);
bool http2_streams_may_dispatch(const struct http2_conn *h);

/* Gives up requests that are not handed over. */
void http2_streams_relieve(struct http2_conn *h);

/* Makes the continuing streams ready again. */
void http2_streams_go_on(struct http2_conn *h);

/* Breaks off those that have sent all their data. True if there is something to send for that. */
bool http2_streams_break_off(struct http2_conn *h);

/* ---- http2_data.c ---- */

/* The stream has something to send, or the end of it. */
void http2_data_ready(struct http2_stream *s);

/* It goes away. */
void http2_data_forget(struct http2_stream *s);

/* Writes DATA frames of the streams that are ready, in turns, as the windows
 * allow. Returns how many bytes. */
size_t http2_data_gather(struct http2_conn *h, char *to, size_t max);

/* Whether a frame of the session is the empty one at the end of a stream. */
bool http2_data_is_end(const uint8_t *frame, size_t len);

/* Takes a WINDOW_UPDATE if it is one that http2_data_gather should know of. False: it is the session's. */
bool http2_data_take_update(struct http2_conn *h, int32_t id, uint32_t increment);

/* The peer's settings have changed: windows may be open that were not. */
void http2_data_retry(struct http2_conn *h);

#endif
