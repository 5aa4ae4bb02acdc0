/*
 * redact.c: see redact.h. An object is walked once by its rules (redact_rules.c); what is to stay is copied
 * up to each value that is not.
 */
#include "schema/base/base64.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/tape/redact_internal.h"

/* Objects inside annotations of objects inside annotations; nobody nests them twice. */
#define MAX_NESTING 3

bool redactor_concerns(const char *group, const char *resource)
{
	return redact_rules_of_resource(slice_of(group), slice_of(resource), slice_of("")) ==
	       redact_secret_rules;
}

bool redactor_concerns_kind(struct slice api_version, struct slice kind)
{
	return redact_rules_of_kind(api_version, kind) == redact_secret_rules;
}

/* ---- one value ---- */

int redact_copy_until(struct redact_walk *w, const char *end)
{
	int rc = buf_append(w->to, w->at, (size_t)(end - w->at), w->err);

	w->at = end;
	return rc;
}

static int put_text(struct redact_walk *w, const char *text, enum redact_form form)
{
	int rc = buf_append(w->to, "\"", 1, w->err);

	if (rc == 0 && form == REDACT_FORM_BASE64)
		rc = base64_encode(slice_of(text), w->to, w->err);
	else if (rc == 0)
		rc = buf_append(w->to, text, strlen(text), w->err);
	return rc ? rc : buf_append(w->to, "\"", 1, w->err);
}

/* Does not leave in memory what it need not. */
static void redact_forget(struct buf *plain)
{
	if (plain->ptr)
		explicit_bzero(plain->ptr, plain->cap);
	buf_release(plain);
}

/* The bytes a value stands for: without quotes and escapes, and decoded if it is base64. What cannot be
 * decoded stands for itself. */
static int plain_value(struct slice value, enum redact_form form, struct buf *to, struct err *err)
{
	struct buf text;
	int rc;

	if (!value.len || value.ptr[0] != '"')
		return buf_append(to, value.ptr, value.len, err);
	if (form == REDACT_FORM_TEXT)
		return json_unescape(value, to, err);
	buf_init(&text, LIMIT_OBJECT_BYTES);
	rc = json_unescape(value, &text, err);
	if (rc == 0 && base64_decode(buf_slice(&text), to, NULL)) {
		buf_clear(to);
		rc = buf_append(to, text.ptr, text.len, err);
	}
	redact_forget(&text);
	return rc;
}

int redact_value(struct redact_walk *w, struct slice value, enum redact_form form)
{
	char text[REDACT_TEXT_BYTES];
	struct buf plain;
	int rc = redact_copy_until(w, value.ptr);

	buf_init(&plain, LIMIT_OBJECT_BYTES);
	if (rc == 0)
		rc = plain_value(value, form, &plain, w->err);
	if (rc == 0)
		rc = redact_text(w->redactor, buf_slice(&plain), text, w->err);
	if (rc == 0)
		rc = put_text(w, text, form);
	w->at = value.ptr + value.len;
	w->replaced++;
	redact_forget(&plain);
	return rc;
}

static bool is_container(struct slice value, char bracket)
{
	return value.len && value.ptr[0] == bracket;
}

static bool is_null(struct slice value)
{
	return slice_is(value, "null");
}

/* A value of no known meaning. These three words give nothing away. */
static int redact_unknown(struct redact_walk *w, struct slice value)
{
	if (is_null(value) || slice_is(value, "true") || slice_is(value, "false"))
		return 0;
	return redact_value(w, value, REDACT_FORM_TEXT);
}

/* ---- maps of values ---- */

/* A value that is null is to be removed by a merge patch. */
static int redact_map(struct redact_walk *w, struct slice map, enum redact_form form)
{
	struct json_iter it;
	struct slice key, value;
	int rc;

	if (is_null(map))
		return 0;
	if (!is_container(map, '{'))
		return redact_value(w, map, form);
	rc = json_iter_begin(map, &it, w->err);
	while (rc == 0 && (rc = json_iter_next(&it, &key, &value, w->err)) > 0)
		rc = is_null(value) ? 0 : redact_value(w, value, form);
	return rc;
}

/* ---- annotations ---- */

/* The annotation is a whole object as JSON text: redacted inside, so that it is still one. One that cannot be
 * walked is a value. */
