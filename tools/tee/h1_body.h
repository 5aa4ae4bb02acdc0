/*
 * h1_body.h: where the body of an HTTP/1.1 message ends. It scans the bytes as they come and keeps none, so
 * that a body of any length costs no memory.
 *
 *     chunks:  SIZE -> EXTENSION -> DATA -> DATA_END -> SIZE ... SIZE (0) -> TRAILER -> OVER
 */
#ifndef TOOLS_TEE_H1_BODY_H
#define TOOLS_TEE_H1_BODY_H

#include "schema/base/buf.h"

enum h1_framing {
	H1_NO_BODY,
	H1_LENGTH,      /* this many bytes */
	H1_CHUNKED,     /* chunks, then trailers */
	H1_UNTIL_CLOSE, /* all that comes */
};

enum h1_chunk_state {
	H1_CHUNK_SIZE,
	H1_CHUNK_EXTENSION, /* the rest of the line with the size */
	H1_CHUNK_DATA,
	H1_CHUNK_DATA_END,
	H1_CHUNK_TRAILER,
	H1_CHUNK_OVER,
};

struct h1_body {
	enum h1_framing framing;
	enum h1_chunk_state state;
	uint64_t left;   /* of the body, or of the chunk */
	size_t line_len; /* of the line that is being read */
};

void h1_body_begin(struct h1_body *b, enum h1_framing framing, uint64_t length);

enum h1_step {
	H1_STEP_DATA,     /* *ret_data is a piece of the content */
	H1_STEP_MORE,     /* all of *in was used, and the body continues */
	H1_STEP_OVER,     /* the body has ended; *in is after it */
	H1_STEP_NONSENSE, /* malformed */
};

/* Takes bytes off the front of *in; to be called until it is not H1_STEP_DATA. */
enum h1_step h1_body_next(struct h1_body *b, struct slice *in, struct slice *ret_data);

#endif
