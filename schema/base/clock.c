/* clock.c: see clock.h. */
#include "schema/base/clock.h"
#include "schema/base/count_of.h"

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

/* Whole microseconds: a program is woken up later than that, and a tape is smaller by a byte an event. */
static int64_t system_wall_ns(void *context)
{
	int64_t ns = read_clock(CLOCK_REALTIME);

	(void)context;
	return ns - ns % NS_PER_US;
}

static int64_t system_mono_ns(void *context)
{
	(void)context;
	return read_clock(CLOCK_MONOTONIC);
}

const struct clock clock_system = {system_wall_ns, system_mono_ns, NULL};

/* Writes the last `count` digits of the number and the mark after them; returns where they end. A printf takes ten times as
 * long, for each of a million events. */
static char *put_digits(char *to, unsigned number, unsigned count, char mark)
{
	for (unsigned i = count; i-- > 0; number /= 10)
		to[i] = (char)('0' + number % 10);
	to[count] = mark;
	return to + count + 1;
}

const char *time_format(char to[TIME_TEXT_BYTES], int64_t time_ns)
{
	int64_t s = time_ns / NS_PER_S, ns = time_ns % NS_PER_S;
	char *at = to;
	time_t t;
	struct tm tm;

	if (ns < 0) {
		ns += NS_PER_S;
		s--;
	}
	t = (time_t)s;
	if (!gmtime_r(&t, &tm))
		tm = (struct tm){.tm_year = 70, .tm_mday = 1};
	at = put_digits(at, (unsigned)tm.tm_year + 1900, 4, '-');
	at = put_digits(at, (unsigned)tm.tm_mon + 1, 2, '-');
	at = put_digits(at, (unsigned)tm.tm_mday, 2, 'T');
	at = put_digits(at, (unsigned)tm.tm_hour, 2, ':');
	at = put_digits(at, (unsigned)tm.tm_min, 2, ':');
	at = put_digits(at, (unsigned)tm.tm_sec, 2, '.');
	at = put_digits(at, (unsigned)ns, 9, 'Z');
	*at = 0;
	return to;
}

#define SECONDS_TEXT_BYTES 19 /* of "2026-11-22T20:05:00" */

const char *time_format_name(char to[TIME_TEXT_BYTES], int64_t time_ns)
{
	time_format(to, time_ns);
	for (char *p = to; *p; p++) {
		if (*p == ':')
			*p = '-';
	}
	snprintf(to + SECONDS_TEXT_BYTES, TIME_TEXT_BYTES - SECONDS_TEXT_BYTES, "Z");
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

	for (size_t i = 0; i < COUNT_OF(units); i++) {
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
