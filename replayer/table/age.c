/* age.c: see age.h. */
#include "replayer/table/age.h"

#include "schema/base/clock.h"
#include "schema/base/moment.h"

#include <stdio.h>

#define MINUTE INT64_C(60)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)
#define YEAR   (365 * DAY)

/* "4m12s": the larger unit, and the rest in the smaller one unless it is zero. */
static const char *two_units(
	char *to, int64_t s, int64_t large, char large_name, int64_t small, char small_name)
{
	int64_t rest = s % large / small;

	if (rest)
		snprintf(to, AGE_TEXT_MAX, "%lld%c%lld%c", (long long)(s / large), large_name,
			(long long)rest, small_name);
	else
		snprintf(to, AGE_TEXT_MAX, "%lld%c", (long long)(s / large), large_name);
	return to;
}

static const char *one_unit(char *to, int64_t s, int64_t unit, char name)
{
	snprintf(to, AGE_TEXT_MAX, "%lld%c", (long long)(s / unit), name);
	return to;
}

/* The steps at which kubectl stops telling the smaller unit. */
const char *age_of_ns(char to[AGE_TEXT_MAX], int64_t ns)
{
	int64_t s = ns / NS_PER_S;

	if (s < -1) {
		snprintf(to, AGE_TEXT_MAX, "<invalid>");
		return to;
	}
	if (s < 0)
		s = 0;
	if (s < 2 * MINUTE)
		return one_unit(to, s, 1, 's');
	if (s < 10 * MINUTE)
		return two_units(to, s, MINUTE, 'm', 1, 's');
	if (s < 3 * HOUR)
		return one_unit(to, s, MINUTE, 'm');
	if (s < 8 * HOUR)
		return two_units(to, s, HOUR, 'h', MINUTE, 'm');
	if (s < 2 * DAY)
		return one_unit(to, s, HOUR, 'h');
	if (s < 8 * DAY)
		return two_units(to, s, DAY, 'd', HOUR, 'h');
	if (s < 2 * YEAR)
		return one_unit(to, s, DAY, 'd');
	if (s < 8 * YEAR)
		return two_units(to, s, YEAR, 'y', DAY, 'd');
	return one_unit(to, s, YEAR, 'y');
}

const char *age_format(char to[AGE_TEXT_MAX], struct slice timestamp, int64_t now_ns)
{
	int64_t then_ns, age_ns;

	if (moment_is_absolute(timestamp, &then_ns) && !__builtin_sub_overflow(now_ns, then_ns, &age_ns))
		return age_of_ns(to, age_ns);
	snprintf(to, AGE_TEXT_MAX, "<unknown>");
	return to;
}
