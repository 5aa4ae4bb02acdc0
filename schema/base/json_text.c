/* json_text.c: what a JSON string stands for, and text as a JSON string. */
#include "schema/base/hex.h"
#include "schema/base/json_scan.h"
#include "schema/base/utf8.h"

#include <string.h>

/* "\uXXXX" at `at`. */
static bool read_unit(const char *at, const char *end, uint32_t *ret)
{
	uint32_t unit = 0;

	if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
		return false;
	for (int i = 2; i < 6; i++) {
		int digit = hex_digit(at[i]);

		if (digit < 0)
			return false;
		unit = unit << 4 | (uint32_t)digit;
	}
	*ret = unit;
	return true;
}

/* One code point from one escape or from a pair of them; returns what follows, NULL when it is malformed. */
static const char *read_code(const char *at, const char *end, uint32_t *ret)
{
	uint32_t high, low;

	if (!read_unit(at, end, &high))
		return NULL;
	at += 6;
	*ret = high;
	if (high < 0xd800 || high > 0xdbff || !read_unit(at, end, &low))
		return at;
	if (low < 0xdc00 || low > 0xdfff)
		return at;
	*ret = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
	return at + 6;
}

/* At a backslash. Writes 1 to 4 bytes; returns what follows, NULL when it is no escape. */
static const char *read_escape(const char *at, const char *end, char to[4], size_t *ret_len)
{
	static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
	const char *letter;
	uint32_t code;

	if (end - at < 2)
		return NULL;
	letter = at[1] ? strchr(letters, at[1]) : NULL;
	if (letter) {
		to[0] = meanings[letter - letters];
		*ret_len = 1;
		return at + 2;
	}
	at = read_code(at, end, &code);
	if (at)
		*ret_len = utf8_write(to, code);
	return at;
}

static int strip_quotes(struct slice *string, struct err *err)
{
	if (string->len == 0 || string->ptr[0] != '"')
		return 0;
	if (string->len == 1 || string->ptr[string->len - 1] != '"')
		return err_set(err, ERR_PROTOCOL, "bad JSON string of %zu bytes: it has no closing quote",
			string->len);
	string->ptr++;
	string->len -= 2;
	return 0;
}

int json_unescape(struct slice string, struct buf *to, struct err *err)
{
	const char *at, *end;
	int rc;

	if (string.len == 0)
		return 0;
	rc = strip_quotes(&string, err);
	at = string.ptr;
	end = at + string.len;
	while (rc == 0 && at < end) {
		const char *next = memchr(at, '\\', (size_t)(end - at));
		size_t plain_len = (size_t)((next ? next : end) - at), len = 0;
		char plain[4];

		rc = buf_append(to, at, plain_len, err);
		if (rc < 0 || !next)
			break;
		at = read_escape(next, end, plain, &len);
		if (!at)
			return err_set(err, ERR_PROTOCOL, "bad JSON string: byte %zu begins no escape",
				(size_t)(next - string.ptr));
		rc = buf_append(to, plain, len, err);
	}
	return rc;
}

bool json_text_is(struct slice string, const char *text)
{
	struct buf plain;
	bool same;

	if (string.len && string.ptr[0] == '"' && strip_quotes(&string, NULL))
		return false;
	if (!string.len || !memchr(string.ptr, '\\', string.len))
		return slice_is(string, text);
	buf_init(&plain, string.len + 1);
	same = json_unescape(string, &plain, NULL) == 0 && slice_is(buf_slice(&plain), text);
	buf_release(&plain);
	return same;
}

static bool has_escapes(struct slice string)
{
	return string.len && memchr(string.ptr, '\\', string.len);
}

/* What the string stands for, in `room` where it has escapes. */
static struct slice meaning_of(struct slice string, struct buf *room)
{
	buf_init(room, string.len + 1);
	if (!has_escapes(string) || json_unescape(string, room, NULL)) {
		if (string.len > 1 && string.ptr[0] == '"')
			return (struct slice){string.ptr + 1, string.len - 2};
		return string;
	}
	return buf_slice(room);
}

int json_text_compare(struct slice a, struct slice b)
{
	struct buf a_room, b_room;
	int order;

	if (!has_escapes(a) && !has_escapes(b))
		return slice_compare(a, b);
	order = slice_compare(meaning_of(a, &a_room), meaning_of(b, &b_room));
	buf_release(&a_room);
	buf_release(&b_room);
	return order;
}

/* Plain bytes may be copied as they are, one by one. */
static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x80 && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&';
}

static const char *short_escape(unsigned char c)
{
	switch (c) {
	case '"': return "\\\"";
	case '\\': return "\\\\";
	case '\b': return "\\b";
	case '\f': return "\\f";
	case '\n': return "\\n";
	case '\r': return "\\r";
	case '\t': return "\\t";
	default: return NULL;
	}
}

/* Appends what stands for the character at `at`, which is not plain; returns its length in the text. */
static int escape_one(const unsigned char *at, size_t left, struct buf *to, struct err *err)
{
	uint32_t code = 0;
	size_t len = utf8_read((struct slice){(const char *)at, left}, &code);
	const char *name = short_escape(at[0]);
	int rc;

	if (len == 0)
		rc = buf_append(to, "\\ufffd", 6, err);
	else if (name)
		rc = buf_append(to, name, strlen(name), err);
	else if (len == 1)
		rc = buf_printf(to, err, "\\u%04x", at[0]);
	else if (code == 0x2028 || code == 0x2029)
		rc = buf_append(to, code == 0x2028 ? "\\u2028" : "\\u2029", 6, err);
	else
		rc = buf_append(to, at, len, err);
	return rc < 0 ? rc : len ? (int)len : 1;
}

int json_escape(struct slice text, struct buf *to, struct err *err)
{
	const unsigned char *at = (const unsigned char *)(text.ptr ? text.ptr : ""), *end = at + text.len;
	const unsigned char *plain;
	int rc = buf_append(to, "\"", 1, err);

	while (rc >= 0 && at < end) {
		for (plain = at; at < end && is_plain(*at);)
			at++;
		rc = buf_append(to, plain, (size_t)(at - plain), err);
		if (rc < 0 || at == end)
			break;
		rc = escape_one(at, (size_t)(end - at), to, err);
		if (rc > 0)
			at += rc;
	}
	return rc < 0 ? rc : buf_append(to, "\"", 1, err);
}

static bool is_white(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct slice json_trim(struct slice json)
{
	while (json.len && is_white(json.ptr[0]))
		json = (struct slice){json.ptr + 1, json.len - 1};
	while (json.len && is_white(json.ptr[json.len - 1]))
		json.len--;
	return json;
}
