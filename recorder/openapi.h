/*
 * openapi.h: keeps the OpenAPI v3 documents that the server's index names, as JSON and as protobuf, so that
 * `kubectl explain`, `apply` and their like work against a replay. They are large and rarely needed at once:
 * they are fetched one after the other, each once, and again only when the index gives it another hash.
 */
#ifndef RECORDER_OPENAPI_H
#define RECORDER_OPENAPI_H

#include "recorder/context.h"

/* The document that names the others, and the variant of those in protobuf. */
#define OPENAPI_INDEX    "/openapi/v3"
#define OPENAPI_PROTOBUF "protobuf"

struct openapi;

/* The context is borrowed; its flusher must have a tape before anything is fetched. */
struct openapi *openapi_new(struct recorder_context *x);
void openapi_free(struct openapi *o);

/* When resuming a tape, do not fetch again what it already has. */
int openapi_resume(struct openapi *o, struct err *err) MUST_CHECK;

/* Fetches documents that the index names and whose present form is not on the tape, unless it is already
 * fetching. Documents that cannot be fetched are left out until the next call. */
void openapi_update(struct openapi *o, struct slice index);

#endif
