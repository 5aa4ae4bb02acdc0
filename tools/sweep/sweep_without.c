/* sweep_without.c: runs without faults, and what they teach of the command. See sweep_ground_internal.h. */
#include "tools/sweep/sweep_ground_internal.h"
#include "tools/sweep/sweep_made_up.h"

#include <stdlib.h>

/* In lock-step a program also makes and deletes objects that are needed for a moment only. */
static size_t compare_run(const struct sweep *s, const struct sweep_ground *ground,
	const struct sweep_slot *as, const struct sweep_answer *answer, struct buf *differences)
{
	bool at_other_pace = as->paced && !s->runs.options.lockstep_ns;
	size_t count = sweep_compare(&ground->measure, &ground->answer, answer, "the first", differences) +
		       sweep_compare_probes(&ground->answer, answer, differences);

	if (!at_other_pace)
		return count;
	return count +
	       sweep_counts_compare_pace(&ground->answer.counts, &answer->counts, "the first", differences) +
	       sweep_compare_changes(&ground->answer, answer, differences);
}

static int start_all(struct sweep *s, const struct sweep_slot *slots, size_t count, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < count && rc == 0; i++) {
		s->runs.slot[i] = slots[i];
		rc = sweep_run_start(&s->runs, i, err);
	}
	return rc;
}

/* A run in lock-step tells which event each thing that is left answers to. */
static void learn_causes(struct sweep_ground *ground, const struct sweep_answer *paced)
{
	if (paced->effect_count != ground->answer.effect_count)
		return; /* effects were not compared */
	for (size_t i = 0; i < paced->effect_count; i++)
		ground->answer.effects[i].made_seq = paced->effects[i].made_seq;
	ground->is_exact = true;
}

/* Side by side, programs start more slowly. */
static void learn_of_start(struct sweep *s, const struct sweep_answer *answer)
{
	if (answer->start_ns > s->runs.start_ns)
		s->runs.start_ns = answer->start_ns;
}

static bool is_wanted(const char *choice)
{
	return !choice || strcmp(choice, "none") != 0;
}

/* What is not overlaid cannot be awaited. */
static bool may_await(const struct sweep *s)
{
	const struct text_list *writes = &s->v->tried.writes;

	return is_wanted(s->v->await) &&
	       (!writes->count || (writes->count == 1 && strcmp(writes->items[0], "overlay") == 0));
}

int sweep_learn_of_tape(struct sweep *s, const struct sweep_answer *answer, struct err *err)
{
	struct sweep_recorded *r = &s->runs.options.recorded;

	if (is_wanted(s->v->hold))
		sweep_recorded_hold(r, &answer->recorded);
	return may_await(s) ? sweep_recorded_await(r, &answer->recorded, s->runs.folder, err) : 0;
}

/* Whether it has shown that the program makes names up. */
static bool learn_names(struct sweep *s, const struct sweep_slot *slot, struct sweep_answer *answer)
{
	struct text_list *stems = &s->runs.options.made_up;

	if (slot->quick || slot->paced ||
		!sweep_made_up_learn(stems, &sweep_ground_of(s, slot->laid_over)->answer, answer))
		return false;
	sweep_made_up_apply(stems, &s->plain.answer);
	sweep_made_up_apply(stems, &s->laid_over.answer);
	sweep_made_up_apply(stems, answer);
	return true;
}

/* Takes note of what differs by itself. In a run with less time of quiet, or in lock-step, it may be for that; and one
 * that lacks something teaches nothing. Returns whether it has shown anything new: then the lines that repeat findings
 * need it. */
static bool learn(
	struct sweep *s, const struct sweep_slot *slot, bool has_names, const struct sweep_answer *answer)
{
	struct sweep_ground *ground = sweep_ground_of(s, slot->laid_over);
	size_t known = ground->measure.unsteady.count;
	char *run;

	if (slot->quick || slot->paced ||
		(slot->number > 2 && !sweep_has_same_effects(&ground->answer, answer)))
		return false;
	if (slot->number == 2) {
		ground->pause_ns = answer->pause_ns; /* the first has waited for watches */
		sweep_measure_learn_counts(&ground->measure, &ground->answer, answer);
	}
	sweep_measure_learn(&ground->measure, &ground->answer, answer);
	if (ground->measure.unsteady.count == known && !has_names)
		return false;
	run = sweep_run_file(&s->runs, slot, "run");
	(void)text_list_keep(&ground->measure.taught, run);
	free(run);
	return true;
}

/* The first of its kind is the answer; from any other is learned what differs by itself. */
static int take_run(
	struct sweep *s, size_t at, struct sweep_beside *seen, struct buf *differences, struct err *err)
{
	const struct sweep_slot *slot = &s->runs.slot[at];
	struct sweep_ground *ground = sweep_ground_of(s, slot->laid_over);
	bool is_first = slot->number == 1 && !slot->paced, has_names, has_taught;
	struct sweep_answer other, *answer = is_first ? &ground->answer : &other;
	int rc = sweep_run_read(&s->runs, at, answer, err);

	if (rc)
		return rc;
	learn_of_start(s, answer);
	if (!slot->laid_over)
		rc = sweep_learn_of_tape(s, answer, err);
	if (rc || is_first) {
		ground->is_exact = s->runs.options.lockstep_ns;
		return rc;
	}
	sweep_health_learn(&ground->answer.health, &answer->health);
	has_names = learn_names(s, slot, answer);
	has_taught = learn(s, slot, has_names, answer);
	if (compare_run(s, ground, slot, answer, differences)) {
		seen->differ++;
		seen->first |= at == 0;
		seen->early |= ground->answer.end == SWEEP_QUIET && answer->end == SWEEP_BY_ITSELF;
	} else if (slot->paced) {
		learn_causes(ground, answer);
	} else if (!has_taught) {
		sweep_run_remove(&s->runs, slot);
	}
	sweep_answer_release(answer);
	return 0;
}

int sweep_run_beside(struct sweep *s, const struct sweep_slot *slots, size_t count, struct sweep_beside *ret,
	struct buf *differences, struct err *err)
{
	const struct sweep_looker looker = {SWEEP_LOOK_NS, sweep_look, s};
	int rc = start_all(s, slots, count, err);

	*ret = (struct sweep_beside){0};
	for (size_t left = count; left && rc == 0; left--) {
		int at = sweep_jobs_wait(s->runs.job, count, s->v->invariants.count ? &looker : NULL);

		if (at < 0) {
			sweep_stop(s);
			break;
		}
		rc = take_run(s, (size_t)at, ret, differences, err);
	}
	return rc;
}

int sweep_run_without(
	struct sweep *s, const struct sweep_slot *slot, struct buf *differences, struct err *err)
{
	struct sweep_beside seen;
	int rc = sweep_run_beside(s, slot, 1, &seen, differences, err);

	return rc ? rc : (int)seen.differ;
}

int sweep_run_full(struct sweep *s, const struct sweep_slot *first, struct buf *differences, struct err *err)
{
	struct sweep_slot slots[SWEEP_JOBS_MAX];
	size_t given = s->v->faults.count, count = given && given < s->jobs ? given : s->jobs;
	struct sweep_beside seen;
	int rc;

	for (size_t i = 0; i < count; i++) {
		slots[i] = *first;
		slots[i].number += i;
	}
	rc = sweep_run_beside(s, slots, count, &seen, differences, err);
	return rc ? rc : (int)seen.differ;
}
