/*
 * event_crew.h: the stretches of a tape, one after the other, made by a thread for each processor.
 *
 *   crew:        takes the next stretch that nobody has, makes its lines with a tape of its own
 *   main thread: takes the stretches in their order
 *
 * A ring bounds how many are in memory. Where there is one processor, or one stretch, the main thread makes them.
 */
#ifndef TOOLS_EVENT_CREW_H
#define TOOLS_EVENT_CREW_H

#include "tools/events/event_stretch.h"

/* Calls `take` with each stretch between the two events. Returns 0, or the error of `take` or of making a
 * stretch. */
int event_crew_each(const struct event_reader *reader, uint64_t after_seq, uint64_t last_seq,
	int (*take)(void *context, const struct event_stretch *s, struct err *err), void *context,
	struct err *err) MUST_CHECK;

#endif
