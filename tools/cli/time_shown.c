/* time_shown.c: see time_shown.h. */
#include "tools/cli/time_shown.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* What stands after the fraction: "Z", or "+01:00". */
static void put_zone(char to[TIME_TEXT_BYTES], size_t at, long offset_s)
{
	long minutes = (offset_s < 0 ? -offset_s : offset_s) / 60;

	snprintf(to + at, TIME_TEXT_BYTES - at, "%c%02ld:%02ld", offset_s < 0 ? '-' : '+', minutes / 60 % 100,
		minutes % 60);
}

const char *time_shown(char to[TIME_TEXT_BYTES], int64_t time_ns, bool local, int digits)
{
	int64_t s = time_ns / NS_PER_S - (time_ns % NS_PER_S < 0);
	time_t t = (time_t)s;
	char utc[TIME_TEXT_BYTES];
	const char *fraction;
	struct tm tm;
	size_t n;

	time_format(utc, time_ns);
	fraction = strchr(utc, '.');
	if (!local || !localtime_r(&t, &tm)) {
		n = (size_t)(fraction - utc) + 1 + (size_t)digits;
		memcpy(to, utc, n);
		memcpy(to + n, "Z", 2);
		return to;
	}
	n = strftime(to, TIME_TEXT_BYTES, "%Y-%m-%dT%H:%M:%S", &tm);
	n += (size_t)snprintf(to + n, TIME_TEXT_BYTES - n, "%.*s", digits + 1, fraction);
	put_zone(to, n, tm.tm_gmtoff);
	return to;
}
