/*
 * pin_hook.h: reports a pinned moment to a command for sh, or to a URL to which the facts are posted as JSON.
 * One hook runs at a time, for a minute at most, and the recorder never waits for it; a failure is one line
 * of the log.
 */
#ifndef RECORDER_PIN_HOOK_H
#define RECORDER_PIN_HOOK_H

#include "recorder/context.h"
#include "schema/tape/event.h"

struct pin_hook;

/* `hook` is borrowed, as is the context. */
struct pin_hook *pin_hook_new(const struct recorder_context *x, const char *hook);

struct pin_facts {
	const char *tape, *pin, *when; /* the tape, where the pin will be, the expression that held */
	const struct tape_resource *resource;
	const struct event *event;
};

/* While it still runs, this waits for its turn; where too many wait, it is a line of the log. NULL is fine, here and below. */
void pin_hook_run(struct pin_hook *h, const struct pin_facts *facts);

/* At the end of the recording: nothing more is told. What still runs has some more seconds, in which the loop is entered; a request
 * only if `waits` says so. */
void pin_hook_finish(struct pin_hook *h, bool waits);

/* After the loop was closed. */
void pin_hook_free(struct pin_hook *h);

#endif
