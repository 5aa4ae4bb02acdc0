/* timestamp.c: see timestamp.h. */
#include "schema/base/timestamp.h"

#include "schema/base/clock.h"

#include <stdio.h>

#define SECONDS_BYTES 19 /* 2026-11-21T08:44:17 */
#define TEXT_MIN      20
#define TEXT_MAX      35 /* with nine digits and an offset */
#define YEAR_MIN      2000
#define YEAR_MAX      2199 /* nanoseconds since 1970 in 64 bits end in 2262 */

/* Days from 1970-01-01 to a date of the Gregorian calendar: years begin in March, so that leap days end
 * them. An era is 400 years, 146,097 days; the first one began 719,468 days before 1970. */
static int64_t days_of(int64_t year, int month, int day)
{
	int64_t y = month <= 2 ? year - 1 : year, era = y / 400, of_era = y - era * 400;
	int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static void date_of(int64_t days, int64_t *ret_year, int *ret_month, int *ret_day)
{
	int64_t z = days + 719468, era = z / 146097, of_era = z - era * 146097;
	int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	int64_t of_year = of_era - (365 * year + year / 4 - year / 100), month = (5 * of_year + 2) / 153;

	*ret_day = (int)(of_year - (153 * month + 2) / 5 + 1);
	*ret_month = (int)(month < 10 ? month + 3 : month - 9);
	*ret_year = era * 400 + year + (*ret_month <= 2);
}

/* This many digits as a number; -1 when they are none. */
static int digits(const char *at, int count)
{
	int n = 0;

	for (int i = 0; i < count; i++) {
		if (at[i] < '0' || at[i] > '9')
			return -1;
		n = 10 * n + (at[i] - '0');
	}
	return n;
}

static bool seconds_of(const char *at, int64_t *ret_s)
{
	int year = digits(at, 4), month = digits(at + 5, 2), day = digits(at + 8, 2);
	int hour = digits(at + 11, 2), minute = digits(at + 14, 2), second = digits(at + 17, 2);

	if (at[4] != '-' || at[7] != '-' || at[10] != 'T' || at[13] != ':' || at[16] != ':' ||
		year < YEAR_MIN || year > YEAR_MAX || month < 1 || month > 12 || day < 1 || day > 31 ||
		hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60)
		return false;
	*ret_s = days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
	return true;
}

/* Z, or +hh:mm; how far it is ahead of UTC. */
static bool zone_of(struct slice zone, int64_t *ret_s)
{
	int hour, minute;

	*ret_s = 0;
	if (slice_is(zone, "Z"))
		return true;
	if (zone.len != 6 || (zone.ptr[0] != '+' && zone.ptr[0] != '-') || zone.ptr[3] != ':')
		return false;
	hour = digits(zone.ptr + 1, 2);
	minute = digits(zone.ptr + 4, 2);
	if (hour < 0 || hour > 23 || minute < 0 || minute > 59)
		return false;
	*ret_s = (zone.ptr[0] == '-' ? -1 : 1) * (hour * 3600 + minute * 60);
	return true;
}

static size_t fraction_digits(struct slice text)
{
	size_t n = 0;

	if (text.len <= SECONDS_BYTES || text.ptr[SECONDS_BYTES] != '.')
		return 0;
	while (SECONDS_BYTES + 1 + n < text.len && text.ptr[SECONDS_BYTES + 1 + n] >= '0' &&
		text.ptr[SECONDS_BYTES + 1 + n] <= '9')
		n++;
	return n;
}

/* The time as the text shows it, and how far that is ahead of UTC. */
static bool parse(struct slice text, int64_t *ret_local_ns, int64_t *ret_ahead_s)
{
	size_t n = fraction_digits(text), head = SECONDS_BYTES + (n ? n + 1 : 0);
	int64_t ns, s;

	if (text.len < TEXT_MIN || text.len > TEXT_MAX || n > 9 || !seconds_of(text.ptr, &s) ||
		!zone_of((struct slice){text.ptr + head, text.len - head}, ret_ahead_s))
		return false;
	ns = n ? digits(text.ptr + SECONDS_BYTES + 1, (int)n) : 0;
	for (size_t i = n; i < 9; i++)
		ns *= 10;
	*ret_local_ns = s * NS_PER_S + ns;
	return true;
}

bool timestamp_parse(struct slice text, int64_t *ret_ns)
{
	int64_t local_ns, ahead_s;

	if (!parse(text, &local_ns, &ahead_s))
		return false;
	if (ret_ns)
		*ret_ns = local_ns - ahead_s * NS_PER_S;
	return true;
}

void timestamp_shift(char *text, size_t len, int64_t by_ns)
{
	size_t n = fraction_digits((struct slice){text, len});
	int64_t ns, ahead_s, year, of_day;
	int month, day;
	char made[64];

	if (!parse((struct slice){text, len}, &ns, &ahead_s))
		return;
	if (__builtin_add_overflow(ns, by_ns, &ns) || ns < 0)
		return;
	of_day = ns / NS_PER_S % 86400;
	date_of(ns / NS_PER_S / 86400, &year, &month, &day);
	if (year < YEAR_MIN || year > YEAR_MAX)
		return;
	snprintf(made, sizeof(made), "%04d-%02d-%02dT%02d:%02d:%02d.%09lld", (int)year, month, day,
		(int)(of_day / 3600), (int)(of_day / 60 % 60), (int)(of_day % 60),
		(long long)(ns % NS_PER_S));
	memcpy(text, made, SECONDS_BYTES + (n ? n + 1 : 0));
}
