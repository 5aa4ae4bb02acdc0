/* yaml_out.c: see yaml_out.h. */
#include "schema/base/yaml_out.h"

#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/base/utf8.h"

/* Where a value begins: its line is empty, has "- " on it, or has "key:". */
enum place { AT_LINE_START, AFTER_DASH, AFTER_KEY };

static int put_value(FILE *to, struct slice json, unsigned indent, enum place place, struct err *err);

static void put_spaces(FILE *to, unsigned count)
{
	fprintf(to, "%*s", (int)count, "");
}

/* ---- texts ---- */

/* Words and shapes that YAML readers of any version take for something else than a text. */
static bool reads_as_other(struct slice text)
{
	static const char *const words[] = {
		"null", "true", "false", "yes", "no", "on", "off", "y", "n", "~", "nan", "inf"};

	if (memchr("+-.0123456789=<>", text.ptr[0], 16))
		return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (text.len == strlen(words[i]) && strncasecmp(text.ptr, words[i], text.len) == 0)
			return true;
	}
	return false;
}

/* Letters, digits and marks that mean nothing to YAML; a space only between others. */
static bool is_plain(struct slice text)
{
	static const char safe[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./@%+=()<>";

	if (text.len == 0 || text.len > 1000 || reads_as_other(text) || strchr("-@%", text.ptr[0]))
		return false;
	for (size_t i = 0; i < text.len; i++) {
		bool inner = i > 0 && i + 1 < text.len;
		bool colon = text.ptr[i] == ':' && inner && text.ptr[i + 1] != ' ';
		bool space = text.ptr[i] == ' ' && inner && text.ptr[i + 1] != '#';
		bool comma = text.ptr[i] == ',' && i > 0;

		if (!text.ptr[i] || (!strchr(safe, text.ptr[i]) && !colon && !space && !comma))
			return false;
	}
	return true;
}

/* One character of a JSON string, or one escape; returns how many bytes it was. */
static size_t put_unit(FILE *to, struct slice json)
{
	static const struct {
		const char *escape;
		char plain;
	} marks[] = {{"\\u003c", '<'}, {"\\u003e", '>'}, {"\\u0026", '&'}};
	size_t n = json.ptr[0] == '\\' && json.len > 1 ? 2 : 1;
	uint32_t code;

	for (size_t i = 0; n == 2 && i < sizeof(marks) / sizeof(*marks); i++) {
		if (json.len >= 6 && memcmp(json.ptr, marks[i].escape, 6) == 0) {
			fputc(marks[i].plain, to);
			return 6;
		}
	}
	if (n == 2) {
		fwrite(json.ptr, 1, n, to);
		return n;
	}
	n = utf8_read(json, &code); /* json_escape() leaves no other bytes */
	if (n && utf8_is_active(code))
		fprintf(to, code < 0x100 ? "\\x%02x" : "\\u%04x", (unsigned)code);
	else
		fwrite(json.ptr, 1, n ? n : 1, to);
	return n ? n : 1;
}

/* In double quotes, where JSON's escapes mean the same; what YAML takes for no character is escaped, too. */
static int put_quoted(FILE *to, struct slice text, struct err *err)
{
	struct buf quoted;
	int code;

	buf_init(&quoted, 6 * LIMIT_OBJECT_BYTES + 2);
	code = json_escape(text, &quoted, err);
	for (size_t i = 0, n; code == 0 && i < quoted.len; i += n)
		n = put_unit(to, (struct slice){quoted.ptr + i, quoted.len - i});
	buf_release(&quoted);
	return code;
}

/* Several lines, none of which needs an escape. */
static bool is_block(struct slice text)
{
	if (text.len == 0 || !memchr(text.ptr, '\n', text.len) || strchr(" \n\t", text.ptr[0]))
		return false;
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];

		if ((c < 0x20 && c != '\n' && c != '\t') || c >= 0x7f)
			return false;
	}
	return true;
}

