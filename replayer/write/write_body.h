/*
 * write_body.h: the body of a write, whatever it is encoded in, as a tree.
 */
#ifndef REPLAYER_WRITE_BODY_H
#define REPLAYER_WRITE_BODY_H

#include "replayer/json/json_tree.h"
#include "replayer/serve/call.h"

#define WRITE_APPLY_PATCH "application/apply-patch+yaml"

/* Which reader of the API server reads it: they take and say different things. */
enum body_reader {
	BODY_TYPED,   /* an object of a built-in kind */
	BODY_CUSTOM,  /* an object of a custom resource, which must have a kind */
	BODY_APPLIED, /* an applied object */
	BODY_OPTIONS, /* of a deletion */
};

/* The media type of the body without its parameters; the empty slice when none is named. */
struct slice write_body_type(const struct api_call *call);

/* Whether a media type is that one; in any case. */
bool write_body_type_is(struct slice type, const char *name);

/* 415 with the media types that there are instead. */
int write_body_unsupported(struct status *st, const char *types);

/* An object: JSON (also where no type is named), YAML (also of an apply patch) or protobuf. `kind` is the one
 * expected, for messages. Appends to `duplicates`, an array or NULL, the places of members that are there
 * twice, if it is JSON. On failure the status is filled: 400, 413 or 415. The caller frees. */
int write_body_object(struct api_call *call, enum body_reader reader, const char *kind, cJSON **ret,
	cJSON *duplicates, struct status *st) MUST_CHECK;

/* The options of a deletion, whose body may be empty: NULL. */
int write_body_options(struct api_call *call, cJSON **ret, struct status *st) MUST_CHECK;

#endif
