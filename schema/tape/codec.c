/* codec.c: see codec.h. Contexts are kept for each thread, as making one costs more than a small frame. */
#include "schema/tape/codec.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/random.h>
/* Other libraries of the process export the same names. */
#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

#define HOT_LEVEL      1
#define HOT_WINDOW_LOG 24 /* 16 MiB: an object's last version is usually that near */
#define MAX_WINDOW_LOG 27 /* the largest that a decoder takes without being told to */

uint64_t codec_hash(struct slice bytes)
{
	return XXH64(bytes.ptr, bytes.len, 0);
}

uint64_t codec_hash_two(struct slice first, struct slice second)
{
	XXH64_state_t state;

	XXH64_reset(&state, 0);
	if (first.len)
		XXH64_update(&state, first.ptr, first.len);
	if (second.len)
		XXH64_update(&state, second.ptr, second.len);
	return XXH64_digest(&state);
}

/* Drawn once by each process, so that nobody can choose names that share a bucket. */
static uint64_t memory_seed(void)
{
	static _Atomic uint64_t seed;
	uint64_t drawn = atomic_load_explicit(&seed, memory_order_relaxed), none = 0;

	if (drawn)
		return drawn;
	if (getrandom(&drawn, sizeof(drawn), 0) != sizeof(drawn) || !drawn)
		drawn = 1;
	return atomic_compare_exchange_strong(&seed, &none, drawn) ? drawn : none;
}

uint64_t codec_hash_for_memory(struct slice bytes)
{
	return XXH3_64bits_withSeed(bytes.ptr, bytes.len, memory_seed());
}

void codec_digest(struct slice bytes, uint8_t ret[16])
{
	XXH128_canonical_t canonical;

	XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.ptr, bytes.len));
	memcpy(ret, canonical.digest, sizeof(canonical.digest));
}

static int zstd_failed(size_t code, const char *what, struct err *err)
{
	return err_set(err, ERR_CORRUPT, "%s: %s", what, ZSTD_getErrorName(code));
}

struct frame_writer {
	ZSTD_CCtx *zstd;
};

struct frame_writer *frame_writer_new(void)
{
	return xcalloc(1, sizeof(struct frame_writer));
}

void frame_writer_free(struct frame_writer *f)
{
	if (!f)
		return;
	ZSTD_freeCCtx(f->zstd);
	free(f);
}

static void begin_frame(struct frame_writer *f)
{
	f->zstd = ZSTD_createCCtx();
	ZSTD_CCtx_setParameter(f->zstd, ZSTD_c_compressionLevel, HOT_LEVEL);
	ZSTD_CCtx_setParameter(f->zstd, ZSTD_c_windowLog, HOT_WINDOW_LOG);
	ZSTD_CCtx_setParameter(f->zstd, ZSTD_c_checksumFlag, 1);
}

static int compress(
	struct frame_writer *f, struct slice raw, ZSTD_EndDirective how, struct buf *to, struct err *err)
{
	ZSTD_inBuffer in = {raw.ptr, raw.len, 0};
	size_t left;

	do {
		char *at = buf_reserve(to, ZSTD_CStreamOutSize());
		ZSTD_outBuffer out = {at, to->cap - to->len, 0};

		if (!at)
			return err_set(err, ERR_TOO_LARGE, "compressed data exceeds %zu bytes", to->max);
		left = ZSTD_compressStream2(f->zstd, &out, &in, how);
		if (ZSTD_isError(left))
			return zstd_failed(left, "cannot compress", err);
		to->len += out.pos;
	} while (in.pos < in.size || (how != ZSTD_e_continue && left > 0));
	return 0;
}

int frame_writer_put(struct frame_writer *f, struct slice raw, bool flush, struct buf *to, struct err *err)
{
	if (!f->zstd && raw.len == 0)
		return 0;
	if (!f->zstd)
		begin_frame(f);
	return compress(f, raw, flush ? ZSTD_e_flush : ZSTD_e_continue, to, err);
}

