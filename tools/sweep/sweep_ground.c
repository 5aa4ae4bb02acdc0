/* sweep_ground.c: what the command comes to without faults. See sweep_course.h. */
#include "tools/sweep/sweep_ground_internal.h"

#include "schema/base/clock.h"
#include "schema/base/limits.h"

#include <stdlib.h>

#define PACED_EVENTS_MAX 500 /* longer tapes take too long in lock-step */

void sweep_stop(struct sweep *s)
{
	s->stopped = true;
	for (size_t i = 0; i < s->jobs; i++)
		s->runs.job[i].pid = 0;
}

static bool may_be_slower(const struct sweep *s)
{
	return !s->stopped && !s->runs.options.lockstep_ns && strcmp(s->v->tried.speed, "max") == 0;
}

static bool is_short(const struct sweep *s)
{
	return s->plain.answer.delivered <= PACED_EVENTS_MAX;
}

/* The second run, or that in lock-step, before it is made anew. */
static void forget_run(struct sweep *s, const struct sweep_slot *slot)
{
	struct sweep_ground *ground = sweep_ground_of(s, slot->laid_over);

	sweep_run_remove(&s->runs, slot);
	if (slot->number != 2)
		return;
	sweep_measure_release(&ground->measure);
	ground->measure = s->asked;
}

/* Before what differs, which is then that of the run named last. */
static const char *why_not(bool laid_over, bool is_second)
{
	if (is_second)
		return laid_over ? "two runs with '--write overlay' differ: in the second,"
				 : "two runs without gaps differ: in the second,";
	return laid_over
		       ? "the command comes to something else with '--write overlay' than in lock-step: there,"
		       : "the command comes to something else than in lock-step: there,";
}

/* One after the other. */
static int run_each(struct sweep *s, const struct sweep_slot *slots, size_t count, const char **ret_why,
	struct buf *differences, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < count && rc == 0 && !s->stopped; i++) {
		forget_run(s, &slots[i]);
		*ret_why = why_not(slots[i].laid_over, i == 0);
		rc = sweep_run_without(s, &slots[i], differences, err);
	}
	return rc;
}

/* Beside each other, which takes half of the time. What ends early then, or differs in content, may do so for that
 * reason: it runs once more, alone. */
static int run_both(struct sweep *s, const struct sweep_slot slots[2], const char **ret_why,
	struct buf *differences, struct err *err)
{
	struct sweep_beside seen;
	int rc = sweep_run_beside(s, slots, 2, &seen, differences, err);

	if (rc || s->stopped)
		return rc;
	if (seen.early) {
		buf_clear(differences);
		return run_each(s, slots, 2, ret_why, differences, err);
	}
	*ret_why = why_not(slots->laid_over, seen.first);
	if (seen.differ)
		return (int)seen.differ;
	if (sweep_ground_of(s, slots->laid_over)->measure.unsteady.count)
		return run_each(s, slots, 1, ret_why, differences, err);
	return 0;
}

/* Two runs that go wrong in the same way, or pass over the same things because events come so fast, do not differ: so a
 * run in lock-step is compared as well. Returns how many differ, and *ret_why, or an error. */
static int run_again(
	struct sweep *s, bool laid_over, const char **ret_why, struct buf *differences, struct err *err)
{
	const struct sweep_slot slots[] = {
		{.number = 2, .laid_over = laid_over}, {.number = 1, .laid_over = laid_over, .paced = true}};
	size_t count = may_be_slower(s) && is_short(s) ? 2 : 1;
	int rc;

	sweep_run_remove(&s->runs, &slots[1]);
	if (count > 1 && s->jobs > 1)
		rc = run_both(s, slots, ret_why, differences, err);
	else
		rc = run_each(s, slots, count, ret_why, differences, err);
	if (count > 1 && rc == 0 && !s->stopped)
		s->paced = slots[1];
	return rc;
}

