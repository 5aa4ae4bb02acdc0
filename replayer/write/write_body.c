/* write_body.c: see write_body.h. */
#include "replayer/write/write_body.h"

#include "replayer/json/go_json.h"
#include "replayer/json/yaml_json.h"
#include "schema/base/count_of.h"
#include "schema/base/limits.h"

#include <stdio.h>
#include <stdlib.h>

#define PROTOBUF_TYPE "application/vnd.kubernetes.protobuf"
#define BODY_TYPES    "application/json, application/yaml, " PROTOBUF_TYPE
#define SUMMARY_BYTES 30 /* of the body, in messages */

/* A body while it is read. */
struct reading {
	struct api_call *call;
	enum body_reader reader;
	const char *kind;
	struct status *st;
};

struct slice write_body_type(const struct api_call *call)
{
	struct slice type = http_header_find(call->request, "Content-Type");
	const char *semicolon = type.len ? memchr(type.ptr, ';', type.len) : NULL;

	if (semicolon)
		type.len = (size_t)(semicolon - type.ptr);
	return slice_trim(type);
}

bool write_body_type_is(struct slice type, const char *name)
{
	return slice_equal_nocase(type, slice_of(name));
}

int write_body_unsupported(struct status *st, const char *types)
{
	return status_set(st, 415, "UnsupportedMediaType",
		"the body of the request was in an unknown format - accepted media types include: %s", types);
}

/* ---- errors ---- */

/* The first bytes, as text if it looks like JSON, else in hexadecimal digits. The caller frees. */
static char *summarize(struct slice body)
{
	size_t shown = body.len < SUMMARY_BYTES ? body.len : SUMMARY_BYTES;
	const char *more = shown < body.len ? " ..." : "";
	char digits[2 * SUMMARY_BYTES + 1];

	if (body.len == 0)
		return xstrdup("<empty>");
	if (body.ptr[0] == '{')
		return xasprintf("%.*s%s", (int)shown, body.ptr, more);
	for (size_t i = 0; i < shown; i++)
		snprintf(digits + 2 * i, 3, "%02x", (unsigned char)body.ptr[i]);
	return xasprintf("%s%s", digits, more);
}

/* 400 for what is no object at all; takes over the problem. */
static int write_body_refuse(const struct reading *r, char *problem)
{
	char *summary = summarize(r->call->body.bytes);
	int rc;

	if (r->reader == BODY_OPTIONS)
		rc = status_bad_request(r->st, "%s", problem);
	else if (r->reader == BODY_APPLIED)
		rc = status_bad_request(r->st, "error decoding YAML: %s", problem);
	else
		rc = status_bad_request(r->st,
			"the object provided is unrecognized (must be of type %s): %s (%s)", r->kind, problem,
			summary);
	free(summary);
	free(problem);
	return rc;
}

static int refuse_size(const struct reading *r, const struct err *err)
{
	return status_set(r->st, 413, "RequestEntityTooLarge", "Request entity is too large: %s", err->text);
}

/* Before anything else the API server looks for the kind, with a reader that knows nothing but that. */
static int refuse_head(const struct reading *r, const char *problem)
{
	return write_body_refuse(r, xasprintf("couldn't get version/kind; json parse error: %s", problem));
}

/* ---- encodings ---- */

static int parse_json(const struct reading *r, struct slice json, cJSON **ret, cJSON *duplicates)
{
	char *problem = go_json_problem(json);
	struct err err = {0};
	int rc;

	if (problem) {
		rc = refuse_head(r, problem);
		free(problem);
		return rc;
	}
	rc = json_tree_parse_strict(json, ret, duplicates, &err);
	if (rc == ERR_TOO_LARGE)
		return refuse_size(r, &err);
	return rc ? refuse_head(r, err.text) : 0;
}

/* YAML without anything in it says null. */
static int parse_yaml(const struct reading *r, cJSON **ret)
{
	struct err err = {0};
	char *json;
	int rc = r->call->body.bytes.len ? yaml_to_json(r->call->body.bytes, &json, &err) : 0;

	if (!r->call->body.bytes.len)
		json = xstrdup("null");
	if (rc == ERR_TOO_LARGE)
		return refuse_size(r, &err);
	if (rc)
		return write_body_refuse(
			r, xasprintf("%syaml: %s",
				   r->reader == BODY_APPLIED ? "error converting YAML to JSON: " : "",
				   err.text));
	rc = json_tree_parse(slice_of(json), ret, &err);
	free(json);
	if (rc == ERR_TOO_LARGE)
		return refuse_size(r, &err);
	return rc ? refuse_head(r, err.text) : 0;
}

