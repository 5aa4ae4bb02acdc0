/*
 * retention.h: how much of a tape is kept. The oldest sealed segments go first; the open one and the newest
 * sealed one never do. Segments that build upon the state of another one are removed together with it, so
 * that the rest is a complete tape.
 */
#ifndef SCHEMA_TAPE_RETENTION_H
#define SCHEMA_TAPE_RETENTION_H

#include "schema/base/buf.h"

struct retention {
	uint64_t max_bytes;       /* of all segments together; 0: any */
	int64_t max_age_ns;       /* since a segment was sealed; 0: any */
	uint64_t keep_free_bytes; /* of the file system; 0: none */
	bool leaves_room;         /* of max_bytes: for the open segment, its log and its sealed copy */
	int64_t hold_ns; /* wall clock: what was sealed then or later goes for keep_free_bytes alone; 0: any may */
	/* Whether a segment is elsewhere as well, and may go: one that is not goes for keep_free_bytes alone. NULL: all may.
	 * Called by the thread that writes. */
	bool (*may_go)(void *context, uint32_t number);
	void *context;
};

struct retention_removed {
	uint64_t segments, bytes;
	bool held_up;    /* more would have been removed, but the newest segments build upon it */
	uint64_t forced; /* of these segments: may_go said no */
};

static inline bool retention_is_set(const struct retention *r)
{
	return r->max_bytes || r->max_age_ns || r->keep_free_bytes;
}

/* Removes segments beyond the limits, oldest first, and remains of an earlier call that was interrupted. A
 * file that cannot be removed ends it with ERR_IO; segments removed before that still count. */
int retention_apply(const char *tape_path, const struct retention *limits, int64_t now_ns,
	struct retention_removed *ret, struct err *err) MUST_CHECK;

/* What an extent may hold where the tape is kept within max_bytes (0: any size): where nothing compresses, it is in the log, in
 * its segment and in that one's sealed copy at a time. `usual` is the most. */
uint64_t retention_extent_bytes(uint64_t max_bytes, uint64_t usual);

#endif
