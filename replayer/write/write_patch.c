/* write_patch.c: PATCH: JSON Patch, merge patch and strategic merge patch; see write_internal.h. */
#include "replayer/write/patch_json.h"
#include "replayer/write/patch_strategic.h"
#include "replayer/write/write_internal.h"

#define JSON_PATCH      "application/json-patch+json"
#define MERGE_PATCH     "application/merge-patch+json"
#define STRATEGIC_PATCH "application/strategic-merge-patch+json"

int write_unsupported(struct write *w)
{
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
		write_set_details(w, w->c->resource.resource);
		return status_set(&w->st, 422, "Invalid",
			"the server rejected our request due to an error in our request: %s", err->text);
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
	else if (!cJSON_IsObject(patch))
		rc = err_set(&err, ERR_USAGE, "a merge patch is an object");
	else if (slice_is(type, STRATEGIC_PATCH))
		return patch_by_type(w, patch, *object);
	else
		patch_merge(*object, patch);
	if (rc == 0 && !cJSON_IsObject(*object))
		rc = err_set(&err, ERR_FAILED, "what the patch leaves is no object");
	return rc ? failed(w, rc, &err) : 0;
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

int write_patch(struct write *w)
{
	struct slice type = write_body_type(w->call);
	struct err err = {0};
	cJSON *patch;
	int rc;

	if (slice_is(type, WRITE_APPLY_PATCH))
		return write_apply(w);
	if (!slice_is(type, JSON_PATCH) && !slice_is(type, MERGE_PATCH) &&
		(!slice_is(type, STRATEGIC_PATCH) || w->c->custom))
		return write_unsupported(w);
	rc = json_tree_parse(w->call->request->body, &patch, &err);
	if (rc)
		return failed(w, rc, &err);
	rc = write_load_existing(w);
	if (rc == 0)
		rc = apply_patch(w, type, patch);
	cJSON_Delete(patch);
	return rc;
}