static int parse_protobuf(const struct reading *r, cJSON **ret)
{
	struct err err = {0};
	struct slice json;
	int rc;

	if (!r->call->body.bytes.len)
		return write_body_refuse(r, xstrdup("empty data"));
	rc = body_json(&r->call->body, &json, &err);
	if (rc == 0)
		rc = json_tree_parse(json, ret, &err);
	if (rc == ERR_TOO_LARGE)
		return refuse_size(r, &err);
	return rc ? write_body_refuse(r, xstrdup(err.text)) : 0;
}

/* What is applied is YAML, whatever it looks like. */
static int write_body_parse(const struct reading *r, cJSON **ret, cJSON *duplicates)
{
	struct slice type = write_body_type(r->call);
	bool is_named = http_header_find(r->call->request, "Content-Type").len > 0;

	if (!is_named || write_body_type_is(type, "application/json"))
		return parse_json(r, r->call->body.bytes, ret, duplicates);
	if (write_body_type_is(type, PROTOBUF_TYPE))
		return parse_protobuf(r, ret);
	if (write_body_type_is(type, "application/yaml") || r->reader == BODY_APPLIED)
		return parse_yaml(r, ret);
	return write_body_unsupported(r->st, BODY_TYPES);
}

/* ---- what is in it ---- */

/* Kind and version are found whatever the case of their names. */
static int check_texts(const struct reading *r, const cJSON *object)
{
	static const char *const names[] = {"apiVersion", "kind"};
	const cJSON *member;

	cJSON_ArrayForEach(member, object)
	{
		for (size_t i = 0; i < COUNT_OF(names); i++) {
			char *problem;
			int rc;

			if (!slice_equal_nocase(slice_of(member->string), slice_of(names[i])) ||
				cJSON_IsString(member) || cJSON_IsNull(member))
				continue;
			problem =
				xasprintf("json: cannot unmarshal %s into Go struct field .%s of type string",
					go_json_type(member), names[i]);
			rc = refuse_head(r, problem);
			free(problem);
			return rc;
		}
	}
	return 0;
}

/* A custom resource is what it says that it is; built-in kinds are what is expected if they say nothing. */
static int check_head(const struct reading *r, const cJSON *object)
{
	struct slice body = r->call->body.bytes;
	int rc = check_texts(r, object);

	if (rc || r->reader != BODY_CUSTOM || *json_tree_text(object, "kind"))
		return rc;
	return write_body_refuse(
		r, xasprintf("Object 'Kind' is missing in '%.*s'", (int)body.len, body.len ? body.ptr : ""));
}

static int refuse_type(const struct reading *r, const cJSON *value)
{
	const char *into =
		r->reader == BODY_APPLIED
			? "map[string]interface {}"
			: "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string "
			  "\"json:\\\"kind,omitempty\\\"\" }";
	char *problem =
		xasprintf("json: cannot unmarshal %s into Go value of type %s", go_json_type(value), into);
	int rc = r->reader == BODY_APPLIED
			 ? write_body_refuse(
				   r, xasprintf("error unmarshaling JSON: while decoding JSON: %s", problem))
			 : refuse_head(r, problem);

	free(problem);
	return rc;
}

int write_body_object(struct api_call *call, enum body_reader reader, const char *kind, cJSON **ret,
	cJSON *duplicates, struct status *st)
{
	const struct reading r = {call, reader, kind, st};
	cJSON *object;
	int rc = write_body_parse(&r, &object, duplicates);

	if (rc)
		return rc;
	if (cJSON_IsNull(object)) {
		cJSON_Delete(object);
		object = cJSON_CreateObject();
	}
	rc = cJSON_IsObject(object) ? check_head(&r, object) : refuse_type(&r, object);
	if (rc)
		cJSON_Delete(object);
	else
		*ret = object;
	return rc;
}

int write_body_options(struct api_call *call, cJSON **ret, struct status *st)
{
	*ret = NULL;
	return call->body.bytes.len ? write_body_object(call, BODY_OPTIONS, "DeleteOptions", ret, NULL, st)
				    : 0;
}
