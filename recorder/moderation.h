/*
 * moderation.h: fewer, fuller awakenings when much arrives, as network cards moderate their interrupts.
 * Waking up through kernel, TLS, HTTP/2 and loop costs more than taking an event in, so above some hundred
 * arrivals a second the loop rests a few milliseconds after each that brought something, and finds several
 * the next time. Below that rate nothing waits. Events keep their order; their time of arrival is at most the
 * rest too late.
 */
#ifndef RECORDER_MODERATION_H
#define RECORDER_MODERATION_H

#include "schema/base/clock.h"

#include <stdbool.h>
#include <uv.h>

struct moderation {
	uv_prepare_t prepare;
	const struct clock *clock;
	int64_t rest_ns; /* 0: never */
	int64_t window_begin_ns;
	uint32_t in_window, in_turn; /* arrivals of this window, of this turn of the loop */
	bool busy;
};

/* The handle must be closed before the loop is. */
void moderation_init(struct moderation *m, uv_loop_t *loop, const struct clock *clock, int64_t rest_ns);

/* Something arrived. */
static inline void moderation_count(struct moderation *m)
{
	m->in_turn++;
}

#endif
