/* backoff.c: see backoff.h. */
#include "recorder/backoff.h"

#include "schema/base/clock.h"

#define BASE_NS           (800 * NS_PER_MS)
#define CAP_NS            (30 * NS_PER_S)
#define FORGET_NS         (120 * NS_PER_S)
#define SLOW_FACTOR       6   /* 4.8 s, 9.6 s, ... up to the cap */
#define MAX_RETRY_AFTER_S 300 /* a server that wants to be left alone for longer is asked all the same */

int64_t backoff_next(struct backoff *b, int64_t now_mono_ns, double chance, bool slow, int64_t retry_after_s)
{
	int64_t delay = b->base_ns > 0 ? b->base_ns : BASE_NS;

	if (b->attempts && now_mono_ns - b->last_mono_ns > FORGET_NS)
		b->attempts = 0;
	b->last_mono_ns = now_mono_ns;
	if (slow)
		delay *= SLOW_FACTOR;
	for (unsigned i = 0; i < b->attempts && delay < CAP_NS; i++)
		delay *= 2;
	b->attempts++;
	if (retry_after_s > 0)
		return (retry_after_s < MAX_RETRY_AFTER_S ? retry_after_s : MAX_RETRY_AFTER_S) * NS_PER_S;
	if (delay > CAP_NS)
		delay = CAP_NS;
	return delay + (int64_t)((double)delay * chance);
}

void backoff_reset(struct backoff *b)
{
	b->attempts = 0;
}