static void forget_answer(struct sweep *s, bool laid_over)
{
	struct sweep_ground *ground = sweep_ground_of(s, laid_over);

	for (size_t number = 1; number <= 2; number++)
		sweep_run_remove(&s->runs, &(struct sweep_slot){.number = number, .laid_over = laid_over});
	sweep_run_remove(&s->runs, &(struct sweep_slot){.number = 1, .paced = true});
	sweep_answer_release(&ground->answer);
	sweep_measure_release(&ground->measure);
	*ground = (struct sweep_ground){.measure = s->asked};
	s->paced = (struct sweep_slot){0};
}

/* Once more if it has shown how all runs are to be. */
static int run_first(struct sweep *s, struct err *err)
{
	int rc;

	do {
		forget_answer(s, false);
		rc = sweep_run_without(s, &(struct sweep_slot){.number = 1}, NULL, err);
	} while (rc == 0 && sweep_learn_to_collect(s, &s->plain.answer));
	return rc;
}

/* Though it may have one where its writes are kept. */
static bool has_no_end(const struct sweep *s)
{
	return s->plain.answer.end == SWEEP_TIMEOUT && sweep_absorbs(s);
}

/* Two rounds: to know the answer, and to see whether it is always the same. Returns how many differ. */
static int find_answer_twice(struct sweep *s, const char **ret_why, struct buf *differences, struct err *err)
{
	int rc = run_first(s, err);

	if (rc == 0 && !s->stopped && has_no_end(s))
		sweep_keep_all(s, "it comes to no end if it does not find what it wrote");
	else if (rc == 0 && !s->stopped)
		rc = sweep_check_first(s, err);
	sweep_fit_jobs(s);
	if (!s->runs.pace_ns)
		sweep_choose_pace(s);
	if (rc == 0 && s->v->wait_watchers < 0 && s->plain.answer.watches) {
		free(s->runs.watches);
		s->runs.watches = xasprintf("%llu", (unsigned long long)s->plain.answer.watches);
	}
	return rc == 0 && !s->stopped && !s->plain_fails ? run_again(s, false, ret_why, differences, err)
							 : rc;
}

static void begin_lockstep(struct sweep *s, const char *why, const struct buf *differences)
{
	fprintf(stderr,
		"kubetape sweep: each event waits until the command is quiet (--lockstep %lldms), as at --speed max %s "
		"%.*s\n",
		(long long)(s->runs.pace_ns / NS_PER_MS), why, (int)strcspn(differences->ptr, "\n"),
		differences->ptr);
	s->runs.options.lockstep_ns = s->runs.pace_ns;
}

/* What comes too fast for a program can make it differ, or go wrong, without any fault. */
static int find_answer_in_lockstep(struct sweep *s, const char *why, struct buf *differences, struct err *err)
{
	begin_lockstep(s, why, differences);
	if (s->plain_fails)
		return 0; /* however fast events come */
	forget_answer(s, false);
	buf_clear(differences);
	return find_answer_twice(s, &why, differences, err);
}

static int find_answer(struct sweep *s, struct buf *differences, struct err *err)
{
	const char *why = NULL;
	int rc = find_answer_twice(s, &why, differences, err);

	return rc > 0 && may_be_slower(s) ? find_answer_in_lockstep(s, why, differences, err) : rc;
}

/* The same for all runs: a program that asks for what it has created must find it, what waits for its finalizer or
 * its deletion must be there, and what it is to make or to add must not. And what a program writes may differ from run to
 * run just because it does not see what it wrote before. */
static bool needs_all(const struct sweep *s)
{
	bool reads_back = s->keeps_all || s->plain.answer.reads_back || s->plain.measure.unsteady.count;

	return (sweep_absorbs(s) && reads_back) || s->runs.options.recorded.released.count ||
	       sweep_recorded_program_ran(&s->runs.options.recorded);
}

