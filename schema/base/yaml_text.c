/* yaml_text.c: see yaml_text.h. The styles are those that libyaml chooses. */
#include "schema/base/yaml_text.h"

#include "schema/base/count_of.h"
#include "schema/base/utf8.h"
#include "schema/base/yaml_words.h"

#define LINE_CHARACTERS 80  /* a line that is longer ends at its next space */
#define KEY_BYTES_MAX   128 /* of a name in one line with its value */
#define INDENT_STEP     2

enum style { STYLE_PLAIN, STYLE_SINGLE, STYLE_DOUBLE, STYLE_BLOCK };

/* ---- the pen ---- */

static void put_bytes(struct yaml_pen *p, const char *bytes, size_t len)
{
	fwrite(bytes, 1, len, p->to);
	for (size_t i = 0; i < len; i++)
		p->column = bytes[i] == '\n' ? 0 : p->column + (((unsigned char)bytes[i] & 0xc0) != 0x80);
}

void yaml_put(struct yaml_pen *p, const char *text)
{
	put_bytes(p, text, strlen(text));
}

void yaml_put_spaces(struct yaml_pen *p, unsigned count)
{
	fprintf(p->to, "%*s", (int)count, "");
	p->column += count;
}

static void put_line_break(struct yaml_pen *p, unsigned indent)
{
	yaml_put(p, "\n");
	yaml_put_spaces(p, indent);
}

/* ---- which style ---- */

/* What a text has, as far as styles depend on it. */
struct features {
	bool indicators;  /* of YAML: "#" after a space, ": ", or a first character that means something */
	bool special;     /* characters that only double quotes can tell */
	bool breaks;      /* several lines */
	bool break_space; /* a line that begins with a space */
	bool space_break; /* ... that ends with one */
	bool edge, trailing_space;
};

static struct slice rest_at(struct slice text, size_t at)
{
	return (struct slice){text.ptr + at, text.len - at};
}

/* The character at a place, and its bytes: 1 of what is none. */
static size_t read_character(struct slice text, size_t at, uint32_t *ret)
{
	size_t n = utf8_read(rest_at(text, at), ret);

	if (n)
		return n;
	*ret = 0xfffd;
	return 1;
}

static bool is_special(struct slice text, size_t at)
{
	uint32_t c;

	if (utf8_read(rest_at(text, at), &c) == 0)
		return true;
	return c != '\n' && (c > 0xffff || c == 0xfeff || c >= 0xfffe || utf8_is_active(c));
}

static bool is_blank(struct slice text, size_t at)
{
	return at >= text.len || text.ptr[at] == ' ' || text.ptr[at] == '\t';
}

static bool begins_with_indicator(struct slice text)
{
	if (strchr("#,[]{}&*!|>'\"%@`", text.ptr[0]) && text.ptr[0])
		return true;
	if (text.len >= 3 && (memcmp(text.ptr, "---", 3) == 0 || memcmp(text.ptr, "...", 3) == 0))
		return true;
	return (text.ptr[0] == '?' || text.ptr[0] == ':' || text.ptr[0] == '-') && is_blank(text, 1);
}

static void look_at(struct slice text, size_t at, struct features *f)
{
	char c = text.ptr[at], before = at ? text.ptr[at - 1] : ' ';
	bool space = c == ' ', feed = c == '\n', edge = at == 0 || at + 1 == text.len;

	f->indicators |= (c == ':' && at && is_blank(text, at + 1)) ||
			 (c == '#' && (before == ' ' || before == '\t' || before == '\n'));
	f->breaks |= feed;
	f->break_space |= space && at && before == '\n';
	f->space_break |= feed && at && before == ' ';
	f->edge |= edge && (space || feed);
	f->trailing_space |= space && at + 1 == text.len;
}

static struct features features_of(struct slice text)
{
	struct features f = {.indicators = text.len && begins_with_indicator(text)};
	uint32_t c;

	for (size_t at = 0, n; at < text.len; at += n) {
		n = read_character(text, at, &c);
		look_at(text, at, &f);
		f.special |= is_special(text, at);
	}
	return f;
}

static enum style style_of(struct slice text, bool is_key)
{
	const struct features f = features_of(text);
	bool single = !f.break_space && !f.space_break && !f.special;

	if (f.breaks && !is_key && !f.trailing_space && !f.space_break && !f.special)
		return STYLE_BLOCK;
	if (f.breaks || yaml_reads_as_other(text))
		return STYLE_DOUBLE;
	if (!f.indicators && !f.edge && !f.special)
		return STYLE_PLAIN;
	return single ? STYLE_SINGLE : STYLE_DOUBLE;
}

/* ---- the styles ---- */

