/*
 * visit.h: one request and its answer, as the desk writes them down.
 *
 *     visit.c        what was asked; rows of the run
 *     visit_watch.c  the answer is a watch: its events, marks and end
 *     visit_read.c   the answer is something to read: a list, an object, a document
 *     visit_write.c  something was written
 *     visit_tape.c   the stream of the tape that it belongs to, and its connection there
 */
#ifndef TOOLS_TEE_VISIT_H
#define TOOLS_TEE_VISIT_H

#include "tools/tee/office.h"

struct visit;

/* By an item FEED_REQUEST. */
struct visit *visit_begin(struct office *o, const struct feed_item *item);

/* Takes what follows of it, but its end. */
void visit_take(struct visit *v, const struct feed_item *item);

/* FEED_END; frees. */
void visit_end(struct visit *v, const struct feed_item *item);

/* It came to no end. Frees. */
void visit_drop(struct visit *v);

/* To be called about once a second. */
void visit_tick(struct visit *v, int64_t now_mono_ns);

#endif