static int find_plain(struct sweep *s, struct err *err)
{
	struct buf differences;
	int rc;

	buf_init(&differences, LIMIT_DOCUMENT_BYTES);
	rc = find_answer(s, &differences, err);
	if (rc > 0 && sweep_absorbs(s)) {
		sweep_keep_all(s, "two runs differ in which it does not find what it wrote");
		rc = 0;
	} else if (rc > 0) {
		sweep_say_unsteady(s, &differences);
		rc = 0;
	}
	if (rc == 0 && !s->stopped && !s->unsteady && !needs_all(s))
		rc = sweep_find_pace(s, false, &differences, err);
	buf_release(&differences);
	return rc < 0 ? rc : 0;
}

/* What a program wrote must still be there when it starts again, and must reach its watches. */
#define OF_WRITES (1u << SWEEP_RESTART | 1u << SWEEP_STALE | 1u << SWEEP_WRITES | 1u << SWEEP_ECHO)

/* The first one. What is left to the program may let it do more of what is on the tape as well, such as delete it. */
static int run_laid_over(struct sweep *s, struct err *err)
{
	const struct sweep_slot first = {.number = 1, .laid_over = true};
	bool collects;
	size_t known;
	int rc;

	do {
		sweep_run_remove(&s->runs, &first);
		sweep_answer_release(&s->laid_over.answer);
		s->laid_over.measure = s->asked;
		known = sweep_recorded_count(&s->runs.options.recorded);
		rc = sweep_run_without(s, &first, NULL, err);
		if (rc == 0 && !s->stopped && known)
			rc = sweep_learn_of_tape(s, &s->laid_over.answer, err);
		collects = rc == 0 && sweep_learn_to_collect(s, &s->laid_over.answer);
	} while (rc == 0 && !s->stopped &&
		 (collects || sweep_recorded_count(&s->runs.options.recorded) > known));
	return rc;
}

/* As find_answer_twice. */
static int find_laid_over_twice(
	struct sweep *s, const char **ret_why, struct buf *differences, struct err *err)
{
	int rc = run_laid_over(s, err);

	return rc == 0 && !s->stopped ? run_again(s, true, ret_why, differences, err) : rc;
}

/* Both answers once more. */
static int find_laid_over_in_lockstep(
	struct sweep *s, const char *why, struct buf *differences, struct err *err)
{
	int rc = find_answer_in_lockstep(s, why, differences, err);

	s->unsteady = rc > 0;
	s->runs.quick_ns = sweep_choose_quick(s);
	if (rc || s->stopped)
		return rc;
	forget_answer(s, true);
	buf_clear(differences);
	return find_laid_over_twice(s, &why, differences, err);
}

static int find_laid_over(struct sweep *s, struct buf *differences, struct err *err)
{
	const char *why = NULL;
	int rc = find_laid_over_twice(s, &why, differences, err);

	return rc > 0 && may_be_slower(s) ? find_laid_over_in_lockstep(s, why, differences, err) : rc;
}

/* Whether runs are laid over the tape: for patterns of writes, unless nothing was absorbed or the user had a say. */
static bool needs_writes(const struct sweep *s)
{
	bool asked = (s->patterns & OF_WRITES) || s->search.kinds[SWEEP_DOWNTIME];

	return asked && sweep_absorbs(s);
}

/* No run is laid over the tape. */
static void do_without(struct sweep *s, const struct buf *differences)
{
	free(s->why_left_out);
	s->why_left_out = sweep_tell_why_not(s, differences);
	if (s->v->tried.writes.count) {
		fprintf(stderr, "kubetape sweep: %s: the tape takes its finalizers away\n", s->why_left_out);
		return;
	}
	fprintf(stderr, "kubetape sweep: %s: restart, stale, writes, echo and downtimes are not tried\n",
		s->why_left_out);
	s->left_out = s->patterns & OF_WRITES;
	s->patterns &= ~OF_WRITES;
	s->search.kinds[SWEEP_DOWNTIME] = false;
}

