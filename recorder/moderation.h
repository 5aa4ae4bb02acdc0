/*
 * moderation.h: fewer, fuller awakenings when much arrives, as network cards moderate their interrupts.
 *
 * Waking up through kernel, TLS, HTTP/2 and loop costs more than taking an event in. So above some hundred
 * arrivals a second the loop rests after each turn that brought something, for as long as it takes a few more
 * to come, and finds them all the next time. Below that rate nothing waits. Events keep their order; their
 * time of arrival is at most the rest too late.
 */
#ifndef RECORDER_MODERATION_H
#define RECORDER_MODERATION_H

#include "schema/base/clock.h"

#include <stdbool.h>
#include <uv.h>

struct moderation {
	uv_prepare_t prepare;
	const struct clock *clock;
	int64_t max_rest_ns; /* 0: never */
	int64_t rest_ns;     /* at the rate of the last window; 0: not busy */
	int64_t window_begin_ns;
	uint32_t in_window, in_turn; /* arrivals of this window, of this turn of the loop */
};

/* The handle must be closed before the loop is. */
void moderation_init(struct moderation *m, uv_loop_t *loop, const struct clock *clock, int64_t max_rest_ns);

/* Something arrived. */
static inline void moderation_count(struct moderation *m)
{
	m->in_turn++;
}

#endif
