/*
 * protobuf.h: request bodies that Go clients send as protobuf, as the JSON that Go prints for the same
 * object: the same members in the same order, byte for byte.
 *
 * Nothing is guessed: a kind or a field that the table (protobuf_table.h) does not know, a value that does
 * not fit its field, and a field that is there twice are errors. Custom resources have no protobuf form.
 */
#ifndef REPLAYER_PROTOBUF_H
#define REPLAYER_PROTOBUF_H

#include "replayer/protobuf/protobuf_envelope.h"
#include "schema/base/limits.h"

#define PROTOBUF_BODY_BYTES_MAX LIMIT_REQUEST_BODY_BYTES
#define PROTOBUF_DEPTH_MAX      250 /* messages in messages; a schema takes two for each level */

/*
 * Appends the object as one line of JSON without a line feed. ERR_PROTOCOL: the body is malformed, or of a
 * kind that is unknown; the sentence names the place ("'spec.containers[2].image'"), and is
 * fit for the message of a 400. ERR_TOO_LARGE: the body, its depth or the JSON (by to->max) exceeds its
 * maximum. On failure `to` is as it was.
 *
 * A few bytes of protobuf can be many of JSON (an empty Pod is 2 bytes in a list): give `to` a maximum.
 */
int protobuf_to_json(struct slice body, struct buf *to, struct err *err) MUST_CHECK;

/* The names of the built-in kinds, their API versions and fields, one by one; NULL after the last. */
const char *protobuf_name_at(size_t index);

#endif
