/* patience.h: the back-off for a store that is busy or away, never longer than the caller is willing to
 * wait. */
#ifndef RECORDER_PUSH_PATIENCE_H
#define RECORDER_PUSH_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

/* Nanoseconds until the next attempt, the first of which is 0: what the store asks for (-1: nothing), else
 * doubled each time, with half of it by chance so that many refused clients do not come back at once. */
int64_t patience_delay(unsigned attempt, int retry_after_s);

/* For how many seconds the server of the next attempt may say nothing: no longer than there is patience for another one, but long
 * enough to think. `give_up_ns`: when the patience ends, monotonic. */
int64_t patience_silence_s(int64_t give_up_ns);

/* Returns after that time, or earlier and true if `stop` (may be NULL) says so. */
bool patience_wait(int64_t delay_ns, bool (*stop)(void *context), void *context);

#endif
