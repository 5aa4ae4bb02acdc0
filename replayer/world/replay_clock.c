/* replay_clock.c: see replay_clock.h. */
#include "replayer/world/replay_clock.h"

#include "schema/base/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FASTEST 1e6 /* beyond that "max" is meant; keeps the arithmetic away from its edges */

int speed_parse(const char *text, double *ret, struct err *err)
{
	char *end;
	double speed;

	if (strcmp(text, "max") == 0) {
		*ret = SPEED_MAX;
		return 0;
	}
	speed = strtod(text, &end);
	if (end == text || *end || !isfinite(speed) || speed <= 0 || speed > FASTEST)
		return err_set(err, ERR_USAGE, "bad speed '%s': expected a number above 0 up to %g, or 'max'",
			text, FASTEST);
	*ret = speed;
	return 0;
}

void replay_clock_init(struct replay_clock *c, double speed, int64_t tape_ns)
{
	*c = (struct replay_clock){.speed = speed, .tape_ns = tape_ns};
}

void replay_clock_start(struct replay_clock *c, int64_t mono_ns)
{
	if (c->running)
		return;
	c->running = true;
	c->mono_ns = mono_ns;
}

/* Where the clock stands. With SPEED_MAX time does not flow by itself: it stays where it was set. */
static int64_t standing_ns(const struct replay_clock *c, int64_t mono_ns)
{
	double passed_ns = (double)(mono_ns - c->mono_ns) * c->speed;

	if (!c->running || c->speed == SPEED_MAX)
		return c->tape_ns;
	return time_add(c->tape_ns, passed_ns < 9e18 ? (int64_t)passed_ns : INT64_MAX);
}

void replay_clock_stop(struct replay_clock *c, int64_t mono_ns)
{
	c->tape_ns = standing_ns(c, mono_ns);
	c->running = false;
}

void replay_clock_set(struct replay_clock *c, int64_t tape_ns, int64_t mono_ns)
{
	c->tape_ns = tape_ns;
	c->mono_ns = mono_ns;
}

void replay_clock_set_speed(struct replay_clock *c, double speed, int64_t mono_ns)
{
	replay_clock_set(c, standing_ns(c, mono_ns), mono_ns);
	c->speed = speed;
}

int64_t replay_clock_tape_ns(const struct replay_clock *c, int64_t mono_ns)
{
	if (c->running && c->speed == SPEED_MAX)
		return INT64_MAX;
	return standing_ns(c, mono_ns);
}

int64_t replay_clock_due_ns(const struct replay_clock *c, int64_t tape_ns)
{
	double wait_ns;

	if (!c->running)
		return INT64_MAX;
	if (c->speed == SPEED_MAX || tape_ns <= c->tape_ns)
		return c->mono_ns;
	wait_ns = (double)time_sub(tape_ns, c->tape_ns) / c->speed;
	return wait_ns < 9e18 - (double)c->mono_ns ? c->mono_ns + (int64_t)wait_ns : INT64_MAX;
}
