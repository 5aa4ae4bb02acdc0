/*
 * clock.h: the two clocks, and times and durations as text. moment.h reads times.
 *
 * Wall time (nanoseconds since 1970, UTC; the system's in whole microseconds) is for records; monotonic time is for
 * waiting and for durations. Code asks the clock it was given, so that tests can give another.
 */
#ifndef SCHEMA_BASE_CLOCK_H
#define SCHEMA_BASE_CLOCK_H

#include "schema/base/err.h"

#include <stdint.h>

#define NS_PER_S  INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_US INT64_C(1000)

struct clock {
	int64_t (*wall_ns)(void *context);
	int64_t (*mono_ns)(void *context);
	void *context;
};

extern const struct clock clock_system;

static inline int64_t clock_wall_ns(const struct clock *c)
{
	return c->wall_ns(c->context);
}
static inline int64_t clock_mono_ns(const struct clock *c)
{
	return c->mono_ns(c->context);
}

/* Sums and differences of times that are taken from outside, such as those of a tape, which may be any: they
 * stop at the ends of what 64 bits hold. */
static inline int64_t time_add(int64_t time_ns, int64_t by_ns)
{
	int64_t sum;

	if (__builtin_add_overflow(time_ns, by_ns, &sum))
		return by_ns < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}
static inline int64_t time_sub(int64_t time_ns, int64_t other_ns)
{
	int64_t difference;

	if (__builtin_sub_overflow(time_ns, other_ns, &difference))
		return other_ns < 0 ? INT64_MAX : INT64_MIN;
	return difference;
}

/* "2026-11-21T08:44:17.123456789Z", always nine digits; returns to. */
#define TIME_TEXT_BYTES 40
const char *time_format(char to[TIME_TEXT_BYTES], int64_t time_ns);
/* The same to the second, as a file may be called: 2026-11-22T20-05-00Z. */
const char *time_format_name(char to[TIME_TEXT_BYTES], int64_t time_ns);

/* "250ms", "1m30s", "2h", "1.5s", "7d"; a bare number is seconds. Never negative. */
int duration_parse(const char *text, int64_t *ret_ns, struct err *err) MUST_CHECK;

/* "830ms", "12.4s", "3m05s", "2h07m", for people; returns to. */
const char *duration_format(char to[TIME_TEXT_BYTES], int64_t ns);

#endif
