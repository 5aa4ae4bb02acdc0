/*
 * redact_annotation.c: see redact_internal.h. Programs that apply objects keep what they applied in an
 * annotation: as JSON, as YAML, compressed in base64. The well-known ones are named; of all others the text
 * decides.
 */
#include "schema/base/count_of.h"
#include "schema/base/json_scan.h"
#include "schema/tape/redact_internal.h"

#include <ctype.h>
#include <stdlib.h>

#define MAX_NESTING  4  /* JSON in strings of JSON; deeper than that nobody looks */
#define OPAQUE_BYTES 40 /* a mixture of letters and digits that is longer is no name */

/* '*' at the end stands for anything. */
static const struct {
	const char *name;
	enum redact_annotation what;
} named[] = {
	{"kubectl.kubernetes.io/last-applied-configuration", REDACT_ANNOTATION_OBJECT},
	{"app.oam.dev/last-applied-configuration", REDACT_ANNOTATION_OBJECT},
	{"kapp.k14s.io/original", REDACT_ANNOTATION_OBJECT},
	{"kapp.k14s.io/original-diff*", REDACT_ANNOTATION_VALUE}, /* and the MD5 of it */
	{"kopf.zalando.org/last-handled-configuration", REDACT_ANNOTATION_OBJECT},
	{"objectset.rio.cattle.io/applied", REDACT_ANNOTATION_VALUE},
	{"banzaicloud.com/last-applied", REDACT_ANNOTATION_VALUE},
	{"openshift.io/token-secret.value", REDACT_ANNOTATION_VALUE},
};

static bool matches(struct slice name, const char *pattern)
{
	size_t len = strlen(pattern);

	if (pattern[len - 1] == '*')
		return name.len >= len - 1 && memcmp(name.ptr, pattern, len - 1) == 0;
	return slice_is(name, pattern);
}

/* ---- what JSON says ---- */

static bool says_data(struct slice text)
{
	return slice_is(text, "data") || slice_is(text, "stringData") || slice_begins(text, "/data") ||
	       slice_begins(text, "/stringData");
}

static bool may_hold_data(struct slice text, unsigned nesting);

/* One string of the JSON, as it stands between its quotes: a key, a path of a patch, JSON again. */
static bool is_suspicious(struct slice string, unsigned nesting)
{
	struct buf plain;
	bool found;

	if (!memchr(string.ptr, '\\', string.len))
		return says_data(string) || may_hold_data(string, nesting + 1);
	buf_init(&plain, string.len + 1);
	found = json_unescape(string, &plain, NULL) || says_data(buf_slice(&plain)) ||
		may_hold_data(buf_slice(&plain), nesting + 1);
	buf_release(&plain);
	return found;
}

/* Where the string ends that begins at `at`, after its quote; NULL if it does not. */
static const char *string_end(const char *at, const char *end)
{
	for (; at < end; at++) {
		if (*at == '"')
			return at;
		if (*at == '\\')
			at++;
	}
	return NULL;
}

/* Looks at strings only: what is cut off or is no JSON is looked at just the same. */
static bool has_suspicious_string(struct slice json, unsigned nesting)
{
	const char *at = json.ptr, *end = json.ptr + json.len;

	while ((at = memchr(at, '"', (size_t)(end - at)))) {
		const char *close = string_end(++at, end);

		if (!close || is_suspicious((struct slice){at, (size_t)(close - at)}, nesting))
			return true;
		at = close + 1;
	}
	return false;
}

/* ---- what other text says ---- */

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* "data:" as a key of YAML, with or without quotes. */
static bool has_key(struct slice text, const char *key)
{
	const char *at = text.ptr, *end = text.ptr + text.len;
	size_t len = strlen(key);

	while ((at = memmem(at, (size_t)(end - at), key, len))) {
		const char *next = at + len;

		if (at == text.ptr || !is_word_char(at[-1])) {
			while (next < end && (*next == '"' || *next == '\'' || *next == ' ' || *next == '\t'))
				next++;
			if (next < end && *next == ':')
				return true;
		}
		at += len;
	}
	return false;
}

/* Base64, a token, something compressed: no words, no blanks, letters of both cases and digits. */
static bool is_opaque(struct slice text)
{
	bool lower = false, upper = false, digit = false;

	if (slice_begins(text, "H4sI")) /* gzip */
		return true;
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];

		if (!isalnum(c) && (!c || !strchr("+/=_-.\r\n", c)))
			return false;
		lower |= islower(c) != 0;
		upper |= isupper(c) != 0;
		digit |= isdigit(c) != 0;
	}
	return text.len >= OPAQUE_BYTES && lower && upper && digit;
}

static bool may_hold_data(struct slice text, unsigned nesting)
{
	text = json_trim(text);
	if (text.len < 4)
		return false;
	if (text.ptr[0] == '{' || text.ptr[0] == '[')
		return nesting > MAX_NESTING || has_suspicious_string(text, nesting) ||
		       has_key(text, "data") || has_key(text, "stringData");
	return has_key(text, "data") || has_key(text, "stringData") || is_opaque(text);
}

static enum redact_annotation rule_of_name(struct slice name, struct slice text)
{
	for (size_t i = 0; i < COUNT_OF(named); i++) {
		if (matches(name, named[i].name))
			return named[i].what;
	}
	return may_hold_data(text, 0) ? REDACT_ANNOTATION_VALUE : REDACT_ANNOTATION_STAYS;
}

enum redact_annotation redact_annotation_rule(struct slice name, struct slice text)
{
	enum redact_annotation rule = REDACT_ANNOTATION_VALUE;
	struct buf plain;

	buf_init(&plain, name.len + 1);
	if (json_unescape(name, &plain, NULL) == 0)
		rule = rule_of_name(buf_slice(&plain), text);
	buf_release(&plain);
	return rule;
}
