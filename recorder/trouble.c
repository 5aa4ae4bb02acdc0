/* trouble.c: see trouble.h. */
#include "recorder/trouble.h"

#include "schema/base/clock.h"

#include <stdio.h>
#include <string.h>

#define REMIND_NS (600 * NS_PER_S)

bool trouble_note(struct trouble *t, int64_t now_mono_ns, const char *reason)
{
	if (!t->attempts)
		t->since_mono_ns = now_mono_ns;
	if (t->attempts++ && strcmp(t->reason, reason) == 0 && now_mono_ns - t->told_mono_ns < REMIND_NS)
		return false;
	snprintf(t->reason, sizeof(t->reason), "%s", reason);
	t->told_mono_ns = now_mono_ns;
	return true;
}

const char *trouble_text(const struct trouble *t, int64_t now_mono_ns, char to[TROUBLE_TEXT_BYTES])
{
	char time[TIME_TEXT_BYTES];

	if (now_mono_ns - t->since_mono_ns < REMIND_NS)
		return "";
	snprintf(to, TROUBLE_TEXT_BYTES, "%u attempts have failed in %s", t->attempts,
		duration_format(time, now_mono_ns - t->since_mono_ns));
	return to;
}

void trouble_end(struct trouble *t)
{
	t->attempts = 0;
}
