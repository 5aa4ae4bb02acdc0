/* json_walk.c: see json_walk.h; the engine is chosen here. */
#include "schema/base/json_walk.h"

#include "schema/base/json_scan.h"
#include "schema/base/json_skip.h"
#include "schema/base/limits.h"

#include <endian.h>
#include <stdatomic.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* Chosen at first use. Threads that meet here store the same value. */
static _Atomic(json_skip_fn *) engine;

static json_skip_fn *best_engine(void)
{
	return json_skip_avx2_works() ? json_skip_avx2 : json_skip_portable;
}

static json_skip_fn *current_engine(void)
{
	json_skip_fn *skip = atomic_load_explicit(&engine, memory_order_relaxed);

	if (__builtin_expect(skip == NULL, 0)) {
		skip = best_engine();
		atomic_store_explicit(&engine, skip, memory_order_relaxed);
	}
	return skip;
}

int json_scan_engine(int wanted)
{
	if (wanted >= 0)
		atomic_store_explicit(
			&engine, wanted ? best_engine() : json_skip_portable, memory_order_relaxed);
	return current_engine() == json_skip_portable ? 0 : 1;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

void json_skip_spaces(struct json_cursor *c)
{
	while (c->at < c->end && is_space(*c->at))
		c->at++;
}

/* "bad JSON at byte N: expected ..., found ...". */
static int json_walk_fail(struct json_cursor *c, const char *expected)
{
	size_t offset = (size_t)(c->at - c->begin);

	if (c->at == c->end)
		return err_set(c->err, ERR_PROTOCOL, "bad JSON at byte %zu: expected %s, found the end",
			offset, expected);
	if (*c->at > ' ' && *c->at < 0x7f)
		return err_set(c->err, ERR_PROTOCOL, "bad JSON at byte %zu: expected %s, found '%c'", offset,
			expected, *c->at);
	return err_set(c->err, ERR_PROTOCOL, "bad JSON at byte %zu: expected %s, found byte 0x%02x", offset,
		expected, (unsigned char)*c->at);
}

int json_enter(struct json_cursor *c, char bracket)
{
	if (json_peek(c) != bracket)
		return json_walk_fail(c, bracket == '{' ? "an object" : "an array");
	if (c->depth == LIMIT_JSON_DEPTH)
		return err_set(c->err, ERR_PROTOCOL, "bad JSON at byte %zu: nested deeper than %d",
			(size_t)(c->at - c->begin), LIMIT_JSON_DEPTH);
	c->at++;
	c->depth++;
	return 0;
}

/* The first quote or backslash, many bytes at a time; end when there is none. */
#if defined(__SSE2__)
static inline const char *find_quote_or_backslash(const char *at, const char *end)
{
	const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');

	for (; end - at >= 16; at += 16) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
		__m128i hits = _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash));
		int bits = _mm_movemask_epi8(hits);

		if (bits)
			return at + __builtin_ctz((unsigned)bits);
	}
	while (at < end && *at != '"' && *at != '\\')
		at++;
	return at;
}
#else
/* Bytes of the word that equal `byte` get their high bit set; so may bytes above the lowest such. */
static inline uint64_t equal_high_bits(uint64_t word, unsigned char byte)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	uint64_t diff = word ^ (ones * byte);

	return (diff - ones) & ~diff & (ones << 7);
}

static inline const char *find_quote_or_backslash(const char *at, const char *end)
{
	for (; end - at >= 8; at += 8) {
		uint64_t word, hits;

		memcpy(&word, at, 8);
		word = le64toh(word);
		hits = equal_high_bits(word, '"') | equal_high_bits(word, '\\');
		if (hits)
			return at + __builtin_ctzll(hits) / 8;
	}
	while (at < end && *at != '"' && *at != '\\')
		at++;
	return at;
}
#endif

/* Where the string ends whose first byte after the quote is `at`: at the closing quote, NULL when there is
 * none. *ret_escaped is set to true when a backslash is met. */
static inline const char *string_end(const char *at, const char *end, bool *ret_escaped)
{
	for (;;) {
		at = find_quote_or_backslash(at, end);
		if (at == end)
			return NULL;
		if (*at == '"')
			return at;
		*ret_escaped = true;
		if (end - at < 2)
			return NULL;
		at += 2;
	}
}

/* Between members: a comma, or nothing before the first. Returns 1 when another one follows. */
static inline int next_element(struct json_cursor *c, bool *first, char bracket, const char *expected)
{
	char found = json_peek(c);

	if (found == bracket) {
		c->at++;
		c->depth--;
		return 0;
	}
	if (*first) {
		*first = false;
		return 1;
	}
	if (found != ',')
		return json_walk_fail(c, expected);
	c->at++;
	/* A bracket after a comma is refused where the value or key is read. */
	return 1;
}

