/*
 * last_words.h: when a pod says that a container has died, fetches the last lines of its log, and puts them on the
 * tape (schema/tape/pod_log.h).
 *
 *   a pod's event --container_deaths--> waiting --at most 2 at a time--> fetched --> a document
 *
 * Everything has a limit: lines and bytes of one log, requests at a time and a minute, and the number of
 * waiting ones. A log that was not fetched is put on the tape as well, with the reason.
 */
#ifndef RECORDER_LAST_WORDS_H
#define RECORDER_LAST_WORDS_H

#include "recorder/context.h"
#include "schema/tape/event.h"

#define LAST_WORDS_LINES_MAX 10000

/* So many lines of each. The context is borrowed; its http need not be there yet. */
struct last_words *last_words_new(struct recorder_context *x, unsigned lines);

/* An event was appended. NULL is fine. */
void last_words_event(struct last_words *l, const struct tape_resource *resource, const struct event *e,
	struct slice object);

/* At the end of the recording: puts logs that were not fetched yet on the tape as such. Call it while the
 * writer and the http still exist. Accepts NULL. */
void last_words_end(struct last_words *l);

/* After last_words_end. NULL is fine. */
void last_words_free(struct last_words *l);

#endif
