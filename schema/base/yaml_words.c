/* yaml_words.c: see yaml_words.h. */
#include "schema/base/yaml_words.h"
#include "schema/base/count_of.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define DIGITS       "0123456789"
#define DIGITS_MAX   400 /* no number has as many */
#define DOUBLE_EXACT 17  /* significant digits that tell every double from its neighbours */

static bool is_word(struct slice text)
{
	static const char *const words[] = {"", "~", "null", "Null", "NULL", "y", "Y", "yes", "Yes", "YES",
		"true", "True", "TRUE", "on", "On", "ON", "n", "N", "no", "No", "NO", "false", "False",
		"FALSE", "off", "Off", "OFF", ".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF", "+.inf",
		"+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF"};

	for (size_t i = 0; i < COUNT_OF(words); i++) {
		if (slice_is(text, words[i]))
			return true;
	}
	return false;
}

/* ---- numbers ---- */

/* 0x1f, 0o17, 0b11 after the sign. */
static bool is_based(const char *p)
{
	int base = p[0] != '0'                  ? 0
		   : p[1] == 'x' || p[1] == 'X' ? 16
		   : p[1] == 'o' || p[1] == 'O' ? 8
		   : p[1] == 'b' || p[1] == 'B' ? 2
						: 0;
	char *end;

	if (!base || !isalnum((unsigned char)p[2]))
		return false;
	errno = 0;
	(void)strtoull(p + 2, &end, base);
	return *end == '\0' && errno == 0;
}

/* 12, 1.5, 1., .5, with an exponent or without. */
static bool is_decimal(const char *text)
{
	const char *p = text + strspn(text, DIGITS);
	size_t before = (size_t)(p - text), after = 0;

	if (*p == '.') {
		after = strspn(p + 1, DIGITS);
		p += 1 + after;
	}
	if (before + after == 0)
		return false;
	if (*p == 'e' || *p == 'E') {
		p += 1 + (p[1] == '+' || p[1] == '-');
		if (!isdigit((unsigned char)*p))
			return false;
		p += strspn(p, DIGITS);
	}
	return *p == '\0' && isfinite(strtod(text, NULL));
}

/* Underscores among the digits do not count, unless the number begins with its point. */
static bool is_number(struct slice text)
{
	char plain[DIGITS_MAX + 1];
	size_t n = 0;

	if (text.len > DIGITS_MAX || !memchr(DIGITS "+-.", text.ptr[0], strlen(DIGITS "+-.")))
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] == '\0')
			return false;
		if (text.ptr[i] != '_' || text.ptr[0] == '.')
			plain[n++] = text.ptr[i];
	}
	plain[n] = '\0';
	return is_based(plain + (*plain == '+' || *plain == '-')) ||
	       is_decimal(plain + (*plain == '+' || *plain == '-'));
}

static size_t count_digits(struct slice text)
{
	size_t n = 0;

	while (n < text.len && isdigit((unsigned char)text.ptr[n]))
		n++;
	return n;
}

/* Takes a number of one or two digits below `limit` away. */
static bool skip_pair(struct slice *text, int limit, int *ret)
{
	size_t n = count_digits(*text);

	if (n < 1 || n > 2)
		return false;
	*ret = n == 1 ? text->ptr[0] - '0' : 10 * (text->ptr[0] - '0') + text->ptr[1] - '0';
	*text = (struct slice){text->ptr + n, text->len - n};
	return *ret < limit;
}

/* 12:30:45, which was a number of base 60 once. */
static bool is_base60(struct slice text)
{
	size_t n;
	int digits, groups = 0;

	if (text.len && (text.ptr[0] == '+' || text.ptr[0] == '-'))
		text = (struct slice){text.ptr + 1, text.len - 1};
	if (!count_digits(text))
		return false;
	for (n = 0; n < text.len && (isdigit((unsigned char)text.ptr[n]) || text.ptr[n] == '_'); n++)
		;
	text = (struct slice){text.ptr + n, text.len - n};
	for (; slice_skip(&text, ":"); groups++) {
		if (!skip_pair(&text, 60, &digits))
			return false;
	}
	if (groups && slice_skip(&text, ".")) {
		while (text.len && (isdigit((unsigned char)*text.ptr) || *text.ptr == '_'))
			text = (struct slice){text.ptr + 1, text.len - 1};
	}
	return groups > 0 && text.len == 0;
}

