/* clock.c: see clock.h. */
#include "schema/base/clock.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int64_t read_clock(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

static int64_t system_wall_ns(void *context)
{
	(void)context;
	return read_clock(CLOCK_REALTIME);
}

static int64_t system_mono_ns(void *context)
{
	(void)context;
	return read_clock(CLOCK_MONOTONIC);
}

const struct clock clock_system = {system_wall_ns, system_mono_ns, NULL};

const char *time_format(char to[TIME_TEXT_BYTES], int64_t time_ns)
{
	int64_t s = time_ns / NS_PER_S, ns = time_ns % NS_PER_S;
	time_t t;
	struct tm tm;
	size_t n;

	if (ns < 0) {
		ns += NS_PER_S;
		s--;
	}
	t = (time_t)s;
	if (!gmtime_r(&t, &tm))
		tm = (struct tm){.tm_year = 70, .tm_mday = 1};
	n = strftime(to, TIME_TEXT_BYTES, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(to + n, TIME_TEXT_BYTES - n, ".%09uZ", (unsigned)(ns % NS_PER_S));
	return to;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* At the point, in units of unit_ns; what lies below a nanosecond is dropped. */
static bool read_fraction(const char **at, int64_t unit_ns, int64_t *ret_ns)
{
	int64_t ns = 0;

	if (!is_digit(*++*at))
		return false;
	for (; is_digit(**at); ++*at) {
		unit_ns /= 10;
		ns += (**at - '0') * unit_ns;
	}
	*ret_ns = ns;
	return true;
}

/* Reads digits and an optional fraction as a multiple of unit_ns. Returns where the number
 * ends, NULL when there is none or it does not fit. */
static const char *read_number(const char *at, int64_t unit_ns, int64_t *ret_ns)
{
	int64_t whole = 0, part = 0;

	if (!is_digit(*at))
		return NULL;
	for (; is_digit(*at); at++) {
		if (__builtin_mul_overflow(whole, 10, &whole) ||
			__builtin_add_overflow(whole, *at - '0', &whole))
			return NULL;
	}
	if (__builtin_mul_overflow(whole, unit_ns, &whole))
		return NULL;
	if (*at == '.' && !read_fraction(&at, unit_ns, &part))
		return NULL;
	return __builtin_add_overflow(whole, part, ret_ns) ? NULL : at;
}

static const struct {
	const char *name;
	int64_t ns;
} units[] = {
	{"ns", 1},
	{"us", NS_PER_US},
	{"\xc2\xb5s", NS_PER_US}, /* the micro sign, as Go prints it */
	{"ms", NS_PER_MS},
	{"s", NS_PER_S},
	{"m", 60 * NS_PER_S},
	{"h", 3600 * NS_PER_S},
	{"d", 86400 * NS_PER_S},
	{"w", 7 * 86400 * NS_PER_S},
};

/* The length of the unit that starts at `at` and ends before a digit or the end; 0 when it is none. */
static size_t read_unit(const char *at, int64_t *ret_ns)
{
	size_t len = strcspn(at, "0123456789");

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strlen(units[i].name) == len && memcmp(units[i].name, at, len) == 0) {
			*ret_ns = units[i].ns;
			return len;
		}
	}
	return 0;
}

/* The unit is looked for first, because the number is read in it. */
static const char *read_term(const char *at, int64_t *ret_ns)
{
	size_t digits = strspn(at, "0123456789."), len;
	int64_t unit_ns;

	len = read_unit(at + digits, &unit_ns);
	if (len == 0 || read_number(at, unit_ns, ret_ns) != at + digits)
		return NULL;
	return at + digits + len;
}

int duration_parse(const char *text, int64_t *ret_ns, struct err *err)
{
	int64_t total = 0, term = 0;
	const char *at = read_number(text, NS_PER_S, &total);

	if (at && !*at) {
		*ret_ns = total;
		return 0;
	}
	total = 0;
	at = text;
	do {
		at = read_term(at, &term);
		if (!at || __builtin_add_overflow(total, term, &total))
			return err_set(err, ERR_USAGE,
				"bad duration '%.80s': expected a number and unit such as 250ms, 1m30s or 7d",
				text);
	} while (*at);
	*ret_ns = total;
	return 0;
}

const char *duration_format(char to[TIME_TEXT_BYTES], int64_t ns)
{
	const char *sign = ns < 0 ? "-" : "";
	unsigned long long us = (ns < 0 ? -(uint64_t)ns : (uint64_t)ns) / 1000, ms = us / 1000;
	unsigned long long s = ms / 1000, m = s / 60, h = m / 60;

	if (us == 0)
		snprintf(to, TIME_TEXT_BYTES, "0s");
	else if (ms == 0)
		snprintf(to, TIME_TEXT_BYTES, "%s%lluus", sign, us);
	else if (s == 0)
		snprintf(to, TIME_TEXT_BYTES, "%s%llums", sign, ms);
	else if (m == 0)
		snprintf(to, TIME_TEXT_BYTES, "%s%llu.%llus", sign, s, ms % 1000 / 100);
	else if (h == 0)
		snprintf(to, TIME_TEXT_BYTES, "%s%llum%02llus", sign, m, s % 60);
	else if (h < 24)
		snprintf(to, TIME_TEXT_BYTES, "%s%lluh%02llum", sign, h, m % 60);
	else
		snprintf(to, TIME_TEXT_BYTES, "%s%llud%02lluh", sign, h / 24, h % 24);
	return to;
}

