/*
 * openapi_proto.h: an OpenAPI document of version 2 as protobuf, in the messages that all Kubernetes clients
 * read it in (openapi.v2.Document of github.com/google/gnostic-models).
 */
#ifndef REPLAYER_OPENAPI_PROTO_H
#define REPLAYER_OPENAPI_PROTO_H

#include "schema/base/buf.h"

#include <cjson/cJSON.h>

/* Appends the document. Members that the messages do not have, and those of another type than theirs, are
 * left out. */
int openapi_proto_write(const cJSON *document, struct buf *to, struct err *err) MUST_CHECK;

#endif
