/* write_patch.c: PATCH: JSON Patch, merge patch and strategic merge patch; see write_internal.h. */
#include "replayer/json/go_json.h"
#include "replayer/write/patch_json.h"
#include "replayer/write/patch_strategic.h"
#include "replayer/write/write_internal.h"

#include <stdlib.h>

#define JSON_PATCH      "application/json-patch+json"
#define MERGE_PATCH     "application/merge-patch+json"
#define STRATEGIC_PATCH "application/strategic-merge-patch+json"

/* The router of built-in kinds says it in its own words. */
int write_unsupported(struct write *w)
{
	if (w->c->custom)
		return write_body_unsupported(&w->st, JSON_PATCH ", " MERGE_PATCH ", " WRITE_APPLY_PATCH);
	w->st.has_details = true;
	return status_set(&w->st, 415, "UnsupportedMediaType", "415: Unsupported Media Type");
}

static int failed(struct write *w, int rc, const struct err *err)
{
	switch (rc) {
	case ERR_TOO_LARGE:
		return status_set(
			&w->st, 413, "RequestEntityTooLarge", "Request entity is too large: %s", err->text);
	case ERR_FAILED:
		w->st.has_details = true;
		return status_set(&w->st, 422, "Invalid",
			"the server rejected our request due to an error in our request");
	default: return status_bad_request(&w->st, "%s", err->text);
	}
}

static int patch_by_type(struct write *w, cJSON *patch, cJSON *object)
{
	struct err err = {0};
	int rc = patch_strategic(object, patch, write_type(w), &err);

	if (rc == ERR_FAILED)
		return status_set(&w->st, 500, NULL, "%s", err.text);
	return rc ? failed(w, rc, &err) : 0;
}

static int patch_object(struct write *w, struct slice type, cJSON *patch, cJSON **object)
{
	struct err err = {0};
	int rc = 0;

	if (slice_is(type, JSON_PATCH))
		rc = patch_json(object, patch, &err);
	else if (slice_is(type, STRATEGIC_PATCH))
		return patch_by_type(w, patch, *object);
	else
		patch_merge(*object, patch);
	if (rc == 0 && !cJSON_IsObject(*object))
		rc = err_set(&err, ERR_FAILED, "what the patch leaves is no object");
	return rc ? failed(w, rc, &err) : 0;
}

/* A custom resource must say what it is. */
static int refuse_kindless(struct write *w, const cJSON *object)
{
	char *json = cJSON_PrintUnformatted(object),
	     *why = xasprintf("Object 'Kind' is missing in '%s'", json);
	int rc = write_refuse_patched(w, object, why);

	cJSON_free(json);
	free(why);
	return rc;
}

/* A resourceVersion in the patch is a precondition like that of a PUT; a scale is patched as what it is. */
static int apply_patch(struct write *w, struct slice type, cJSON *patch)
{
	bool scale = slice_is(w->sub, "scale");
	cJSON *object = NULL;
	int rc = 0;

	if (scale)
		rc = write_scale_of(w, w->old, &object);
	else
		object = cJSON_Duplicate(w->old, true);
	if (rc == 0)
		rc = patch_object(w, type, patch, &object);
	if (rc == 0 && w->c->custom && !scale && !*json_tree_text(object, "kind"))
		rc = refuse_kindless(w, object);
	if (rc == 0 && !scale)
		rc = write_check_fields(w, object, NULL, true);
	if (rc == 0 && !scale)
		rc = write_check_values(w, object, VALUES_OF_PATCH);
	if (rc) {
		cJSON_Delete(object);
		return rc;
	}
	return scale ? write_scale_set(w, object) : write_replace(w, object, false);
}

/* Of an array of operations each must be an object. */
static const cJSON *find_no_operation(const cJSON *patch)
{
	const cJSON *operation;

	cJSON_ArrayForEach(operation, patch)
	{
		if (!cJSON_IsObject(operation) && !cJSON_IsNull(operation))
			return operation;
	}
	return NULL;
}

/* 400 for a patch of another type than its kind of patches has, as Go decodes it; a strategic one is decoded
 * by somebody who says nothing else. */
static int refuse_type(struct write *w, struct slice type, const cJSON *patch)
{
	bool operations = slice_is(type, JSON_PATCH);
	const cJSON *wrong = operations && cJSON_IsArray(patch) ? find_no_operation(patch) : patch;

	return status_bad_request(&w->st, "%sjson: cannot unmarshal %s into Go value of type %s",
		slice_is(type, STRATEGIC_PATCH) ? "" : "error decoding patch: ", go_json_type(wrong),
		!operations      ? "map[string]interface {}"
		: wrong == patch ? "[]handlers.jsonPatchOp"
				 : "handlers.jsonPatchOp");
}

/* The patch as a tree; null, which says nothing, as an empty one. */
static int parse_patch(struct write *w, struct slice type, cJSON **ret)
{
	struct slice body = w->call->body.bytes;
	bool operations = slice_is(type, JSON_PATCH);
	char *problem = go_json_problem(body);
	struct err err = {0};
	cJSON *patch;
	int rc;

	if (problem) {
		rc = status_bad_request(&w->st, "%s%s",
			slice_is(type, STRATEGIC_PATCH) ? "" : "error decoding patch: ", problem);
		free(problem);
		return rc;
	}
	rc = json_tree_parse(body, &patch, &err);
	if (rc)
		return failed(w, rc, &err);
	if (cJSON_IsNull(patch) && slice_is(type, MERGE_PATCH))
		rc = status_bad_request(&w->st, "Invalid JSON Patch");
	else if (cJSON_IsNull(patch))
		*ret = operations ? cJSON_CreateArray() : cJSON_CreateObject();
	else if (operations ? !cJSON_IsArray(patch) || find_no_operation(patch) : !cJSON_IsObject(patch))
		rc = refuse_type(w, type, patch);
	if (rc || cJSON_IsNull(patch))
		cJSON_Delete(patch);
	else
		*ret = patch;
	return rc;
}

int write_patch(struct write *w)
{
	struct slice type = write_body_type(w->call);
	cJSON *patch;
	int rc;

	if (slice_is(type, WRITE_APPLY_PATCH))
		return write_apply(w);
	if (!slice_is(type, JSON_PATCH) && !slice_is(type, MERGE_PATCH) &&
		(!slice_is(type, STRATEGIC_PATCH) || w->c->custom))
		return write_unsupported(w);
	rc = write_load_existing(w);
	if (rc == 0)
		rc = parse_patch(w, type, &patch);
	if (rc)
		return rc;
	rc = apply_patch(w, type, patch);
	cJSON_Delete(patch);
	return rc;
}