/* ---- times ---- */

static int days_of(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return days[month - 1] + (month == 2 && leap);
}

static bool skip_date(struct slice *text)
{
	int year, month, day;

	if (count_digits(*text) != 4)
		return false;
	year = (text->ptr[0] - '0') * 1000 + (text->ptr[1] - '0') * 100 + (text->ptr[2] - '0') * 10 +
	       text->ptr[3] - '0';
	*text = (struct slice){text->ptr + 4, text->len - 4};
	if (!slice_skip(text, "-") || !skip_pair(text, 13, &month) || month == 0 || !slice_skip(text, "-"))
		return false;
	return skip_pair(text, days_of(year, month) + 1, &day) && day > 0;
}

/* 15:4:5 and a fraction. */
static bool skip_clock(struct slice *text)
{
	int part;

	if (!skip_pair(text, 24, &part) || !slice_skip(text, ":") || !skip_pair(text, 60, &part) ||
		!slice_skip(text, ":") || !skip_pair(text, 60, &part))
		return false;
	if (slice_skip(text, ".") || slice_skip(text, ",")) {
		size_t n = count_digits(*text);

		*text = (struct slice){text->ptr + n, text->len - n};
		return n > 0;
	}
	return true;
}

static bool is_zone(struct slice text)
{
	int part;

	if (slice_is(text, "Z"))
		return true;
	return text.len == 6 && (slice_skip(&text, "+") || slice_skip(&text, "-")) &&
	       skip_pair(&text, 25, &part) && slice_skip(&text, ":") && skip_pair(&text, 60, &part) &&
	       text.len == 0;
}

static bool is_time(struct slice text)
{
	if (!skip_date(&text))
		return false;
	if (text.len == 0)
		return true;
	if (slice_skip(&text, " ")) {
		while (slice_skip(&text, " "))
			;
		return skip_clock(&text) && text.len == 0;
	}
	return (slice_skip(&text, "T") || slice_skip(&text, "t")) && skip_clock(&text) && is_zone(text);
}

bool yaml_reads_as_other(struct slice text)
{
	return is_word(text) || is_number(text) || is_base60(text) || is_time(text);
}

/* ---- numbers of JSON ---- */

static bool has_fraction(struct slice json)
{
	return memchr(json.ptr, '.', json.len) || memchr(json.ptr, 'e', json.len) ||
	       memchr(json.ptr, 'E', json.len);
}

struct slice yaml_number(struct slice json, char to[YAML_NUMBER_BYTES])
{
	char digits[YAML_NUMBER_BYTES], text[YAML_NUMBER_BYTES] = "";
	double value;
	int exponent, precision = 1;

	if (json.len == 0 || json.len >= sizeof(text) ||
		!(isdigit((unsigned char)*json.ptr) || *json.ptr == '-') || !has_fraction(json))
		return json;
	memcpy(text, json.ptr, json.len);
	value = strtod(text, NULL);
	if (!isfinite(value))
		return json;
	do
		snprintf(digits, sizeof(digits), "%.*e", precision - 1, value);
	while (strtod(digits, NULL) != value && precision++ < DOUBLE_EXACT);
	exponent = (int)strtol(strchr(digits, 'e') + 1, NULL, 10);
	if (exponent >= -4 && exponent < 6)
		snprintf(to, YAML_NUMBER_BYTES, "%.*f",
			precision - 1 > exponent ? precision - 1 - exponent : 0, value);
	else
		snprintf(to, YAML_NUMBER_BYTES, "%s", digits);
	return slice_of(to);
}
