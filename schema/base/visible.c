/* visible.c: see visible.h. Whole objects go through here, so that runs of ordinary bytes are copied at once.
 */
#include "schema/base/visible.h"

#include "schema/base/utf8.h"

#define ESCAPE_BYTES 8

static size_t plain_length(struct slice text)
{
	size_t n = 0;

	while (n < text.len && text.ptr[n] >= 0x20 && text.ptr[n] < 0x7f)
		n++;
	return n;
}

/* What stands for a character that is not shown as it is, or for the first byte of what is none. */
static struct slice escape_of(struct slice text, size_t n, uint32_t code, char to[ESCAPE_BYTES])
{
	int len;

	if (n && (code == '\n' || code == '\t'))
		return slice_of(code == '\n' ? "\\n" : "\\t");
	len = snprintf(to, ESCAPE_BYTES, code < 0x100 ? "\\x%02x" : "\\u%04x",
		n ? (unsigned)code : (unsigned char)text.ptr[0]);
	return (struct slice){to, (size_t)len};
}

/* Takes plain bytes, or one character, off the text; returns what to show for them. */
static struct slice next_part(struct slice *text, char escape[ESCAPE_BYTES])
{
	size_t n = plain_length(*text);
	struct slice part = {text->ptr, n};
	uint32_t code = 0;

	if (n == 0) {
		n = utf8_read(*text, &code);
		part = n && !utf8_is_active(code) ? (struct slice){text->ptr, n}
						  : escape_of(*text, n, code, escape);
		n = n ? n : 1;
	}
	*text = (struct slice){text->ptr + n, text->len - n};
	return part;
}

int visible_append(struct buf *to, struct slice text, struct err *err)
{
	char escape[ESCAPE_BYTES];
	int rc = 0;

	while (text.len && rc == 0) {
		struct slice part = next_part(&text, escape);

		rc = buf_append(to, part.ptr, part.len, err);
	}
	return rc;
}

void visible_put(FILE *to, struct slice text)
{
	char escape[ESCAPE_BYTES];

	while (text.len) {
		struct slice part = next_part(&text, escape);

		fwrite(part.ptr, 1, part.len, to);
	}
}

void visible_puts(FILE *to, const char *text)
{
	visible_put(to, slice_of(text));
}

/* ---- JSON ---- */

/* Where a scan of JSON is: only in strings can there be anything that needs an escape. */
struct json_place {
	bool in_string, after_backslash;
};

static void step_over(struct json_place *p, char c)
{
	if (p->after_backslash)
		p->after_backslash = false;
	else if (p->in_string && c == '\\')
		p->after_backslash = true;
	else if (c == '"')
		p->in_string = !p->in_string;
}

/* Between the values a byte that is not plain can only be white space, if it is JSON. Returns what to write,
 * and how many bytes it stands for. */
static struct slice json_part(
	struct slice json, const struct json_place *p, char escape[ESCAPE_BYTES], size_t *ret_taken)
{
	uint32_t code = 0;
	size_t n = utf8_read(json, &code);

	*ret_taken = n ? n : 1;
	if (n == 0)
		return slice_of(p->in_string ? "\xef\xbf\xbd" : " ");
	if (!utf8_is_active(code) || (!p->in_string && (code == '\n' || code == '\t')))
		return (struct slice){json.ptr, n};
	if (!p->in_string)
		return slice_of(" ");
	n = (size_t)snprintf(escape, ESCAPE_BYTES, "\\u%04x", (unsigned)code);
	return (struct slice){escape, n};
}

int visible_append_json(struct buf *to, struct slice json, struct err *err)
{
	struct json_place place = {false, false};
	char escape[ESCAPE_BYTES];
	int rc = 0;

	while (json.len && rc == 0) {
		size_t n = plain_length(json);
		struct slice part = {json.ptr, n};

		for (size_t i = 0; i < n; i++)
			step_over(&place, json.ptr[i]);
		if (n == 0) {
			part = json_part(json, &place, escape, &n);
			place.after_backslash = false;
		}
		rc = buf_append(to, part.ptr, part.len, err);
		json = (struct slice){json.ptr + n, json.len - n};
	}
	return rc;
}

void visible_put_json(FILE *to, struct slice json)
{
	struct buf shown;

	buf_init(&shown, VISIBLE_GROWTH * json.len);
	if (visible_append_json(&shown, json, NULL) == 0 && shown.len)
		fwrite(shown.ptr, 1, shown.len, to);
	buf_release(&shown);
}
