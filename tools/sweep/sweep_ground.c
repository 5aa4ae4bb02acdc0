/* sweep_ground.c: what the command comes to without faults. See sweep_course.h. */
#include "tools/sweep/sweep_course.h"

#include "schema/base/clock.h"
#include "schema/base/limits.h"

#include <stdlib.h>

#define QUICK_MIN_NS     (100 * NS_PER_MS) /* of quiet, where that is enough without faults ... */
#define QUICK_MAX_NS     (400 * NS_PER_MS)
#define PAUSES_IN_QUICK  3   /* ... and the program makes no longer pauses */
#define PACED_EVENTS_MAX 500 /* longer tapes take too long in lock-step */

void sweep_stop(struct sweep *s)
{
	s->stopped = true;
	for (size_t i = 0; i < s->jobs; i++)
		s->runs.job[i].pid = 0;
}

/* In lock-step a program makes and deletes also what is there for a moment only. */
static size_t compare_run(const struct sweep *s, const struct sweep_ground *ground,
	const struct sweep_slot *as, const struct sweep_answer *answer, struct buf *differences)
{
	bool at_other_pace = as->paced && !s->runs.options.lockstep_ns;
	size_t count = sweep_compare(&ground->measure, &ground->answer, answer, "the first", differences) +
		       sweep_compare_probes(&ground->answer, answer, differences);

	return at_other_pace ? count + sweep_compare_pace(&ground->answer, answer, "the first", differences)
			     : count;
}

/* Starts `jobs` runs at once and compares each with the first of all. Returns how many differ. */
static int run_without(
	struct sweep *s, size_t jobs, const struct sweep_slot *as, struct buf *differences, struct err *err)
{
	const struct sweep_looker looker = {SWEEP_LOOK_NS, sweep_look, s};
	struct sweep_ground *ground = sweep_ground_of(s, as->laid_over);
	bool is_first = as->number == 1 && !as->paced;
	int rc = 0, differ = 0;

	for (size_t i = 0; i < jobs && rc == 0; i++) {
		s->runs.slot[i] = *as;
		s->runs.slot[i].number += i;
		rc = sweep_run_start(&s->runs, i, err);
	}
	for (size_t left = jobs; left && rc == 0; left--) {
		int at = sweep_jobs_wait(s->runs.job, jobs, s->v->invariants.count ? &looker : NULL);
		struct sweep_answer answer;

		if (at < 0) {
			sweep_stop(s);
			return 0;
		}
		rc = sweep_run_read(&s->runs, (size_t)at, is_first ? &ground->answer : &answer, err);
		if (rc || is_first)
			continue;
		sweep_health_learn(&ground->answer.health, &answer.health);
		if (as->number == 2) {
			ground->pause_ns = answer.pause_ns; /* the first has waited for watches */
			sweep_measure_learn(&ground->measure, &ground->answer, &answer);
		}
		if (compare_run(s, ground, as, &answer, differences))
			differ++;
		else if (!as->paced && (as->number != 2 || !ground->measure.unsteady_count))
			sweep_run_remove(&s->runs, &s->runs.slot[at]); /* else it is needed later */
		sweep_answer_release(&answer);
	}
	return rc ? rc : differ;
}

/* What sh says of a command that it cannot find or run. */
static bool is_not_run(int64_t exit_code)
{
	return exit_code == 126 || exit_code == 127;
}

/* Without an answer of the probe no run would differ from another. */
static int check_probe(const struct sweep *s, struct err *err)
{
	const struct sweep_answer *a = &s->plain.answer;

	if (!s->v->probe || (a->probe && !is_not_run(a->probe_code)))
		return 0;
	if (!a->probe)
		return err_set(err, ERR_FAILED,
			"without any gap the probe is never asked: the command ends by itself, before it is quiet at the "
			"tape's end");
	return err_set(err, ERR_USAGE,
		"the probe '%.200s' cannot be run: it ends with exit code %lld, as sh does", s->v->probe,
		(long long)a->probe_code);
}

static int check_first(const struct sweep *s, struct err *err)
{
	if (s->plain.answer.end != SWEEP_TIMEOUT)
		return check_probe(s, err);
	return err_set(err, ERR_FAILED,
		"without any gap the command comes to no end within %lld s: %s; see '%s/without-1.log'",
		(long long)(s->v->tried.timeout_ns / NS_PER_S),
		s->plain.answer.watches
			? "it goes on writing, or needs a longer --timeout"
			: "it opened no watch, so that the clock did not start (--wait-watchers 0)",
		s->runs.folder);
}

