/*
 * protobuf_wire.h: protobuf's outer form: a message is a run of fields, each a number, a wire type and a
 * value. What the numbers mean is for the caller to know.
 */
#ifndef REPLAYER_PROTOBUF_WIRE_H
#define REPLAYER_PROTOBUF_WIRE_H

#include "schema/base/buf.h"

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct wire_field {
	uint32_t number; /* from 1 */
	enum wire_type type;
	uint64_t value;     /* of all but WIRE_BYTES; signed numbers as their two's complement */
	struct slice bytes; /* of WIRE_BYTES, borrowed */
};

/* Takes the next field off the front of `rest`. Returns 1, 0 at the end, ERR_PROTOCOL if it is cut short or
 * malformed (groups, which no Kubernetes type uses, included). */
int wire_next(struct slice *rest, struct wire_field *ret, struct err *err) MUST_CHECK;

/* Takes one number off the front, as packed lists have them. Returns as wire_next. */
int wire_next_varint(struct slice *rest, uint64_t *ret, struct err *err) MUST_CHECK;

#endif
