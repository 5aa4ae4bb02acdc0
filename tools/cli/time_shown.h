/*
 * time_shown.h: times as commands print them for people: in UTC, or with --local in the time zone of the machine or of TZ
 * (`TZ=Asia/Tokyo kubetape events X.tape --local`). Either form is a position that every command takes. JSON is
 * always UTC.
 */
#ifndef TOOLS_TIME_SHOWN_H
#define TOOLS_TIME_SHOWN_H

#include "schema/base/clock.h"

#include <stdbool.h>

/* The row of the option table, for the field `local` of the command's values. */
#define LOCAL_TIME_ROW(values)                                                                               \
	{                                                                                                    \
		OPTION_FLAG, 0, "local", offsetof(struct values, local), NULL,                               \
			"show times in the local zone (TZ), not in UTC"                                      \
	}

#define TIME_DIGITS_ALL 9

/* "2026-11-21T08:44:17.123Z", or "2026-11-21T09:44:17.123+01:00"; digits of the fraction, the rest cut off: 3 or
 * TIME_DIGITS_ALL. Returns to. */
const char *time_shown(char to[TIME_TEXT_BYTES], int64_t time_ns, bool local, int digits);

#endif
