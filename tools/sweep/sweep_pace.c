/* sweep_pace.c: how fast runs may go: side by side, with less time of quiet, in lock-step. See sweep_course.h. */
#include "tools/sweep/sweep_course.h"

#include "schema/base/clock.h"
#include "schema/base/limits.h"
#include "schema/base/processors.h"

#include <stdlib.h>

#define QUICK_MIN_NS    (100 * NS_PER_MS) /* of quiet, where that is enough without faults ... */
#define QUICK_MAX_NS    (400 * NS_PER_MS)
#define PAUSES_IN_QUICK 3                        /* ... and the program makes no longer pauses */
#define FURTHER         (3 + 3 * SWEEP_JOBS_MAX) /* number of the first run of those after the tries */
#define FURTHER_RUNS    10
#define FURTHER_FEW     4
#define PACE_NS         (50 * NS_PER_MS) /* of lock-step */
#define PACED_NS_MAX                                                                                         \
	(30 * NS_PER_S) /* all events together, if the program needs more than PACE_NS for each */

size_t sweep_jobs_fit(const struct sweep_job *first, size_t own)
{
	int64_t left_ns = first->used_ns + first->idle_ns, most_ns = (int64_t)own * first->lasted_ns;
	size_t fit = (size_t)((left_ns < most_ns ? left_ns : most_ns) / first->used_ns);

	return fit > own ? fit : own;
}

void sweep_fit_jobs(struct sweep *s)
{
	const struct sweep_job *first = &s->runs.job[0];
	size_t fit;

	if (s->v->jobs || first->used_ns <= 0)
		return;
	fit = sweep_jobs_fit(first, processors(SWEEP_JOBS_MAX));
	s->jobs = fit < s->jobs ? fit : s->jobs;
}

/* A pause may be a wait for the processor, too. */
int64_t sweep_choose_quick(const struct sweep *s)
{
	int64_t plain_ns = s->plain.pause_ns, laid_over_ns = s->laid_over.pause_ns;
	int64_t ns = PAUSES_IN_QUICK * (plain_ns > laid_over_ns ? plain_ns : laid_over_ns);

	return ns < QUICK_MIN_NS ? QUICK_MIN_NS : ns > QUICK_MAX_NS ? QUICK_MAX_NS : ns;
}

/* Returns 0 if they may have less time of quiet. */
static int find_quick(
	struct sweep *s, size_t number, bool laid_over, struct buf *differences, struct err *err)
{
	const struct sweep_slot first = {.number = number, .laid_over = laid_over, .quick = true};
	int rc = 1;

	if (s->v->tried.settle_ns > QUICK_MAX_NS && !s->stopped)
		rc = sweep_run_full(s, &first, differences, err);
	buf_clear(differences);
	s->quick = rc == 0;
	return rc;
}

static void tell_alone(const struct buf *differences)
{
	fprintf(stderr,
		"kubetape sweep: one runs after the other, as those side by side differ from the first: %.*s\n",
		(int)strcspn(differences->ptr, "\n"), differences->ptr);
}

/* A run in lock-step is there: all others may be such. */
static bool has_lockstep(const struct sweep *s, bool laid_over)
{
	return !s->runs.options.lockstep_ns && s->paced.number && s->paced.laid_over == laid_over;
}

/* What differs beside others may do so for its pace: then each event is to wait until the program is quiet. What ends early wants
 * something that only one can have. */
static void keep_apart(struct sweep *s, bool laid_over, const struct buf *differences)
{
	bool ends = slice_begins(buf_slice(differences), SWEEP_ENDS_BY_ITSELF);

	s->alone = true;
	if (has_lockstep(s, laid_over) && !ends)
		return;
	tell_alone(differences);
	s->jobs = 1;
}

/* For so many rounds of runs. */
static bool has_time_for(const struct sweep *s, int64_t rounds)
{
	return sweep_budget_allows(s, rounds * s->runs.job[0].lasted_ns);
}