/* A pause may be a wait for the processor, too. */
static int64_t choose_quick(const struct sweep *s)
{
	int64_t ns = PAUSES_IN_QUICK * s->plain.pause_ns;

	return ns < QUICK_MIN_NS ? QUICK_MIN_NS : ns > QUICK_MAX_NS ? QUICK_MAX_NS : ns;
}

/* Whether several may run side by side, and with less time of quiet. What goes wrong is tried again with all
 * of it. */
static int find_pace(struct sweep *s, struct buf *differences, struct err *err)
{
	bool may_be_quick = s->v->tried.settle_ns > QUICK_MAX_NS;
	int rc = 1;

	s->runs.quick_ns = choose_quick(s);
	if (may_be_quick)
		rc = run_without(
			s, s->jobs, &(struct sweep_slot){.number = 3, .quick = true}, differences, err);
	s->quick = rc == 0;
	if (rc <= 0 || s->stopped || s->jobs == 1)
		return rc < 0 ? rc : 0;
	buf_clear(differences);
	rc = run_without(s, s->jobs, &(struct sweep_slot){.number = 3 + s->jobs}, differences, err);
	s->alone = rc > 0;
	s->jobs = s->alone ? 1 : s->jobs;
	return rc < 0 ? rc : 0;
}

/* Two rounds: to know the answer, and to see whether it is always the same. Returns how many differ. */
static int find_answer_twice(struct sweep *s, struct buf *differences, struct err *err)
{
	int rc = run_without(s, 1, &(struct sweep_slot){.number = 1}, NULL, err);

	if (rc == 0 && !s->stopped)
		rc = check_first(s, err);
	if (rc == 0 && s->v->wait_watchers < 0 && s->plain.answer.watches) {
		free(s->runs.watches);
		s->runs.watches = xasprintf("%llu", (unsigned long long)s->plain.answer.watches);
	}
	if (rc == 0 && !s->stopped)
		rc = run_without(s, 1, &(struct sweep_slot){.number = 2}, differences, err);
	return rc;
}

/* What comes too fast for a program can make it differ, or go wrong, without any fault. */
static int find_answer_in_lockstep(struct sweep *s, const char *why, struct buf *differences, struct err *err)
{
	fprintf(stderr,
		"kubetape sweep: at --speed max %s, so each event waits until the command is quiet (--lockstep "
		"%lldms): the second %.*s",
		why, (long long)(SWEEP_PACE_NS / NS_PER_MS), (int)differences->len, differences->ptr);
	for (size_t number = 1; number <= 2; number++)
		sweep_run_remove(&s->runs, &(struct sweep_slot){.number = number});
	sweep_answer_release(&s->plain.answer);
	sweep_measure_release(&s->plain.measure);
	s->plain.answer = (struct sweep_answer){0};
	s->plain.measure = s->asked;
	s->runs.options.lockstep_ns = SWEEP_PACE_NS;
	buf_clear(differences);
	return find_answer_twice(s, differences, err);
}

static bool may_be_slower(const struct sweep *s)
{
	return !s->stopped && !s->runs.options.lockstep_ns && strcmp(s->v->tried.speed, "max") == 0;
}

/* Two runs that go wrong in the same way, or pass over the same things because events come so fast, do not differ. */
static int compare_with_lockstep(struct sweep *s, bool laid_over, struct buf *differences, struct err *err)
{
	const struct sweep_slot slot = {.number = 1, .laid_over = laid_over, .paced = true};
	bool is_short = s->plain.answer.delivered <= PACED_EVENTS_MAX;
	int rc = may_be_slower(s) && is_short ? run_without(s, 1, &slot, differences, err) : 0;

	sweep_run_remove(&s->runs, &slot);
	return rc;
}

static int find_answer(struct sweep *s, struct buf *differences, struct err *err)
{
	const char *why = "two runs without gaps differ";
	int rc = find_answer_twice(s, differences, err);

	if (rc == 0) {
		why = "the command comes to something else than in lock-step";
		rc = compare_with_lockstep(s, false, differences, err);
	}
	return rc > 0 && may_be_slower(s) ? find_answer_in_lockstep(s, why, differences, err) : rc;
}

