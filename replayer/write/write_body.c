/* write_body.c: see write_body.h. */
#include "replayer/write/write_body.h"

#include "replayer/protobuf/protobuf.h"
#include "schema/base/limits.h"

#include <libfyaml.h>
#include <stdlib.h>

#define PROTOBUF_TYPE "application/vnd.kubernetes.protobuf"

struct slice write_body_type(const struct http_request *r)
{
	struct slice type = http_header_find(r, "Content-Type");
	const char *semicolon = type.len ? memchr(type.ptr, ';', type.len) : NULL;

	if (semicolon)
		type.len = (size_t)(semicolon - type.ptr);
	return slice_trim(type);
}

/* Says nothing: without one of its own a document prints what is wrong with it. */
static struct fy_diag *silent(void)
{
	struct fy_diag_cfg config;

	fy_diag_cfg_default(&config);
	config.fp = NULL;
	config.level = FYET_MAX;
	return fy_diag_create(&config);
}

static int parse_yaml(struct slice text, cJSON **ret, struct err *err)
{
	struct fy_parse_cfg config = {.flags = FYPCF_QUIET, .diag = silent()};
	struct fy_document *document =
		fy_document_build_from_string(&config, text.ptr ? text.ptr : "", text.len);
	char *json = document ? fy_emit_document_to_string(document, FYECF_MODE_JSON_ONELINE) : NULL;
	int rc;

	if (json)
		rc = json_tree_parse(slice_of(json), ret, err);
	else
		rc = err_set(err, ERR_PROTOCOL, "error converting YAML to JSON: not a YAML document");
	free(json);
	fy_document_destroy(document);
	fy_diag_destroy(config.diag);
	return rc;
}

static int parse_protobuf(struct slice body, cJSON **ret, struct err *err)
{
	struct buf json;
	int rc;

	buf_init(&json, LIMIT_OBJECT_BYTES);
	rc = protobuf_to_json(body, &json, err);
	if (rc == 0)
		rc = json_tree_parse(buf_slice(&json), ret, err);
	buf_release(&json);
	return rc;
}

static int parse(const struct http_request *r, cJSON **ret, struct status *st, struct err *err)
{
	struct slice type = write_body_type(r);

	if (type.len == 0 || slice_is(type, "application/json"))
		return json_tree_parse(r->body, ret, err);
	if (slice_is(type, PROTOBUF_TYPE))
		return parse_protobuf(r->body, ret, err);
	if (slice_is(type, "application/yaml") || slice_is(type, WRITE_APPLY_PATCH))
		return parse_yaml(r->body, ret, err);
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

int write_body_object(const struct http_request *r, const char *kind, cJSON **ret, struct status *st)
{
	struct err err = {0};
	cJSON *object;
	int rc = parse(r, &object, st, &err);

	if (rc)
		return fail(st, rc, kind, err.text);
	if (!cJSON_IsObject(object)) {
		cJSON_Delete(object);
		return fail(st, ERR_PROTOCOL, kind, "expected a JSON object");
	}
	*ret = object;
	return 0;
}

int write_body_options(const struct http_request *r, cJSON **ret, struct status *st)
{
	*ret = NULL;
	return r->body.len ? write_body_object(r, "DeleteOptions", ret, st) : 0;
}
