/* sweep_progress.c: how far the tries have come. See sweep_course.h. */
#include "tools/sweep/sweep_course.h"

#include "schema/base/clock.h"

#define CAUSES_RESERVED 4 /* see time_to_repeat */
#define RUNS_RESERVED   6

size_t sweep_count_verdicts(const struct sweep *s, enum sweep_verdict verdict)
{
	size_t n = 0;

	for (size_t i = 0; i < s->try_count; i++)
		n += s->tries[i].verdict == verdict;
	return n;
}

bool sweep_budget_allows(const struct sweep *s, int64_t more_ns)
{
	return !s->v->budget_ns || clock_mono_ns(&clock_system) + more_ns - s->opened_ns <= s->v->budget_ns;
}

/* What has gone wrong once is a finding as well, as far as can be told. */
static size_t count_suspects(const struct sweep *s)
{
	size_t n = sweep_count_verdicts(s, SWEEP_WRONG);

	for (size_t i = 0; i < s->try_count; i++)
		n += s->tries[i].verdict == SWEEP_UNTRIED && s->tries[i].differences;
	return n;
}

/* What is found takes some runs more: without faults, and again the example of each cause. */
static int64_t time_to_repeat(const struct sweep *s, int64_t run_ns)
{
	size_t wrong = count_suspects(s);
	size_t causes = wrong < CAUSES_RESERVED ? wrong : CAUSES_RESERVED;

	return wrong ? run_ns * (int64_t)(1 + (RUNS_RESERVED + 3 * causes) / s->jobs) : 0;
}

static bool has_begun(const struct sweep *s)
{
	for (size_t i = 0; i < s->try_count; i++) {
		if (s->tries[i].has_begun)
			return true;
	}
	return false;
}

bool sweep_has_time(const struct sweep *s)
{
	int64_t run_ns = s->ended ? s->ran_ns / (int64_t)s->ended : 0;

	if (!s->ended && !has_begun(s))
		return true;
	return sweep_budget_allows(s, run_ns + time_to_repeat(s, run_ns));
}

/* So far each took as long as the next will. */
static long long seconds_left(const struct sweep *s, size_t tried, size_t left)
{
	int64_t took_ns = clock_mono_ns(&clock_system) - s->begun_ns;

	return tried ? (long long)(took_ns / NS_PER_S * (int64_t)left / (int64_t)tried) : 0;
}

/* What other shards will try. */
static size_t count_elsewhere(const struct sweep *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->try_count && s->shard.count; i++)
		n += s->tries[i].verdict == SWEEP_UNTRIED && !sweep_shard_has(&s->shard, &s->tries[i]);
	return n;
}

void sweep_show_progress(const struct sweep *s, bool shown)
{
	size_t elsewhere = count_elsewhere(s);
	size_t all = s->try_count - sweep_count_verdicts(s, SWEEP_NOT_REACHED) - elsewhere;
	size_t left = sweep_count_verdicts(s, SWEEP_UNTRIED) - elsewhere;

	if (shown)
		fprintf(stderr,
			"\r%zu of %zu faults tried, %zu wrong, about %lld s left (Ctrl-C stops)\033[K",
			all - left, all, sweep_count_verdicts(s, SWEEP_WRONG),
			seconds_left(s, all - left, left));
}
