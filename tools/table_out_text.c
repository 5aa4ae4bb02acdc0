/*
 * table_out_text.c: texts as JSON, CSV and for terminals, see table_out.h. Whole objects go through here, so
 * that runs of ordinary bytes are copied at once.
 */
#include "tools/table_out.h"

#include "schema/base/limits.h"

/* ASCII that needs nothing done about it, in JSON and on a terminal. */
static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f;
}

/* How many bytes from the start can be copied as they are. */
static size_t plain_json(struct slice text)
{
	size_t n = 0;

	while (n < text.len && is_plain((unsigned char)text.ptr[n]) && text.ptr[n] != '"' &&
		text.ptr[n] != '\\')
		n++;
	return n;
}

static size_t plain_visible(struct slice text)
{
	size_t n = 0;

	while (n < text.len && is_plain((unsigned char)text.ptr[n]))
		n++;
	return n;
}

/* Bytes of the character at text[0], 0 when they are not UTF-8 (overlong, surrogate, cut). */
static size_t utf8_length(struct slice text)
{
	const unsigned char *c = (const unsigned char *)text.ptr;
	size_t n = c[0] < 0x80 ? 1 : c[0] >= 0xf0 ? 4 : c[0] >= 0xe0 ? 3 : 2;
	unsigned code;

	if (n == 1)
		return 1;
	if (c[0] < 0xc2 || c[0] > 0xf4 || text.len < n)
		return 0;
	code = c[0] & (0xffu >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((c[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (c[i] & 0x3f);
	}
	if ((n == 3 && code < 0x800) || (code >= 0xd800 && code <= 0xdfff) || (n == 4 && code < 0x10000))
		return 0;
	return code > 0x10ffff ? 0 : n;
}

/* ---- JSON ---- */

/* What is to be written is gathered here. */
struct chunk {
	FILE *to;
	size_t len;
	char bytes[8192];
};

static void put(struct chunk *c, const char *bytes, size_t len)
{
	if (c->len + len > sizeof(c->bytes)) {
		fwrite(c->bytes, 1, c->len, c->to);
		c->len = 0;
	}
	if (len > sizeof(c->bytes)) {
		fwrite(bytes, 1, len, c->to);
		return;
	}
	memcpy(c->bytes + c->len, bytes, len);
	c->len += len;
}

/* U+0085, U+2028 and U+2029 end a line for some readers, which a line of NDJSON must not. */
static const char *line_end_escape(const char *c, size_t n)
{
	if (n == 2 && memcmp(c, "\xc2\x85", 2) == 0)
		return "\\u0085";
	if (n == 3 && memcmp(c, "\xe2\x80\xa8", 3) == 0)
		return "\\u2028";
	return n == 3 && memcmp(c, "\xe2\x80\xa9", 3) == 0 ? "\\u2029" : NULL;
}

static void put_ascii_escape(struct chunk *to, unsigned char c)
{
	static const char from[] = "\"\\\n\r\t\b\f", letters[] = "\"\\nrtbf", hex[] = "0123456789abcdef";
	const char *at = c ? strchr(from, c) : NULL;

	if (at)
		put(to, (char[]){'\\', letters[at - from]}, 2);
	else
		put(to, (char[]){'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]}, 6);
}

/* Returns how many bytes of the text it took. */
static size_t put_special(struct chunk *to, struct slice text)
{
	size_t n = utf8_length(text);
	const char *escape = line_end_escape(text.ptr, n);

	if (n == 1)
		put_ascii_escape(to, (unsigned char)text.ptr[0]);
	else if (escape)
		put(to, escape, 6);
	else if (n)
		put(to, text.ptr, n);
	else
		put(to, "\xef\xbf\xbd", 3);
	return n ? n : 1;
}

void table_out_json_string(FILE *to, struct slice text)
{
	struct chunk chunk;

	chunk.to = to;
	chunk.len = 0;
	put(&chunk, "\"", 1);
	while (text.len) {
		size_t n = plain_json(text);

		if (n)
			put(&chunk, text.ptr, n);
		if (n < text.len)
			n += put_special(&chunk, (struct slice){text.ptr + n, text.len - n});
		text.ptr += n;
		text.len -= n;
	}
	put(&chunk, "\"", 1);
	fwrite(chunk.bytes, 1, chunk.len, to);
}

/* ---- CSV ---- */

static bool needs_quotes(struct slice text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];

		if (c == ',' || c == '"' || c == '\n' || c == '\r')
			return true;
	}
	return text.len == 0 || text.ptr[0] == ' ' || text.ptr[text.len - 1] == ' ';
}

void table_out_csv_text(FILE *to, struct slice text)
{
	bool quoted = needs_quotes(text);

	if (quoted)
		fputc('"', to);
	while (text.len) {
		const char *quote = quoted ? memchr(text.ptr, '"', text.len) : NULL;
		size_t n = quote ? (size_t)(quote - text.ptr) + 1 : text.len;

		fwrite(text.ptr, 1, n, to);
		if (quote)
			fputc('"', to);
		text.ptr += n;
		text.len -= n;
	}
	if (quoted)
		fputc('"', to);
}

/* ---- terminals ---- */

/* C1 controls (U+0080 to U+009F) steer terminals as well. Returns how many bytes of the text it took. */
static int append_special(struct buf *to, struct slice text, size_t *ret_taken, struct err *err)
{
	unsigned char c = (unsigned char)text.ptr[0];
	size_t n = utf8_length(text);
	bool is_c1 = n == 2 && c == 0xc2 && (unsigned char)text.ptr[1] < 0xa0;

	*ret_taken = n ? n : 1;
	if (n > 1 && !is_c1)
		return buf_append(to, text.ptr, n, err);
	if (c == '\n' || c == '\t')
		return buf_append(to, c == '\n' ? "\\n" : "\\t", 2, err);
	return buf_printf(to, err, "\\x%02x", is_c1 ? (unsigned char)text.ptr[1] : c);
}

int table_out_append_visible(struct buf *to, struct slice text, struct err *err)
{
	int code = 0;

	while (text.len && !code) {
		size_t n = plain_visible(text);

		if (n)
			code = buf_append(to, text.ptr, n, err);
		else
			code = append_special(to, text, &n, err);
		text.ptr += n;
		text.len -= n;
	}
	return code;
}

void table_out_visible(FILE *to, struct slice text)
{
	struct buf visible;

	buf_init(&visible, LIMIT_LIST_BYTES);
	if (table_out_append_visible(&visible, text, NULL) == 0 && visible.len)
		fwrite(visible.ptr, 1, visible.len, to);
	buf_release(&visible);
}
