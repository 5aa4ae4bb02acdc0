/* body.c: see body.h. */
#include "replayer/request/body.h"

#include "replayer/protobuf/protobuf.h"
#include "schema/base/limits.h"

void body_init(struct body *b, struct slice bytes)
{
	*b = (struct body){.bytes = bytes};
	buf_init(&b->json, LIMIT_OBJECT_BYTES);
}

void body_release(struct body *b)
{
	buf_release(&b->json);
}

bool body_is_protobuf(const struct body *b)
{
	return protobuf_is_envelope(b->bytes);
}

int body_json(struct body *b, struct slice *ret, struct err *err)
{
	if (!b->is_decoded) {
		b->is_decoded = true;
		b->rc = protobuf_to_json(b->bytes, &b->json, &b->err);
	}
	if (b->rc)
		return err_copy(err, &b->err);
	*ret = buf_slice(&b->json);
	return 0;
}
