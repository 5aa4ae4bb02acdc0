/* h1_body.c: see h1_body.h. */
#include "tools/tee/h1_body.h"

#include "schema/base/hex.h"

#define LINE_MAX_BYTES  8192 /* of a chunk's size or a trailer */
#define CHUNK_MAX_BYTES (UINT64_C(1) << 60)

void h1_body_begin(struct h1_body *b, enum h1_framing framing, uint64_t length)
{
	*b = (struct h1_body){.framing = framing, .left = framing == H1_LENGTH ? length : 0};
}

static struct slice h1_body_take(struct slice *in, uint64_t most)
{
	size_t n = in->len < most ? in->len : (size_t)most;
	struct slice taken = {in->ptr, n};

	*in = (struct slice){in->ptr + n, in->len - n};
	return taken;
}

/* A piece of data, as far as there is some: 1. */
static bool take_data(struct h1_body *b, struct slice *in, struct slice *ret)
{
	*ret = h1_body_take(in, b->left);
	b->left -= ret->len;
	return ret->len > 0;
}

/* One more byte of a framing line; false when the line is too long. */
static bool count_line(struct h1_body *b)
{
	return ++b->line_len <= LINE_MAX_BYTES;
}

static bool take_size(struct h1_body *b, char c)
{
	int digit = hex_digit(c);

	if (digit < 0 && b->line_len == 1)
		return false;
	if (digit >= 0) {
		b->left = b->left << 4 | (uint64_t)digit;
		return b->left < CHUNK_MAX_BYTES;
	}
	b->state = H1_CHUNK_EXTENSION;
	return c == '\r' || c == '\n' || c == ';' || c == ' ' || c == '\t';
}

static void end_line(struct h1_body *b)
{
	bool is_empty = b->line_len == 0;

	b->line_len = 0;
	if (b->state == H1_CHUNK_TRAILER)
		b->state = is_empty ? H1_CHUNK_OVER : H1_CHUNK_TRAILER;
	else if (b->state == H1_CHUNK_DATA_END)
		b->state = H1_CHUNK_SIZE;
	else
		b->state = b->left ? H1_CHUNK_DATA : H1_CHUNK_TRAILER;
}

/* One byte of what stands around the data; a carriage return counts for nothing. */
static bool take_framing(struct h1_body *b, char c)
{
	if (c == '\n' && b->state == H1_CHUNK_SIZE && b->line_len == 0)
		return false;
	if (c == '\n') {
		end_line(b);
		return true;
	}
	if (c == '\r' && b->state != H1_CHUNK_SIZE)
		return true;
	if (!count_line(b) || b->state == H1_CHUNK_DATA_END)
		return false;
	return b->state != H1_CHUNK_SIZE || take_size(b, c);
}

static enum h1_step next_of_chunks(struct h1_body *b, struct slice *in, struct slice *ret)
{
	while (b->state != H1_CHUNK_OVER && in->len) {
		if (b->state == H1_CHUNK_DATA) {
			if (take_data(b, in, ret)) {
				b->state = b->left ? H1_CHUNK_DATA : H1_CHUNK_DATA_END;
				return H1_STEP_DATA;
			}
		} else if (!take_framing(b, *h1_body_take(in, 1).ptr)) {
			return H1_STEP_NONSENSE;
		}
	}
	return b->state == H1_CHUNK_OVER ? H1_STEP_OVER : H1_STEP_MORE;
}

enum h1_step h1_body_next(struct h1_body *b, struct slice *in, struct slice *ret_data)
{
	switch (b->framing) {
	case H1_NO_BODY: return H1_STEP_OVER;
	case H1_LENGTH:
		if (take_data(b, in, ret_data))
			return H1_STEP_DATA;
		return b->left ? H1_STEP_MORE : H1_STEP_OVER;
	case H1_CHUNKED: return next_of_chunks(b, in, ret_data);
	default: *ret_data = h1_body_take(in, UINT64_MAX); return ret_data->len ? H1_STEP_DATA : H1_STEP_MORE;
	}
}
