/* clock.c: see clock.h. */
#include "schema/base/clock.h"

#include <stdio.h>
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