static void put_block(FILE *to, struct slice text, unsigned indent)
{
	bool ends = text.ptr[text.len - 1] == '\n';
	bool ends_twice = ends && text.ptr[text.len - 2] == '\n';

	fputs(!ends ? "|-" : ends_twice ? "|+" : "|", to);
	while (text.len) {
		const char *feed = memchr(text.ptr, '\n', text.len);
		size_t n = feed ? (size_t)(feed - text.ptr) : text.len;

		fputc('\n', to);
		if (n)
			put_spaces(to, indent);
		fwrite(text.ptr, 1, n, to);
		text.ptr += n + (feed != NULL);
		text.len -= n + (feed != NULL);
	}
	fputc('\n', to);
}

static int put_text(FILE *to, struct slice json, unsigned indent, struct err *err)
{
	struct buf text;
	int code;

	buf_init(&text, LIMIT_OBJECT_BYTES);
	code = json_unescape(json, &text, err);
	if (code) {
		buf_release(&text);
		return code;
	}
	if (is_block(buf_slice(&text))) {
		put_block(to, buf_slice(&text), indent);
	} else if (is_plain(buf_slice(&text))) {
		fwrite(text.ptr, 1, text.len, to);
		fputc('\n', to);
	} else {
		code = put_quoted(to, buf_slice(&text), err);
		fputc('\n', to);
	}
	buf_release(&text);
	return code;
}

static int put_key(FILE *to, struct slice key, struct err *err)
{
	struct buf text;
	int code;

	buf_init(&text, LIMIT_OBJECT_BYTES);
	code = json_unescape(key, &text, err);
	if (!code && is_plain(buf_slice(&text)))
		fwrite(text.ptr, 1, text.len, to);
	else if (!code)
		code = put_quoted(to, buf_slice(&text), err);
	fputc(':', to);
	buf_release(&text);
	return code;
}

/* ---- containers ---- */

/* A list under a key begins in the key's column, as kubectl writes it. */
static int put_item(FILE *to, struct slice value, unsigned indent, struct err *err)
{
	fputs("- ", to);
	return put_value(to, value, indent + 2, AFTER_DASH, err);
}

static int put_member(FILE *to, struct slice key, struct slice value, unsigned indent, struct err *err)
{
	int rc = put_key(to, key, err);

	if (rc)
		return rc;
	return put_value(to, value, indent, AFTER_KEY, err);
}

static int put_container(FILE *to, struct slice json, unsigned indent, enum place place, struct err *err)
{
	bool is_object = json.ptr[0] == '{', first = true;
	struct slice key = {NULL, 0}, value;
	struct json_iter it;
	int more, rc;

	if (place == AFTER_KEY && is_object)
		indent += 2;
	rc = json_iter_begin(json, &it, err);
	if (rc)
		return rc;
	while ((more = json_iter_next(&it, &key, &value, err)) > 0) {
		if (first && place == AFTER_KEY)
			fputc('\n', to);
		if (!first || place != AFTER_DASH)
			put_spaces(to, indent);
		first = false;
		rc = is_object ? put_member(to, key, value, indent, err) : put_item(to, value, indent, err);
		if (rc)
			return rc;
	}
	if (more == 0 && first)
		fprintf(to, "%s%s\n", place == AFTER_KEY ? " " : "", is_object ? "{}" : "[]");
	return more;
}

static int put_value(FILE *to, struct slice json, unsigned indent, enum place place, struct err *err)
{
	if (json.len && (json.ptr[0] == '{' || json.ptr[0] == '['))
		return put_container(to, json, indent, place, err);
	if (place == AFTER_KEY)
		fputc(' ', to);
	if (json.len && json.ptr[0] == '"')
		return put_text(to, json, place == AFTER_KEY ? indent + 2 : indent, err);
	fprintf(to, "%.*s\n", (int)json.len, json.ptr);
	return 0;
}

int yaml_out(FILE *to, struct slice json, unsigned indent, struct err *err)
{
	return put_value(to, json, indent, AT_LINE_START, err);
}
