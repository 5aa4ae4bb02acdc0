/* audit_entry.c: see audit_entry.h. */
#include "tools/audit/audit_entry.h"

#include "schema/base/count_of.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/base/timestamp.h"

#include <stddef.h>
#include <stdlib.h>

#define FIELD_MANAGER_MAX 128 /* bytes; as the server cuts it */

/* Members that are texts, by the object that they are in. */
struct text_member {
	const char *in, *name;
	size_t offset;
};

#define TEXT(in, name, field)                                                                                \
	{                                                                                                    \
		in, name, offsetof(struct audit_entry, field)                                                \
	}
static const struct text_member text_members[] = {
	TEXT("", "auditID", audit_id),
	TEXT("", "stage", stage),
	TEXT("", "verb", verb),
	TEXT("", "userAgent", user_agent),
	TEXT("user", "username", user),
	TEXT("impersonatedUser", "username", impersonated_user),
	TEXT("objectRef", "resource", resource),
	TEXT("objectRef", "namespace", namespace),
	TEXT("objectRef", "name", name),
	TEXT("objectRef", "uid", uid),
	TEXT("objectRef", "apiGroup", apigroup),
	TEXT("objectRef", "resourceVersion", rv),
	TEXT("objectRef", "subresource", subresource),
};

struct raw_entry {
	struct slice api_version, kind, uri, begin, end;
};

void audit_entry_init(struct audit_entry *e)
{
	*e = (struct audit_entry){0};
	buf_init(&e->texts, LIMIT_OBJECT_BYTES);
}

void audit_entry_release(struct audit_entry *e)
{
	buf_release(&e->texts);
}

static bool is_text(struct slice value)
{
	return value.len >= 2 && value.ptr[0] == '"';
}

/* What the value stands for; there is room for it. Empty for what is no text. */
static int take_text(struct audit_entry *e, struct slice value, struct slice *ret, struct err *err)
{
	size_t begin = e->texts.len;
	int rc;

	*ret = (struct slice){"", 0};
	if (!is_text(value))
		return 0;
	if (!memchr(value.ptr, '\\', value.len)) {
		*ret = (struct slice){value.ptr + 1, value.len - 2};
		return 0;
	}
	rc = json_unescape(value, &e->texts, err);
	*ret = (struct slice){e->texts.ptr + begin, e->texts.len - begin};
	return rc;
}

static int take_member(
	struct audit_entry *e, const char *in, struct slice key, struct slice value, struct err *err)
{
	for (size_t i = 0; i < COUNT_OF(text_members); i++) {
		const struct text_member *m = &text_members[i];

		if (strcmp(m->in, in) == 0 && slice_is(key, m->name))
			return take_text(e, value, (struct slice *)((char *)e + m->offset), err);
	}
	return 0;
}

static int take_object(struct audit_entry *e, const char *in, struct slice object, struct err *err)
{
	struct json_iter it;
	struct slice key, value;
	int more, rc = json_iter_begin(object, &it, err);

	while (!rc && (more = json_iter_next(&it, &key, &value, err)) != 0)
		rc = more < 0 ? more : take_member(e, in, key, value, err);
	return rc;
}

/* The one that the request came from; proxies stand after it. */
static int take_source_ip(struct audit_entry *e, struct slice list, struct err *err)
{
	struct slice first;
	int found = json_get(list, "[0]", &first, err);

	return found > 0 ? take_text(e, first, &e->source_ip, err) : found;
}

static int take_code(struct audit_entry *e, struct slice status, struct err *err)
{
	struct slice code;
	int found = json_get(status, "code", &code, err);

	if (found > 0)
		e->code = (int)strtol(code.ptr, NULL, 10); /* a comma or a bracket ends it */
	return found < 0 ? found : 0;
}

static int take_top(
	struct audit_entry *e, struct raw_entry *raw, struct slice key, struct slice value, struct err *err)
{
	static const char *const objects[] = {"user", "impersonatedUser", "objectRef"};

	for (size_t i = 0; i < COUNT_OF(objects); i++) {
		if (slice_is(key, objects[i]) && value.ptr[0] == '{')
			return take_object(e, objects[i], value, err);
	}
	if (slice_is(key, "sourceIPs") && value.ptr[0] == '[')
		return take_source_ip(e, value, err);
	if (slice_is(key, "responseStatus") && value.ptr[0] == '{')
		return take_code(e, value, err);
	if (slice_is(key, "responseObject") && value.ptr[0] == '{')
		e->object = value;
	if (slice_is(key, "requestURI"))
		return take_text(e, value, &raw->uri, err);
	if (slice_is(key, "requestReceivedTimestamp"))
		return take_text(e, value, &raw->begin, err);
	if (slice_is(key, "stageTimestamp"))
		return take_text(e, value, &raw->end, err);
	if (slice_is(key, "kind"))
		return take_text(e, value, &raw->kind, err);
	if (slice_is(key, "apiVersion"))
		return take_text(e, value, &raw->api_version, err);
	return take_member(e, "", key, value, err);
}

