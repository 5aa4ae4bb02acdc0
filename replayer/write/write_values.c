/* write_values.c: what becomes of values that a type does not allow; see write_internal.h. */
#include "replayer/write/value_check.h"
#include "replayer/write/write_internal.h"
#include "schema/base/count_of.h"
#include "schema/base/limits.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- what Go can not decode ---- */

/* Where a text stops being a time of that layout, and what should stand there. */
static char *time_error(const char *text, bool micro)
{
	static const struct {
		size_t length;
		const char *layout;
	} parts[] = {{4, "2006"}, {1, "-"}, {2, "01"}, {1, "-"}, {2, "02"}, {1, "T"}, {2, "15"}, {1, ":"},
		{2, "04"}, {1, ":"}, {2, "05"}};
	const char *rest = text, *layout = micro ? ".000000" : "Z07:00";

	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		bool fits = parts[i].length == 1 ? *rest == *parts[i].layout
						 : strspn(rest, "0123456789") >= parts[i].length;

		if (!fits) {
			layout = parts[i].layout;
			break;
		}
		rest += parts[i].length;
	}
	return xasprintf(
		"parsing time \"%s\" as \"2006-01-02T15:04:05%sZ07:00\": cannot parse \"%s\" as \"%s\"", text,
		micro ? ".000000" : "", rest, layout);
}

