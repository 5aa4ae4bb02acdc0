/*
 * backoff.h: how long to wait before the next attempt: 0.8 s doubling to 30 s, each times 1 to 2 by chance,
 * as the reflectors of client-go wait; forgotten after two minutes without use. A server that names a time
 * (Retry-After) is obeyed. Refusals that only a person can lift (401, 403, 404) are asked about more slowly.
 */
#ifndef RECORDER_BACKOFF_H
#define RECORDER_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

struct backoff {
	int64_t base_ns;      /* the first delay; 0: 0.8 s */
	unsigned attempts;    /* made since the last reset */
	int64_t last_mono_ns; /* when the last delay was given */
};

/* `chance` is uniform in [0, 1); retry_after_s <= 0: the server named none. Returns the delay in ns. */
int64_t backoff_next(struct backoff *b, int64_t now_mono_ns, double chance, bool slow, int64_t retry_after_s);

void backoff_reset(struct backoff *b);

#endif
