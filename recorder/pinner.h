/*
 * pinner.h: keeps what retention would remove at the moments that matter: when an expression is true of an
 * event, a hook is told at once, and a little later, so that what follows is on it too, `kubetape pin` copies
 * the stretch around that moment. The recorder never waits for either.
 *
 *   IDLE --an event--> WAITING --after_ns--> COPYING --the process ends--> IDLE
 *
 * Further events within every_ns, and while a copy is waited for or made, are not answered.
 */
#ifndef RECORDER_PINNER_H
#define RECORDER_PINNER_H

#include "recorder/context.h"
#include "schema/tape/event.h"

struct pinner_options {
	const char **whens; /* expressions over the columns of events; none: there is no pinner */
	size_t when_count;
	int64_t before_ns, after_ns; /* of the stretch */
	int64_t every_ns;            /* at most one pin, and one hook, in that time */
	uint64_t max_bytes;          /* of all pins together; 0: any */
	const char *hook;            /* see pin_hook.h; NULL: none */
};

/* *ret is NULL if nothing is to be pinned. Everything is borrowed. ERR_USAGE for an expression that is none.
 */
int pinner_new(const struct recorder_context *x, const struct pinner_options *options, struct pinner **ret,
	struct err *err) MUST_CHECK;

/* An event was appended. NULL is fine. */
void pinner_event(
	struct pinner *p, const struct tape_resource *resource, const struct event *e, struct slice object);

/* The recording is over and the tape closed: copies what is waited for, and returns when that is done, or
 * after a minute. Enters the loop. */
void pinner_finish(struct pinner *p);

/* After the loop was closed. */
void pinner_free(struct pinner *p);

#endif
