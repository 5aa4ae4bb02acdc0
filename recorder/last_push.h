/*
 * last_push.h: the end of a recording with --push. The tape is closed, and nothing depends on the store any more: the recorder
 * waits for it as long as it takes segments, within a limit, and 15 s if it stays away; a signal ends that at once.
 */
#ifndef RECORDER_LAST_PUSH_H
#define RECORDER_LAST_PUSH_H

#include "recorder/push/pusher.h"

/* Pushes the rest of a closed tape, logs the result, and frees the pusher. Returns whether the store has
 * all. */
bool last_push(struct pusher *p, int64_t limit_ns) MUST_CHECK;

#endif
