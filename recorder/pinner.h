/*
 * pinner.h: keeps parts of a tape that retention would remove. When an expression is true of an event, a hook
 * runs at once. A little later, so that the following events are included, `kubetape pin` copies the time
 * around that moment. The recorder never waits for either.
 *
 *   IDLE --an event--> WAITING --after_ns--> COPYING --the process ends--> IDLE
 *
 * Of each expression, further events within every_ns have no effect. An event of another expression while one is WAITING is a
 * part of that pin, and runs the hook; if that pin's end is settled, because it is COPYING or waits to be copied once more, it is
 * the first of the next pin. Until the copy is made, retention removes nothing of what is to be copied, unless the disk is short.
 */
#ifndef RECORDER_PINNER_H
#define RECORDER_PINNER_H

#include "recorder/context.h"
#include "schema/tape/event.h"

struct pinner_options {
	const char **whens; /* expressions over the columns of events; none: no pinner */
	size_t when_count;
	int64_t before_ns, after_ns; /* of the stretch */
	int64_t every_ns;            /* at most one pin or hook of each expression in that time */
	uint64_t max_bytes;          /* of all pins together; 0: any */
	const char *hook;            /* see pin_hook.h; NULL: none */
};

/* *ret is NULL if nothing is to be pinned. Everything is borrowed. ERR_USAGE for an invalid expression.
 */
int pinner_new(const struct recorder_context *x, const struct pinner_options *options, struct pinner **ret,
	struct err *err) MUST_CHECK;

/* The tape is open. A pin that an earlier recorder was to make when it was killed is made now. NULL is fine, here and below. */
void pinner_resume(struct pinner *p);

/* An event was appended. */
void pinner_event(
	struct pinner *p, const struct tape_resource *resource, const struct event *e, struct slice object);

/* After the recording is over and the tape closed: makes a pending copy, and returns when that is done, or
 * after a minute. Enters the loop. If the tape is no longer there, nothing is copied. */
void pinner_finish(struct pinner *p, bool is_tape_there);

/* After the loop was closed. */
void pinner_free(struct pinner *p);

#endif