int sweep_find_pace(struct sweep *s, bool laid_over, struct buf *differences, struct err *err)
{
	const struct text_list *unsteady = &sweep_ground_of(s, laid_over)->measure.unsteady;
	size_t known = unsteady->count;
	int rc;

	s->runs.quick_ns = sweep_choose_quick(s);
	/* To see how fast runs may go takes one or two more, which must leave time for faults. */
	if (!has_time_for(s, 2)) {
		s->jobs = 1;
		return 0;
	}
	rc = has_time_for(s, 3) ? find_quick(s, 3, laid_over, differences, err) : 1;
	if (rc <= 0 || s->stopped || s->jobs == 1)
		return rc < 0 ? rc : 0;
	rc = sweep_run_full(
		s, &(struct sweep_slot){.number = 3 + s->jobs, .laid_over = laid_over}, differences, err);
	if (rc > 0)
		keep_apart(s, laid_over, differences);
	if (rc == 0 && unsteady->count > known && has_time_for(s, 2))
		rc = find_quick(s, 3 + 2 * s->jobs, laid_over, differences, err);
	return rc < 0 ? rc : 0;
}

void sweep_share_lessons(struct sweep *s)
{
	sweep_measure_add(&s->laid_over.measure, &s->plain.measure);
	sweep_measure_add(&s->plain.measure, &s->laid_over.measure);
}

/* Once the budget is spent, a few have to do. */
static bool wants_more(const struct sweep *s, size_t made)
{
	return !s->stopped && made < (sweep_budget_allows(s, 0) ? FURTHER_RUNS : FURTHER_FEW);
}

int sweep_learn_more(struct sweep *s, bool laid_over, bool *ret, struct err *err)
{
	const struct sweep_ground *ground = sweep_ground_of(s, laid_over);
	size_t known = ground->measure.unsteady.count;
	struct buf differences;
	int rc = 0;

	*ret = false;
	buf_init(&differences, LIMIT_DOCUMENT_BYTES);
	for (size_t made = 0; wants_more(s, made) && rc >= 0 && !*ret; made += s->jobs) {
		buf_clear(&differences);
		rc = sweep_run_full(s, &(struct sweep_slot){.number = FURTHER + made, .laid_over = laid_over},
			&differences, err);
		*ret = ground->measure.unsteady.count > known;
	}
	buf_release(&differences);
	sweep_share_lessons(s);
	return rc < 0 ? rc : 0;
}

void sweep_choose_pace(struct sweep *s)
{
	int64_t ns = s->plain.answer.rest_ns;
	bool affordable = ns * (int64_t)s->plain.answer.delivered <= PACED_NS_MAX;

	s->runs.pace_ns = ns > PACE_NS && affordable ? ns : PACE_NS;
}

/* One run without faults, while nothing else runs. *ret is untouched if the user stops it. */
static int run_alone(
	struct sweep *s, const struct sweep_slot *slot, struct sweep_answer *ret, struct err *err)
{
	int rc;

	s->runs.slot[0] = *slot;
	rc = sweep_run_start(&s->runs, 0, err);
	if (rc == 0 && sweep_jobs_wait(s->runs.job, 1, NULL) < 0) {
		sweep_stop(s);
		return 0;
	}
	return rc ? rc : sweep_run_read(&s->runs, 0, ret, err);
}

int sweep_is_steadier_paced(struct sweep *s, bool laid_over, struct err *err)
{
	const struct sweep_slot second = {.number = 2, .laid_over = laid_over, .paced = true};
	struct sweep_measure paced = s->asked;
	struct sweep_answer one = {0}, other = {0};
	size_t differ;
	int rc = run_alone(s, &second, &other, err);

	s->runs.slot[0] = s->paced;
	if (rc == 0)
		rc = sweep_run_read(&s->runs, 0, &one, err);
	sweep_measure_learn(&paced, &one, &other);
	differ = paced.unsteady.count;
	if (rc == 0 && !s->stopped)
		rc = sweep_has_same_effects(&one, &other) &&
		     differ < sweep_ground_of(s, laid_over)->measure.unsteady.count;
	sweep_run_remove(&s->runs, &second);
	sweep_measure_release(&paced);
	sweep_answer_release(&one);
	sweep_answer_release(&other);
	return rc;
}
