/* anonymize_forms.c: what a text is made of; see anonymize_internal.h. */
#include "schema/base/count_of.h"
#include "tools/anonymize/anonymize_internal.h"

#include <ctype.h>
#include <stdlib.h>

#define UUID_BYTES 36

static bool is_word_byte(char c)
{
	return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

static bool is_digit_at(struct slice text, size_t at)
{
	return at < text.len && isdigit((unsigned char)text.ptr[at]);
}

static bool is_hex_at(struct slice text, size_t at)
{
	return at < text.len && isxdigit((unsigned char)text.ptr[at]);
}

static bool is_word_at(struct slice text, size_t at)
{
	return at < text.len && is_word_byte(text.ptr[at]);
}

static char byte_at(struct slice text, size_t at)
{
	return at < text.len ? text.ptr[at] : 0;
}

/* Of JSON within JSON within JSON too: any number of backslashes and what they stand before. */
static size_t escape_length(struct slice text)
{
	size_t len = 0;

	while (byte_at(text, len) == '\\')
		len++;
	if (byte_at(text, len) == 'u' && is_hex_at(text, len + 1) && is_hex_at(text, len + 2) &&
		is_hex_at(text, len + 3) && is_hex_at(text, len + 4))
		return len + 5;
	return len < text.len ? len + 1 : len;
}

/* "dddd-dd-dd" as a pattern: d a digit, h a hexadecimal one, others themselves. */
static bool anonymize_forms_fits(struct slice text, const char *pattern)
{
	size_t i;

	for (i = 0; pattern[i]; i++) {
		if (pattern[i] == 'd'       ? !is_digit_at(text, i)
			: pattern[i] == 'h' ? !is_hex_at(text, i)
					    : byte_at(text, i) != pattern[i])
			return false;
	}
	return true;
}

/* Up to its fraction and zone; 0: it is none. */
static size_t time_length(struct slice text)
{
	size_t len = 19;

	if (!anonymize_forms_fits(text, "dddd-dd-ddTdd:dd:dd") &&
		!anonymize_forms_fits(text, "dddd-dd-dd dd:dd:dd"))
		return 0;
	if (byte_at(text, len) == '.') {
		for (len++; is_digit_at(text, len);)
			len++;
	}
	return byte_at(text, len) == 'Z' ? len + 1 : len;
}

static size_t uuid_length(struct slice text)
{
	return anonymize_forms_fits(text, "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh") &&
			       !is_word_at(text, UUID_BYTES)
		       ? UUID_BYTES
		       : 0;
}

static size_t octet_length(struct slice text, size_t at)
{
	size_t len = 0;
	int value = 0;

	for (; len < 3 && is_digit_at(text, at + len); len++)
		value = 10 * value + text.ptr[at + len] - '0';
	return value > 255 || (len > 1 && text.ptr[at] == '0') ? 0 : len;
}

static size_t ipv4_length(struct slice text)
{
	size_t at = 0;
	char separator = 0;

	for (int i = 0; i < 4; i++) {
		size_t len = octet_length(text, at);

		at += len;
		if (!len || (i == 3 ? is_word_at(text, at)
				    : (byte_at(text, at) != '.' && byte_at(text, at) != '-')))
			return 0;
		if (i < 3 && separator && separator != text.ptr[at])
			return 0;
		if (i < 3)
			separator = text.ptr[at++];
	}
	return byte_at(text, at) == '.' && is_digit_at(text, at + 1) ? 0 : at;
}

/* Groups of up to four digits, with "::" or with three colons at least. */
static size_t ipv6_length(struct slice text)
{
	size_t at = 0, colons = 0, digits = 0;
	bool doubled = false;

	for (; at < text.len && (text.ptr[at] == ':' || is_hex_at(text, at)); at++) {
		doubled = doubled || (text.ptr[at] == ':' && byte_at(text, at + 1) == ':');
		colons += text.ptr[at] == ':';
		digits = text.ptr[at] == ':' ? 0 : digits + 1;
		if (digits > 4)
			return 0;
	}
	if (at && text.ptr[at - 1] == ':' && !(at > 1 && text.ptr[at - 2] == ':'))
		return 0;
	return (doubled || colons >= 3) && colons <= 7 && !is_word_at(text, at) ? at : 0;
}

/* 512Mi, 100m, 1h30m: digits and units by turns. */
static bool is_quantity(struct slice run)
{
	static const char *const units[] = {"Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "ms", "us", "ns", "min", "m",
		"s", "h", "d", "k", "n", "u", "M", "G", "T", "P", "E", "B"};
	bool found = true;

	while (run.len && found) {
		size_t digits = 0;

		while (is_digit_at(run, digits))
			digits++;
		run = (struct slice){run.ptr + digits, run.len - digits};
		found = false;
		for (size_t i = 0; digits && i < COUNT_OF(units) && !found; i++)
			found = slice_skip(&run, units[i]);
	}
	return found;
}

static size_t skip_digits(struct slice run, size_t at)
{
	while (is_digit_at(run, at))
		at++;
	return at;
}

/* v1, v2beta1 */
static bool is_version(struct slice run)
{
	size_t at;

	if (byte_at(run, 0) != 'v' || !is_digit_at(run, 1))
		return false;
	at = skip_digits(run, 1);
	if (at == run.len)
		return at <= 3;
	run = (struct slice){run.ptr + at, run.len - at};
	if (!slice_skip(&run, "alpha") && !slice_skip(&run, "beta"))
		return false;
	return run.len && skip_digits(run, 0) == run.len && run.len <= 3;
}

/* A port, a count, a year: numbers of JSON stay, too. */
static bool is_short_number(struct slice run)
{
	return run.len <= 5 && skip_digits(run, 0) == run.len;
}

/* ---- words ---- */

static unsigned hex_at(struct slice text, size_t at)
{
	char digits[5] = {text.ptr[at], text.ptr[at + 1], text.ptr[at + 2], text.ptr[at + 3], 0};

	return (unsigned)strtoul(digits, NULL, 16);
}

/* A string within n strings has 2^n backslashes before the u; other numbers of them stand for backslashes, too. */
static bool is_character_escape(struct slice text, size_t len)
{
	size_t slashes = len - 5;

	return len > 5 && text.ptr[slashes] == 'u' && is_hex_at(text, len - 1) && !(slashes & (slashes - 1));
}

/* The bytes in UTF-8; 0: half a pair. */
static size_t put_utf8(unsigned c, char to[4])
{
	if (c >= 0xd800 && c < 0xe000)
		return 0;
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* An escape, or the two of a pair: its length in the text; 0: it is none of a letter or digit. */
static size_t escaped_letter(struct slice text, char to[4], size_t *ret_bytes)
{
	size_t len = byte_at(text, 0) == '\\' ? escape_length(text) : 0;
	unsigned c, low;

	if (!is_character_escape(text, len))
		return 0;
	c = hex_at(text, len - 4);
	if (c >= 0xd800 && c < 0xdc00) {
		struct slice rest = {text.ptr + len, text.len - len};
		size_t more = byte_at(rest, 0) == '\\' ? escape_length(rest) : 0;

		low = is_character_escape(rest, more) ? hex_at(rest, more - 4) : 0;
		if (low >= 0xdc00 && low < 0xe000) {
			c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
			len += more;
		}
	}
	*ret_bytes = put_utf8(c, to);
	return *ret_bytes && is_word_byte(*to) ? len : 0;
}

/* A byte of a word, or a whole character of several. */
static size_t plain_letter(struct slice text, char to[4], size_t *ret_bytes)
{
	size_t len = is_word_at(text, 0);

	if (len && (unsigned char)*text.ptr >= 0xc0) {
		while (len < 4 && ((unsigned char)byte_at(text, len) & 0xc0) == 0x80)
			len++;
	}
	memcpy(to, text.ptr, len);
	*ret_bytes = len;
	return len;
}

/* No character is cut in two. */
static void take_run(struct slice text, struct item *to)
{
	bool escaped = false;

	while (to->length < text.len) {
		struct slice rest = {text.ptr + to->length, text.len - to->length};
		char letter[4];
		size_t bytes = 0, len = plain_letter(rest, letter, &bytes);

		if (!len) {
			len = escaped_letter(rest, letter, &bytes);
			escaped = escaped || len;
		}
		if (!len || to->decoded_length + bytes > ANONYMIZE_WORD_MAX)
			break;
		memcpy(to->decoded + to->decoded_length, letter, bytes);
		to->decoded_length += bytes;
		to->length += len;
	}
	if (!escaped)
		to->decoded_length = 0;
}

static bool is_word_form(struct slice run)
{
	bool plain = run.len < 2 || is_short_number(run) || is_quantity(run) || is_version(run);

	return !plain || (unsigned char)*run.ptr >= 0x80;
}

static struct item take_word(struct slice text)
{
	struct item item = {.form = FORM_PLAIN};
	struct slice run;

	take_run(text, &item);
	run = item.decoded_length ? (struct slice){item.decoded, item.decoded_length}
				  : (struct slice){text.ptr, item.length};
	if (item.length && is_word_form(run))
		item.form = FORM_WORD;
	return item;
}

struct item anonymize_item(struct slice text)
{
	struct item item = take_word(text);
	size_t len;

	if (*text.ptr == '\\')
		return item.length ? item : (struct item){.form = FORM_PLAIN, .length = escape_length(text)};
	if (*text.ptr == '%' && is_hex_at(text, 1) && is_hex_at(text, 2))
		return (struct item){.form = FORM_PLAIN, .length = 3};
	if ((len = time_length(text)))
		return (struct item){.form = FORM_PLAIN, .length = len};
	if ((len = uuid_length(text)))
		return (struct item){.form = FORM_UUID, .length = len};
	if ((len = ipv4_length(text)))
		return (struct item){.form = FORM_IPV4, .length = len};
	if ((len = ipv6_length(text)))
		return (struct item){.form = FORM_IPV6, .length = len};
	return item.length ? item : (struct item){.form = FORM_PLAIN, .length = 1};
}
