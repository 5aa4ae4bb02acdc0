/* h2_headers.c: see h2_headers.h. */
#include "tools/tee/h2_headers.h"

#include "schema/base/limits.h"

#include <nghttp2/nghttp2.h>
#include <stdlib.h>

/* ---- gathering ---- */

void h2_gather_init(struct h2_gather *g)
{
	*g = (struct h2_gather){.is_open = false};
	buf_init(&g->block, LIMIT_REQUEST_HEAD_BYTES);
}

void h2_gather_release(struct h2_gather *g)
{
	buf_release(&g->block);
}

static bool begins_block(const struct h2_frame *f)
{
	return f->type == H2_HEADERS || f->type == H2_PUSH_PROMISE;
}

static void keep_priority(struct h2_gather *g, const struct h2_piece *piece)
{
	size_t skip = piece->frame.flags & H2_PADDED ? 1 : 0;

	if (piece->frame.type == H2_HEADERS && piece->frame.flags & H2_PRIORITY)
		memcpy(g->priority, piece->payload.ptr + skip, sizeof(g->priority));
}

static int add_block(struct h2_gather *g, const struct h2_piece *piece, struct err *err)
{
	struct slice block;
	int rc;

	if (!h2_block(piece, &block))
		return err_set(err, ERR_PROTOCOL, "malformed frame of type %u", piece->frame.type);
	if (begins_block(&piece->frame)) {
		buf_clear(&g->block);
		g->first = piece->frame;
		keep_priority(g, piece);
	}
	rc = buf_append(&g->block, block.ptr, block.len, err);
	g->is_open = !(piece->frame.flags & H2_END_HEADERS);
	return rc ? rc : !g->is_open;
}

int h2_gather_take(struct h2_gather *g, const struct h2_piece *piece, struct err *err)
{
	bool begins = begins_block(&piece->frame), goes_on = piece->frame.type == H2_CONTINUATION;

	if (g->is_open != goes_on || (goes_on && piece->frame.stream != g->first.stream))
		return err_set(err, ERR_PROTOCOL, "frame of type %u %s a header block", piece->frame.type,
			goes_on ? "goes on with no" : "inside");
	return begins || goes_on ? add_block(g, piece, err) : 0;
}

/* ---- decoding ---- */

struct h2_decoder {
	nghttp2_hd_inflater *inflater;
	struct buf texts; /* of the fields decoded last */
};

/* Where a field's texts lie in the buffer, which moves while it grows. */
struct place {
	size_t name, value, name_len, value_len;
	bool is_secret;
};

struct h2_decoder *h2_decoder_new(void)
{
	struct h2_decoder *d = xcalloc(1, sizeof(*d));

	buf_init(&d->texts, LIMIT_REQUEST_HEAD_BYTES);
	if (nghttp2_hd_inflate_new(&d->inflater))
		abort(); /* out of memory */
	return d;
}

void h2_decoder_free(struct h2_decoder *d)
{
	if (!d)
		return;
	nghttp2_hd_inflate_del(d->inflater);
	buf_release(&d->texts);
	free(d);
}

int h2_decoder_limit(struct h2_decoder *d, uint32_t table_bytes, struct err *err)
{
	/* What nobody fills need not be kept for. */
	uint32_t most = table_bytes < LIMIT_REQUEST_HEAD_BYTES ? table_bytes : LIMIT_REQUEST_HEAD_BYTES;

	if (nghttp2_hd_inflate_change_table_size(d->inflater, most))
		return err_set(
			err, ERR_PROTOCOL, "header table of %u bytes inside a header block", table_bytes);
	return 0;
}

static int keep_field(struct h2_decoder *d, const nghttp2_nv *nv, struct place *ret, struct err *err)
{
	int rc;

	*ret = (struct place){.name = d->texts.len,
		.name_len = nv->namelen,
		.value = d->texts.len + nv->namelen,
		.value_len = nv->valuelen,
		.is_secret = nv->flags & NGHTTP2_NV_FLAG_NO_INDEX};
	rc = buf_append(&d->texts, nv->name, nv->namelen, err);
	return rc ? rc : buf_append(&d->texts, nv->value, nv->valuelen, err);
}

/* Decodes up to the next field: 1 and the field, 0 at the end. */
static int next_field(struct h2_decoder *d, struct slice *block, nghttp2_nv *ret, struct err *err)
{
	int flags = 0;
	ssize_t used =
		nghttp2_hd_inflate_hd2(d->inflater, ret, &flags, (const uint8_t *)block->ptr, block->len, 1);

	if (used < 0)
		return err_set(err, ERR_PROTOCOL, "malformed header block: %s", nghttp2_strerror((int)used));
	if (used > 0)
		*block = (struct slice){block->ptr + used, block->len - (size_t)used};
	if (flags & NGHTTP2_HD_INFLATE_FINAL)
		nghttp2_hd_inflate_end_headers(d->inflater);
	return flags & NGHTTP2_HD_INFLATE_EMIT ? 1 : 0;
}

