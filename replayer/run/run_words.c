/* run_words.c: see run_words.h. */
#include "replayer/run/run_words.h"

#include "replayer/json/yaml_json.h"
#include "schema/base/json_scan.h"
#include "schema/tape/redact.h"

#include <ctype.h>
#include <stdlib.h>

const char *run_verb(struct slice method, enum verb verb, char to[RUN_VERB_BYTES])
{
	size_t n = 0;

	if (verb != VERB_NONE && !slice_is(method, "HEAD"))
		return verb_name(verb);
	for (; n < method.len && n < RUN_VERB_BYTES - 1; n++)
		to[n] = (char)tolower((unsigned char)method.ptr[n]);
	to[n] = '\0';
	return to;
}

struct run_resource run_resource_of(const struct api_path *p)
{
	if (p->kind != API_PATH_RESOURCE)
		return (struct run_resource){.resource = {NULL, 0}};
	return (struct run_resource){
		p->group, p->version, p->resource, p->subresource, p->namespace, p->name};
}

/* A body in YAML stays as it came if it holds no secrets. */
static int clean_yaml(
	struct redactor *r, const struct redact_target *target, struct slice body, struct buf *to)
{
	size_t before = to->len;
	char *json;
	int rc;

	if (yaml_to_json(body, &json, NULL))
		return redactor_body(r, target, body, to, NULL);
	rc = redactor_body(r, target, slice_of(json), to, NULL);
	free(json);
	if (rc)
		return rc;
	to->len = before;
	return buf_append(to, body.ptr, body.len, NULL);
}

/* 1 if secrets were taken out. */
static int clean(struct redactor *r, const struct redact_target *target, struct body *body, struct buf *to)
{
	struct slice json, text = json_trim(body->bytes);

	if (body_is_protobuf(body) && body_json(body, &json, NULL) == 0)
		return redactor_body(r, target, json, to, NULL);
	if (memchr(body->bytes.ptr, 0, body->bytes.len))
		return 0; /* neither JSON nor YAML */
	if (text.len && (text.ptr[0] == '{' || text.ptr[0] == '['))
		return redactor_body(r, target, body->bytes, to, NULL);
	return clean_yaml(r, target, body->bytes, to);
}

bool run_clean_body(struct redactor *r, const struct api_path *what, struct body *body, struct buf *to)
{
	const struct redact_target target = {what->group, what->resource, what->subresource, false};

	return clean(r, &target, body, to) > 0;
}

void run_clean_answer(
	struct redactor *r, const struct api_path *what, bool secret, struct slice answer, struct buf *to)
{
	const struct redact_target target = {what->group, what->resource, what->subresource, secret};
	struct body body;

	body_init(&body, answer);
	(void)!clean(r, &target, &body, to);
	body_release(&body);
}

struct slice run_version_in(struct slice body)
{
	struct slice rv;

	if (body.len == 0 || json_get(body, "metadata.resourceVersion", &rv, NULL) <= 0 || rv.len < 2 ||
		rv.ptr[0] != '"')
		return (struct slice){NULL, 0};
	return (struct slice){rv.ptr + 1, rv.len - 2};
}
