/* decoder.c: see decoder.h. */
#include "tools/tee/decoder.h"

#include "replayer/wire/http.h"

#include <stdlib.h>
#include <zlib.h>

#define PIECE_BYTES     32768
#define EITHER_ENCODING 32 /* of zlib: gzip or deflate, as the first bytes tell */

struct decoder {
	z_stream stream;
	bool is_over;
	unsigned char piece[PIECE_BYTES];
};

int decoder_new(struct slice encoding, struct decoder **ret, struct err *err)
{
	struct decoder *d;

	*ret = NULL;
	if (!encoding.len || slice_equal_nocase(encoding, slice_of("identity")))
		return 0;
	if (!slice_equal_nocase(encoding, slice_of("gzip")) &&
		!slice_equal_nocase(encoding, slice_of("deflate")))
		return err_set(err, ERR_PROTOCOL, "content encoding '%.*s' is not known",
			encoding.len < 40 ? (int)encoding.len : 40, encoding.ptr);
	d = xcalloc(1, sizeof(*d));
	if (inflateInit2(&d->stream, EITHER_ENCODING + MAX_WBITS) != Z_OK)
		abort(); /* out of memory */
	*ret = d;
	return 0;
}

void decoder_free(struct decoder *d)
{
	if (!d)
		return;
	inflateEnd(&d->stream);
	free(d);
}

int decoder_feed(struct decoder *d, struct slice bytes, int (*each)(void *context, struct slice piece),
	void *context, struct err *err)
{
	int rc = 0, code = Z_OK;

	if (!d)
		return each(context, bytes);
	d->stream.next_in = (unsigned char *)(uintptr_t)bytes.ptr;
	d->stream.avail_in = (unsigned)bytes.len;
	while (rc == 0 && !d->is_over) {
		size_t n;

		d->stream.next_out = d->piece;
		d->stream.avail_out = sizeof(d->piece);
		code = inflate(&d->stream, Z_NO_FLUSH);
		if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
			return err_set(err, ERR_PROTOCOL, "the body is not encoded as its head says");
		d->is_over = code == Z_STREAM_END;
		n = sizeof(d->piece) - d->stream.avail_out;
		if (n == 0)
			break;
		rc = each(context, (struct slice){(const char *)d->piece, n});
	}
	return rc;
}
