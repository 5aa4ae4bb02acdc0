/*
 * protobuf_fields.h: which members the built-in kinds have in JSON, from the same table by which their
 * protobuf form is read (protobuf_table.h).
 */
#ifndef REPLAYER_PROTOBUF_FIELDS_H
#define REPLAYER_PROTOBUF_FIELDS_H

#include "schema/base/buf.h"

struct protobuf_member {
	bool is_message;  /* its members are known, too: */
	unsigned message; /* ... under this number */
	bool is_map;      /* of such messages, under any name */
};

/* The number of the message that a kind is; false when it is no built-in one. */
bool protobuf_find_message(struct slice api_version, struct slice kind, unsigned *ret);

/* A member by its name in JSON; false when the message has none of that name. */
bool protobuf_find_member(unsigned message, const char *name, struct protobuf_member *ret);

#endif
