/* review.c: see review.h. */
#include "replayer/serve/review.h"
#include "schema/base/count_of.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

#define QUESTION_MAX_BYTES (256u << 10)

#define USER "\"username\":\"replay\",\"groups\":[\"system:masters\",\"system:authenticated\"]"

static const struct {
	const char *group, *resource, *kind, *status;
} reviews[] = {
	{"authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview", "{\"allowed\":true}"},
	{"authorization.k8s.io", "subjectaccessreviews", "SubjectAccessReview", "{\"allowed\":true}"},
	{"authorization.k8s.io", "localsubjectaccessreviews", "LocalSubjectAccessReview",
		"{\"allowed\":true}"},
	{"authorization.k8s.io", "selfsubjectrulesreviews", "SelfSubjectRulesReview",
		"{\"resourceRules\":[{\"verbs\":[\"*\"],\"apiGroups\":[\"*\"],\"resources\":[\"*\"]}],"
		"\"nonResourceRules\":[{\"verbs\":[\"*\"],\"nonResourceURLs\":[\"*\"]}],\"incomplete\":false}"},
	{"authentication.k8s.io", "tokenreviews", "TokenReview",
		"{\"authenticated\":true,\"user\":{" USER "}}"},
	{"authentication.k8s.io", "selfsubjectreviews", "SelfSubjectReview", "{\"userInfo\":{" USER "}}"},
};

/* NULL if it is not JSON (protobuf), or far longer than any question. */
static cJSON *parse_question(struct slice body)
{
	return body.len <= QUESTION_MAX_BYTES ? cJSON_ParseWithLength(body.ptr, body.len) : NULL;
}

/* The question with its answer, or, if it could not be read, without the question. */
static char *make_answer(size_t which, const struct api_call *call)
{
	cJSON *object = parse_question(call->request->body);
	char *version = xasprintf(
		"%s/%.*s", reviews[which].group, (int)call->path.version.len, call->path.version.ptr);
	char *text;

	if (!cJSON_IsObject(object)) {
		cJSON_Delete(object);
		object = cJSON_CreateObject();
		cJSON_AddStringToObject(object, "kind", reviews[which].kind);
		cJSON_AddStringToObject(object, "apiVersion", version);
		cJSON_AddObjectToObject(object, "metadata");
		cJSON_AddObjectToObject(object, "spec");
	}
	cJSON_DeleteItemFromObjectCaseSensitive(object, "status");
	cJSON_AddItemToObject(object, "status", cJSON_Parse(reviews[which].status));
	text = cJSON_PrintUnformatted(object);
	cJSON_Delete(object);
	free(version);
	return text;
}

bool review_serve(struct api_call *call)
{
	for (size_t i = 0; i < COUNT_OF(reviews); i++) {
		char *text;

		if (!slice_is(call->path.group, reviews[i].group) ||
			!slice_is(call->path.resource, reviews[i].resource) || call->path.name.len)
			continue;
		text = make_answer(i, call);
		respond_json(call->x, call->request, &call->style, 201, slice_of(text ? text : "{}"));
		free(text);
		return true;
	}
	return false;
}
