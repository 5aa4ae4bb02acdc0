/* protobuf_envelope.c: see protobuf_envelope.h. */
#include "replayer/protobuf/protobuf_envelope.h"

#include "replayer/protobuf/protobuf_wire.h"

#include <inttypes.h>

#define MAGIC_BYTES 4

static const char magic[MAGIC_BYTES] = {'k', '8', 's', 0};

bool protobuf_is_envelope(struct slice body)
{
	return body.len >= MAGIC_BYTES && memcmp(body.ptr, magic, MAGIC_BYTES) == 0;
}

/* Reads a message whose fields are all bytes: field i + 1 goes into ret[i]. */
static int read_parts(struct slice bytes, const char *what, struct slice *ret, size_t count, struct err *err)
{
	struct wire_field f;
	int rc;

	while ((rc = wire_next(&bytes, &f, err)) > 0) {
		if (f.number > count || f.type != WIRE_BYTES)
			return err_set(err, ERR_PROTOCOL, "%s has unknown field %" PRIu32 " of wire type %d",
				what, f.number, (int)f.type);
		if (ret[f.number - 1].ptr)
			return err_set(err, ERR_PROTOCOL, "%s has field %" PRIu32 " twice", what, f.number);
		ret[f.number - 1] = f.bytes;
	}
	if (rc < 0)
		err_prefix(err, rc, "%s", what);
	return rc;
}

static int check_encoding(struct slice encoding, struct slice type, struct err *err)
{
	if (encoding.len)
		return err_set(err, ERR_PROTOCOL, "the object is encoded as '%.*s', expected no encoding",
			(int)(encoding.len < 64 ? encoding.len : 64), encoding.ptr);
	if (type.len && !slice_is(type, "application/vnd.kubernetes.protobuf"))
		return err_set(err, ERR_PROTOCOL, "the object is '%.*s', expected protobuf",
			(int)(type.len < 64 ? type.len : 64), type.ptr);
	return 0;
}

int protobuf_read_envelope(struct slice body, struct protobuf_envelope *ret, struct err *err)
{
	struct slice unknown[4] = {{0}}, type[2] = {{0}};
	int rc;

	if (!protobuf_is_envelope(body))
		return err_set(err, ERR_PROTOCOL, "the body does not begin with 'k8s' and a zero byte");
	body = (struct slice){body.ptr + MAGIC_BYTES, body.len - MAGIC_BYTES};
	rc = read_parts(body, "the envelope", unknown, 4, err);
	if (rc == 0)
		rc = read_parts(unknown[0], "the type in the envelope", type, 2, err);
	if (rc == 0)
		rc = check_encoding(unknown[2], unknown[3], err);
	if (rc < 0)
		return rc;
	if (type[0].len == 0 || type[1].len == 0)
		return err_set(
			err, ERR_PROTOCOL, "the envelope names no %s", type[1].len ? "version" : "kind");
	*ret = (struct protobuf_envelope){type[0], type[1], unknown[1]};
	return 0;
}
