/* protobuf_wire.c: see protobuf_wire.h. */
#include "replayer/protobuf/protobuf_wire.h"

#include <inttypes.h>

#define VARINT_BYTES_MAX 10
#define NUMBER_MAX       UINT64_C(0x1fffffff)

static struct slice skipped(struct slice s, size_t n)
{
	return (struct slice){s.ptr + n, s.len - n};
}

int wire_next_varint(struct slice *rest, uint64_t *ret, struct err *err)
{
	uint64_t value = 0;

	if (rest->len == 0)
		return 0;
	for (size_t i = 0; i < rest->len && i < VARINT_BYTES_MAX; i++) {
		unsigned char byte = (unsigned char)rest->ptr[i];

		if (i == VARINT_BYTES_MAX - 1 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (byte >= 0x80)
			continue;
		*rest = skipped(*rest, i + 1);
		*ret = value;
		return 1;
	}
	if (rest->len < VARINT_BYTES_MAX)
		return err_set(err, ERR_PROTOCOL, "cut short inside a number");
	return err_set(err, ERR_PROTOCOL, "a number has more than 64 bits");
}

static int demand_varint(struct slice *rest, uint64_t *ret, const char *what, struct err *err)
{
	int rc = wire_next_varint(rest, ret, err);

	return rc ? rc : err_set(err, ERR_PROTOCOL, "cut short before %s", what);
}

/* Little-endian. */
static int take_fixed(struct slice *rest, size_t len, uint64_t *ret, struct err *err)
{
	uint64_t value = 0;

	if (rest->len < len)
		return err_set(err, ERR_PROTOCOL, "cut short inside a number of %zu bytes", len);
	for (size_t i = 0; i < len; i++)
		value |= (uint64_t)(unsigned char)rest->ptr[i] << (8 * i);
	*rest = skipped(*rest, len);
	*ret = value;
	return 1;
}

static int take_bytes(struct slice *rest, struct slice *ret, struct err *err)
{
	uint64_t len;
	int rc = demand_varint(rest, &len, "a length", err);

	if (rc < 0)
		return rc;
	if (len > rest->len)
		return err_set(err, ERR_PROTOCOL, "cut short: %" PRIu64 " bytes announced, %zu left", len,
			rest->len);
	*ret = (struct slice){rest->ptr, (size_t)len};
	*rest = skipped(*rest, (size_t)len);
	return 1;
}

int wire_next(struct slice *rest, struct wire_field *ret, struct err *err)
{
	uint64_t tag;
	int rc = wire_next_varint(rest, &tag, err);

	if (rc <= 0)
		return rc;
	if (tag >> 3 == 0 || tag >> 3 > NUMBER_MAX)
		return err_set(err, ERR_PROTOCOL, "bad field number %" PRIu64, tag >> 3);
	*ret = (struct wire_field){.number = (uint32_t)(tag >> 3), .type = (enum wire_type)(tag & 7)};
	switch (ret->type) {
	case WIRE_VARINT: return demand_varint(rest, &ret->value, "a number", err);
	case WIRE_FIXED64: return take_fixed(rest, 8, &ret->value, err);
	case WIRE_FIXED32: return take_fixed(rest, 4, &ret->value, err);
	case WIRE_BYTES: return take_bytes(rest, &ret->bytes, err);
	}
	return err_set(err, ERR_PROTOCOL, "field %" PRIu32 " has wire type %d, which is unknown", ret->number,
		(int)(tag & 7));
}
