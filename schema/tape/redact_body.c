/*
 * redact_body.c: see redact.h. What is no object of the cluster: answers of a server that are something else,
 * and what clients send (objects, lists, patches).
 */
#include "schema/base/hex.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/tape/redact_internal.h"

#include <stdlib.h>

#define NOTE_BYTES 96

/* ---- bytes of any kind ---- */

/* "redacted: 245 bytes, digest 0a1b...", as redactor_bytes() writes it. */
static bool is_note(struct slice bytes)
{
	struct slice rest = bytes;
	size_t digits;

	if (bytes.len >= NOTE_BYTES || !slice_skip(&rest, "redacted: "))
		return false;
	for (digits = 0; digits < rest.len && rest.ptr[digits] >= '0' && rest.ptr[digits] <= '9';)
		digits++;
	rest = (struct slice){rest.ptr + digits, rest.len - digits};
	if (!digits || !slice_skip(&rest, " bytes, digest ") || rest.len != 32)
		return false;
	for (size_t i = 0; i < rest.len; i++) {
		if (hex_digit(rest.ptr[i]) < 0)
			return false;
	}
	return true;
}

int redactor_bytes(struct redactor *r, struct slice bytes, struct buf *to, struct err *err)
{
	char digest[REDACT_TEXT_BYTES];
	int rc;

	if (is_note(bytes))
		return buf_append(to, bytes.ptr, bytes.len, err);
	rc = redact_text(r, bytes, digest, err);
	if (rc)
		return rc;
	return buf_printf(to, err, "redacted: %zu bytes, digest %s", bytes.len, digest + strlen("redacted:"));
}

/* ---- answers of a server ---- */

/* A Status with no member but those that a Status has. */
static bool is_status(struct redactor *r, struct slice json)
{
	struct object_meta meta;
	struct buf copy;
	struct redact_walk w = {.redactor = r, .at = json.ptr, .to = &copy};
	bool is_one;

	if (json_scan_object(json, &meta, NULL) || !json_text_is(meta.kind, "Status"))
		return false;
	buf_init(&copy, LIMIT_OBJECT_BYTES);
	is_one = redact_object(&w, json, redact_status_rules) == 0 && w.replaced == 0;
	buf_release(&copy);
	return is_one;
}

int redactor_answer(struct redactor *r, struct slice body, struct buf *to, struct err *err)
{
	if (!is_status(r, body))
		return redactor_bytes(r, body, to, err);
	return buf_append(to, body.ptr, body.len, err);
}

