/*
 * blob.h: bytes that several answers share. An event is encoded once; every watcher that gets it holds a
 * reference. A blob carries its HTTP/1.1 chunk framing around the body, so that a chunk is one piece of
 * memory and goes out without copying; HTTP/2 sends the body alone.
 *
 *     "1f4\r\n"  body (500 bytes)  "\r\n"
 */
#ifndef REPLAYER_BLOB_H
#define REPLAYER_BLOB_H

#include "schema/base/buf.h"

struct blob {
	uint32_t refs;
	uint32_t head; /* bytes of chunk framing before the body */
	size_t len;    /* of the body */
	char bytes[];
};

/* The parts joined, with one reference that is the caller's. The body must not be empty: an empty chunk ends
 * an HTTP/1.1 body. Sizes come from objects of the tape, which the reader bounds. */
struct blob *blob_join(const struct slice *parts, size_t count);
static inline struct blob *blob_of(struct slice body)
{
	return blob_join(&body, 1);
}

static inline struct blob *blob_ref(struct blob *b)
{
	b->refs++;
	return b;
}
void blob_unref(struct blob *b); /* accepts NULL */

static inline struct slice blob_body(const struct blob *b)
{
	return (struct slice){b->bytes + b->head, b->len};
}
/* Its bytes, which its creator may change while nobody else has it. */
static inline char *blob_change(struct blob *b)
{
	return b->bytes + b->head;
}
static inline struct slice blob_chunk(const struct blob *b)
{
	return (struct slice){b->bytes, b->head + b->len + 2};
}

#endif
