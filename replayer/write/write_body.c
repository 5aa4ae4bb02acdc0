/* write_body.c: see write_body.h. */
#include "replayer/write/write_body.h"

#include "replayer/json/yaml_json.h"
#include "schema/base/limits.h"

#include <stdlib.h>

#define PROTOBUF_TYPE "application/vnd.kubernetes.protobuf"

struct slice write_body_type(const struct api_call *call)
{
	struct slice type = http_header_find(call->request, "Content-Type");
	const char *semicolon = type.len ? memchr(type.ptr, ';', type.len) : NULL;

	if (semicolon)
		type.len = (size_t)(semicolon - type.ptr);
	return slice_trim(type);
}

/* JSON is YAML too, and is what most clients send; libfyaml would take longer, and leak memory on long strings. */
static int parse_yaml(struct slice text, cJSON **ret, struct err *err)
{
	char *json;
	int rc;

	if (slice_begins(text, "{") && json_tree_parse(text, ret, NULL) == 0)
		return 0;
	rc = yaml_to_json(text, &json, err);
	if (rc)
		return rc;
	rc = json_tree_parse(slice_of(json), ret, err);
	free(json);
	return rc;
}

static int parse_protobuf(struct body *body, cJSON **ret, struct err *err)
{
	struct slice json;
	int rc = body_json(body, &json, err);

	return rc ? rc : json_tree_parse(json, ret, err);
}

static int parse(
	struct api_call *call, cJSON **ret, cJSON *duplicates, struct status *st, struct err *err)
{
	struct slice type = write_body_type(call), bytes = call->body.bytes;

	if (type.len == 0 || slice_is(type, "application/json"))
		return json_tree_parse_strict(bytes, ret, duplicates, err);
	if (slice_is(type, PROTOBUF_TYPE))
		return parse_protobuf(&call->body, ret, err);
	if (slice_is(type, "application/yaml") || slice_is(type, WRITE_APPLY_PATCH))
		return parse_yaml(bytes, ret, err);
	return status_set(st, 415, "UnsupportedMediaType",
		"the body of the request was in an unknown format - accepted media types include: "
		"application/json, application/yaml, " PROTOBUF_TYPE);
}

static int fail(struct status *st, int rc, const char *kind, const char *why)
{
	if (st->code)
		return ERR_FAILED;
	if (rc == ERR_TOO_LARGE)
		return status_set(st, 413, "RequestEntityTooLarge", "Request entity is too large: %s", why);
	return status_bad_request(
		st, "the object provided is unrecognized (must be of type %s): %s", kind, why);
}

int write_body_object(struct api_call *call, const char *kind, cJSON **ret, struct status *st)
{
	return write_body_strict(call, kind, ret, NULL, st);
}

int write_body_strict(
	struct api_call *call, const char *kind, cJSON **ret, cJSON *duplicates, struct status *st)
{
	struct err err = {0};
	cJSON *object;
	int rc = parse(call, &object, duplicates, st, &err);

	if (rc)
		return fail(st, rc, kind, err.text);
	if (!cJSON_IsObject(object)) {
		cJSON_Delete(object);
		return fail(st, ERR_PROTOCOL, kind, "expected a JSON object");
	}
	*ret = object;
	return 0;
}

int write_body_options(struct api_call *call, cJSON **ret, struct status *st)
{
	*ret = NULL;
	return call->body.bytes.len ? write_body_object(call, "DeleteOptions", ret, st) : 0;
}