static struct slice text_at(const struct h2_decoder *d, size_t at, size_t len)
{
	return len ? (struct slice){d->texts.ptr + at, len} : (struct slice){NULL, 0};
}

int h2_decode(struct h2_decoder *d, struct slice block, struct field_list *ret, struct err *err)
{
	struct place *places = NULL;
	size_t count = 0, cap = 0;
	nghttp2_nv nv;
	int rc;

	buf_clear(&d->texts);
	while ((rc = next_field(d, &block, &nv, err)) > 0) {
		if (count == cap) {
			cap = cap ? 2 * cap : 32;
			places = xrealloc(places, cap * sizeof(*places));
		}
		rc = keep_field(d, &nv, &places[count++], err);
		if (rc)
			break;
	}
	for (size_t i = 0; i < count && rc == 0; i++) {
		const struct place *p = &places[i];

		field_list_add(ret, text_at(d, p->name, p->name_len), text_at(d, p->value, p->value_len));
		ret->items[ret->count - 1].is_secret = p->is_secret;
	}
	free(places);
	return rc;
}

/* ---- encoding ---- */

struct h2_encoder {
	nghttp2_hd_deflater *deflater;
	struct buf block;
};

struct h2_encoder *h2_encoder_new(void)
{
	struct h2_encoder *e = xcalloc(1, sizeof(*e));

	buf_init(&e->block, 8 * (size_t)LIMIT_REQUEST_HEAD_BYTES);
	if (nghttp2_hd_deflate_new(&e->deflater, 0))
		abort(); /* out of memory */
	return e;
}

void h2_encoder_free(struct h2_encoder *e)
{
	if (!e)
		return;
	nghttp2_hd_deflate_del(e->deflater);
	buf_release(&e->block);
	free(e);
}

static nghttp2_nv nv_of(const struct field *f)
{
	return (nghttp2_nv){(uint8_t *)(uintptr_t)f->name.ptr, (uint8_t *)(uintptr_t)f->value.ptr,
		f->name.len, f->value.len, f->is_secret ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE};
}

static int deflate(struct h2_encoder *e, const struct field_list *fields, struct err *err)
{
	nghttp2_nv *nvs = xcalloc(fields->count + 1, sizeof(*nvs));
	ssize_t len = -1;
	size_t most;
	char *to;

	for (size_t i = 0; i < fields->count; i++)
		nvs[i] = nv_of(&fields->items[i]);
	most = nghttp2_hd_deflate_bound(e->deflater, nvs, fields->count);
	buf_clear(&e->block);
	to = buf_reserve(&e->block, most);
	if (to)
		len = nghttp2_hd_deflate_hd(e->deflater, (uint8_t *)to, most, nvs, fields->count);
	free(nvs);
	if (len < 0)
		return err_set(err, ERR_TOO_LARGE, "header fields of %zu bytes", fields->bytes);
	e->block.len = (size_t)len;
	return 0;
}

static int put_frame(
	const struct h2_frame *f, struct slice before, struct slice payload, struct buf *to, struct err *err)
{
	unsigned char head[H2_HEAD_BYTES];
	int rc;

	h2_write_head(head, f);
	rc = buf_append(to, head, sizeof(head), err);
	if (rc == 0)
		rc = buf_append(to, before.ptr, before.len, err);
	return rc ? rc : buf_append(to, payload.ptr, payload.len, err);
}

int h2_encode(struct h2_encoder *e, const struct h2_gather *like, const struct field_list *fields,
	struct buf *to, struct err *err)
{
	struct slice before = {like->priority, like->first.flags & H2_PRIORITY ? sizeof(like->priority) : 0};
	struct h2_frame f = {.type = H2_HEADERS,
		.flags = like->first.flags & (H2_END_STREAM | H2_PRIORITY),
		.stream = like->first.stream};
	int rc = deflate(e, fields, err);
	struct slice rest = buf_slice(&e->block);

	while (rc == 0) {
		size_t most = H2_FRAME_MAX - before.len, n = rest.len < most ? rest.len : most;

		f.length = (uint32_t)(before.len + n);
		f.flags |= n == rest.len ? H2_END_HEADERS : 0;
		rc = put_frame(&f, before, (struct slice){rest.ptr, n}, to, err);
		rest = (struct slice){rest.ptr + n, rest.len - n};
		if (!rest.len)
			break;
		f = (struct h2_frame){.type = H2_CONTINUATION, .stream = f.stream};
		before = (struct slice){NULL, 0};
	}
	if (e->block.cap > H2_FRAME_MAX)
		buf_release(&e->block);
	return rc;
}
