/* fuzz_time.c: times and durations as text: what is read can be written and read again. */
#include "schema/base/clock.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

#define NOW   (INT64_C(1700000000) * NS_PER_S)
#define START (INT64_C(1600000000) * NS_PER_S)

static void check_time(const char *text)
{
	char written[TIME_TEXT_BYTES];
	int64_t ns, again;
	struct err err = {0};
	int rc = time_parse(text, NOW, START, &ns, &err);

	fuzz_demand(rc == 0 || (rc == ERR_USAGE && err.text[0]));
	if (rc < 0)
		return;
	time_format(written, ns);
	fuzz_demand(strlen(written) == strlen("2026-11-21T08:44:17.123456789Z"));
	/* The first second that fits has no whole number of seconds in 64 bits of nanoseconds. */
	if (ns >= INT64_MIN + NS_PER_S)
		fuzz_demand(time_parse(written, NOW, START, &again, NULL) == 0 && again == ns);
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