/* Like it, with its writes overlaid, if a pattern needs that. */
static int find_overlay(struct sweep *s, struct err *err)
{
	bool all = needs_all(s);
	struct buf differences;
	int rc;

	sweep_recorded_tell(&s->runs.options.recorded);
	if (!needs_writes(s) && !all)
		return 0;
	buf_init(&differences, LIMIT_DOCUMENT_BYTES);
	rc = find_laid_over(s, &differences, err);
	s->laid_over.known = rc == 0 && s->laid_over.answer.end != SWEEP_TIMEOUT;
	if (rc >= 0 && !s->stopped && !s->laid_over.known && s->plain_fails)
		rc = sweep_say_nothing_compares(s, &differences, err);
	else if (rc >= 0 && !s->stopped && !s->laid_over.known)
		do_without(s, &differences);
	s->all_laid_over = s->laid_over.known && all;
	if (rc >= 0 && all && !s->stopped && !s->unsteady) {
		buf_clear(&differences);
		rc = sweep_find_pace(s, s->all_laid_over, &differences, err);
	}
	if (s->laid_over.known && !all)
		sweep_share_lessons(s);
	buf_release(&differences);
	return rc < 0 ? rc : 0;
}

static int find_both(struct sweep *s, struct err *err)
{
	int rc = find_plain(s, err);

	return rc || s->stopped || s->unsteady ? rc : find_overlay(s, err);
}

/* More of what it writes may be the same each time if it has time for each event; that is then compared. */
static int look_for_steadier(struct sweep *s, struct err *err)
{
	bool laid_over = s->all_laid_over, is_there = s->paced.number && s->paced.laid_over == laid_over;

	if (s->alone && s->jobs > 1)
		return !s->stopped && !s->unsteady;
	if (s->stopped || s->unsteady || !may_be_slower(s) || !is_there ||
		!sweep_ground_of(s, laid_over)->measure.unsteady.count)
		return 0;
	return sweep_is_steadier_paced(s, laid_over, err);
}

void sweep_forget_answers(struct sweep *s)
{
	forget_answer(s, false);
	forget_answer(s, true);
	s->all_laid_over = s->quick = s->alone = false;
}

int sweep_find_answers(struct sweep *s, struct err *err)
{
	int rc = find_both(s, err);

	if (rc == 0)
		rc = look_for_steadier(s, err);
	if (rc <= 0 || s->stopped)
		return rc < 0 ? rc : 0;
	fprintf(stderr,
		"kubetape sweep: %s at --speed max: each event waits until the command is quiet (--lockstep %lldms)\n",
		s->alone ? "runs side by side differ" : "more differs from run to run than in lock-step",
		(long long)(s->runs.pace_ns / NS_PER_MS));
	sweep_forget_answers(s);
	s->runs.options.lockstep_ns = s->runs.pace_ns;
	return find_both(s, err);
}

/* One in lock-step tells which event each write is the answer to. Where it comes to something else, or would
 * take too long, any run has to do. */
int sweep_find_causes(struct sweep *s, struct err *err)
{
	bool laid_over = s->laid_over.known, in_lockstep = s->runs.options.lockstep_ns;
	struct sweep_slot slot = {.number = 1, .laid_over = laid_over, .paced = !in_lockstep};
	bool is_there = in_lockstep || (s->paced.number && s->paced.laid_over == laid_over);
	struct buf differences;
	int rc;

	s->paced = slot;
	if (is_there && is_short(s))
		return 0;
	s->paced = (struct sweep_slot){0};
	if (!(s->patterns & OF_WRITES || sweep_looks_at_writes(&s->search)) || !is_short(s))
		return 0;
	buf_init(&differences, LIMIT_DOCUMENT_BYTES);
	rc = sweep_run_without(s, &slot, &differences, err);
	if (rc == 0 && !s->stopped)
		s->paced = slot;
	buf_release(&differences);
	return rc < 0 ? rc : 0;
}
