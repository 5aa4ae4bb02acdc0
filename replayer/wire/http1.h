/*
 * http1.h: HTTP/1.1 as bytes: a strict reader of request heads and bodies, and the head of an answer. No
 * sockets here; both readers take the bytes that have arrived so far and say how many they used.
 *
 * Strict means: CRLF line ends, no folded lines, no blanks before the colon, one Host, a body by
 * Content-Length or by chunks but never both. Anything that a proxy could read differently is refused.
 */
#ifndef REPLAYER_HTTP1_H
#define REPLAYER_HTTP1_H

#include "replayer/wire/http.h"

/* What the head says about the connection and the body that follows. */
struct http1_framing {
	bool keep_alive;
	bool chunked;            /* the body comes in chunks; else it has content_length bytes */
	bool expect_continue;    /* the client waits for "100 Continue" before it sends the body */
	uint64_t content_length; /* may be above LIMIT_REQUEST_BODY_BYTES */
};

/*
 * Reads one request head from the start of `in`. Returns its length with the empty line, 0 if it is not
 * whole yet, ERR_PROTOCOL if it is malformed, ERR_TOO_LARGE if it exceeds limits.h. `scanned`
 * (0 for a new head) remembers how far earlier calls looked, so that a head that trickles in is not searched
 * again and again. The slices of ret point into `in`; ret->body is left empty.
 */
int http1_read_head(struct slice in, size_t *scanned, struct http_request *ret,
	struct http1_framing *ret_framing, struct err *err) MUST_CHECK;

/*
 * A body in chunks:
 *
 *     SIZE -> DATA -> DATA_END -> SIZE ... SIZE (0) -> TRAILER -> DONE
 */
enum http1_chunk_state {
	HTTP1_CHUNK_SIZE,     /* the line with the size is next */
	HTTP1_CHUNK_DATA,     /* `left` bytes of data are next */
	HTTP1_CHUNK_DATA_END, /* the CRLF after the data is next */
	HTTP1_CHUNK_TRAILER,  /* trailer lines until an empty one; ignored */
	HTTP1_CHUNK_DONE,
};
struct http1_chunks {
	enum http1_chunk_state state;
	uint64_t left;
	uint64_t dropped;  /* bytes ... */
	bool is_too_large; /* ... of a body that exceeded body->max, which is dropped */
};

/* Appends the data found in `in` to `body` and returns how many bytes of `in` were used; look at c->state for
 * the end. ERR_PROTOCOL, or ERR_TOO_LARGE if more than LIMIT_DROPPED_BYTES were dropped. All zero is the
 * start. */
int http1_read_chunks(struct http1_chunks *c, struct slice in, struct buf *body, struct err *err) MUST_CHECK;

/* Appends status line and header fields with the empty line. Names are constants of ours (asserted), values
 * may come from anywhere (http_append_value). */
int http1_write_head(struct buf *to, int status, const struct http_header *headers, size_t count,
	struct err *err) MUST_CHECK;

#endif
