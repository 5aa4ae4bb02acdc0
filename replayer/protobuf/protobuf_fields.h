/*
 * protobuf_fields.h: which members the built-in kinds have in JSON, from the same table by which their
 * protobuf form is read (protobuf_table.h).
 */
#ifndef REPLAYER_PROTOBUF_FIELDS_H
#define REPLAYER_PROTOBUF_FIELDS_H

#include "schema/base/buf.h"

/* The form of a value in JSON. */
enum protobuf_value {
	VALUE_ANY,
	VALUE_STRING,
	VALUE_BYTES, /* base64 */
	VALUE_BOOL,
	VALUE_INT32,
	VALUE_INT64,
	VALUE_NUMBER,
	VALUE_TIME,
	VALUE_MICRO_TIME,
	VALUE_QUANTITY,
	VALUE_INT_OR_STRING,
	VALUE_MESSAGE, /* an object with members that are known, too */
};

struct protobuf_member {
	enum protobuf_value value;
	unsigned message;     /* of VALUE_MESSAGE: its number */
	bool is_list, is_map; /* of such values, a map under any name */
	unsigned rank;        /* its place among the members of its object */
};

/* The number of a kind's message; false if it is not a built-in one. */
bool protobuf_find_message(struct slice api_version, struct slice kind, unsigned *ret);

/* The Go type of a message: "v1.PodSpec". */
const char *protobuf_message_type(unsigned message);

/* A member by its name in JSON; false if the message has none of that name. */
bool protobuf_find_member(unsigned message, const char *name, struct protobuf_member *ret);

#endif
