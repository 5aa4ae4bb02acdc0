/* write_fields.c: fieldValidation: what becomes of fields that a type does not have, and of those that are
 * there twice; see write_internal.h. */
#include "replayer/write/field_check.h"
#include "replayer/write/write_internal.h"
#include "schema/base/limits.h"

#include <stdlib.h>

/* "unknown field \"spec.x\"" for each that was not there before. */
static void list_faults(const cJSON *unknown, const cJSON *before, const cJSON *duplicates, cJSON *to)
{
	const cJSON *place, *old;

	cJSON_ArrayForEach(place, duplicates)
	{
		char *text = xasprintf("duplicate field \"%s\"", place->valuestring);

		cJSON_AddItemToArray(to, cJSON_CreateString(text));
		free(text);
	}
	cJSON_ArrayForEach(place, unknown)
	{
		char *text = xasprintf("unknown field \"%s\"", place->valuestring);
		bool is_old = false;

		cJSON_ArrayForEach(old, before)
		{
			is_old = is_old || strcmp(old->valuestring, place->valuestring) == 0;
		}
		if (!is_old)
			cJSON_AddItemToArray(to, cJSON_CreateString(text));
		free(text);
	}
}

static int write_fields_refuse(struct write *w, const cJSON *object, const cJSON *faults, bool patched)
{
	const char *kind = json_tree_text(object, "kind"), *version = json_tree_text(object, "apiVersion");
	const char *slash = strchr(version, '/');
	const cJSON *fault;
	struct buf text;
	char *why;
	int rc;

	buf_init(&text, LIMIT_REQUEST_BODY_BYTES);
	cJSON_ArrayForEach(fault, faults)
	{
		(void)!buf_printf(&text, NULL, "%s%s", text.len ? ", " : "", fault->valuestring);
	}
	why = xasprintf("strict decoding error: %.*s", (int)text.len, text.ptr);
	if (patched)
		rc = write_refuse_patched(w, object, why);
	else
		rc = status_bad_request(&w->st, "%s in version \"%s\" cannot be handled as a %s: %s", kind,
			slash ? slash + 1 : version, kind, why);
	buf_release(&text);
	free(why);
	return rc;
}

/* A quoted string as headers have it: a backslash stands before quotes and backslashes. The caller frees. */
static char *quote(const char *text)
{
	char *quoted = xmalloc(2 * strlen(text) + 3), *to = quoted;

	*to++ = '"';
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			*to++ = '\\';
		*to++ = *text;
	}
	*to++ = '"';
	*to = '\0';
	return quoted;
}

static void warn(struct write *w, const cJSON *faults)
{
	const cJSON *fault;

	cJSON_ArrayForEach(fault, faults)
	{
		char *quoted = quote(fault->valuestring);

		if (w->warnings.len + strlen(quoted) + 10 < WRITE_WARNINGS_BYTES)
			(void)!buf_printf(
				&w->warnings, NULL, "%s299 - %s", w->warnings.len ? ", " : "", quoted);
		free(quoted);
	}
	w->call->style.warnings = buf_slice(&w->warnings);
}

static int check_fields(
	struct write *w, cJSON *object, struct field_type type, const cJSON *duplicates, bool patched)
{
	struct slice how = query_get(&w->call->query, "fieldValidation");
	cJSON *unknown, *before, *faults;
	int rc = 0;

	unknown = cJSON_CreateArray();
	before = cJSON_CreateArray();
	faults = cJSON_CreateArray();
	field_check(object, type, unknown, !slice_is(how, "Strict"));
	if (patched && w->old)
		field_check(w->old, type, before, false);
	list_faults(unknown, before, duplicates, faults);
	if (faults->child && slice_is(how, "Strict"))
		rc = write_fields_refuse(w, object, faults, patched);
	else if (faults->child && !slice_is(how, "Ignore"))
		warn(w, faults);
	cJSON_Delete(unknown);
	cJSON_Delete(before);
	cJSON_Delete(faults);
	return rc;
}

int write_check_fields(struct write *w, cJSON *object, const cJSON *duplicates, bool patched)
{
	struct field_type type = write_type(w);

	return check_fields(w, object, type, duplicates, patched);
}

int write_read_other(struct write *w, const struct write_kind *want, cJSON **ret)
{
	cJSON *duplicates = cJSON_CreateArray(), *object = NULL;
	int rc = write_body_object(w->call, BODY_TYPED, want->kind, &object, duplicates, &w->st);

	if (rc == 0)
		rc = write_check_kind_of(w, object, want, false);
	if (rc == 0)
		rc = check_fields(w, object, (struct field_type){0}, duplicates, false);
	if (rc == 0)
		rc = write_check_decoding(w, object, want);
	cJSON_Delete(duplicates);
	if (rc)
		cJSON_Delete(object);
	else
		*ret = object;
	return rc;
}

int write_read_object(struct write *w, cJSON **ret)
{
	cJSON *duplicates = cJSON_CreateArray(), *object = NULL;
	int rc = write_body_object(w->call, w->c->custom ? BODY_CUSTOM : BODY_TYPED, w->c->resource.kind,
		&object, duplicates, &w->st);

	if (rc == 0)
		rc = write_check_kind(w, object, false);
	if (rc == 0)
		rc = write_check_fields(w, object, duplicates, false);
	cJSON_Delete(duplicates);
	if (rc)
		cJSON_Delete(object);
	else
		*ret = object;
	return rc;
}
