/*
 * protobuf_envelope.h: the envelope of an object in protobuf, which names its kind:
 *
 *     "k8s\0" Unknown {1: TypeMeta {1: apiVersion, 2: kind}, 2: raw, 3: contentEncoding, 4: contentType}
 */
#ifndef REPLAYER_PROTOBUF_ENVELOPE_H
#define REPLAYER_PROTOBUF_ENVELOPE_H

#include "schema/base/buf.h"

/* All borrowed from the body. */
struct protobuf_envelope {
	struct slice api_version, kind;
	struct slice raw; /* the object */
};

/* Whether these bytes begin as an envelope does. */
bool protobuf_is_envelope(struct slice body);

/* ERR_PROTOCOL if it is not one, is malformed, names no kind or version, or its contents are encoded once
 * more. Does not read the object. */
int protobuf_read_envelope(struct slice body, struct protobuf_envelope *ret, struct err *err) MUST_CHECK;

#endif
