/* cbor.c: see cbor.h. RFC 8949, as far as it is used. */
#include "tools/tee/cbor.h"

#include "schema/base/base64.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define DEPTH_MAX LIMIT_JSON_DEPTH

enum major {
	MAJOR_UNSIGNED,
	MAJOR_NEGATIVE,
	MAJOR_BYTES,
	MAJOR_TEXT,
	MAJOR_ARRAY,
	MAJOR_MAP,
	MAJOR_TAG,
	MAJOR_SIMPLE
};
enum simple { SIMPLE_FALSE = 20, SIMPLE_TRUE = 21, SIMPLE_NULL = 22, SIMPLE_UNDEFINED = 23 };

/* Tags that say how bytes look in JSON. */
enum { TAG_BASE64URL = 21, TAG_BASE64 = 22, TAG_BASE16 = 23 };

/* The first bytes of an item. */
struct cbor_head {
	enum major major;
	unsigned info; /* 0 to 27: as the low bits of the first byte */
	uint64_t value;
	size_t len;
};

/* 1, 0 when it is not whole, ERR_PROTOCOL. */
static int read_head(struct slice in, struct cbor_head *ret, struct err *err)
{
	unsigned char first;
	size_t extra;

	if (!in.len)
		return 0;
	first = (unsigned char)in.ptr[0];
	*ret = (struct cbor_head){.major = first >> 5, .info = first & 31};
	if (ret->info > 27)
		return err_set(
			err, ERR_PROTOCOL, "CBOR item of type %u with length %u", first >> 5, first & 31u);
	extra = ret->info < 24 ? 0 : (size_t)1 << (ret->info - 24);
	if (in.len < 1 + extra)
		return 0;
	ret->value = extra ? 0 : ret->info;
	for (size_t i = 0; i < extra; i++)
		ret->value = ret->value << 8 | (unsigned char)in.ptr[1 + i];
	ret->len = 1 + extra;
	return 1;
}

static struct slice cbor_skip(struct slice s, size_t n)
{
	return (struct slice){s.ptr + n, s.len - n};
}

/* Items that are still to come follow from heads alone, so that no depth is too much. */
int64_t cbor_length(struct slice in, struct err *err)
{
	struct slice rest = in;
	uint64_t wanted = 1;

	while (wanted) {
		struct cbor_head h;
		int rc = read_head(rest, &h, err);

		if (rc <= 0)
			return rc;
		rest = cbor_skip(rest, h.len);
		wanted--;
		if (h.major == MAJOR_BYTES || h.major == MAJOR_TEXT) {
			if (h.value > rest.len)
				return h.value > LIMIT_OBJECT_BYTES
					       ? err_set(err, ERR_PROTOCOL, "CBOR text of %" PRIu64 " bytes",
							 h.value)
					       : 0;
			rest = cbor_skip(rest, (size_t)h.value);
		} else if (h.major == MAJOR_ARRAY || h.major == MAJOR_MAP) {
			if (h.value > LIMIT_OBJECT_BYTES)
				return err_set(err, ERR_PROTOCOL, "CBOR list of %" PRIu64 " items", h.value);
			wanted += h.major == MAJOR_MAP ? 2 * h.value : h.value;
		} else if (h.major == MAJOR_TAG) {
			wanted++;
		}
	}
	return (int64_t)(rest.ptr - in.ptr);
}

/* ---- as JSON ---- */

struct cbor_walk {
	struct slice rest;
	struct buf *to;
	struct err *err;
	unsigned depth;
};

static int cbor_put(struct cbor_walk *w, const char *text)
{
	return buf_append(w->to, text, strlen(text), w->err);
}

static int put_item(struct cbor_walk *w, uint64_t tag);

static double half_of(uint64_t bits)
{
	int exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
	double value = exponent == 0    ? ldexp(fraction, -24)
		       : exponent == 31 ? (fraction ? NAN : INFINITY)
					: ldexp(fraction + 1024, exponent - 25);

	return bits & 0x8000 ? -value : value;
}

