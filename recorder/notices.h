/*
 * notices.h: logs what happens to streams without sixty equal lines: when a server goes away, every stream
 * reports it at the same moment. The first notice is logged at once; others of the same kind are counted and
 * logged in one line after a second.
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

/* "NAME: WHAT" and, if detail is not empty, ": DETAIL". Notices with the same WHAT are one kind. */
void notices_say(struct notices *n, int64_t now_mono_ns, enum log_level level, const char *name,
	const char *what, const char *detail);

/* Logs notices that have been counted for long enough; call it about once a second, and at the end with
 * INT64_MAX. */
void notices_tick(struct notices *n, int64_t now_mono_ns);

#endif
