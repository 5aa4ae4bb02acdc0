/* patience.c: see patience.h. */
#include "recorder/push/patience.h"

#include "schema/base/clock.h"

#include <time.h>

#define FIRST_DELAY_NS (200 * NS_PER_MS)
#define LAST_DELAY_NS  (20 * NS_PER_S)
#define LOOK_NS        (50 * NS_PER_MS)
#define SILENCE_MIN_S  10
#define SILENCE_MAX_S  60

int64_t patience_delay(unsigned attempt, int retry_after_s)
{
	int64_t delay = FIRST_DELAY_NS << (attempt < 8 ? attempt : 8);

	if (retry_after_s > 0)
		return retry_after_s * NS_PER_S;
	delay = delay < LAST_DELAY_NS ? delay : LAST_DELAY_NS;
	return delay / 2 + clock_mono_ns(&clock_system) % (delay / 2);
}

int64_t patience_silence_s(int64_t give_up_ns)
{
	int64_t left_s = (give_up_ns - clock_mono_ns(&clock_system)) / NS_PER_S;

	return left_s < SILENCE_MIN_S ? SILENCE_MIN_S : left_s < SILENCE_MAX_S ? left_s : SILENCE_MAX_S;
}

bool patience_wait(int64_t delay_ns, bool (*stop)(void *context), void *context)
{
	int64_t until = clock_mono_ns(&clock_system) + delay_ns;
	const struct timespec step = {0, LOOK_NS};

	while (clock_mono_ns(&clock_system) < until) {
		if (stop && stop(context))
			return true;
		nanosleep(&step, NULL);
	}
	return false;
}