int frame_writer_end(struct frame_writer *f, struct buf *to, struct err *err)
{
	const struct slice nothing = {NULL, 0};
	int rc = f->zstd ? compress(f, nothing, ZSTD_e_end, to, err) : 0;

	ZSTD_freeCCtx(f->zstd);
	f->zstd = NULL;
	return rc;
}

size_t frame_writer_memory(const struct frame_writer *f)
{
	return ZSTD_sizeof_CCtx(f->zstd);
}

struct frame_reader {
	ZSTD_DCtx *zstd;
};

struct frame_reader *frame_reader_new(void)
{
	struct frame_reader *f = xcalloc(1, sizeof(*f));

	f->zstd = ZSTD_createDCtx();
	ZSTD_DCtx_setParameter(f->zstd, ZSTD_d_windowLogMax, HOT_WINDOW_LOG);
	return f;
}

void frame_reader_free(struct frame_reader *f)
{
	if (!f)
		return;
	ZSTD_freeDCtx(f->zstd);
	free(f);
}

int frame_reader_get(
	struct frame_reader *f, struct slice data, size_t raw_bytes, struct buf *to, struct err *err)
{
	char *at = buf_reserve(to, raw_bytes + 1); /* one more, so that too much shows */
	ZSTD_outBuffer out = {at, raw_bytes + 1, 0};
	ZSTD_inBuffer in = {data.ptr, data.len, 0};

	if (!at)
		return err_set(err, ERR_TOO_LARGE, "%zu bytes exceed the maximum of %zu", raw_bytes, to->max);
	while (in.pos < in.size) {
		size_t before_in = in.pos, before_out = out.pos;
		size_t code = ZSTD_decompressStream(f->zstd, &out, &in);

		if (ZSTD_isError(code))
			return zstd_failed(code, "cannot decompress", err);
		if (in.pos == before_in && out.pos == before_out)
			break;
	}
	if (out.pos != raw_bytes || in.pos != in.size)
		return err_set(
			err, ERR_CORRUPT, "found %zu decompressed bytes, expected %zu", out.pos, raw_bytes);
	to->len += raw_bytes;
	return 0;
}

/* Each thread's own, freed when it ends; the main thread's live as long as the process. */
struct contexts {
	ZSTD_CCtx *pack;
	ZSTD_DCtx *unpack;
};

static _Thread_local struct contexts *own_contexts;
static pthread_once_t contexts_once = PTHREAD_ONCE_INIT;
static pthread_key_t contexts_key;

static void free_contexts(void *context)
{
	struct contexts *c = context;

	ZSTD_freeCCtx(c->pack);
	ZSTD_freeDCtx(c->unpack);
	free(c);
}

static void make_contexts_key(void)
{
	pthread_key_create(&contexts_key, free_contexts);
}

static struct contexts *contexts(void)
{
	if (!own_contexts) {
		pthread_once(&contexts_once, make_contexts_key);
		own_contexts = xcalloc(1, sizeof(*own_contexts));
		pthread_setspecific(contexts_key, own_contexts);
	}
	return own_contexts;
}

static ZSTD_CCtx *ready_to_pack(int level)
{
	struct contexts *c = contexts();

	if (!c->pack)
		c->pack = ZSTD_createCCtx();
	ZSTD_CCtx_reset(c->pack, ZSTD_reset_session_and_parameters);
	ZSTD_CCtx_setParameter(c->pack, ZSTD_c_compressionLevel, level);
	ZSTD_CCtx_setParameter(c->pack, ZSTD_c_checksumFlag, 1);
	return c->pack;
}

static ZSTD_DCtx *ready_to_unpack(void)
{
	struct contexts *c = contexts();

	if (!c->unpack)
		c->unpack = ZSTD_createDCtx();
	ZSTD_DCtx_reset(c->unpack, ZSTD_reset_session_and_parameters);
	ZSTD_DCtx_setParameter(c->unpack, ZSTD_d_windowLogMax, MAX_WINDOW_LOG);
	return c->unpack;
}

