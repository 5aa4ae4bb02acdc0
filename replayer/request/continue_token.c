/* continue_token.c: see continue_token.h. */
#include "replayer/request/continue_token.h"

#include "schema/base/json_scan.h"
#include "schema/base/limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define VERSION "meta.k8s.io/v1"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static int decode_base64(struct slice text, struct buf *to, struct err *err)
{
	uint32_t bits = 0;
	unsigned have = 0;

	for (size_t i = 0; i < text.len; i++) {
		const char *at = text.ptr[i] ? strchr(alphabet, text.ptr[i]) : NULL;
		char byte;

		if (!at)
			return err_set(err, ERR_PROTOCOL,
				"continue key is not valid: illegal base64 data at input byte %zu", i);
		bits = bits << 6 | (uint32_t)(at - alphabet);
		have += 6;
		if (have < 8)
			continue;
		have -= 8;
		byte = (char)(bits >> have);
		if (buf_append(to, &byte, 1, err))
			return ERR_PROTOCOL;
	}
	if (text.len % 4 == 1)
		return err_set(err, ERR_PROTOCOL,
			"continue key is not valid: illegal base64 data at input byte %zu", text.len - 1);
	return 0;
}

static char *encode_base64(struct slice bytes)
{
	char *text = xmalloc(bytes.len * 4 / 3 + 4), *at = text;
	uint32_t bits = 0;
	unsigned have = 0;

	for (size_t i = 0; i < bytes.len; i++) {
		bits = bits << 8 | (unsigned char)bytes.ptr[i];
		for (have += 8; have >= 6; have -= 6)
			*at++ = alphabet[bits >> (have - 6) & 63];
	}
	if (have)
		*at++ = alphabet[bits << (6 - have) & 63];
	*at = 0;
	return text;
}

/* True when no segment of the key is empty, "." or "..": nothing may lead out of the collection. */
static bool is_clean(struct slice key)
{
	while (key.len) {
		const char *slash = memchr(key.ptr, '/', key.len);
		size_t len = slash ? (size_t)(slash - key.ptr) : key.len;
		struct slice segment = {key.ptr, len};

		if (len == 0 || slice_is(segment, ".") || slice_is(segment, ".."))
			return false;
		if (slash && len + 1 == key.len)
			return false;
		key = (struct slice){key.ptr + len + (slash ? 1 : 0), key.len - len - (slash ? 1 : 0)};
	}
	return true;
}

static int parse_key(struct slice start, struct continue_token *ret, struct err *err)
{
	struct buf key;
	struct slice rest;
	int rc;

	buf_init(&key, LIMIT_REQUEST_HEAD_BYTES);
	rc = json_unescape(start, &key, err);
	rest = buf_slice(&key);
	if (rc == 0 && rest.len == 0)
		rc = err_set(err, ERR_PROTOCOL,
			"continue key is not valid: encoded start key empty (version meta.k8s.io/v1)");
	if (rc == 0 && rest.ptr[0] == '/')
		rest = (struct slice){rest.ptr + 1, rest.len - 1};
	if (rc == 0 && (rest.len == 0 || !is_clean(rest)))
		rc = err_set(err, ERR_PROTOCOL, "continue key is not valid: %.*s", (int)key.len, key.ptr);
	if (rc == 0) {
		ret->key = slice_dup(rest);
		ret->key_len = rest.len;
	}
	buf_release(&key);
	return rc;
}

static int parse_rv(struct slice json, int64_t *ret, struct err *err)
{
	struct slice value;
	char digits[32], *end;

	if (json_get(json, "rv", &value, NULL) <= 0 || value.len >= sizeof(digits))
		value = slice_of("0");
	memcpy(digits, value.ptr, value.len);
	digits[value.len] = 0;
	errno = 0;
	*ret = strtoll(digits, &end, 10);
	if (*end || errno)
		return err_set(err, ERR_PROTOCOL,
			"continue key is not valid: json: cannot unmarshal %s into Go struct field "
			"continueToken.rv of type int64",
			value.ptr[0] == '"' ? "string" : "number");
	if (*ret == 0)
		return err_set(err, ERR_PROTOCOL,
			"continue key is not valid: incorrect encoded start resourceVersion (version "
			"meta.k8s.io/v1)");
	return 0;
}

/* Characters are named as Go quotes them. */
static int bad_beginning(unsigned char c, struct err *err)
{
	bool printable = c >= 0x20 && c < 0x7f, escaped = c == '\'' || c == '\\';
	char name[8];

	if (printable)
		snprintf(name, sizeof(name), "%s%c", escaped ? "\\" : "", c);
	else
		snprintf(name, sizeof(name), "\\x%02x", c);
	return err_set(err, ERR_PROTOCOL,
		"continue key is not valid: invalid character '%s' looking for beginning of value", name);
}

static int parse_json(struct slice json, struct continue_token *ret, struct err *err)
{
	static const char beginnings[] = "{[\"-0123456789tfn \t\r\n";
	struct slice version, start;
	struct json_iter it;
	bool is_null = slice_is(json, "null"); /* which leaves all members empty */
	int rc = json_iter_begin(json, &it, NULL);

	if (json.len && !is_null && !memchr(beginnings, json.ptr[0], strlen(beginnings)))
		return bad_beginning((unsigned char)json.ptr[0], err);
	if (!is_null && (rc || !it.is_object))
		return err_set(err, ERR_PROTOCOL, "continue key is not valid: unexpected end of JSON input");
	if (is_null || json_get(json, "v", &version, NULL) <= 0)
		version = slice_of("\"\"");
	if (!slice_is(version, "\"" VERSION "\""))
		return err_set(err, ERR_PROTOCOL,
			"continue key is not valid: server does not recognize this encoded version %.*s",
			version.len >= 2 ? (int)version.len - 2 : 0, version.ptr + 1);
	if (json_get(json, "start", &start, NULL) <= 0)
		start = slice_of("\"\"");
	rc = parse_rv(json, &ret->rv, err);
	return rc ? rc : parse_key(start, ret, err);
}

int continue_token_parse(struct slice text, struct continue_token *ret, struct err *err)
{
	struct buf json;
	int rc;

	*ret = (struct continue_token){0};
	buf_init(&json, LIMIT_REQUEST_HEAD_BYTES);
	rc = decode_base64(text, &json, err);
	if (rc == 0)
		rc = parse_json(buf_slice(&json), ret, err);
	buf_release(&json);
	return rc;
}

void continue_token_release(struct continue_token *t)
{
	free(t->key);
	*t = (struct continue_token){0};
}

char *continue_token_make(int64_t rv, struct slice last_key, bool slash)
{
	char *json = xasprintf("{\"v\":\"" VERSION "\",\"rv\":%lld,\"start\":\"%s%.*s\\u0000\"}",
		(long long)rv, slash ? "/" : "", (int)last_key.len, last_key.ptr);
	char *token = encode_base64(slice_of(json));

	free(json);
	return token;
}
