/* json_compact.c: see json_compact.h. One loop, no recursion: the open brackets are on a stack of bytes. */
#include "schema/base/json_compact.h"

#include "schema/base/count_of.h"
#include "schema/base/limits.h"

/* What may come next. */
enum expect {
	EXPECT_VALUE,
	EXPECT_VALUE_OR_END, /* after '[' */
	EXPECT_KEY,
	EXPECT_KEY_OR_END,   /* after '{' */
	EXPECT_COMMA_OR_END, /* after a value inside brackets */
	EXPECT_NOTHING,      /* after the value */
};

struct compact {
	const char *begin, *at, *end;
	struct buf *to; /* NULL: only check */
	struct err *err;
	const char *expected; /* where it is no JSON, which is at `at` */
	enum expect expect;
	unsigned depth;
	char open[LIMIT_JSON_DEPTH]; /* '{' or '[' */
};

static int json_compact_put(struct compact *c, const char *bytes, size_t len)
{
	return c->to ? buf_append(c->to, bytes, len, c->err) : 0;
}

static int bad(struct compact *c, const char *expected)
{
	c->expected = expected;
	return err_set(c->err, ERR_PROTOCOL, "bad JSON at byte %zu: expected %s", (size_t)(c->at - c->begin),
		expected);
}

static void skip_space(struct compact *c)
{
	while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r'))
		c->at++;
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* At a backslash; goes behind the escape. */
static int skip_escape(struct compact *c)
{
	size_t left = (size_t)(c->end - c->at);

	if (left < 2 || !c->at[1] || !strchr("\"\\/bfnrtu", c->at[1]))
		return bad(c, "an escape");
	if (c->at[1] != 'u') {
		c->at += 2;
		return 0;
	}
	for (size_t i = 2; i < 6; i++) {
		if (i >= left || !is_hex(c->at[i]))
			return bad(c, "four hexadecimal digits");
	}
	c->at += 6;
	return 0;
}

/* How many bytes at `at` are written as an escape, and which; 0 for none. */
static size_t unsafe_bytes(const char *at, const char *end, const char **ret_escape)
{
	static const char separator[] = "\xe2\x80";

	switch (*at) {
	case '<': *ret_escape = "\\u003c"; return 1;
	case '>': *ret_escape = "\\u003e"; return 1;
	case '&': *ret_escape = "\\u0026"; return 1;
	default: break;
	}
	if (end - at < 3 || memcmp(at, separator, 2) != 0 || (at[2] & ~1) != (char)0xa8)
		return 0;
	*ret_escape = at[2] == (char)0xa8 ? "\\u2028" : "\\u2029";
	return 3;
}

/* At the opening quote. */
static int copy_string(struct compact *c)
{
	const char *plain = c->at++, *escape = NULL;
	size_t unsafe;
	int rc = 0;

	while (rc == 0 && c->at < c->end && *c->at != '"') {
		if ((unsigned char)*c->at < 0x20)
			return bad(c, "no control character inside a string");
		unsafe = unsafe_bytes(c->at, c->end, &escape);
		if (*c->at == '\\') {
			rc = skip_escape(c);
		} else if (unsafe) {
			rc = json_compact_put(c, plain, (size_t)(c->at - plain));
			rc = rc < 0 ? rc : json_compact_put(c, escape, 6);
			plain = c->at += unsafe;
		} else {
			c->at++;
		}
	}
	if (rc == 0 && c->at == c->end)
		return bad(c, "a closing quote");
	if (rc < 0)
		return rc;
	c->at++;
	return json_compact_put(c, plain, (size_t)(c->at - plain));
}

static size_t skip_digits(struct compact *c)
{
	const char *start = c->at;

	while (c->at < c->end && *c->at >= '0' && *c->at <= '9')
		c->at++;
	return (size_t)(c->at - start);
}

static int copy_number(struct compact *c)
{
	const char *start = c->at;

	if (*c->at == '-')
		c->at++;
	if (c->at < c->end && *c->at == '0')
		c->at++;
	else if (skip_digits(c) == 0)
		return bad(c, "a digit");
	if (c->at < c->end && *c->at == '.') {
		c->at++;
		if (skip_digits(c) == 0)
			return bad(c, "a digit");
	}
	if (c->at < c->end && (*c->at == 'e' || *c->at == 'E')) {
		c->at++;
		if (c->at < c->end && (*c->at == '+' || *c->at == '-'))
			c->at++;
		if (skip_digits(c) == 0)
			return bad(c, "a digit");
	}
	return json_compact_put(c, start, (size_t)(c->at - start));
}

static int copy_word(struct compact *c)
{
	static const char *const words[] = {"true", "false", "null"};

	for (size_t i = 0; i < COUNT_OF(words); i++) {
		size_t len = strlen(words[i]);

		if ((size_t)(c->end - c->at) < len || memcmp(c->at, words[i], len) != 0)
			continue;
		c->at += len;
		return json_compact_put(c, words[i], len);
	}
	return bad(c, "a value");
}

static int open_bracket(struct compact *c)
{
	if (c->depth == LIMIT_JSON_DEPTH)
		return err_set(c->err, ERR_TOO_LARGE, "JSON nests deeper than %d", LIMIT_JSON_DEPTH);
	c->open[c->depth++] = *c->at;
	c->expect = *c->at == '{' ? EXPECT_KEY_OR_END : EXPECT_VALUE_OR_END;
	return json_compact_put(c, c->at++, 1);
}

static int close_bracket(struct compact *c)
{
	c->depth--;
	c->expect = c->depth ? EXPECT_COMMA_OR_END : EXPECT_NOTHING;
	return json_compact_put(c, c->at++, 1);
}

static int copy_value(struct compact *c)
{
	if (*c->at == '{' || *c->at == '[')
		return open_bracket(c);
	c->expect = c->depth ? EXPECT_COMMA_OR_END : EXPECT_NOTHING;
	if (*c->at == '"')
		return copy_string(c);
	if (*c->at == '-' || (*c->at >= '0' && *c->at <= '9'))
		return copy_number(c);
	return copy_word(c);
}

static int copy_key(struct compact *c)
{
	int rc;

	if (*c->at != '"')
		return bad(c, "a key");
	rc = copy_string(c);
	if (rc < 0)
		return rc;
	skip_space(c);
	if (c->at == c->end || *c->at != ':')
		return bad(c, "a colon");
	c->at++;
	c->expect = EXPECT_VALUE;
	return json_compact_put(c, ":", 1);
}

static int copy_comma(struct compact *c)
{
	if (*c->at != ',')
		return bad(c, c->open[c->depth - 1] == '{' ? "',' or '}'" : "',' or ']'");
	c->expect = c->open[c->depth - 1] == '{' ? EXPECT_KEY : EXPECT_VALUE;
	return json_compact_put(c, c->at++, 1);
}

static bool may_end(enum expect expect)
{
	return expect == EXPECT_VALUE_OR_END || expect == EXPECT_KEY_OR_END || expect == EXPECT_COMMA_OR_END;
}

/* At a byte that is no white space. */
static int json_compact_step(struct compact *c)
{
	if (may_end(c->expect) && *c->at == (c->open[c->depth - 1] == '{' ? '}' : ']'))
		return close_bracket(c);
	switch (c->expect) {
	case EXPECT_VALUE:
	case EXPECT_VALUE_OR_END: return copy_value(c);
	case EXPECT_KEY:
	case EXPECT_KEY_OR_END: return copy_key(c);
	case EXPECT_COMMA_OR_END: return copy_comma(c);
	case EXPECT_NOTHING: break;
	}
	return bad(c, "the end");
}

static int json_compact_run(struct compact *c, struct slice json, struct buf *to, struct err *err)
{
	int rc = 0;

	c->begin = c->at = json.ptr ? json.ptr : "";
	c->end = c->at + json.len;
	c->to = to;
	c->err = err;
	c->expected = NULL;
	c->expect = EXPECT_VALUE;
	c->depth = 0;
	for (skip_space(c); rc == 0 && c->at < c->end; skip_space(c))
		rc = json_compact_step(c);
	if (rc == 0 && c->expect != EXPECT_NOTHING)
		return bad(c, "more");
	return rc;
}

int json_compact(struct slice json, struct buf *to, struct err *err)
{
	struct compact c;

	return json_compact_run(&c, json, to, err);
}

int json_check(struct slice json, size_t *ret_at, const char **ret_expected)
{
	struct compact c;
	int rc = json_compact_run(&c, json, NULL, NULL);

	if (rc < 0) {
		*ret_at = (size_t)(c.at - c.begin);
		*ret_expected = c.expected ? c.expected : "fewer brackets inside each other";
	}
	return rc;
}