static int redact_object_in_text(struct redact_walk *w, struct slice value, struct slice inner)
{
	struct buf clean;
	struct redact_walk deeper = {
		.redactor = w->redactor, .at = inner.ptr, .to = &clean, .nesting = w->nesting + 1};
	int rc;

	if (!is_container(json_trim(inner), '{') || deeper.nesting > MAX_NESTING)
		return redact_value(w, value, REDACT_FORM_TEXT);
	buf_init(&clean, LIMIT_OBJECT_BYTES);
	if (redact_object(&deeper, inner, redact_secret_rules)) {
		buf_release(&clean);
		return redact_value(w, value, REDACT_FORM_TEXT);
	}
	rc = redact_copy_until(w, value.ptr);
	if (rc == 0)
		rc = json_escape(buf_slice(&clean), w->to, w->err);
	w->at = value.ptr + value.len;
	w->replaced += deeper.replaced;
	buf_release(&clean);
	return rc;
}

static int redact_annotation(struct redact_walk *w, struct slice name, struct slice value)
{
	enum redact_annotation rule;
	struct buf inner;
	int rc;

	if (!is_container(value, '"'))
		return redact_unknown(w, value);
	buf_init(&inner, LIMIT_OBJECT_BYTES);
	rc = json_unescape(value, &inner, w->err);
	rule = rc == 0 ? redact_annotation_rule(name, buf_slice(&inner)) : REDACT_ANNOTATION_STAYS;
	if (rule == REDACT_ANNOTATION_OBJECT)
		rc = redact_object_in_text(w, value, buf_slice(&inner));
	else if (rule == REDACT_ANNOTATION_VALUE)
		rc = redact_value(w, value, REDACT_FORM_TEXT);
	redact_forget(&inner);
	return rc;
}

static int redact_annotations(struct redact_walk *w, struct slice annotations)
{
	struct json_iter it;
	struct slice key, value;
	int rc;

	if (!is_container(annotations, '{'))
		return redact_unknown(w, annotations);
	rc = json_iter_begin(annotations, &it, w->err);
	while (rc == 0 && (rc = json_iter_next(&it, &key, &value, w->err)) > 0)
		rc = redact_annotation(w, key, value);
	return rc;
}

/* ---- the walk ---- */

static int redact_members(struct redact_walk *w, struct slice object, const struct redact_rule *rules)
{
	struct json_iter it;
	struct slice key, value, text = json_trim(object);
	int rc;

	if (!is_container(text, '{'))
		return redact_unknown(w, object);
	rc = json_iter_begin(text, &it, w->err);
	while (rc == 0 && (rc = json_iter_next(&it, &key, &value, w->err)) > 0) {
		const struct redact_rule *rule = redact_rule_find(rules, key);

		rc = redact_by_rule(w, value, rule ? rule->what : REDACT_VALUE, rule ? rule->inside : NULL);
	}
	return rc;
}

static int redact_each(struct redact_walk *w, struct slice array, const struct redact_rule *rules)
{
	struct json_iter it;
	struct slice key, value;
	int rc;

	if (!is_container(array, '['))
		return redact_unknown(w, array);
	rc = json_iter_begin(array, &it, w->err);
	while (rc == 0 && (rc = json_iter_next(&it, &key, &value, w->err)) > 0)
		rc = redact_members(w, value, rules);
	return rc;
}

int redact_by_rule(
	struct redact_walk *w, struct slice value, enum redact_what what, const struct redact_rule *inside)
{
	switch (what) {
	case REDACT_KEEP:
		return is_container(value, '{') || is_container(value, '[') ? redact_unknown(w, value) : 0;
	case REDACT_KEEP_ALL: return 0;
	case REDACT_BASE64: return redact_map(w, value, REDACT_FORM_BASE64);
	case REDACT_TEXTS: return redact_map(w, value, REDACT_FORM_TEXT);
	case REDACT_BASE64_VALUE: return is_null(value) ? 0 : redact_value(w, value, REDACT_FORM_BASE64);
	case REDACT_INSIDE: return redact_members(w, value, inside);
	case REDACT_EACH: return redact_each(w, value, inside);
	case REDACT_ANNOTATIONS: return redact_annotations(w, value);
	case REDACT_VALUE: break;
	}
	return redact_unknown(w, value);
}

int redact_object(struct redact_walk *w, struct slice object, const struct redact_rule *rules)
{
	int rc = redact_members(w, object, rules);

	return rc ? rc : redact_copy_until(w, object.ptr + object.len);
}

int redactor_object(struct redactor *r, struct slice object, struct buf *to, struct err *err)
{
	struct redact_walk w = {.redactor = r, .at = object.ptr, .to = to, .err = err};

	if (!is_container(json_trim(object), '{'))
		return err_set(err, ERR_PROTOCOL, "cannot redact what is no object");
	return redact_object(&w, object, redact_secret_rules);
}