int json_next_member(struct json_cursor *c, bool *first, struct json_key *ret)
{
	int rc = next_element(c, first, '}', "',' or '}'");
	const char *close;

	if (rc <= 0)
		return rc;
	if (json_peek(c) != '"')
		return json_walk_fail(c, "a key");
	ret->escaped = false;
	close = string_end(c->at + 1, c->end, &ret->escaped);
	if (!close)
		return err_set(c->err, ERR_PROTOCOL, "bad JSON at byte %zu: the key never ends",
			(size_t)(c->at - c->begin));
	ret->text = (struct slice){c->at + 1, (size_t)(close - c->at - 1)};
	c->at = close + 1;
	if (json_peek(c) != ':')
		return json_walk_fail(c, "':'");
	c->at++;
	return 1;
}

int json_next_item(struct json_cursor *c, bool *first)
{
	return next_element(c, first, ']', "',' or ']'");
}

/* Why no engine found the end: reads byte by byte, because nobody waits for bad documents. */
static int fail_container(struct json_cursor *c)
{
	const char *at = c->at;
	unsigned depth = c->depth;
	bool escaped;

	for (; at && at < c->end; at++) {
		if (*at == '"')
			at = string_end(at + 1, c->end, &escaped);
		if (!at)
			break;
		if (*at == '{' || *at == '[')
			depth++;
		if (*at == '}' || *at == ']')
			depth--;
		if (depth > LIMIT_JSON_DEPTH)
			return err_set(c->err, ERR_PROTOCOL, "bad JSON at byte %zu: nested deeper than %d",
				(size_t)(at - c->begin), LIMIT_JSON_DEPTH);
	}
	return err_set(c->err, ERR_PROTOCOL, "bad JSON: the %s at byte %zu never ends",
		*c->at == '{' ? "object" : "array", (size_t)(c->at - c->begin));
}

const char *json_container_end(const struct json_cursor *c, const char *limit)
{
	if (c->depth >= LIMIT_JSON_DEPTH)
		return NULL;
	return current_engine()(c->at, limit, LIMIT_JSON_DEPTH - c->depth);
}

static inline int skip_container(struct json_cursor *c)
{
	const char *behind = json_container_end(c, c->end);

	if (!behind)
		return fail_container(c);
	if (behind[-1] != *c->at + 2) { /* in ASCII ] is [ + 2, and } is { + 2 */
		c->at = behind - 1;
		return json_walk_fail(c, "the other bracket");
	}
	c->at = behind;
	return 0;
}

static inline int skip_string(struct json_cursor *c)
{
	bool escaped;
	const char *close = string_end(c->at + 1, c->end, &escaped);

	if (!close)
		return err_set(c->err, ERR_PROTOCOL, "bad JSON: the string at byte %zu never ends",
			(size_t)(c->at - c->begin));
	c->at = close + 1;
	return 0;
}

static int skip_word(struct json_cursor *c, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(c->end - c->at) < len || memcmp(c->at, word, len) != 0)
		return json_walk_fail(c, "a value");
	c->at += len;
	return 0;
}

static bool skip_digits(struct json_cursor *c)
{
	const char *start = c->at;

	while (c->at < c->end && *c->at >= '0' && *c->at <= '9')
		c->at++;
	return c->at > start;
}

static bool skip_char(struct json_cursor *c, char a, char b)
{
	if (c->at == c->end || (*c->at != a && *c->at != b))
		return false;
	c->at++;
	return true;
}

static int skip_number(struct json_cursor *c)
{
	skip_char(c, '-', '-');
	if (!skip_char(c, '0', '0') && !skip_digits(c))
		return json_walk_fail(c, "a digit");
	if (skip_char(c, '.', '.') && !skip_digits(c))
		return json_walk_fail(c, "a digit");
	if (skip_char(c, 'e', 'E')) {
		skip_char(c, '+', '-');
		if (!skip_digits(c))
			return json_walk_fail(c, "a digit");
	}
	return 0;
}

static int skip_value(struct json_cursor *c)
{
	switch (json_peek(c)) {
	case '{':
	case '[': return skip_container(c);
	case '"': return skip_string(c);
	case 't': return skip_word(c, "true");
	case 'f': return skip_word(c, "false");
	case 'n': return skip_word(c, "null");
	case '-': return skip_number(c);
	default:
		if (c->at < c->end && *c->at >= '0' && *c->at <= '9')
			return skip_number(c);
		return json_walk_fail(c, "a value");
	}
}

int json_take(struct json_cursor *c, struct slice *ret_value)
{
	const char *start;
	int rc;

	json_peek(c);
	start = c->at;
	rc = skip_value(c);
	if (rc < 0)
		return rc;
	*ret_value = (struct slice){start, (size_t)(c->at - start)};
	return 0;
}

int json_finish(struct json_cursor *c)
{
	json_peek(c);
	return c->at == c->end ? 0 : json_walk_fail(c, "nothing after the value");
}

bool json_key_equal_escaped(const struct json_key *key, struct slice name)
{
	struct buf plain;
	bool equal;

	buf_init(&plain, key->text.len + 1);
	equal = json_unescape(key->text, &plain, NULL) == 0 && slice_equal(buf_slice(&plain), name);
	buf_release(&plain);
	return equal;
}
