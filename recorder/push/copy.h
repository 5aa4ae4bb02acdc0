/*
 * copy.h: whether the tape here and that of the same id in a store are one. A copy of a tape, such as a restored volume, may go on by
 * itself, and may do so at any time; the segments of both are numbered alike:
 *
 *   store   1  2  3  4  5
 *   here    1  2  3  4' 5' 6'
 *
 * Each segment has the digest of the one before it.
 */
#ifndef RECORDER_PUSH_COPY_H
#define RECORDER_PUSH_COPY_H

#include "recorder/push/manifest.h"
#include "schema/tape/segment.h"

/* Both: ERR_FAILED, with a sentence, if they are not one. */

/* The newest segment that both have tells of all. One whose seal cannot be read tells nothing. */
int copy_check(const struct manifest *there, const char *tape_path, const struct segment_file *list,
	size_t count, struct err *err) MUST_CHECK;

/* Before a segment is pushed: here those may be gone that both have. */
int copy_check_follows(const struct manifest *there, const char *tape_path, const struct manifest_segment *s,
	struct err *err) MUST_CHECK;

#endif
