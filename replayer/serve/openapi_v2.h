/*
 * openapi_v2.h: the one OpenAPI document of version 2, made from those of version 3 that are on the tape:
 * clients written before 2023 ask for it (kubectl up to 1.26, and what uses the discovery client's
 * OpenAPISchema), most of them in protobuf. Recorded it would be half as large again as all the others, and
 * say the same.
 */
#ifndef REPLAYER_OPENAPI_V2_H
#define REPLAYER_OPENAPI_V2_H

#include "schema/base/buf.h"

#include <cjson/cJSON.h>

struct openapi_v2;

struct openapi_v2 *openapi_v2_new(void);
void openapi_v2_free(struct openapi_v2 *v); /* accepts NULL */

/* Adds a document of version 3, which is taken apart and freed. Paths and definitions that are there already
 * stay as they are. */
void openapi_v2_add(struct openapi_v2 *v, cJSON *v3);

/* Appends the document; as protobuf the message openapi.v2.Document. */
int openapi_v2_json(const struct openapi_v2 *v, struct buf *to, struct err *err) MUST_CHECK;
int openapi_v2_protobuf(const struct openapi_v2 *v, struct buf *to, struct err *err) MUST_CHECK;

#endif
