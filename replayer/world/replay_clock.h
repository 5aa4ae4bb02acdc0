/*
 * replay_clock.h: how the time of the tape follows the time of the machine. All deadlines are absolute points
 * of monotonic time computed from one anchor, so that no error adds up.
 */
#ifndef REPLAYER_REPLAY_CLOCK_H
#define REPLAYER_REPLAY_CLOCK_H

#include "schema/base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define SPEED_MAX 0.0 /* as fast as the watchers take it */

struct replay_clock {
	double speed; /* tape seconds for each second, or SPEED_MAX */
	bool running;
	int64_t tape_ns; /* tape time at the anchor; while stopped, the present time */
	int64_t mono_ns; /* monotonic time at the anchor */
};

/* "1", "0.5", "100", "max". ERR_USAGE. */
int speed_parse(const char *text, double *ret, struct err *err) MUST_CHECK;

void replay_clock_init(struct replay_clock *c, double speed, int64_t tape_ns);
void replay_clock_start(struct replay_clock *c, int64_t mono_ns);
void replay_clock_stop(struct replay_clock *c, int64_t mono_ns);
void replay_clock_set_speed(struct replay_clock *c, double speed, int64_t mono_ns);
/* Jumps to a tape time; keeps running if it ran. */
void replay_clock_set(struct replay_clock *c, int64_t tape_ns, int64_t mono_ns);

/* Tape time now. With SPEED_MAX it is INT64_MAX: everything is due. */
int64_t replay_clock_tape_ns(const struct replay_clock *c, int64_t mono_ns);

/* When a tape time is reached, as monotonic time; INT64_MAX while the clock is stopped. */
int64_t replay_clock_due_ns(const struct replay_clock *c, int64_t tape_ns);

#endif