int redactor_error(struct redactor *r, struct slice object, long code, struct buf *to, struct err *err)
{
	int rc;

	if (is_status(r, object))
		return buf_append(to, object.ptr, object.len, err);
	rc = buf_printf(to, err,
		"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"");
	if (rc == 0)
		rc = redactor_bytes(r, object, to, err);
	if (rc == 0 && code)
		rc = buf_printf(to, err, "\",\"code\":%ld}", code);
	else if (rc == 0)
		rc = buf_append(to, "\"}", 2, err);
	return rc;
}

/* ---- JSON patches ---- */

/* The rule for what the path of an operation names, by the rules of the object that is patched. */
static struct redact_rule rule_at(struct slice path, const struct redact_rule *rules)
{
	struct redact_rule at = {"", REDACT_INSIDE, rules};

	while (path.len && path.ptr[0] == '/') {
		struct slice rest = {path.ptr + 1, path.len - 1}, step = slice_cut(&rest, '/');
		const struct redact_rule *next =
			at.what == REDACT_INSIDE ? redact_rule_find(at.inside, step) : NULL;

		if (at.what == REDACT_BASE64)
			at = (struct redact_rule){"", REDACT_BASE64_VALUE, NULL};
		else if (next)
			at = *next;
		else if (at.what != REDACT_KEEP_ALL)
			return (struct redact_rule){"", REDACT_VALUE, NULL};
		path = rest.ptr ? (struct slice){rest.ptr - 1, rest.len + 1} : rest;
	}
	return at;
}

static int redact_operation(struct redact_walk *w, struct slice operation, const struct redact_rule *rules)
{
	static const struct redact_rule names[] = {{"op", REDACT_KEEP, NULL}, {"path", REDACT_KEEP, NULL},
		{"from", REDACT_KEEP, NULL}, {NULL, REDACT_VALUE, NULL}};
	struct redact_rule target = {"", REDACT_VALUE, NULL};
	struct slice path, key, value;
	struct json_iter it;
	struct buf plain;
	int rc = json_iter_begin(operation, &it, w->err);

	buf_init(&plain, operation.len + 1);
	if (json_get(operation, "path", &path, NULL) > 0 && json_unescape(path, &plain, NULL) == 0)
		target = rule_at(buf_slice(&plain), rules);
	while (rc == 0 && (rc = json_iter_next(&it, &key, &value, w->err)) > 0) {
		const struct redact_rule *rule = redact_rule_find(names, key);

		if (!rule && json_text_is(key, "value"))
			rule = &target;
		rc = redact_by_rule(w, value, rule ? rule->what : REDACT_VALUE, rule ? rule->inside : NULL);
	}
	buf_release(&plain);
	return rc;
}

static int redact_patch(struct redact_walk *w, struct slice patch, const struct redact_rule *rules)
{
	struct json_iter it;
	struct slice key, operation;
	int rc = json_iter_begin(patch, &it, w->err);

	while (rc == 0 && (rc = json_iter_next(&it, &key, &operation, w->err)) > 0) {
		bool is_object = operation.len && operation.ptr[0] == '{';

		rc = is_object ? redact_operation(w, operation, rules)
			       : redact_by_rule(w, operation, REDACT_VALUE, NULL);
	}
	return rc ? rc : redact_copy_until(w, patch.ptr + patch.len);
}

/* ---- bodies ---- */

static const struct redact_rule *rules_of(struct slice json)
{
	struct object_meta meta;

	if (json_scan_object(json, &meta, NULL))
		return NULL;
	return redact_rules_of_kind(meta.api_version, meta.kind);
}

/* Items of a List may be of any kind. */
static int redact_items(struct redact_walk *w, struct slice list)
{
	struct json_iter it;
	struct slice items, key, item;
	int rc = json_get(list, "items", &items, w->err);

	if (rc <= 0 || items.ptr[0] != '[')
		return rc < 0 ? rc : 0;
	rc = json_iter_begin(items, &it, w->err);
	while (rc == 0 && (rc = json_iter_next(&it, &key, &item, w->err)) > 0) {
		const struct redact_rule *rules = rules_of(item);

		rc = rules ? redact_by_rule(w, item, REDACT_INSIDE, rules) : 0;
	}
	return rc;
}

/* A body for a resource that has no secrets, and that is no Secret by its own words. */
static int redact_other(struct redact_walk *w, struct slice body)
{
	static const char word[] = "Secret";
	struct object_meta meta;
	int rc = 0;

	if (json_scan_object(body, &meta, NULL) == 0) {
		if (json_text_is(meta.kind, "List"))
			rc = redact_items(w, body);
	} else if (!body.len || body.ptr[0] != '[') { /* no JSON: YAML, or nothing that a server would take */
		rc = body.len && memmem(body.ptr, body.len, word, sizeof(word) - 1) ? ERR_PROTOCOL : 0;
	}
	return rc ? rc : redact_copy_until(w, body.ptr + body.len);
}

/* What cannot be read, decoded or allowed is quoted in the answer, in whole or in part. */
static int redact_status(struct redact_walk *w, struct slice status)
{
	struct slice code = {NULL, 0};
	bool quotes = json_get(status, "code", &code, NULL) <= 0 || slice_is(code, "400") ||
		      slice_is(code, "422") || slice_is(code, "500");

	return quotes ? redact_object(w, status, redact_refusal_rules)
		      : redact_copy_until(w, status.ptr + status.len);
}

static int redact_body(struct redact_walk *w, struct slice body, const struct redact_rule *rules, bool secret)
{
	char first = body.len ? body.ptr[0] : 0;

	if ((rules || secret) && is_status(w->redactor, body))
		return redact_status(w, body);
	if (!rules)
		return redact_other(w, body);
	if (first == '[')
		return redact_patch(w, body, rules);
	return first == '{' ? redact_object(w, body, rules) : ERR_PROTOCOL;
}

int redactor_body(struct redactor *r, const struct redact_target *target, struct slice body, struct buf *to,
	struct err *err)
{
	static const char redacted[] = "\"redacted\"";
	const struct redact_rule *rules =
		redact_rules_of_resource(target->group, target->resource, target->subresource);
	struct slice json = json_trim(body);
	struct redact_walk w = {.redactor = r, .at = body.ptr, .to = to};
	size_t before = to->len;

	int rc = redact_body(&w, json, rules ? rules : rules_of(json), target->secret);

	if (rc == 0)
		rc = redact_copy_until(&w, body.ptr + body.len);
	if (rc == 0)
		return w.replaced > 0;
	to->len = before;
	rc = buf_append(to, redacted, strlen(redacted), err);
	return rc ? rc : 1;
}
