/* fuzz_time.c: times and durations as text: what is read can be written and read again, and a
 * time of day lies on a day of the tape. */
#include "schema/base/clock.h"
#include "schema/base/moment.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

/* A tape of three days, so that a time of day has a choice. */
#define FIRST (INT64_C(1700000000) * NS_PER_S)
#define LAST  (FIRST + 3 * NS_PER_DAY)
#define NOW   (FIRST + 5 * NS_PER_DAY)

/* The first second that fits has no whole number of seconds in 64 bits of nanoseconds; the very last time is
 * the word for what lies beyond. */
static bool can_be_written(int64_t ns)
{
	return ns >= INT64_MIN + NS_PER_S && ns < INT64_MAX;
}

static void check_resolved(const struct moment *m)
{
	static const struct moment_frame frame = {NOW, FIRST, LAST};
	char written[TIME_TEXT_BYTES];
	uint64_t days;
	int64_t ns = moment_resolve(m, &frame, &days), again;

	if (m->form == MOMENT_TIME_OF_DAY) {
		fuzz_demand(m->ns >= 0 && m->ns < NS_PER_DAY);
		fuzz_demand(ns >= FIRST && ns <= LAST && days >= 3 && days <= 4);
	}
	time_format(written, ns);
	fuzz_demand(strlen(written) == strlen("2026-11-21T08:44:17.123456789Z"));
	if (can_be_written(ns))
		fuzz_demand(moment_is_absolute(slice_of(written), &again) && again == ns);
}

static void check_time(const char *text)
{
	struct moment m;
	struct err err = {0};
	int rc = moment_parse(slice_of(text), &m, &err);

	fuzz_demand(rc == 0 || (rc == ERR_USAGE && err.text[0]));
	if (rc == 0)
		check_resolved(&m);
}

static void check_duration(const char *text)
{
	char written[TIME_TEXT_BYTES];
	int64_t ns, again;
	struct err err = {0};
	int rc = duration_parse(text, &ns, &err);

	fuzz_demand(rc == 0 || (rc == ERR_USAGE && err.text[0]));
	if (rc < 0)
		return;
	fuzz_demand(ns >= 0);
	/* People's form drops what is small beside the rest: less than a tenth. */
	fuzz_demand(duration_parse(duration_format(written, ns), &again, NULL) == 0);
	fuzz_demand(again <= ns && (ns < NS_PER_US || ns - again <= ns / 2));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char text[200];

	if (len >= sizeof(text))
		return 0;
	if (len)
		memcpy(text, bytes, len);
	text[len] = 0;
	check_time(text);
	check_duration(text);
	return 0;
}
