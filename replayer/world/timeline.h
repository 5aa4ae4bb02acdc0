/*
 * timeline.h: the items of the tape in sequence: changes and marks in the order of recording, each with its
 * due time. A separate thread reads ahead with its own handle, so that a due event is already decoded and
 * encoded, and the decoding of a block delays nobody.
 *
 * Times never go back: if the recorder's wall clock stepped back, items are due at the latest time before
 * them.
 */
#ifndef REPLAYER_TIMELINE_H
#define REPLAYER_TIMELINE_H

#include "replayer/world/change.h"
#include "replayer/world/marks.h"

struct timeline;

struct timeline_item {
	int64_t due_ns;          /* when to show it; tape time, less the silences that were cut short */
	int64_t cut_ns;          /* how much of silences was cut before it: due_ns + cut_ns is tape time */
	struct change *change;   /* owned by the taker of the item; NULL for a mark */
	const struct mark *mark; /* NULL for a change */
};

/* Begins after the event from_seq and ends with until_seq. Silences longer than longest_silence_ns are shown
 * as that long (0: as they were). Opens the tape for itself; borrows the marks. `ready` is called in the
 * reading thread when there is something again after timeline_next_due had said TIMELINE_NOT_YET. */
struct timeline_options {
	const char *path;
	const struct marks *marks;
	uint64_t from_seq, until_seq;
	int64_t longest_silence_ns;
	void (*ready)(void *context);
	void *context;
};
int timeline_open(const struct timeline_options *options, struct timeline **ret, struct err *err) MUST_CHECK;

/* Ends the thread, and waits for it. */
void timeline_close(struct timeline *t);

/* Leaves the closing of the previous one (NULL: none) to t's thread, so that nobody waits for it. Once for
 * each t. */
void timeline_replace(struct timeline *t, struct timeline *previous);

#define TIMELINE_NOT_YET 2

/* When the next item is due: 1 and the time, 0 at the end, TIMELINE_NOT_YET while it is still being read. */
int timeline_next_due(struct timeline *t, int64_t *ret_ns, struct err *err) MUST_CHECK;

/* Takes the next item; the same returns. */
int timeline_take(struct timeline *t, struct timeline_item *ret, struct err *err) MUST_CHECK;

/* The same, but waits for it: 1 or 0. */
int timeline_take_waiting(struct timeline *t, struct timeline_item *ret, struct err *err) MUST_CHECK;

#endif
