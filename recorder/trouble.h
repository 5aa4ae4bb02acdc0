/*
 * trouble.h: attempts of one stream that fail, one after the other. The log reports the first one, one that
 * fails for another reason, and repeats that now and then, so that a server which has refused for hours is
 * not forgotten.
 */
#ifndef RECORDER_TROUBLE_H
#define RECORDER_TROUBLE_H

#include "recorder/end_reason.h"

#include <stdbool.h>
#include <stdint.h>

struct trouble {
	unsigned attempts; /* that failed in a row; 0: there is no trouble */
	int64_t since_mono_ns, told_mono_ns;
	char reason[END_REASON_BYTES]; /* of the last one that was logged */
};

/* Another attempt failed. Returns whether to log it. */
bool trouble_note(struct trouble *t, int64_t now_mono_ns, const char *reason);

/* "120 attempts have failed in 20m" once that is worth saying, "" before. */
#define TROUBLE_TEXT_BYTES 64
const char *trouble_text(const struct trouble *t, int64_t now_mono_ns, char to[TROUBLE_TEXT_BYTES]);

void trouble_end(struct trouble *t);

#endif
