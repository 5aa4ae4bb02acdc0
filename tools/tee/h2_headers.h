/*
 * h2_headers.h: header blocks of HTTP/2: gathered from their frames, decoded, and encoded again. A decoder
 * has to read every block of its direction, in order; an encoder here keeps no table, so that no decoder
 * depends on it.
 */
#ifndef TOOLS_TEE_H2_HEADERS_H
#define TOOLS_TEE_H2_HEADERS_H

#include "tools/tee/fields.h"
#include "tools/tee/h2_frames.h"

/* A block whose frames are coming in. Between them no other frame may come. */
struct h2_gather {
	struct h2_frame first; /* HEADERS or PUSH_PROMISE */
	struct buf block;
	char priority[5]; /* with H2_PRIORITY */
	bool is_open;
};

void h2_gather_init(struct h2_gather *g);
void h2_gather_release(struct h2_gather *g);

/* Takes a complete frame of any kind. 1: g->block is complete; 0: not yet, or the frame is not part of a
 * block; ERR_PROTOCOL; ERR_TOO_LARGE. */
int h2_gather_take(struct h2_gather *g, const struct h2_piece *piece, struct err *err) MUST_CHECK;

struct h2_decoder;
struct h2_decoder *h2_decoder_new(void);
void h2_decoder_free(struct h2_decoder *d); /* accepts NULL */

/* The reading side has announced the maximum size of a table. */
int h2_decoder_limit(struct h2_decoder *d, uint32_t table_bytes, struct err *err) MUST_CHECK;

/* Fills the (empty) list; the texts live until the next call. ERR_PROTOCOL, ERR_TOO_LARGE. */
int h2_decode(struct h2_decoder *d, struct slice block, struct field_list *ret, struct err *err) MUST_CHECK;

struct h2_encoder;
struct h2_encoder *h2_encoder_new(void);
void h2_encoder_free(struct h2_encoder *e); /* accepts NULL */

/* Appends the frames of the fields, as many as it takes: with the stream, END_STREAM and priority of that
 * HEADERS frame. */
int h2_encode(struct h2_encoder *e, const struct h2_gather *like, const struct field_list *fields,
	struct buf *to, struct err *err) MUST_CHECK;

#endif
