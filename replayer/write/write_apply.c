/* write_apply.c: server-side apply, and who wrote which fields; see write_internal.h and managed_fields.h. */
#include "replayer/write/field_check.h"
#include "replayer/write/managed_fields.h"
#include "replayer/write/write_internal.h"

#include <ctype.h>
#include <stdlib.h>

/* ---- who ---- */

/* The fieldManager, else the program's name in its User-Agent. */
char *write_manager_name(const struct write *w)
{
	struct slice name = query_get(&w->call->query, "fieldManager");
	struct slice agent = http_header_find(w->call->request, "User-Agent");
	size_t n = 0;

	if (name.len)
		return slice_dup(name);
	while (n < agent.len && n < FIELD_MANAGER_MAX && agent.ptr[n] != '/' &&
		isprint((unsigned char)agent.ptr[n]))
		n++;
	return n ? slice_dup((struct slice){agent.ptr, n}) : xstrdup("unknown");
}

struct writing {
	struct field_writer who;
	char *name, *subresource;
	char now[TIMESTAMP_BYTES], version[API_VERSION_MAX];
};

static void writing_init(struct writing *x, struct write *w)
{
	x->name = write_manager_name(w);
	x->subresource = slice_dup(w->sub);
	write_timestamp(x->now, 0);
	x->who = (struct field_writer){.name = x->name,
		.api_version = view_api_version(w->c, x->version),
		.subresource = x->subresource,
		.now = x->now,
		.type = write_type(w)};
	if (slice_is(w->sub, "status"))
		x->who.ignored = "spec";
	else if (write_has_subresource(w, "status"))
		x->who.ignored = "status";
}

static void writing_release(struct writing *x)
{
	free(x->name);
	free(x->subresource);
}

void write_keep_managers(struct write *w, cJSON *object)
{
	struct writing x;

	if (w->managed)
		return;
	writing_init(&x, w);
	managed_update(w->old, object, &x.who);
	writing_release(&x);
	w->managed = true;
}

/* ---- what is applied ---- */

/* What is applied must be of the type, if a document says what that is. */
static int refuse_unknown(struct write *w, cJSON *object)
{
	struct field_type type = write_type(w);
	const char *version = json_tree_text(object, "apiVersion");
	const cJSON *metadata = json_tree_at(object, "metadata", NULL);
	cJSON *unknown = cJSON_CreateArray();
	int rc = 0;

	if (type.schema)
		field_check(object, type, unknown, false);
	if (unknown->child)
		rc = status_set(&w->st, 500, NULL,
			"failed to create typed patch object (%s/%s; %s%s, Kind=%s): .%s: field not declared in schema",
			json_tree_text(metadata, "namespace"), json_tree_text(metadata, "name"),
			strchr(version, '/') ? "" : "/", version, w->c->resource.kind,
			unknown->child->valuestring);
	cJSON_Delete(unknown);
	return rc;
}

static int check_applied(struct write *w, cJSON *object)
{
	const char *kind = json_tree_text(object, "kind"), *version = json_tree_text(object, "apiVersion");
	char to[API_VERSION_MAX];
	const char *expected = view_api_version(w->c, to);
	int rc;

	if (strcmp(kind, w->c->resource.kind) != 0 || !*version)
		return status_bad_request(&w->st, "invalid object type: %s%s, Kind=%s",
			strchr(version, '/') ? "" : "/", version, kind);
	if (strcmp(version, expected) != 0)
		return status_bad_request(&w->st,
			"Incorrect version specified in apply patch. Specified patch version: %s, expected: %s",
			version, expected);
	if (json_tree_at(object, "metadata", "managedFields", NULL))
		return status_bad_request(&w->st, "metadata.managedFields must be nil");
	if (!json_tree_at(object, "metadata", "name", NULL))
		json_tree_set_text(json_tree_object(object, "metadata"), "name", w->name);
	rc = refuse_unknown(w, object);
	return rc ? rc : write_check_place(w, object);
}

static int tell_conflicts(struct write *w, const cJSON *conflicts)
{
	int count = cJSON_GetArraySize(conflicts);
	const char *last = NULL;
	const cJSON *conflict;
	struct buf text;

	buf_init(&text, 1 << 20);
	cJSON_ArrayForEach(conflict, conflicts)
	{
		const char *manager = json_tree_text(conflict, "manager"),
			   *field = json_tree_text(conflict, "field");

		status_add_cause(
			&w->st, "FieldManagerConflict", xasprintf("conflict with %s", manager), field);
		if (count == 1)
			(void)!buf_printf(&text, NULL, "conflict with %s: %s", manager, field);
		else if (!last || strcmp(last, manager) != 0)
			(void)!buf_printf(
				&text, NULL, "%sconflicts with %s:\n- %s", last ? "\n" : "", manager, field);
		else
			(void)!buf_printf(&text, NULL, "\n- %s", field);
		last = manager;
	}
	w->st.has_details = true;
	status_set(&w->st, 409, "Conflict", "Apply failed with %d conflict%s: %.*s", count,
		count == 1 ? "" : "s", (int)text.len, text.ptr);
	buf_release(&text);
	return ERR_FAILED;
}

/* Makes of the applied object what it would leave. */
static int make_result(struct write *w, const cJSON *object, cJSON **ret)
{
	struct slice force = query_get(&w->call->query, "force");
	struct writing x;
	cJSON *conflicts = NULL;
	struct err err = {0};
	int rc;

	*ret = NULL;
	writing_init(&x, w);
	rc = managed_apply(w->old, object, &x.who, slice_is(force, "true") || slice_is(force, "1"), ret,
		&conflicts, &err);
	writing_release(&x);
	if (rc)
		return status_set(&w->st, 500, NULL, "failed to create typed patch object: %s", err.text);
	rc = conflicts ? tell_conflicts(w, conflicts) : 0;
	cJSON_Delete(conflicts);
	return rc;
}

static int check_creation(struct write *w, const cJSON *object)
{
	const struct tape_resource *r = &w->c->resource;
	const char *uid = json_tree_text(json_tree_at(object, "metadata", NULL), "uid");

	if (w->sub.len)
		return status_not_found(
			&w->st, slice_of(r->apigroup), slice_of(r->resource), slice_of(w->name));
	if (*uid)
		return write_conflict(w,
			"uid mismatch: the provided object specified uid %s, and no existing object was found",
			uid);
	return 0;
}

static int apply(struct write *w, cJSON *object)
{
	cJSON *made = NULL;
	int rc = check_applied(w, object);

	if (rc == 0)
		rc = write_check_fields(w, object, NULL, false);
	if (rc == 0)
		rc = write_load(w, slice_of(w->name));
	if (rc == 0 && !w->old)
		rc = check_creation(w, object);
	if (rc == 0)
		rc = make_result(w, object, &made);
	if (rc == 0)
		rc = write_check_values(w, made, VALUES_APPLIED);
	if (rc) {
		cJSON_Delete(made);
		return rc;
	}
	w->managed = true;
	return w->old ? write_replace(w, made, false) : write_create_object(w, made);
}

int write_apply(struct write *w)
{
	cJSON *object;
	int rc;

	if (w->sub.len && !slice_is(w->sub, "status"))
		return write_unsupported(w);
	rc = write_body_object(w->call, BODY_APPLIED, w->c->resource.kind, &object, NULL, &w->st);
	if (rc)
		return rc;
	rc = apply(w, object);
	cJSON_Delete(object);
	return rc;
}