static int finish_pack(ZSTD_CCtx *context, struct slice raw, struct buf *to, struct err *err)
{
	size_t bound = codec_bound(raw.len), code;
	char *at = buf_reserve(to, bound);

	if (!at)
		return err_set(err, ERR_TOO_LARGE, "compressed data exceeds %zu bytes", to->max);
	code = ZSTD_compress2(context, at, bound, raw.ptr, raw.len);
	if (ZSTD_isError(code))
		return zstd_failed(code, "cannot compress", err);
	to->len += code;
	return 0;
}

size_t codec_bound(size_t raw_bytes)
{
	return ZSTD_compressBound(raw_bytes);
}

int codec_pack(struct slice raw, int level, struct buf *to, struct err *err)
{
	return finish_pack(ready_to_pack(level), raw, to, err);
}

static int finish_unpack(ZSTD_DCtx *context, struct slice data, char *to, size_t raw_bytes, struct err *err)
{
	size_t code = ZSTD_decompressDCtx(context, to, raw_bytes, data.ptr, data.len);

	if (ZSTD_isError(code))
		return zstd_failed(code, "cannot decompress", err);
	if (code != raw_bytes)
		return err_set(
			err, ERR_CORRUPT, "found %zu decompressed bytes, expected %zu", code, raw_bytes);
	return 0;
}

int codec_unpack(struct slice data, size_t raw_bytes, struct buf *to, struct err *err)
{
	char *at = buf_reserve(to, raw_bytes);

	if (!at && raw_bytes)
		return err_set(err, ERR_TOO_LARGE, "%zu bytes exceed the maximum of %zu", raw_bytes, to->max);
	if (finish_unpack(ready_to_unpack(), data, at, raw_bytes, err))
		return ERR_CORRUPT;
	to->len += raw_bytes;
	return 0;
}

int codec_unpack_front(struct slice data, size_t most, struct buf *to, struct err *err)
{
	ZSTD_inBuffer in = {data.ptr, data.len, 0};
	ZSTD_DCtx *context = ready_to_unpack();
	size_t code = 1, step = ZSTD_DStreamOutSize(), begin = to->len;

	while (in.pos < in.size || code) {
		char *room = buf_reserve(to, step);
		ZSTD_outBuffer out = {room, step, 0};

		if (!room)
			return err_set(err, ERR_TOO_LARGE, "more than %zu bytes", to->max);
		code = ZSTD_decompressStream(context, &out, &in);
		if (ZSTD_isError(code))
			return zstd_failed(code, "cannot decompress", err);
		to->len += out.pos;
		if (to->len - begin >= most)
			return 0;
		if (in.pos == in.size && out.pos < step)
			break;
	}
	return code ? err_set(err, ERR_CORRUPT, "the compressed bytes are cut off") : 0;
}

static int window_for(size_t bytes)
{
	int log = 10;

	while (log < MAX_WINDOW_LOG && ((size_t)1 << log) < bytes)
		log++;
	return log;
}

int codec_pack_long(struct slice raw, int level, struct buf *to, struct err *err)
{
	ZSTD_CCtx *context = ready_to_pack(level);

	ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_for(raw.len));
	ZSTD_CCtx_setParameter(context, ZSTD_c_enableLongDistanceMatching, 1);
	return finish_pack(context, raw, to, err);
}

int codec_pack_delta(struct slice previous, struct slice raw, int level, struct buf *to, struct err *err)
{
	ZSTD_CCtx *context = ready_to_pack(level);

	ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_for(previous.len + raw.len));
	if (previous.len)
		ZSTD_CCtx_refPrefix(context, previous.ptr, previous.len);
	return finish_pack(context, raw, to, err);
}

int codec_unpack_delta(struct slice previous, struct slice data, char *to, size_t raw_bytes, struct err *err)
{
	ZSTD_DCtx *context = ready_to_unpack();

	if (previous.len)
		ZSTD_DCtx_refPrefix(context, previous.ptr, previous.len);
	return finish_unpack(context, data, to, raw_bytes, err);
}