/* Two digits in low..high. */
static bool read_two(const char **at, int low, int high, int *ret)
{
	const char *a = *at;

	if (!is_digit(a[0]) || !is_digit(a[1]))
		return false;
	*ret = (a[0] - '0') * 10 + a[1] - '0';
	*at += 2;
	return *ret >= low && *ret <= high;
}

static bool read_char(const char **at, char c)
{
	if (toupper((unsigned char)**at) != c)
		return false;
	++*at;
	return true;
}

static int days_in_month(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return month == 2 && leap ? 29 : days[month - 1];
}

static bool read_date(const char **at, struct tm *ret)
{
	int century, year, month;

	if (!read_two(at, 0, 99, &century) || !read_two(at, 0, 99, &year) || !read_char(at, '-'))
		return false;
	year += century * 100;
	if (!read_two(at, 1, 12, &month) || !read_char(at, '-'))
		return false;
	if (!read_two(at, 1, days_in_month(year, month), &ret->tm_mday))
		return false;
	ret->tm_year = year - 1900;
	ret->tm_mon = month - 1;
	return true;
}

/* Seconds may be left out; 60 is the leap second, which counts as the second after it. */
static bool read_time_of_day(const char **at, struct tm *ret, int64_t *ret_fraction_ns)
{
	if (!read_two(at, 0, 23, &ret->tm_hour) || !read_char(at, ':') || !read_two(at, 0, 59, &ret->tm_min))
		return false;
	if (!read_char(at, ':'))
		return true;
	if (!read_two(at, 0, 60, &ret->tm_sec))
		return false;
	return **at != '.' || read_fraction(at, NS_PER_S, ret_fraction_ns);
}

static bool read_offset(const char **at, int64_t *ret_s)
{
	int sign = **at == '-' ? -1 : 1, h, m;

	if (read_char(at, 'Z'))
		return true;
	if (!read_char(at, '+') && !read_char(at, '-'))
		return false;
	if (!read_two(at, 0, 23, &h) || !read_char(at, ':') || !read_two(at, 0, 59, &m))
		return false;
	*ret_s = sign * (h * 3600 + m * 60);
	return true;
}

/* Sets *ret_ns and returns NULL, or returns what is wrong. timegm is glibc's. */
static const char *read_rfc3339(const char *at, int64_t *ret_ns)
{
	struct tm tm = {0};
	int64_t fraction_ns = 0, offset_s = 0, ns;

	if (!read_date(&at, &tm))
		return "expected a date as YYYY-MM-DD";
	if (*at) {
		if (!read_char(&at, 'T') && !read_char(&at, ' '))
			return "expected T behind the date";
		if (!read_time_of_day(&at, &tm, &fraction_ns))
			return "expected a time as HH:MM:SS behind the date";
		if (!read_offset(&at, &offset_s))
			return "expected Z or an offset such as +02:00 behind the time";
		if (*at)
			return "expected nothing behind the offset";
	}
	if (__builtin_mul_overflow((int64_t)timegm(&tm) - offset_s, NS_PER_S, &ns) ||
		__builtin_add_overflow(ns, fraction_ns, ret_ns))
		return "expected a year from 1678 to 2261";
	return NULL;
}

static const char *read_epoch(const char *at, int64_t *ret_ns)
{
	at = read_number(at, NS_PER_S, ret_ns);
	return at && !*at ? NULL : "expected seconds since 1970, with or without a fraction";
}

/* "-5m" and "+30s": text is the duration behind the sign. */
static const char *read_relative(const char *text, int64_t base_ns, int sign, int64_t *ret_ns)
{
	int64_t ns;

	if (duration_parse(text, &ns, NULL) < 0)
		return "expected a duration such as 250ms, 1m30s or 7d behind the sign";
	return __builtin_add_overflow(base_ns, sign * ns, ret_ns) ? "expected a year from 1678 to 2261"
								  : NULL;
}

static const char *read_point(const char *text, int64_t now_ns, int64_t start_ns, int64_t *ret_ns)
{
	if (*text == '-')
		return read_relative(text + 1, now_ns, -1, ret_ns);
	if (*text == '+')
		return read_relative(text + 1, start_ns, 1, ret_ns);
	if (*text == '@')
		return read_epoch(text + 1, ret_ns);
	if (strcmp(text, "now") == 0) {
		*ret_ns = now_ns;
		return NULL;
	}
	if (text[strspn(text, "0123456789.")] == 0 && *text)
		return read_epoch(text, ret_ns);
	if (is_digit(*text))
		return read_rfc3339(text, ret_ns);
	return "expected 2026-01-31T12:00:00Z, @SECONDS, now, -5m or +30s";
}

int time_parse(const char *text, int64_t now_ns, int64_t start_ns, int64_t *ret_ns, struct err *err)
{
	int64_t ns;
	const char *wrong = read_point(text, now_ns, start_ns, &ns);

	if (wrong)
		return err_set(err, ERR_USAGE, "bad time '%.80s': %s", text, wrong);
	*ret_ns = ns;
	return 0;
}
