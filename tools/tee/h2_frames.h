/*
 * h2_frames.h: HTTP/2 as frames, cut out of bytes as they come. The payload of frames whose meaning is needed
 * is collected, up to a maximum; that of all others is handed on in pieces.
 */
#ifndef TOOLS_TEE_H2_FRAMES_H
#define TOOLS_TEE_H2_FRAMES_H

#include "schema/base/buf.h"

#define H2_PREFACE       "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" /* RFC 9113, section 3.4 */
#define H2_PREFACE_BYTES (sizeof(H2_PREFACE) - 1)
#define H2_HEAD_BYTES    9
#define H2_FRAME_MAX     16384 /* what every peer takes */

enum h2_type {
	H2_DATA = 0,
	H2_HEADERS = 1,
	H2_RST_STREAM = 3,
	H2_SETTINGS = 4,
	H2_PUSH_PROMISE = 5,
	H2_GOAWAY = 7,
	H2_CONTINUATION = 9,
};

#define H2_END_STREAM  0x1 /* also ACK */
#define H2_END_HEADERS 0x4
#define H2_PADDED      0x8
#define H2_PRIORITY    0x20

#define H2_SETTINGS_HEADER_TABLE_SIZE 1
#define H2_HEADER_TABLE_DEFAULT       4096

struct h2_frame {
	uint32_t length;
	uint8_t type, flags;
	uint32_t stream;
};

struct h2_cutter {
	unsigned char head[H2_HEAD_BYTES];
	size_t head_len;
	struct h2_frame frame;
	uint32_t left;      /* of the payload */
	struct buf payload; /* of a frame that is collected */
};

void h2_cutter_init(struct h2_cutter *c);
void h2_cutter_release(struct h2_cutter *c);

/* A part of a frame. */
struct h2_piece {
	struct h2_frame frame;
	const unsigned char *head; /* its nine bytes; borrowed until the next frame */
	struct slice payload;      /* all of it when it is collected */
	bool is_first, is_last;    /* both: a whole frame */
};

/* Takes the next piece off *in: 1, 0 if all was used, ERR_TOO_LARGE for a frame that has to be collected and
 * is too large for that. Pieces are borrowed until the next call. */
int h2_cut(struct h2_cutter *c, struct slice *in, struct h2_piece *ret, struct err *err) MUST_CHECK;

/* The content of a complete HEADERS (or PUSH_PROMISE, CONTINUATION) frame without padding and leading fields.
 * False if it is malformed. */
bool h2_block(const struct h2_piece *piece, struct slice *ret);

/* Writes the head of a frame. */
void h2_write_head(unsigned char to[H2_HEAD_BYTES], const struct h2_frame *f);

uint32_t h2_number(const char *four_bytes);

#endif
