/*
 * write_body.h: the body of a write, whatever it is encoded in, as a tree.
 */
#ifndef REPLAYER_WRITE_BODY_H
#define REPLAYER_WRITE_BODY_H

#include "replayer/json/json_tree.h"
#include "replayer/serve/call.h"

#define WRITE_APPLY_PATCH "application/apply-patch+yaml"

/* The media type of the body without its parameters; the empty slice when none is named. */
struct slice write_body_type(const struct api_call *call);

/* An object: JSON (also where no type is named), YAML (also of an apply patch) or protobuf. `kind` is the one
 * expected, for messages. On failure the status is filled: 400, 413 or 415. The caller frees. */
int write_body_object(
	struct api_call *call, const char *kind, cJSON **ret, struct status *st) MUST_CHECK;

/* The same; appends to `duplicates`, an array, the places of members that are there twice, if it is JSON. */
int write_body_strict(struct api_call *call, const char *kind, cJSON **ret, cJSON *duplicates,
	struct status *st) MUST_CHECK;

/* An object where the body may be empty, which is NULL. */
int write_body_options(struct api_call *call, cJSON **ret, struct status *st) MUST_CHECK;

#endif