/* A line that is too long goes on in the next one, for one space that is not beside another. */
static bool folds(const struct yaml_pen *p, struct slice text, size_t at)
{
	return text.ptr[at] == ' ' && p->column > LINE_CHARACTERS && at > 0 && at + 1 < text.len &&
	       text.ptr[at - 1] != ' ';
}

/* In single quotes each of these is there twice. */
static void put_folded(struct yaml_pen *p, struct slice text, unsigned indent, bool is_key, bool quotes)
{
	for (size_t at = 0; at < text.len; at++) {
		bool fold = !is_key && folds(p, text, at) && text.ptr[at + 1] != ' ';

		if (fold)
			put_line_break(p, indent);
		else
			put_bytes(p, text.ptr + at, 1);
		if (quotes && text.ptr[at] == '\'')
			yaml_put(p, "'");
	}
}

static void put_escape(struct yaml_pen *p, uint32_t c)
{
	static const struct {
		uint32_t c;
		const char *escape;
	} escapes[] = {{0, "\\0"}, {7, "\\a"}, {8, "\\b"}, {9, "\\t"}, {10, "\\n"}, {11, "\\v"}, {12, "\\f"},
		{13, "\\r"}, {27, "\\e"}, {'"', "\\\""}, {'\\', "\\\\"}, {0x85, "\\N"}, {0xa0, "\\_"},
		{0x2028, "\\L"}, {0x2029, "\\P"}};
	char code[16];

	for (size_t i = 0; i < COUNT_OF(escapes); i++) {
		if (escapes[i].c == c) {
			yaml_put(p, escapes[i].escape);
			return;
		}
	}
	snprintf(code, sizeof(code),
		c <= 0xff     ? "\\x%02X"
		: c <= 0xffff ? "\\u%04X"
			      : "\\U%08X",
		(unsigned)c);
	yaml_put(p, code);
}

static void put_double(struct yaml_pen *p, struct slice text, unsigned indent, bool is_key)
{
	uint32_t c;

	yaml_put(p, "\"");
	for (size_t at = 0, n; at < text.len; at += n) {
		n = read_character(text, at, &c);
		if (is_special(text, at) || c == '"' || c == '\\' || c == '\n') {
			put_escape(p, c);
		} else if (!is_key && folds(p, text, at)) {
			put_line_break(p, indent);
			if (text.ptr[at + 1] == ' ')
				yaml_put(p, "\\");
		} else {
			put_bytes(p, text.ptr + at, n);
		}
	}
	yaml_put(p, "\"");
}

/* The first line says how deep the others stand if that is not to be seen, and which line feeds at the end
 * count. Ends its line. */
static void put_block(struct yaml_pen *p, struct slice text, unsigned indent)
{
	bool ends = text.ptr[text.len - 1] == '\n';
	bool ends_twice = ends && (text.len == 1 || text.ptr[text.len - 2] == '\n');

	yaml_put(p, strchr(" \n", text.ptr[0]) ? "|2" : "|");
	yaml_put(p, !ends ? "-" : ends_twice ? "+" : "");
	while (text.len) {
		const char *feed = memchr(text.ptr, '\n', text.len);
		size_t n = feed ? (size_t)(feed - text.ptr) : text.len;

		yaml_put(p, "\n");
		if (n)
			yaml_put_spaces(p, indent);
		put_bytes(p, text.ptr, n);
		text = rest_at(text, n + (feed != NULL));
	}
	yaml_put(p, "\n");
}

static void put_styled(struct yaml_pen *p, struct slice text, enum style style, unsigned indent, bool is_key)
{
	if (style == STYLE_DOUBLE) {
		put_double(p, text, indent, is_key);
		return;
	}
	if (style == STYLE_SINGLE)
		yaml_put(p, "'");
	put_folded(p, text, indent, is_key, style == STYLE_SINGLE);
	if (style == STYLE_SINGLE)
		yaml_put(p, "'");
}

void yaml_put_text(struct yaml_pen *p, struct slice text, unsigned indent)
{
	enum style style = style_of(text, false);

	if (style == STYLE_BLOCK) {
		put_block(p, text, indent);
		return;
	}
	put_styled(p, text, style, indent, false);
	yaml_put(p, "\n");
}

bool yaml_put_key(struct yaml_pen *p, struct slice name, unsigned indent)
{
	if (name.len <= KEY_BYTES_MAX && !(name.len && memchr(name.ptr, '\n', name.len))) {
		put_styled(p, name, style_of(name, true), indent, true);
		yaml_put(p, ":");
		return true;
	}
	yaml_put(p, "? ");
	yaml_put_text(p, name, indent + INDENT_STEP);
	yaml_put_spaces(p, indent);
	yaml_put(p, ":");
	return false;
}