/* ---- the request's query ---- */

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

/* Appends what a value of a query stands for; there is room for it. */
static struct slice take_query_value(struct audit_entry *e, struct slice value)
{
	size_t begin = e->texts.len;

	for (size_t i = 0; i < value.len; i++) {
		char c = value.ptr[i] == '+' ? ' ' : value.ptr[i];

		if (c == '%' && i + 2 < value.len && hex_digit(value.ptr[i + 1]) >= 0 &&
			hex_digit(value.ptr[i + 2]) >= 0) {
			c = (char)(16 * hex_digit(value.ptr[i + 1]) + hex_digit(value.ptr[i + 2]));
			i += 2;
		}
		e->texts.ptr[e->texts.len++] = c;
	}
	return (struct slice){e->texts.ptr + begin, e->texts.len - begin};
}

static void take_query(struct audit_entry *e, struct slice uri)
{
	(void)slice_cut(&uri, '?');
	while (uri.ptr) {
		struct slice value = slice_cut(&uri, '&'), name = slice_cut(&value, '=');

		if (slice_is(name, "dryRun"))
			e->dry_run = true;
		else if (slice_is(name, "fieldManager") && value.ptr)
			e->field_manager = take_query_value(e, value);
	}
}

static void choose_field_manager(struct audit_entry *e)
{
	struct slice rest = e->user_agent;

	if (!e->field_manager.len)
		e->field_manager = slice_cut(&rest, '/');
	if (e->field_manager.len > FIELD_MANAGER_MAX)
		e->field_manager.len = FIELD_MANAGER_MAX;
}

/* ---- the whole ---- */

/* A resource that is known by another name, or of another version, is the same: uid and name are what counts. */
static int entry_check(struct audit_entry *e, const struct raw_entry *raw, struct err *err)
{
	if (!slice_is(raw->kind, "Event") || !slice_begins(raw->api_version, "audit.k8s.io/"))
		return err_set(err, ERR_PROTOCOL, "no audit event: apiVersion '%.*s', kind '%.*s'",
			(int)(raw->api_version.len < 80 ? raw->api_version.len : 80), raw->api_version.ptr,
			(int)(raw->kind.len < 80 ? raw->kind.len : 80), raw->kind.ptr);
	if (!e->audit_id.len || !e->verb.len || !timestamp_parse(raw->begin, &e->begin_ns) ||
		!timestamp_parse(raw->end, &e->end_ns))
		return err_set(err, ERR_PROTOCOL,
			"an audit event without auditID, verb, requestReceivedTimestamp or stageTimestamp");
	return 0;
}

int audit_entry_parse(struct audit_entry *e, struct slice line, struct err *err)
{
	const struct slice none = {"", 0};
	struct raw_entry raw = {none, none, none, none, none};
	struct buf texts = e->texts;
	struct json_iter it;
	struct slice key, value;
	int more, rc = 0;

	*e = (struct audit_entry){.texts = texts, .source_ip = none, .field_manager = none, .object = none};
	for (size_t i = 0; i < COUNT_OF(text_members); i++)
		*(struct slice *)((char *)e + text_members[i].offset) = none;
	buf_clear(&e->texts);
	if (!buf_reserve(&e->texts,
		    2 * line.len + 1)) /* so that nothing moves: no text is longer than its escaped form */
		return err_set(err, ERR_TOO_LARGE, "an audit event of %zu bytes is too long", line.len);
	line = json_trim(line);
	if (!line.len || line.ptr[0] != '{')
		return err_set(err, ERR_PROTOCOL, "no audit event: no JSON object");
	rc = json_iter_begin(line, &it, err);
	while (!rc && (more = json_iter_next(&it, &key, &value, err)) != 0)
		rc = more < 0 ? more : take_top(e, &raw, key, value, err);
	if (!rc)
		rc = entry_check(e, &raw, err);
	if (rc)
		return rc;
	take_query(e, raw.uri);
	choose_field_manager(e);
	return 0;
}