static char *decode_error(const struct value_fault *f)
{
	bool micro = strcmp(f->expected, "v1.MicroTime") == 0;
	char number[32] = "";

	if (strcmp(f->expected, "resource.Quantity") == 0)
		return xstrdup("quantities must match the regular expression "
			       "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
	if (strcmp(f->expected, "[]uint8") == 0 && cJSON_IsString(f->value))
		return xasprintf("illegal base64 data at input byte %zu",
			strspn(f->value->valuestring,
				"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="));
	if ((micro || strcmp(f->expected, "v1.Time") == 0) && cJSON_IsString(f->value))
		return time_error(f->value->valuestring, micro);
	if (cJSON_IsNumber(f->value) && strncmp(f->expected, "int", 3) == 0)
		snprintf(number, sizeof(number), " %.15g", f->value->valuedouble);
	return xasprintf("json: cannot unmarshal %s%s into Go struct field %s%s%s of type %s", f->found,
		number, f->within, *f->place ? "." : "", f->place, f->go_type);
}

/* As the server says of what is applied, which it reads by its schema: Go's words and the schema's alike. */
static const char *schema_type(const char *word)
{
	static const char *const words[][2] = {{"int32", "numeric (int or float)"},
		{"int64", "numeric (int or float)"}, {"float64", "numeric (int or float)"},
		{"integer", "numeric (int or float)"}, {"number", "numeric (int or float)"},
		{"bool", "boolean"}, {"array", "list"}, {"object", "map"}};

	for (size_t i = 0; i < COUNT_OF(words); i++) {
		if (strcmp(word, words[i][0]) == 0)
			return words[i][1];
	}
	return word;
}

static int refuse_applied(
	struct write *w, const cJSON *object, const char *place, const char *expected, const char *found)
{
	const cJSON *metadata = json_tree_at(object, "metadata", NULL);
	char version[API_VERSION_MAX];

	view_api_version(w->c, version);
	return status_set(&w->st, 500, NULL,
		"failed to create typed patch object (%s/%s; %s%s, Kind=%s): .%s: expected %s, got %s",
		json_tree_text(metadata, "namespace"), json_tree_text(metadata, "name"),
		strchr(version, '/') ? "" : "/", version, w->c->resource.kind, place, schema_type(expected),
		found);
}

static int refuse_decoding(
	struct write *w, const cJSON *object, enum value_origin origin, const struct value_fault *f)
{
	const struct tape_resource *r = &w->c->resource;
	char *problem;
	int rc;

	if (origin == VALUES_APPLIED)
		return refuse_applied(w, object, f->place, f->expected, f->found);
	problem = decode_error(f);
	if (origin == VALUES_OF_PATCH)
		rc = write_refuse_patched(w, object, problem);
	else
		rc = status_bad_request(&w->st, "%s in version \"%s\" cannot be handled as a %s: %s", r->kind,
			r->version, r->kind, problem);
	free(problem);
	return rc;
}

char *write_decoding_problem(const cJSON *object, const struct write_kind *want)
{
	struct value_fault fault;
	char *problem;

	if (!value_check_builtin(want->api_version, want->kind, object, &fault))
		return NULL;
	problem = decode_error(&fault);
	value_fault_release(&fault);
	return problem;
}

int write_check_decoding(struct write *w, const cJSON *object, const struct write_kind *want)
{
	const char *slash = strchr(want->api_version, '/');
	char *problem = write_decoding_problem(object, want);

	if (!problem)
		return 0;
	status_bad_request(&w->st, "%s in version \"%s\" cannot be handled as a %s: %s", want->kind,
		slash ? slash + 1 : want->api_version, want->kind, problem);
	free(problem);
	return ERR_FAILED;
}

static bool has_fault(const struct write *w, const cJSON *object, struct value_fault *ret)
{
	char version[API_VERSION_MAX];

	if (w->c->custom)
		return value_check_metadata(json_tree_at(object, "metadata", NULL), ret);
	return value_check_builtin(view_api_version(w->c, version), w->c->resource.kind, object, ret);
}

static int check_decoding(struct write *w, const cJSON *object, enum value_origin origin)
{
	struct value_fault fault, before;
	bool old;
	int rc;

	if (!has_fault(w, object, &fault))
		return 0;
	old = w->old && has_fault(w, w->old, &before);
	if (old)
		value_fault_release(&before);
	rc = old ? 0 : refuse_decoding(w, object, origin, &fault);
	value_fault_release(&fault);
	return rc;
}

/* ---- what the schema of a custom resource refuses ---- */

/* Whether this request sets that field: the status may have a subresource of its own. */
static bool is_set_here(struct write *w, const char *field)
{
	bool in_status = strncmp(field, "status", 6) == 0 && strchr(".[", field[6]);

	return slice_is(w->sub, "status") ? in_status : !(in_status && write_has_subresource(w, "status"));
}

static cJSON *schema_faults(const cJSON *object, const cJSON *schema)
{
	cJSON *faults = cJSON_CreateArray();

	value_check_schema(object, schema, "", faults);
	return faults;
}

static bool has(const cJSON *faults, const cJSON *one)
{
	const cJSON *f;

	cJSON_ArrayForEach(f, faults)
	{
		if (json_tree_equal(f, one))
			return true;
	}
	return false;
}

/* Those that this write is to blame for, as causes. */
static void tell_causes(struct write *w, const cJSON *faults, const cJSON *before, struct buf *text)
{
	const cJSON *f;

	cJSON_ArrayForEach(f, faults)
	{
		const char *field = json_tree_text(f, "field"), *message = json_tree_text(f, "message");
		int reason = (int)cJSON_GetObjectItemCaseSensitive(f, "reason")->valuedouble;

		if (!is_set_here(w, field) || has(before, f))
			continue;
		status_add_cause(&w->st, value_reasons[reason], xstrdup(message), field);
		(void)!buf_printf(text, NULL, "%s%s: %s", text->len ? ", " : "", field, message);
	}
}

static int refuse_causes(struct write *w, const cJSON *object, const cJSON *faults, const cJSON *before)
{
	const struct tape_resource *r = &w->c->resource;
	const char *name = json_tree_text(json_tree_at(object, "metadata", NULL), "name");
	struct buf text;
	bool many;

	buf_init(&text, LIMIT_REQUEST_BODY_BYTES);
	tell_causes(w, faults, before, &text);
	many = w->st.cause_count > 1;
	if (w->st.cause_count) {
		write_set_details(w, r->kind);
		free(w->st.name);
		w->st.name = xstrdup(name);
		status_set(&w->st, 422, "Invalid", "%s.%s \"%s\" is invalid: %s%.*s%s", r->kind, r->apigroup,
			name, many ? "[" : "", (int)text.len, text.len ? text.ptr : "", many ? "]" : "");
	}
	buf_release(&text);
	return w->st.code ? ERR_FAILED : 0;
}

/* What is applied is read by the schema before anything else is looked at. */
static int check_applied(struct write *w, const cJSON *object, const cJSON *faults)
{
	const cJSON *f;

	cJSON_ArrayForEach(f, faults)
	{
		const char *expected = json_tree_text(f, "expected");

		if (*expected)
			return refuse_applied(
				w, object, json_tree_text(f, "field"), expected, json_tree_text(f, "found"));
	}
	return 0;
}

static int check_schema(struct write *w, cJSON *object, enum value_origin origin)
{
	struct field_type type = write_type(w);
	cJSON *faults, *before;
	int rc;

	if (!type.custom_object || !type.schema)
		return 0;
	value_complete(object, type.schema);
	faults = schema_faults(object, type.schema);
	before = w->old && faults->child ? schema_faults(w->old, type.schema) : NULL;
	rc = origin == VALUES_APPLIED ? check_applied(w, object, faults) : 0;
	if (rc == 0)
		rc = refuse_causes(w, object, faults, before);
	cJSON_Delete(faults);
	cJSON_Delete(before);
	return rc;
}

int write_check_values(struct write *w, cJSON *object, enum value_origin origin)
{
	int rc = check_decoding(w, object, origin);

	return rc == 0 && w->c->custom ? check_schema(w, object, origin) : rc;
}
