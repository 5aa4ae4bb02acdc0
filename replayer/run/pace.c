/* pace.c: see pace.h. */
#include "replayer/run/pace.h"

#include "schema/base/clock.h"

#include <stdbool.h>

/* Steps that make a pace. Shorter ones take as long as the answers do; longer ones than client-go's default limit makes are
 * somebody's own rests. */
#define ALIKE_MIN 4u
#define VAIN_MAX  3
#define DOUBT_MAX 5 /* that count */
#define STEP_MIN  (10 * NS_PER_MS)
#define STEP_MAX  (260 * NS_PER_MS)

static bool is_alike(int64_t step_ns, int64_t other_ns)
{
	return step_ns > other_ns - other_ns / 4 && step_ns < other_ns + other_ns / 4;
}

void pace_note(struct pace *p, int64_t now_ns)
{
	int64_t step_ns = p->last_ns ? now_ns - p->last_ns : 0;

	p->alike = step_ns >= STEP_MIN && step_ns <= STEP_MAX && is_alike(step_ns, p->step_ns) ? p->alike + 1
											       : 0;
	p->step_ns = step_ns;
	p->last_ns = now_ns;
	if (p->alike >= ALIKE_MIN << p->doubts && step_ns > p->kept_ns)
		p->kept_ns = step_ns;
	if (step_ns < pace_rest_ns(p))
		p->vain = 0;
}

void pace_rested(struct pace *p)
{
	if (++p->vain < VAIN_MAX)
		return;
	p->kept_ns = 0;
	p->alike = p->vain = 0;
	p->doubts += p->doubts < DOUBT_MAX;
}

int64_t pace_rest_ns(const struct pace *p)
{
	return p->kept_ns + p->kept_ns / 2;
}
