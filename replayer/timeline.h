/*
 * timeline.h: what happened on the tape, one thing after the other: changes and marks in the order of
 * recording, each with the time at which it is due. Reads ahead, so that an event that falls due is already
 * decoded and encoded.
 *
 * Times never go back: where the recorder's wall clock stepped back, things are due at the latest time before
 * them.
 */
#ifndef REPLAYER_TIMELINE_H
#define REPLAYER_TIMELINE_H

#include "replayer/change.h"
#include "replayer/marks.h"

struct timeline;

struct timeline_item {
	int64_t due_ns;          /* when to show it; tape time, less the silences that were cut short */
	int64_t cut_ns;          /* how much of silences was cut before it: due_ns + cut_ns is tape time */
	struct change *change;   /* owned by whoever took the item; NULL for a mark */
	const struct mark *mark; /* NULL for a change */
};

/* Begins behind the event from_seq and ends with until_seq. Opens the tape for itself; borrows the marks. */
int timeline_open(const char *path, const struct marks *marks, uint64_t from_seq, uint64_t until_seq,
	struct timeline **ret, struct err *err) MUST_CHECK;
void timeline_close(struct timeline *t);

/* Silences longer than that are shown as that long; 0: as they were. To be called before the first item. */
void timeline_cut_silences(struct timeline *t, int64_t longest_ns);

/* When the next item is due: 1 and the time, 0 at the end. */
int timeline_next_due(struct timeline *t, int64_t *ret_ns, struct err *err) MUST_CHECK;

/* Takes the next item: 1, or 0 at the end. */
int timeline_take(struct timeline *t, struct timeline_item *ret, struct err *err) MUST_CHECK;

/* Reads ahead a little. Returns 1 while there is more worth reading now. */
int timeline_read_ahead(struct timeline *t, struct err *err) MUST_CHECK;

#endif