int sweep_find_answer(struct sweep *s, struct err *err)
{
	struct buf differences;
	int rc;

	buf_init(&differences, LIMIT_DOCUMENT_BYTES);
	rc = find_answer(s, &differences, err);
	if (rc > 0) {
		s->unsteady = true;
		fprintf(stderr,
			"kubetape sweep: the command is not deterministic: of two runs without gaps, the second %.*s",
			(int)differences.len, differences.ptr);
		rc = 0;
	}
	if (rc == 0 && !s->stopped && !s->unsteady)
		rc = find_pace(s, &differences, err);
	buf_release(&differences);
	return rc < 0 ? rc : 0;
}

/* What a program wrote must still be there when it starts again, and must reach its watches. */
#define OF_WRITES (1u << SWEEP_RESTART | 1u << SWEEP_STALE | 1u << SWEEP_WRITES | 1u << SWEEP_ECHO)

/* Two runs, as find_answer_twice. */
static int find_laid_over_twice(struct sweep *s, struct buf *differences, struct err *err)
{
	struct sweep_slot slot = {.number = 1, .laid_over = true};
	int rc;

	s->laid_over.measure = s->asked;
	rc = run_without(s, 1, &slot, NULL, err);
	slot.number = 2;
	return rc == 0 && !s->stopped ? run_without(s, 1, &slot, differences, err) : rc;
}

/* Both answers once more. */
static int find_laid_over_in_lockstep(
	struct sweep *s, const char *why, struct buf *differences, struct err *err)
{
	int rc = find_answer_in_lockstep(s, why, differences, err);

	s->unsteady = rc > 0;
	s->runs.quick_ns = choose_quick(s);
	if (rc || s->stopped)
		return rc;
	for (size_t number = 1; number <= 2; number++)
		sweep_run_remove(&s->runs, &(struct sweep_slot){.number = number, .laid_over = true});
	sweep_answer_release(&s->laid_over.answer);
	sweep_measure_release(&s->laid_over.measure);
	buf_clear(differences);
	return find_laid_over_twice(s, differences, err);
}

static int find_laid_over(struct sweep *s, struct buf *differences, struct err *err)
{
	const char *why = "two runs with '--write overlay' differ";
	int rc = find_laid_over_twice(s, differences, err);

	if (rc == 0) {
		why = "the command comes to something else with '--write overlay' than in lock-step";
		rc = compare_with_lockstep(s, true, differences, err);
	}
	return rc > 0 && may_be_slower(s) ? find_laid_over_in_lockstep(s, why, differences, err) : rc;
}

/* Another answer, with what is written laid over the tape, unless nothing was absorbed or the user had a say.
 */
int sweep_find_laid_over(struct sweep *s, struct err *err)
{
	bool needed = (s->patterns & OF_WRITES) && s->plain.answer.absorbed && !s->v->tried.writes.count;
	struct buf differences;
	int rc;

	if (!needed)
		return 0;
	buf_init(&differences, LIMIT_DOCUMENT_BYTES);
	rc = find_laid_over(s, &differences, err);
	s->laid_over.known = rc == 0 && s->laid_over.answer.end != SWEEP_TIMEOUT;
	if (rc >= 0 && !s->laid_over.known) {
		fputs("kubetape sweep: with '--write overlay' the command is not deterministic, or comes to no end: "
		      "restart, stale, writes and echo are not tried\n",
			stderr);
		s->patterns &= ~OF_WRITES;
	}
	buf_release(&differences);
	return rc < 0 ? rc : 0;
}

/* One in lock-step tells which event each write is the answer to. Where it comes to something else, or would
 * take too long, any run has to do. */
int sweep_find_causes(struct sweep *s, struct err *err)
{
	bool laid_over = s->laid_over.known;
	const struct sweep_slot slot = {.number = 1, .laid_over = laid_over, .paced = true};
	struct buf differences;
	int rc;

	if (!(s->patterns & OF_WRITES) || s->positions.delivered > PACED_EVENTS_MAX)
		return 0;
	buf_init(&differences, LIMIT_DOCUMENT_BYTES);
	rc = run_without(s, 1, &slot, &differences, err);
	if (rc == 0 && !s->stopped)
		s->paced = slot;
	buf_release(&differences);
	return rc < 0 ? rc : 0;
}
