/* h2_frames.c: see h2_frames.h. */
#include "tools/tee/h2_frames.h"

#include "schema/base/limits.h"

void h2_cutter_init(struct h2_cutter *c)
{
	*c = (struct h2_cutter){.head_len = 0};
	buf_init(&c->payload, LIMIT_REQUEST_HEAD_BYTES);
}

void h2_cutter_release(struct h2_cutter *c)
{
	buf_release(&c->payload);
}

uint32_t h2_number(const char *four)
{
	const unsigned char *b = (const unsigned char *)four;

	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static void read_head(struct h2_cutter *c)
{
	const unsigned char *h = c->head;

	c->frame = (struct h2_frame){.length = (uint32_t)h[0] << 16 | (uint32_t)h[1] << 8 | h[2],
		.type = h[3],
		.flags = h[4],
		.stream = h2_number((const char *)h + 5) & 0x7fffffff};
	c->left = c->frame.length;
	buf_clear(&c->payload);
}

void h2_write_head(unsigned char to[H2_HEAD_BYTES], const struct h2_frame *f)
{
	const unsigned char head[H2_HEAD_BYTES] = {(unsigned char)(f->length >> 16),
		(unsigned char)(f->length >> 8), (unsigned char)f->length, f->type, f->flags,
		(unsigned char)(f->stream >> 24), (unsigned char)(f->stream >> 16),
		(unsigned char)(f->stream >> 8), (unsigned char)f->stream};

	memcpy(to, head, sizeof(head));
}

static bool is_collected(const struct h2_frame *f)
{
	switch (f->type) {
	case H2_HEADERS:
	case H2_RST_STREAM:
	case H2_SETTINGS:
	case H2_PUSH_PROMISE:
	case H2_GOAWAY:
	case H2_CONTINUATION: return true;
	default: return false;
	}
}

static struct slice h2_frames_take(struct slice *in, size_t most)
{
	size_t n = in->len < most ? in->len : most;
	struct slice taken = {in->ptr, n};

	*in = (struct slice){in->ptr + n, in->len - n};
	return taken;
}

static bool take_head(struct h2_cutter *c, struct slice *in)
{
	struct slice part = h2_frames_take(in, H2_HEAD_BYTES - c->head_len);

	if (part.len)
		memcpy(c->head + c->head_len, part.ptr, part.len);
	c->head_len += part.len;
	if (c->head_len < H2_HEAD_BYTES)
		return false;
	read_head(c);
	return true;
}

/* A collected payload that lies in the input whole is not copied. */
static int h2_frames_collect(struct h2_cutter *c, struct slice *in, struct slice *ret, struct err *err)
{
	struct slice part = h2_frames_take(in, c->left);
	int rc;

	c->left -= (uint32_t)part.len;
	if (c->left == 0 && c->payload.len == 0) {
		*ret = part;
		return 1;
	}
	rc = buf_append(&c->payload, part.ptr, part.len, err);
	*ret = buf_slice(&c->payload);
	return rc ? rc : c->left == 0;
}

int h2_cut(struct h2_cutter *c, struct slice *in, struct h2_piece *ret, struct err *err)
{
	bool is_new = c->head_len < H2_HEAD_BYTES;
	struct slice payload = {NULL, 0};
	int rc = 1;

	if (is_new && !take_head(c, in))
		return 0;
	if (is_collected(&c->frame)) {
		rc = h2_frames_collect(c, in, &payload, err);
		is_new = true;
	} else {
		payload = h2_frames_take(in, c->left);
		c->left -= (uint32_t)payload.len;
		rc = is_new || payload.len;
	}
	if (rc <= 0)
		return rc;
	*ret = (struct h2_piece){c->frame, c->head, payload, is_new, c->left == 0};
	if (c->left == 0)
		c->head_len = 0;
	return 1;
}

bool h2_block(const struct h2_piece *piece, struct slice *ret)
{
	const struct h2_frame *f = &piece->frame;
	struct slice s = piece->payload;
	bool is_padded = f->flags & H2_PADDED && f->type != H2_CONTINUATION;
	size_t pad = is_padded && s.len ? (unsigned char)s.ptr[0] : 0, skip = is_padded;

	if (f->type == H2_HEADERS && f->flags & H2_PRIORITY)
		skip += 5;
	if (f->type == H2_PUSH_PROMISE)
		skip += 4;
	if (skip + pad > s.len)
		return false;
	*ret = (struct slice){s.ptr + skip, s.len - skip - pad};
	return true;
}
