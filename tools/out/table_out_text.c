/*
 * table_out_text.c: texts as JSON, CSV and for terminals, see table_out.h. Whole objects go through here, so
 * that runs of ordinary bytes are copied at once.
 */
#include "tools/out/table_out.h"

#include "schema/base/utf8.h"

/* ASCII that needs nothing done about it. */
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

/* ---- JSON ---- */

/* What is to be written is gathered here. */
struct chunk {
	FILE *to;
	size_t len;
	char bytes[8192];
};

static void table_out_text_put(struct chunk *c, const char *bytes, size_t len)
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

static void put_ascii_escape(struct chunk *to, unsigned char c)
{
	static const char from[] = "\"\\\n\r\t\b\f", letters[] = "\"\\nrtbf", hex[] = "0123456789abcdef";
	const char *at = c ? strchr(from, c) : NULL;

	if (at)
		table_out_text_put(to, (char[]){'\\', letters[at - from]}, 2);
	else
		table_out_text_put(to, (char[]){'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]}, 6);
}

/* Active characters are escaped, also because some of them end a line for some readers, which a line of
 * NDJSON must not. Returns how many bytes of the text it took. */
static size_t put_special(struct chunk *to, struct slice text)
{
	char escape[8];
	uint32_t code;
	size_t n = utf8_read(text, &code);

	if (n == 1)
		put_ascii_escape(to, (unsigned char)code);
	else if (n && utf8_is_active(code))
		table_out_text_put(
			to, escape, (size_t)snprintf(escape, sizeof(escape), "\\u%04x", (unsigned)code));
	else if (n)
		table_out_text_put(to, text.ptr, n);
	else
		table_out_text_put(to, "\xef\xbf\xbd", 3);
	return n ? n : 1;
}

void table_out_json_string(FILE *to, struct slice text)
{
	struct chunk chunk;

	chunk.to = to;
	chunk.len = 0;
	table_out_text_put(&chunk, "\"", 1);
	while (text.len) {
		size_t n = plain_json(text);

		if (n)
			table_out_text_put(&chunk, text.ptr, n);
		if (n < text.len)
			n += put_special(&chunk, (struct slice){text.ptr + n, text.len - n});
		text.ptr += n;
		text.len -= n;
	}
	table_out_text_put(&chunk, "\"", 1);
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
