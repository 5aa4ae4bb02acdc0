/*
 * fuzz_json_scan.c: the scanner. Both engines give the same answer to every input, down to the words of an
 * error. Where the input is JSON by the grammar's letter (a small reader below decides), it is read, and as
 * cJSON reads it.
 */
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "tests/fuzz/fuzz.h"

#include <cjson/cJSON.h>

/* The grammar's letter: returns what follows the value, NULL when it is none. */
static const char *read_value(const char *at, const char *end, unsigned depth);

static const char *read_spaces(const char *at, const char *end)
{
	while (at && at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
		at++;
	return at;
}

static const char *read_string(const char *at, const char *end)
{
	if (at == end || *at++ != '"')
		return NULL;
	for (; at < end; at++) {
		if (*at == '"')
			return at + 1;
		if ((unsigned char)*at < 0x20)
			return NULL;
		if (*at != '\\')
			continue;
		if (++at == end || !memchr("\"\\/bfnrtu", *at, 9))
			return NULL;
		for (int i = 0; *at == 'u' && i < 4; i++) {
			if (end - at <= i + 1 || !memchr("0123456789abcdefABCDEF", at[i + 1], 22))
				return NULL;
		}
	}
	return NULL;
}

static const char *read_digits(const char *at, const char *end)
{
	const char *start = at;

	while (at < end && *at >= '0' && *at <= '9')
		at++;
	return at == start ? NULL : at;
}

static const char *read_number(const char *at, const char *end)
{
	if (at < end && *at == '-')
		at++;
	at = at < end && *at == '0' ? at + 1 : read_digits(at, end);
	if (at && at < end && *at == '.')
		at = read_digits(at + 1, end);
	if (at && at < end && (*at == 'e' || *at == 'E')) {
		at++;
		at = read_digits(at < end && (*at == '+' || *at == '-') ? at + 1 : at, end);
	}
	return at;
}

static const char *read_container(const char *at, const char *end, unsigned depth)
{
	char close = *at == '{' ? '}' : ']';

	at = read_spaces(at + 1, end);
	if (at < end && *at == close)
		return at + 1;
	while (at && at < end) {
		if (close == '}') {
			at = read_spaces(read_string(at, end), end);
			if (!at || at == end || *at++ != ':')
				return NULL;
		}
		at = read_value(at, end, depth);
		if (!at || at == end || (*at != ',' && *at != close))
			return NULL;
		if (*at == close)
			return at + 1;
		at = read_spaces(at + 1, end);
	}
	return NULL;
}

static const char *read_value(const char *at, const char *end, unsigned depth)
{
	at = read_spaces(at, end);
	if (at == end)
		return NULL;
	if (*at == '{' || *at == '[')
		at = depth < LIMIT_JSON_DEPTH ? read_container(at, end, depth + 1) : NULL;
	else if (*at == '"')
		at = read_string(at, end);
	else if (end - at >= 4 && (memcmp(at, "true", 4) == 0 || memcmp(at, "null", 4) == 0))
		at += 4;
	else if (end - at >= 5 && memcmp(at, "false", 5) == 0)
		at += 5;
	else
		at = read_number(at, end);
	return read_spaces(at, end);
}

/* What one engine says to everything that can be asked. */
struct answers {
	int frame_rc, object_rc, list_rc, get_rc, count;
	struct err frame_err, object_err, list_err, get_err, walk_err;
	struct watch_frame frame;
	struct object_meta object;
	struct list_page list;
	struct slice got;
};

/* Returns the number of values, or a negative code. */
static int walk(struct slice json, struct err *err)
{
	struct json_iter it;
	struct slice key, value;
	int rc = json_iter_begin(json, &it, err), count = 0;

	while (rc >= 0 && (rc = json_iter_next(&it, &key, &value, err)) > 0)
		count++;
	return rc < 0 ? rc : count;
}

static void ask(int engine, struct slice json, struct answers *ret)
{
	memset(ret, 0, sizeof(*ret)); /* compared bytewise */
	json_scan_engine(engine);
	ret->frame_rc = json_scan_frame(json, &ret->frame, &ret->frame_err);
	ret->object_rc = json_scan_object(json, &ret->object, &ret->object_err);
	ret->list_rc = json_scan_list(json, &ret->list, &ret->list_err);
	ret->get_rc = json_get(json, "$.metadata.labels['a.b/c']", &ret->got, &ret->get_err);
	ret->count = walk(json, &ret->walk_err);
}

static const cJSON *last_member(const cJSON *object, const char *name)
{
	const cJSON *found = NULL, *member;

	if (!cJSON_IsObject(object))
		return NULL;
	cJSON_ArrayForEach(member, object)
	{
		if (strcmp(member->string, name) == 0)
			found = member;
	}
	return found;
}

static void same_text(struct slice raw, const cJSON *object, const char *name)
{
	const cJSON *member = last_member(object, name);
	struct buf text;

	fuzz_demand((raw.ptr != NULL) == (cJSON_IsString(member) != 0));
	if (!raw.ptr)
		return;
	buf_init(&text, 2 * raw.len + 16);
	fuzz_demand(json_unescape(raw, &text, NULL) == 0);
	fuzz_demand(slice_is(buf_slice(&text), member->valuestring));
	buf_release(&text);
}

static void same_object(const struct object_meta *meta, const cJSON *tree)
{
	const cJSON *metadata = last_member(tree, "metadata");

	same_text(meta->kind, tree, "kind");
	same_text(meta->api_version, tree, "apiVersion");
	same_text(meta->namespace, metadata, "namespace");
	same_text(meta->name, metadata, "name");
	same_text(meta->uid, metadata, "uid");
	same_text(meta->rv, metadata, "resourceVersion");
	same_text(meta->creation_timestamp, metadata, "creationTimestamp");
}

/* cJSON refuses lone surrogates and ends texts at \u0000: such documents are left to the engines alone. */
static void compare_with_cjson(struct slice json, const struct answers *a)
{
	cJSON *tree =
		memmem(json.ptr, json.len, "\\u0000", 6) ? NULL : cJSON_ParseWithLength(json.ptr, json.len);
	const cJSON *items = last_member(tree, "items");
	bool is_object = cJSON_IsObject(tree), has_items = cJSON_IsArray(items);

	if (!tree)
		return;
	fuzz_demand((a->object_rc == 0) == is_object);
	if (a->object_rc == 0)
		same_object(&a->object, tree);
	fuzz_demand((a->frame_rc == 0) == (cJSON_IsString(last_member(tree, "type")) &&
						  cJSON_IsObject(last_member(tree, "object"))));
	if (a->frame_rc == 0) {
		same_text(a->frame.type, tree, "type");
		same_object(&a->frame.meta, last_member(tree, "object"));
	}
	fuzz_demand((a->list_rc == 0) == (is_object && (!items || has_items || cJSON_IsNull(items))));
	if (a->list_rc == 0) {
		fuzz_demand((a->list.items.ptr != NULL) == has_items);
		same_text(a->list.rv, last_member(tree, "metadata"), "resourceVersion");
		same_text(a->list.continue_token, last_member(tree, "metadata"), "continue");
	}
	fuzz_demand((a->count >= 0) == (is_object || cJSON_IsArray(tree)));
	if (a->count >= 0)
		fuzz_demand(a->count == cJSON_GetArraySize(tree));
	fuzz_demand((a->get_rc == 1) ==
		    (last_member(last_member(last_member(tree, "metadata"), "labels"), "a.b/c") != NULL));
	cJSON_Delete(tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct slice json = {(const char *)bytes, len};
	struct answers portable, best;
	const char *end = json.ptr + len;

	ask(0, json, &portable);
	ask(1, json, &best);
	fuzz_demand(memcmp(&portable, &best, sizeof(best)) == 0);
	if (len > 0 && read_value(json.ptr, end, 0) == end) {
		fuzz_demand(portable.get_rc >= 0);
		compare_with_cjson(json, &portable);
	}
	return 0;
}
