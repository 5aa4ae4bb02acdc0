/*
 * event_stretch.h: the lines of the events of a stretch of a tape, in the order of their arrival.
 *
 * A stretch is read in the order of storage, where the versions of an object lie side by side, and its lines are sorted. So
 * each object is decoded once, and memory holds the lines of the stretch.
 */
#ifndef TOOLS_EVENT_STRETCH_H
#define TOOLS_EVENT_STRETCH_H

#include "tools/events/events.h"

/* Where a line lies in the text of its stretch. */
struct line_place {
	uint64_t seq;
	size_t begin, len;
};

struct event_stretch {
	uint64_t after_seq, last_seq; /* after the one, up to the other */
	struct line_place *lines;     /* by seq */
	size_t count;
	struct buf text;
	uint64_t left_out; /* events that are bookkeeping */
};

void event_stretch_init(struct event_stretch *s);
void event_stretch_release(struct event_stretch *s);

/* A maker of stretches; one for each thread. */
struct event_reader {
	struct tape *tape;
	const struct events_wanted *wanted;
	const struct event_line_style *style;
	struct event_changes *changes;
};

/* Fills the lines of s, which names its bounds. A signal that progress.h notes ends it early, without an error. */
int event_stretch_read(
	struct event_stretch *s, const struct event_reader *reader, struct err *err) MUST_CHECK;

#endif
