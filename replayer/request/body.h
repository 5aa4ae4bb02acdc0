/*
 * body.h: the body of a request. Typed Go clients send protobuf; it is decoded once, when its JSON is first
 * needed.
 */
#ifndef REPLAYER_BODY_H
#define REPLAYER_BODY_H

#include "schema/base/buf.h"

struct body {
	struct slice bytes; /* as it came; borrowed */
	struct buf json;    /* of protobuf, once it is decoded */
	bool is_decoded;
	int rc; /* of decoding, and why it failed */
	struct err err;
};

/* Borrows the bytes until body_release. */
void body_init(struct body *b, struct slice bytes);
void body_release(struct body *b);

bool body_is_protobuf(const struct body *b);

/* The JSON of a protobuf body, borrowed until body_release. */
int body_json(struct body *b, struct slice *ret, struct err *err) MUST_CHECK;

#endif
