/* go_json.c: see go_json.h. A descent over the grammar, whose steps are those of Go's scanner. */
#include "replayer/json/go_json.h"

#include <stdio.h>
#include <stdlib.h>

#define DEPTH_MAX 10000

struct scan {
	const char *at, *end;
	unsigned depth;
	char *problem;
};

const char *go_json_type(const cJSON *value)
{
	return cJSON_IsString(value)                         ? "string"
	       : cJSON_IsNumber(value) || cJSON_IsRaw(value) ? "number"
	       : cJSON_IsBool(value)                         ? "bool"
	       : cJSON_IsArray(value)                        ? "array"
							     : "object";
}

/* The byte as a character of Latin 1, as Go quotes it. */
static char *quote_byte(unsigned char c)
{
	static const char escapes[] = "\a"
				      "a"
				      "\b"
				      "b"
				      "\f"
				      "f"
				      "\n"
				      "n"
				      "\r"
				      "r"
				      "\t"
				      "t"
				      "\v"
				      "v"
				      "\\\\";

	for (const char *e = escapes; *e; e += 2) {
		if ((unsigned char)*e == c)
			return xasprintf("'\\%c'", e[1]);
	}
	if (c == '\'')
		return xstrdup("'\\''");
	if (c < 0x20 || c == 0x7f)
		return xasprintf("'\\x%02x'", c);
	if (c < 0x80)
		return xasprintf("'%c'", c);
	if (c < 0xa1 || c == 0xad)
		return xasprintf("'\\u%04x'", c);
	return xasprintf("'%c%c'", 0xc0 | c >> 6, 0x80 | (c & 0x3f));
}

/* Keeps the problem with the byte at hand, or that there is none; returns false. */
static bool go_json_complain(struct scan *s, const char *context)
{
	char *byte;

	if (s->at == s->end) {
		s->problem = xstrdup("unexpected end of JSON input");
		return false;
	}
	byte = quote_byte((unsigned char)*s->at);
	s->problem = xasprintf("invalid character %s %s", byte, context);
	free(byte);
	return false;
}

static void skip_space(struct scan *s)
{
	while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\r' || *s->at == '\n'))
		s->at++;
}

static bool is_at(const struct scan *s, const char *characters)
{
	return s->at < s->end && *s->at && strchr(characters, *s->at);
}

#define DIGITS "0123456789"

static bool skip_digits(struct scan *s, const char *context)
{
	if (!is_at(s, DIGITS))
		return go_json_complain(s, context);
	while (is_at(s, DIGITS))
		s->at++;
	return true;
}

static bool scan_number(struct scan *s)
{
	if (is_at(s, "-"))
		s->at++;
	if (is_at(s, "0"))
		s->at++;
	else if (!skip_digits(s, "in numeric literal"))
		return false;
	if (is_at(s, ".")) {
		s->at++;
		if (!skip_digits(s, "after decimal point in numeric literal"))
			return false;
	}
	if (!is_at(s, "eE"))
		return true;
	s->at++;
	if (is_at(s, "+-"))
		s->at++;
	return skip_digits(s, "in exponent of numeric literal");
}

static bool scan_escape(struct scan *s)
{
	s->at++;
	if (is_at(s, "bfnrt\\/\"")) {
		s->at++;
		return true;
	}
	if (!is_at(s, "u"))
		return go_json_complain(s, "in string escape code");
	s->at++;
	for (int i = 0; i < 4; i++, s->at++) {
		if (!is_at(s, DIGITS "abcdefABCDEF"))
			return go_json_complain(s, "in \\u hexadecimal character escape");
	}
	return true;
}

static bool scan_string(struct scan *s)
{
	s->at++;
	while (s->at < s->end && *s->at != '"') {
		if (*s->at == '\\') {
			if (!scan_escape(s))
				return false;
		} else if ((unsigned char)*s->at < 0x20) {
			return go_json_complain(s, "in string literal");
		} else {
			s->at++;
		}
	}
	if (s->at == s->end)
		return go_json_complain(s, "");
	s->at++;
	return true;
}

static bool scan_literal(struct scan *s, const char *word)
{
	char context[64];

	for (const char *c = word; *c; c++, s->at++) {
		if (s->at < s->end && *s->at == *c)
			continue;
		snprintf(context, sizeof(context), "in literal %s (expecting '%c')", word, *c);
		return go_json_complain(s, context);
	}
	return true;
}

static bool scan_value(struct scan *s);

/* After a value: true with a comma behind, false at the end or after a problem. */
static bool goes_on(struct scan *s, char close, const char *context)
{
	skip_space(s);
	if (s->at < s->end && *s->at == close) {
		s->at++;
		return false;
	}
	if (!is_at(s, ","))
		return go_json_complain(s, context);
	s->at++;
	skip_space(s);
	return true;
}

static bool scan_member(struct scan *s)
{
	if (!is_at(s, "\""))
		return go_json_complain(s, "looking for beginning of object key string");
	if (!scan_string(s))
		return false;
	skip_space(s);
	if (!is_at(s, ":"))
		return go_json_complain(s, "after object key");
	s->at++;
	return scan_value(s);
}

static bool scan_object(struct scan *s)
{
	s->at++;
	skip_space(s);
	if (is_at(s, "}")) {
		s->at++;
		return true;
	}
	do {
		if (!scan_member(s))
			return false;
	} while (goes_on(s, '}', "after object key:value pair"));
	return !s->problem;
}

static bool scan_array(struct scan *s)
{
	s->at++;
	skip_space(s);
	if (is_at(s, "]")) {
		s->at++;
		return true;
	}
	do {
		if (!scan_value(s))
			return false;
	} while (goes_on(s, ']', "after array element"));
	return !s->problem;
}

static bool scan_nested(struct scan *s)
{
	bool good;

	if (++s->depth > DEPTH_MAX) {
		s->problem = xstrdup("exceeded max depth");
		return false;
	}
	good = *s->at == '{' ? scan_object(s) : scan_array(s);
	s->depth--;
	return good;
}

static bool scan_value(struct scan *s)
{
	skip_space(s);
	if (is_at(s, "{["))
		return scan_nested(s);
	if (is_at(s, "\""))
		return scan_string(s);
	if (is_at(s, "-" DIGITS))
		return scan_number(s);
	if (is_at(s, "t"))
		return scan_literal(s, "true");
	if (is_at(s, "f"))
		return scan_literal(s, "false");
	if (is_at(s, "n"))
		return scan_literal(s, "null");
	return go_json_complain(s, "looking for beginning of value");
}

char *go_json_problem(struct slice text)
{
	struct scan s = {.at = text.ptr, .end = text.ptr + text.len};

	if (!scan_value(&s))
		return s.problem;
	skip_space(&s);
	if (s.at < s.end)
		go_json_complain(&s, "after top-level value");
	return s.problem;
}
