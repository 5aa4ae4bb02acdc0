/* anonymize_forms.c: what a text is made of; see anonymize_internal.h. */
#include "schema/base/count_of.h"
#include "tools/anonymize/anonymize_internal.h"

#include <ctype.h>

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

static size_t run_length(struct slice text)
{
	size_t len = 0;

	while (len < ANONYMIZE_WORD_MAX && is_word_at(text, len))
		len++;
	/* No character is cut in two. */
	while (len == ANONYMIZE_WORD_MAX && len > 1 && ((unsigned char)byte_at(text, len) & 0xc0) == 0x80)
		len--;
	return len;
}

static size_t word_form(struct slice text, enum form *ret)
{
	struct slice run = {text.ptr, run_length(text)};
	bool plain = run.len < 2 || is_short_number(run) || is_quantity(run) || is_version(run);

	*ret = plain && (unsigned char)*run.ptr < 0x80 ? FORM_PLAIN : FORM_WORD;
	return run.len;
}

size_t anonymize_form(struct slice text, enum form *ret)
{
	size_t len;

	*ret = FORM_PLAIN;
	if (*text.ptr == '\\')
		return escape_length(text);
	if (*text.ptr == '%' && is_hex_at(text, 1) && is_hex_at(text, 2))
		return 3;
	if ((len = time_length(text)))
		return len;
	if ((len = uuid_length(text)))
		*ret = FORM_UUID;
	else if ((len = ipv4_length(text)))
		*ret = FORM_IPV4;
	else if ((len = ipv6_length(text)))
		*ret = FORM_IPV6;
	else
		return is_word_byte(*text.ptr) ? word_form(text, ret) : 1;
	return len;
}