static int put_float(struct cbor_walk *w, const struct cbor_head *h)
{
	uint32_t bits = (uint32_t)h->value;
	float narrow;
	double value;

	if (h->info == 25) {
		value = half_of(h->value);
	} else if (h->info == 26) {
		memcpy(&narrow, &bits, sizeof(narrow));
		value = (double)narrow;
	} else {
		memcpy(&value, &h->value, sizeof(value));
	}
	if (!isfinite(value))
		return err_set(w->err, ERR_PROTOCOL, "CBOR number that JSON does not have");
	return buf_printf(w->to, w->err, "%.17g", value);
}

static int put_simple(struct cbor_walk *w, const struct cbor_head *h)
{
	if (h->info >= 25)
		return put_float(w, h);
	switch (h->value) {
	case SIMPLE_FALSE: return cbor_put(w, "false");
	case SIMPLE_TRUE: return cbor_put(w, "true");
	case SIMPLE_NULL:
	case SIMPLE_UNDEFINED: return cbor_put(w, "null");
	default: return err_set(w->err, ERR_PROTOCOL, "CBOR value %" PRIu64 " is not known", h->value);
	}
}

static int put_bytes(struct cbor_walk *w, struct slice bytes, uint64_t tag)
{
	int rc;

	if (tag != TAG_BASE64 && tag != TAG_BASE64URL && tag != TAG_BASE16)
		return json_escape(bytes, w->to, w->err);
	rc = cbor_put(w, "\"");
	if (rc == 0)
		rc = base64_encode(bytes, w->to, w->err);
	return rc ? rc : cbor_put(w, "\"");
}

static int put_text(struct cbor_walk *w, const struct cbor_head *h, uint64_t tag)
{
	struct slice bytes = {w->rest.ptr, (size_t)h->value};

	if (h->value > w->rest.len)
		return err_set(w->err, ERR_PROTOCOL, "CBOR text is cut short");
	w->rest = cbor_skip(w->rest, bytes.len);
	return put_bytes(w, bytes, h->major == MAJOR_BYTES ? tag : 0);
}

static int put_list(struct cbor_walk *w, const struct cbor_head *h)
{
	bool is_map = h->major == MAJOR_MAP;
	int rc = cbor_put(w, is_map ? "{" : "[");

	if (++w->depth > DEPTH_MAX)
		return err_set(w->err, ERR_PROTOCOL, "CBOR is nested deeper than %d", DEPTH_MAX);
	for (uint64_t i = 0; i < h->value && rc == 0; i++) {
		if (i)
			rc = cbor_put(w, ",");
		if (rc == 0)
			rc = put_item(w, 0);
		if (rc == 0 && is_map)
			rc = cbor_put(w, ":");
		if (rc == 0 && is_map)
			rc = put_item(w, 0);
	}
	w->depth--;
	return rc ? rc : cbor_put(w, is_map ? "}" : "]");
}

static int put_item(struct cbor_walk *w, uint64_t tag)
{
	struct cbor_head h;
	int rc = read_head(w->rest, &h, w->err);

	if (rc <= 0)
		return rc ? rc : err_set(w->err, ERR_PROTOCOL, "CBOR is cut short");
	w->rest = cbor_skip(w->rest, h.len);
	switch (h.major) {
	case MAJOR_UNSIGNED: return buf_printf(w->to, w->err, "%" PRIu64, h.value);
	case MAJOR_NEGATIVE:
		if (h.value > INT64_MAX)
			return err_set(w->err, ERR_PROTOCOL, "CBOR number that does not fit 64 bits");
		return buf_printf(w->to, w->err, "%" PRId64, -1 - (int64_t)h.value);
	case MAJOR_BYTES:
	case MAJOR_TEXT: return put_text(w, &h, tag);
	case MAJOR_ARRAY:
	case MAJOR_MAP: return put_list(w, &h);
	case MAJOR_TAG:
		if (++w->depth > DEPTH_MAX)
			return err_set(w->err, ERR_PROTOCOL, "CBOR is nested deeper than %d", DEPTH_MAX);
		rc = put_item(w, h.value);
		w->depth--;
		return rc;
	default: return put_simple(w, &h);
	}
}

int cbor_to_json(struct slice item, struct buf *to, struct err *err)
{
	struct cbor_walk w = {.rest = item, .to = to, .err = err};
	size_t before = to->len;
	int rc = put_item(&w, 0);

	if (rc == 0 && w.rest.len)
		rc = err_set(err, ERR_PROTOCOL, "%zu bytes after the CBOR item", w.rest.len);
	if (rc)
		to->len = before;
	return rc;
}
