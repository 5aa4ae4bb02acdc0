/*
 * notices.h: says what happens to streams without saying it sixty times: when a server goes away, every
 * stream tells of it in the same moment. The first one is logged at once, the others of the same kind are
 * counted and told in one line when a second has passed.
 */
#ifndef RECORDER_NOTICES_H
#define RECORDER_NOTICES_H

#include "schema/base/log.h"

#include <stdint.h>

#define NOTICE_KINDS      16
#define NOTICE_KIND_BYTES 128

struct notice_kind {
	char what[NOTICE_KIND_BYTES];
	enum log_level level;
	int64_t since_mono_ns; /* of the line that was logged; 0: free */
	unsigned more;
};

struct notices {
	struct notice_kind kinds[NOTICE_KINDS];
};

/* "NAME: WHAT" and, when detail is not empty, ": DETAIL". What is the same is one kind. */
void notices_say(struct notices *n, int64_t now_mono_ns, enum log_level level, const char *name,
	const char *what, const char *detail);

/* Tells what has been counted for long enough; to be called about once a second, and at the end with
 * INT64_MAX. */
void notices_tick(struct notices *n, int64_t now_mono_ns);

#endif
