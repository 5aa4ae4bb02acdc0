/*
 * moment.h: points in time as people and programs write them. This is the one grammar of times, for options,
 * control requests, fault files and SQL; "Times and positions" in docs/conventions.md describes it for users.
 *
 *   2026-11-21T09:51:40.5Z   RFC 3339. A blank or t may stand for T, z for Z; the zone (+02:00, +0200, +02)
 *                            may be missing, which means UTC, and so may the seconds and their fraction
 *   2026-11-21               its midnight
 *   9:51  09:51:40.5Z        a time of day; on which day, the tape tells
 *   @1795254700.5            seconds since 1970, also without the @
 *   now start end            the wall clock's now; the first and the last event of the tape
 *   -5m  +30s                before the end of the tape, after its start (durations as in clock.h)
 *
 * Dates that 64 bits of nanoseconds cannot hold (before 1678, after 2261) are INT64_MIN and INT64_MAX, so
 * that they still compare as what they are.
 */
#ifndef SCHEMA_BASE_MOMENT_H
#define SCHEMA_BASE_MOMENT_H

#include "schema/base/buf.h"

/* The accepted forms, for error messages. */
#define MOMENT_FORMS                                                                                         \
	"2026-11-21T09:51:40Z, 2026-11-21 09:51, 09:51:40, @SECONDS, now, start, end, -5m or +30s"

#define MOMENT_BYTES_MAX 80 /* of a text; no form is longer */

#define NS_PER_DAY (INT64_C(86400) * INT64_C(1000000000))

enum moment_form {
	MOMENT_ABSOLUTE,    /* ns since 1970 */
	MOMENT_TIME_OF_DAY, /* ns since midnight UTC, less than a day */
	MOMENT_NOW,
	MOMENT_START,
	MOMENT_END,
	MOMENT_BEFORE_END,  /* ns before it */
	MOMENT_AFTER_START, /* ns after it */
};

/* The meaning of a text, before it is known which tape it refers to. */
struct moment {
	enum moment_form form;
	int64_t ns; /* 0 where the form says it all */
};

/* ERR_USAGE names what was found and MOMENT_FORMS. */
int moment_parse(struct slice text, struct moment *ret, struct err *err) MUST_CHECK;

/* The times that the other forms count from: those of a tape's first and last event. */
struct moment_frame {
	int64_t now_ns, first_ns, last_ns;
};

/* The time that is meant. Sums that do not fit are INT64_MIN or INT64_MAX.
 *
 * A time of day is on a day that the tape touches: on the first one where it lies within the tape; where it
 * lies within none, on the day where it is nearest to the tape. *ret_days is on how many days it lies within
 * the tape, 1 for all other forms: 0 and more than 1 were a choice. It may be NULL. */
int64_t moment_resolve(const struct moment *m, const struct moment_frame *frame, uint64_t *ret_days);

/* Whether a text names a time without knowledge of any tape, in the range that 64 bits hold. Programs write
 * such times into objects and files. */
bool moment_is_absolute(struct slice text, int64_t *ret_ns);

#endif
