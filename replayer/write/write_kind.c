/* write_kind.c: whether an object is of the kind and version that a write is about; see write_internal.h. */
#include "replayer/protobuf/protobuf_fields.h"
#include "replayer/write/write_internal.h"

#include <stdlib.h>

/* "apps/v1" is "v1" of a group. */
static const char *version_of(const char *api_version)
{
	const char *slash = strchr(api_version, '/');

	return slash ? slash + 1 : api_version;
}

/* The package in which the API server keeps the kind. */
static char *package_of(const char *group)
{
	return slice_dup(
		(struct slice){*group ? group : "core", *group ? strcspn(group, ".") : strlen("core")});
}

/* Why a built-in kind is not the one that was expected, in the words of the decoder; NULL when it is. The
 * caller frees. */
static char *kind_problem(const struct write_kind *want, const char *kind, const char *version)
{
	unsigned message;
	char *package, *problem;

	if (!protobuf_find_message(slice_of(version), slice_of(kind), &message) &&
		(strcmp(kind, want->kind) != 0 || strcmp(version, want->api_version) != 0))
		return xasprintf("no kind \"%s\" is registered for version \"%s\" in scheme "
				 "\"pkg/api/legacyscheme/scheme.go:30\"",
			kind, version);
	if (strcmp(kind, want->kind) == 0)
		return NULL;
	package = package_of(want->group);
	problem = xasprintf("converting (%s.%s) to (%s.%s): unknown conversion", version_of(version), kind,
		package, want->kind);
	free(package);
	return problem;
}

static int refuse_version(struct write *w, const char *version, const char *expected)
{
	return status_bad_request(&w->st,
		"the API version in the data (%s) does not match the expected API version (%s)", version,
		expected);
}

/* What is there is checked later, whatever it is. */
static void begin_metadata(cJSON *object)
{
	const cJSON *metadata = cJSON_GetObjectItemCaseSensitive(object, "metadata");

	if (!metadata || cJSON_IsNull(metadata))
		json_tree_object(object, "metadata");
}

/* An object that says nothing of itself is what is expected. */
static void write_kind_complete(cJSON *object, const struct write_kind *want)
{
	json_tree_set_text(object, "kind", want->kind);
	json_tree_set_text(object, "apiVersion", want->api_version);
	begin_metadata(object);
}

int write_check_kind_of(struct write *w, cJSON *object, const struct write_kind *want, bool patched)
{
	const char *kind = json_tree_text(object, "kind"), *version = json_tree_text(object, "apiVersion");
	char *problem;
	int rc;

	kind = *kind ? kind : want->kind;
	version = *version ? version : want->api_version;
	problem = kind_problem(want, kind, version);
	if (problem) {
		rc = patched ? write_refuse_patched(w, object, problem)
			     : status_bad_request(&w->st,
				       "%s in version \"%s\" cannot be handled as a %s: %s", kind,
				       version_of(version), want->kind, problem);
		free(problem);
		return rc;
	}
	if (strcmp(version, want->api_version) != 0)
		return refuse_version(w, version, want->api_version);
	write_kind_complete(object, want);
	return 0;
}

/* 422 about what a custom resource says that it is, which is also how it is named in the message. */
static int refuse_custom(struct write *w, const cJSON *object, const char *field, const char *expected)
{
	const char *kind = json_tree_text(object, "kind"), *version = json_tree_text(object, "apiVersion");
	const char *slash = strchr(version, '/'), *found = json_tree_text(object, field);
	const char *name = json_tree_text(json_tree_at(object, "metadata", NULL), "name");
	struct slice group = {version, slash ? (size_t)(slash - version) : 0};
	char *why = xasprintf("Invalid value: \"%s\": must be %s", found, expected);

	w->st.has_details = true;
	w->st.name = xstrdup(name);
	w->st.group = group.len ? slice_dup(group) : NULL;
	w->st.kind = xstrdup(kind);
	status_set(&w->st, 422, "Invalid", "%s%s%.*s \"%s\" is invalid: %s: %s", kind, group.len ? "." : "",
		(int)group.len, group.ptr, name, field, why);
	status_add_cause(&w->st, "FieldValueInvalid", why, field);
	return ERR_FAILED;
}

int write_check_custom_kind(struct write *w, const cJSON *object)
{
	char to[API_VERSION_MAX];
	const char *expected = view_api_version(w->c, to);

	if (!w->c->custom)
		return 0;
	if (strcmp(json_tree_text(object, "kind"), w->c->resource.kind) != 0)
		return refuse_custom(w, object, "kind", w->c->resource.kind);
	if (strcmp(json_tree_text(object, "apiVersion"), expected) != 0)
		return refuse_custom(w, object, "apiVersion", expected);
	return 0;
}

int write_check_kind(struct write *w, cJSON *object, bool patched)
{
	char to[API_VERSION_MAX];
	const struct write_kind want = {
		w->c->resource.kind, view_api_version(w->c, to), w->c->resource.apigroup};
	const char *version = json_tree_text(object, "apiVersion");

	if (!w->c->custom)
		return write_check_kind_of(w, object, &want, patched);
	begin_metadata(object);
	return patched || strcmp(version, want.api_version) == 0
		       ? 0
		       : refuse_version(w, version, want.api_version);
}
