/*
 * sweep_repeat.c: how often the example of each cause goes wrong in some further runs; see sweep_course.h. They are what
 * the lines that repeat a finding will do. One that never goes wrong again was chance, and the next example of its cause
 * is looked at instead.
 */
#include "tools/sweep/sweep_course.h"

#include <stdlib.h>
#include <unistd.h>

#define RUNS       3 /* of one example */
#define CAUSES_MAX 8
#define ROUNDS_MAX 3

struct repeating {
	struct sweep *sweep;
	struct sweep_try *of[CAUSES_MAX];
	size_t count, begun; /* examples; runs of all of them */
};

static void find_examples(struct repeating *r)
{
	struct sweep *s = r->sweep;
	const struct sweep_report report = {.tries = s->tries, .count = s->try_count};
	struct sweep_causes causes;

	r->count = r->begun = 0;
	sweep_causes_find(&report, SWEEP_WRONG, &causes);
	for (size_t i = 0; i < causes.count && r->count < CAUSES_MAX; i++) {
		struct sweep_try *t = &s->tries[causes.items[i].example - s->tries];

		if (!t->further_runs)
			r->of[r->count++] = t;
	}
	sweep_causes_release(&causes);
}

static bool has_more(const struct repeating *r)
{
	return r->begun < RUNS * r->count && sweep_budget_allows(r->sweep, 0);
}

static int begin(struct repeating *r, size_t at, struct err *err)
{
	struct sweep *s = r->sweep;
	struct sweep_try *t = r->of[r->begun % r->count];

	s->runs.slot[at] = (struct sweep_slot){.of = t,
		.stage = SWEEP_REPEAT,
		.number = 1 + r->begun / r->count,
		.faults = t->faults,
		.laid_over = t->position->laid_over,
		.paced = s->paced.number && sweep_is_late_by_events(t->position)};
	r->begun++;
	return sweep_run_start(&s->runs, at, err);
}

static int judge(struct sweep *s, size_t at, struct err *err)
{
	struct sweep_slot *slot = &s->runs.slot[at];
	struct sweep_try *t = slot->of;
	struct sweep_answer answer;
	char *differences;
	int rc = sweep_try_read(s, at, &answer, err);

	if (rc)
		return rc;
	differences = sweep_differences(s, slot, &answer);
	t->further_runs++;
	t->further_wrong += answer.hits && differences && sweep_share_cause(t->differences, differences);
	sweep_run_remove(&s->runs, slot);
	sweep_alarm_release(&slot->broken);
	sweep_answer_release(&answer);
	free(differences);
	return 0;
}

static int run_all(struct repeating *r, struct err *err)
{
	struct sweep *s = r->sweep;
	const struct sweep_looker looker = {SWEEP_LOOK_NS, sweep_look, s};
	size_t running = 0;
	int rc = 0;

	while (rc == 0 && running < s->jobs && has_more(r))
		rc = begin(r, running++, err);
	while (rc == 0 && running) {
		int at = sweep_jobs_wait(s->runs.job, s->jobs, s->v->invariants.count ? &looker : NULL);

		if (at < 0) {
			sweep_stop(s);
			return 0;
		}
		rc = judge(s, (size_t)at, err);
		if (rc == 0 && has_more(r))
			rc = begin(r, (size_t)at, err);
		else
			running--;
	}
	return rc;
}

static size_t drop_chance(struct repeating *r)
{
	size_t dropped = 0;

	for (size_t i = 0; i < r->count; i++) {
		struct sweep_try *t = r->of[i];

		if (t->further_runs < RUNS || t->further_wrong)
			continue;
		t->verdict = SWEEP_UNSURE;
		dropped++;
	}
	return dropped;
}

int sweep_repeat(struct sweep *s, struct err *err)
{
	struct repeating r = {.sweep = s};
	bool shown = isatty(STDERR_FILENO);
	int rc = 0;

	for (size_t round = 0; round < ROUNDS_MAX && rc == 0 && !s->stopped; round++) {
		find_examples(&r);
		if (shown && r.count)
			fprintf(stderr, "\rrepeating %zu findings\033[K", r.count);
		rc = run_all(&r, err);
		if (rc == 0 && drop_chance(&r) == 0)
			break;
	}
	if (shown)
		fputs("\r\033[K", stderr);
	return rc;
}
