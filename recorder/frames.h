/*
 * frames.h: the lines of a watch stream. Chunk borders mean nothing on the wire; a frame is the text before a
 * line feed. Complete lines are handed on in place, only the ends of pieces are copied.
 */
#ifndef RECORDER_FRAMES_H
#define RECORDER_FRAMES_H

#include "schema/base/buf.h"

struct frames {
	struct buf partial; /* the incomplete line */
};

void frames_init(struct frames *f);
void frames_release(struct frames *f);

/*
 * Calls `each` for every line that `bytes` completes, without its line feed; empty lines are passed over.
 * A non-zero return of `each` ends the walk and is returned. ERR_TOO_LARGE if a line exceeds
 * LIMIT_OBJECT_BYTES.
 */
int frames_feed(struct frames *f, struct slice bytes, int (*each)(void *context, struct slice line),
	void *context, struct err *err) MUST_CHECK;

/* The bytes after the last line feed; borrowed until the next call. */
static inline struct slice frames_tail(const struct frames *f)
{
	return buf_slice(&f->partial);
}

#endif
