/*
 * steady_time.h: times of a tape on an axis on which the wall clock never stepped, so that two of them can be told
 * apart by order although the recorder's clock was set in between. Made of the tape's clock rows; within a boot
 * the axis runs with the monotonic clock, from one boot to the next with the wall clock.
 */
#ifndef SCHEMA_TAPE_STEADY_TIME_H
#define SCHEMA_TAPE_STEADY_TIME_H

#include "schema/tape/reader.h"

struct steady_time;

int steady_time_load(struct tape *t, struct steady_time **ret, struct err *err) MUST_CHECK;
void steady_time_free(struct steady_time *s);

/* A clock that was set back showed a time twice: of the two the first that is not before not_before_ns, itself a
 * result of this function or INT64_MIN. Without steps the wall time itself. */
int64_t steady_time_of(const struct steady_time *s, int64_t wall_ns, int64_t not_before_ns);

/* By how much the clock was set back if it showed that time twice; 0: it did not. Less than a second is the work of NTP, and
 * does not count. */
int64_t steady_time_set_back(const struct steady_time *s, int64_t wall_ns);

#endif
