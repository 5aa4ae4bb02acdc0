/*
 * codec.h: zstd and XXH64, and the only file that knows them.
 *
 * Three shapes: a *running frame* (the hot stage: one frame that is fed and flushed tick by tick, each flush
 * decodable on its own once what came before it is), a *pack* (one frame, whole), and a *delta* (one frame
 * that refers to the previous version of the same object). All frames carry zstd's content checksum.
 */
#ifndef SCHEMA_TAPE_CODEC_H
#define SCHEMA_TAPE_CODEC_H

#include "schema/base/buf.h"

uint64_t codec_hash(struct slice bytes);                          /* XXH64, seed 0 */
uint64_t codec_hash_two(struct slice first, struct slice second); /* of both, one after the other */
/* For comparisons in memory only: takes a third of the time, and is not part of the format. */
uint64_t codec_hash_for_memory(struct slice bytes);
void codec_digest(struct slice bytes, uint8_t ret[16]); /* XXH3-128, seed 0, in canonical (big-endian) form */

struct frame_writer;
struct frame_writer *frame_writer_new(void);
void frame_writer_free(struct frame_writer *f);
/* Compresses raw, appends to `to` what that gives; with flush so that everything so far can be decoded. The
 * first one begins a frame. */
int frame_writer_put(
	struct frame_writer *f, struct slice raw, bool flush, struct buf *to, struct err *err) MUST_CHECK;
/* Ends the frame, if there is one, and gives its memory back, 17 MB; the next put begins another. */
int frame_writer_end(struct frame_writer *f, struct buf *to, struct err *err) MUST_CHECK;

size_t frame_writer_memory(const struct frame_writer *f); /* bytes that it takes now */

struct frame_reader;
struct frame_reader *frame_reader_new(void);
void frame_reader_free(struct frame_reader *f);
/* Decodes the next flushed part of a running frame and appends exactly raw_bytes to `to`, or ERR_CORRUPT. */
int frame_reader_get(struct frame_reader *f, struct slice data, size_t raw_bytes, struct buf *to,
	struct err *err) MUST_CHECK;

/* The most that raw bytes take when they are packed. */
size_t codec_bound(size_t raw_bytes);

/* One whole frame. unpack appends exactly raw_bytes or fails with ERR_CORRUPT. */
int codec_pack(struct slice raw, int level, struct buf *to, struct err *err) MUST_CHECK;
int codec_unpack(struct slice data, size_t raw_bytes, struct buf *to, struct err *err) MUST_CHECK;
/* As codec_pack, with a window over all of raw, up to 128 MiB: for much that is alike and far apart. */
int codec_pack_long(struct slice raw, int level, struct buf *to, struct err *err) MUST_CHECK;

/* For other programs' frames, which may not say their length: decodes what is needed for `most` bytes, and no
 * more; ERR_TOO_LARGE if `to` may not hold it. */
int codec_unpack_front(struct slice data, size_t most, struct buf *to, struct err *err) MUST_CHECK;

/* One frame that refers to `previous`. unpack writes exactly raw_bytes at `to`. */
int codec_pack_delta(
	struct slice previous, struct slice raw, int level, struct buf *to, struct err *err) MUST_CHECK;
int codec_unpack_delta(
	struct slice previous, struct slice data, char *to, size_t raw_bytes, struct err *err) MUST_CHECK;

#endif
