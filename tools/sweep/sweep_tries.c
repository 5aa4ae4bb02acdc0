/* sweep_tries.c: what each fault that is tried comes to. See sweep_course.h. */
#include "tools/sweep/sweep_absent.h"
#include "tools/sweep/sweep_course.h"
#include "tools/sweep/sweep_exchange.h"
#include "tools/sweep/sweep_oracle.h"
#include "tools/sweep/sweep_unseen.h"

#include "schema/base/clock.h"
#include "schema/base/limits.h"

#include <stdlib.h>
#include <unistd.h>

/* Another one of its cause is wrong, or is being tried again. */
static bool is_cause_elsewhere(const struct sweep *s, const struct sweep_try *try)
{
	for (size_t i = 0; i < s->try_count; i++) {
		const struct sweep_try *other = &s->tries[i];
		bool may_be = other->verdict == SWEEP_WRONG ||
			      (other->verdict == SWEEP_UNTRIED && other->has_begun && !other->is_put_back);

		if (other != try && may_be && other->differences &&
			sweep_share_cause(other->differences, try->differences))
			return true;
	}
	return false;
}

/* A try that was put back goes on even if the budget is spent; then one of each cause is enough. */
static bool may_begin(const struct sweep *s, const struct sweep_try *try, bool is_in_time)
{
	if (try->is_put_back)
		return is_in_time || !try->differences || !is_cause_elsewhere(s, try);
	return is_in_time && !try->has_begun && sweep_shard_has(&s->shard, try);
}

/* At which an ordinary end of a watch of that resource made it go wrong, where that was to be harmless; NULL: none. */
static const struct sweep_position *find_cut(const struct sweep *s, const char *resource)
{
	for (size_t i = 0; i < s->try_count; i++) {
		const struct sweep_position *p = s->tries[i].position;

		if (s->tries[i].verdict == SWEEP_CUT && !p->write && strcmp(p->resource, resource) == 0)
			return p;
	}
	return NULL;
}

/* Nothing is known of it, and none of its tries is running. */
static bool may_move(const struct sweep *s, const struct sweep_position *place)
{
	for (size_t i = 0; i < s->try_count; i++) {
		const struct sweep_try *try = &s->tries[i];
		bool is_free = try->verdict == SWEEP_UNTRIED ? !try->has_begun : try->verdict == SWEEP_FINE;

		if (try->position == place && !is_free)
			return false;
	}
	return true;
}

static void move_to(struct sweep *s, struct sweep_position *place, uint64_t seq)
{
	place->seq = place->last_seq = seq;
	place->hidden = 1;
	for (size_t i = 0; i < s->try_count; i++) {
		if (s->tries[i].position != place)
			continue;
		s->tries[i].verdict = SWEEP_UNTRIED;
		s->tries[i].has_begun = false;
	}
}

/* The place that shows it by itself, moved there unless other machines know it where it was: as what has gone wrong, it is looked
 * at even if the budget is spent. */
static struct sweep_try *find_ordinary_end(struct sweep *s)
{
	for (size_t i = 0; i < s->try_count; i++) {
		struct sweep_try *try = &s->tries[i];
		const struct sweep_position *p = try->position, *cut;

		if (p->pattern != SWEEP_COALESCED || !sweep_is_resumption(p) ||
			strcmp(try->words, SWEEP_END_WORDS) != 0 || !(cut = find_cut(s, p->resource)))
			continue;
		if (p->seq != cut->seq && !s->shard.count && may_move(s, p))
			move_to(s, &s->positions.items[p - s->positions.items], cut->seq);
		if (try->verdict == SWEEP_UNTRIED && may_begin(s, try, true))
			return try;
	}
	return NULL;
}

/* The first. Or, if `waits`, the first that waits for a longer run without faults. */
static struct sweep_try *next_try(struct sweep *s, bool waits)
{
	bool is_in_time = sweep_has_time(s);

	for (size_t i = 0; i < s->try_count; i++) {
		struct sweep_try *try = &s->tries[i];
		bool must_wait = try->is_put_back && sweep_must_wait(s, try);

		if (try->verdict == SWEEP_UNTRIED && must_wait == waits && may_begin(s, try, is_in_time))
			return try;
	}
	return NULL;
}

static bool wants_control(const struct sweep *s, const struct sweep_try *try)
{
	bool own_words = try->position->pattern != SWEEP_UNOBSERVED || !s->v->gaps.count;

	return own_words && sweep_has_control(try->position);
}

/* The run that tells which event each write is the answer to; NULL if that ground has none. The caller frees. */
static char *exact_run(const struct sweep *s, const struct sweep_slot *first)
{
	if (s->runs.options.lockstep_ns)
		return sweep_run_file(&s->runs, first, "run");
	return s->paced.number && s->paced.laid_over == first->laid_over
		       ? sweep_run_file(&s->runs, &s->paced, "run")
		       : NULL;
}

int sweep_try_read(struct sweep *s, size_t at, struct sweep_answer *ret, struct err *err)
{
	const struct sweep_slot *slot = &s->runs.slot[at];
	const struct sweep_slot first = {.number = 1, .laid_over = slot->laid_over};
	const struct sweep_ground *ground = sweep_ground_of(s, slot->laid_over);
	char *run, *without, *exact;
	int rc = sweep_run_read(&s->runs, at, ret, err);

	if (rc)
		return rc;
	run = sweep_run_file(&s->runs, slot, "run");
	without = sweep_run_file(&s->runs, &first, "run");
	exact = exact_run(s, &first);
	rc = sweep_unseen_find(
		s->runs.options.tape, run, exact, ground, sweep_slot_lockstep(&s->runs, slot) / 2, ret, err);
	if (rc == 0)
		rc = sweep_exchange_find(s->runs.options.tape, without, run, ground, ret, err);
	/* Who asks for this pattern wants to know of it. */
	if (rc == 0 && !s->v->patterns)
		rc = sweep_absent_find(s->runs.options.tape, run, slot->of->position, ground, ret, err);
	free(exact);
	free(without);
	free(run);
	if (rc)
		sweep_answer_release(ret);
	return rc;
}

/* What went wrong again, and was quiet enough. In another way than before it may have been an accident both times. */
static enum sweep_stage judge_second(const struct sweep *s, struct sweep_try *try, bool is_other)
{
	if (is_other && !try->strays) {
		try->strays = true;
		return SWEEP_AGAIN;
	}
	try->verdict = is_other ? SWEEP_UNSURE : SWEEP_WRONG;
	return try->verdict == SWEEP_WRONG && wants_control(s, try) ? SWEEP_CONTROL : SWEEP_OVER;
}

/* What did not go wrong again. More time has healed what went wrong in a quick run, or in one that was quiet for less than this
 * one; but no panic, nor what was seen on the way and not at the end: that may be a race, which is lost the next time. */
static enum sweep_stage judge_right(const struct sweep *s, struct sweep_try *try, enum sweep_verdict right)
{
	bool is_healed = (s->quick || try->settle_ns) && !try->has_panicked;

	if ((try->has_panicked || try->only_here) && !try->strays) {
		try->strays = true;
		return SWEEP_AGAIN;
	}
	try->verdict = is_healed || right != SWEEP_FINE ? right : SWEEP_UNSURE;
	return SWEEP_OVER;
}

/* Gives the try the verdict of its last run; returns what is to run then. `is_other`: it differs in another way than before. */
static enum sweep_stage judge_run(const struct sweep *s, const struct sweep_ground *ground,
	const struct sweep_slot *slot, bool differs, bool is_other, const struct sweep_answer *answer)
{
	struct sweep_try *try = slot->of;
	enum sweep_verdict right = answer->made_again.count  ? SWEEP_MADE_AGAIN
				   : answer->unseen.count    ? SWEEP_UNSEEN
				   : answer->exchanged.count ? SWEEP_EXCHANGED
							     : SWEEP_FINE;
	bool struck = answer->hits;

	switch (slot->stage) {
	case SWEEP_FIRST:
		try->verdict = !struck ? SWEEP_NOT_REACHED : differs ? SWEEP_UNTRIED : right;
		return struck && differs ? SWEEP_AGAIN : SWEEP_OVER;
	case SWEEP_AGAIN:
		if (struck && differs && !sweep_was_quiet_enough(s, ground, slot, answer))
			return SWEEP_AGAIN;
		if (struck && differs)
			return judge_second(s, try, is_other);
		return judge_right(s, try, right);
	case SWEEP_CONTROL:
		if (differs && slot->quick) {
			try->strays_at_cut = true;
			return SWEEP_CONTROL;
		}
		try->verdict = differs ? SWEEP_CUT : SWEEP_WRONG;
		break;
	case SWEEP_NARROW: /* sweep_narrow.c and sweep_repeat.c judge those themselves */
	case SWEEP_REPEAT:
	case SWEEP_OVER: break;
	}
	return SWEEP_OVER;
}

/* Only the deletion of what had been there before the fault counts: one that is started again may well do what it had done. */
static bool is_about_earlier(enum sweep_pattern pattern)
{
	return pattern == SWEEP_STALE || pattern == SWEEP_RESTART;
}

/* A program that does not see its own writes, or sees an older state, or looks too early when it starts, may make and delete
 * things that nobody finds at the end. */
static bool is_about_counts(enum sweep_pattern pattern)
{
	return pattern == SWEEP_ECHO || pattern == SWEEP_WRITES || is_about_earlier(pattern);
}

/* What was not counted, for who wants to look into it. NULL: nothing; the caller frees. */
static char *tell_excused(enum sweep_verdict verdict, const struct sweep_answer *answer)
{
	bool is_unseen = verdict == SWEEP_UNSEEN;
	const struct text_list *which = is_unseen ? &answer->unseen : &answer->made_again;
	struct buf text;
	char *result;

	if (!is_unseen && verdict != SWEEP_MADE_AGAIN)
		return NULL;
	buf_init(&text, LIMIT_DOCUMENT_BYTES);
	for (size_t i = 0; i < which->count; i++)
		(void)!buf_printf(&text, NULL, "%s%s\n", which->items[i],
			is_unseen ? " is missing or differs: what it answers to was not to be seen" : "");
	result = slice_dup(buf_slice(&text));
	buf_release(&text);
	return result;
}

/* Nothing came of it: nothing of it is kept. */
static void forget_try(const struct sweep *s, struct sweep_try *try)
{
	sweep_run_remove(&s->runs, &(struct sweep_slot){.of = try});
	free(try->differences);
	try->differences = NULL;
	if (try->position->kind != SWEEP_GIVEN)
		unlink(try->faults);
}

/* A question that was broken when it was last asked, and is at the end, has been so from there on. */
static size_t compare_alarms(const struct sweep_ground *ground, const struct sweep_slot *slot,
	const struct sweep_answer *answer, struct buf *to)
{
	const struct sweep_alarm *broken = &slot->broken;
	bool is_broken = broken->line && answer->alarms && strstr(answer->alarms, broken->line);
	size_t count = sweep_compare_alarms(&ground->answer, answer, to);

	if (count && is_broken)
		(void)!buf_printf(to, NULL, "(seen at event %llu)\n", (unsigned long long)broken->seq);
	return count;
}

/* A program that was quiet, only not for as long as it now was to be. That it does not end for it is no difference, and it
 * has had its time to heal. (A run that was ended for an invariant tells nothing of that.) */
static bool asks_at_intervals(const struct sweep_slot *slot, const struct sweep_answer *answer)
{
	return slot->of->settle_ns && answer->end == SWEEP_TIMEOUT && !slot->broken.is_told;
}

/* A run that was ended for an invariant comes to nothing else. */
static size_t compare_all(const struct sweep *s, const struct sweep_ground *ground,
	const struct sweep_slot *slot, const struct sweep_answer *answer, bool *only_here, struct buf *to)
{
	enum sweep_pattern pattern = slot->of->position->pattern;
	const char *than = "without the gap";
	size_t count, replayable;

	if (slot->broken.is_told) {
		*only_here = true;
		(void)!buf_printf(to, NULL,
			"%s(seen at event %llu, and still after that: the run was ended)\n",
			slot->broken.line, (unsigned long long)slot->broken.seq);
		return 1;
	}
	replayable = asks_at_intervals(slot, answer)
			     ? sweep_compare_left(&ground->measure, &ground->answer, answer, than, to)
			     : sweep_compare(&ground->measure, &ground->answer, answer, than, to);
	count = replayable + compare_alarms(ground, slot, answer, to);
	count += sweep_compare_probes(&ground->answer, answer, to);
	/* What is served wrong on the way gets no more time to heal when the end is to be quiet for longer. */
	count += sweep_health_compare(&ground->answer.health, &answer->health,
		slot->quick ? s->runs.quick_ns : s->runs.options.settle_ns, to);
	if (is_about_counts(pattern))
		count += sweep_compare_counts(
			ground, answer, "without the fault", is_about_earlier(pattern), to);
	*only_here |= count && !replayable;
	return count;
}

/* A program that ends when a connection breaks is started again in its cluster: that counts only if the user asks for the pattern. */
static bool may_end(const struct sweep *s, const struct sweep_slot *slot, const struct sweep_answer *answer)
{
	const struct sweep_try *try = slot->of;

	return answer->end == SWEEP_BY_ITSELF && !s->v->patterns && sweep_is_resumption(try->position) &&
	       strcmp(try->words, SWEEP_BREAK_WORDS) == 0;
}

/* NULL if there are none; the caller frees. */
static char *find_differences(struct sweep *s, const struct sweep_slot *slot,
	const struct sweep_answer *answer, bool *ret_only_here)
{
	struct buf text;
	char *result = NULL;

	*ret_only_here = false;
	buf_init(&text, LIMIT_DOCUMENT_BYTES);
	if (compare_all(s, sweep_ground_of(s, slot->laid_over), slot, answer, ret_only_here, &text))
		result = slice_dup(buf_slice(&text));
	buf_release(&text);
	if (!result || !may_end(s, slot, answer) || sweep_oracle_is_alarm(result))
		return result;
	free(result);
	return NULL;
}

char *sweep_differences(struct sweep *s, const struct sweep_slot *slot, const struct sweep_answer *answer)
{
	bool only_here;

	return find_differences(s, slot, answer, &only_here);
}

/* What is told of a try is what it showed last, as the line that repeats it will: the first run may have been a quick one. */
static void keep_run(const struct sweep *s, const struct sweep_slot *slot, const char *differences,
	bool is_other, bool only_here)
{
	struct sweep_try *try = slot->of;

	try->only_here = only_here || (try->only_here && !is_other);
	free(try->differences);
	try->differences = xstrdup(differences);
	if (slot->stage == SWEEP_AGAIN)
		sweep_run_take_place(&s->runs, slot);
}

/* Judges what has ended; *ret_next is the stage in which it is to run once more, or SWEEP_OVER. */
static int sweep_tries_judge(struct sweep *s, size_t at, enum sweep_stage *ret_next, struct err *err)
{
	struct sweep_slot *slot = &s->runs.slot[at];
	struct sweep_try *try = slot->of;
	struct sweep_ground *ground = sweep_ground_of(s, slot->laid_over);
	struct sweep_answer answer;
	bool only_here, is_other, is_known, is_enough;
	char *differences;
	int rc = sweep_try_read(s, at, &answer, err);

	s->ended++;
	s->ran_ns += clock_mono_ns(&clock_system) - slot->begun_ns;
	if (rc)
		return rc;
	differences = find_differences(s, slot, &answer, &only_here);
	try->has_panicked |= differences && sweep_oracle_is_alarm(differences);
	is_other = differences && try->differences && !sweep_share_cause(try->differences, differences);
	*ret_next = judge_run(s, ground, slot, differences, is_other, &answer);
	is_known = *ret_next == SWEEP_AGAIN && differences &&
		   sweep_knows_cause(s->tries, s->try_count, differences);
	is_enough = is_known && slot->stage == SWEEP_FIRST && !sweep_budget_allows(s, 0);
	if (is_enough)
		*ret_next = SWEEP_OVER;
	if (*ret_next == SWEEP_AGAIN)
		sweep_choose_settle(s, ground, try, &answer, is_known ? NULL : differences);
	if (asks_at_intervals(slot, &answer))
		try->settle_ns = 0;
	if (*ret_next == SWEEP_AGAIN && sweep_must_wait(s, try)) {
		try->is_put_back = true;
		*ret_next = SWEEP_OVER;
	}
	if (differences && slot->stage != SWEEP_CONTROL && !is_enough)
		keep_run(s, slot, differences, is_other, only_here);
	else
		sweep_run_remove(&s->runs, slot);
	if (sweep_verdict_is_harmless(try->verdict) || is_enough)
		forget_try(s, try);
	if (sweep_verdict_is_harmless(try->verdict))
		try->differences = tell_excused(try->verdict, &answer);
	s->healed += slot->broken.line && !slot->broken.is_told &&
		     !(answer.alarms && strstr(answer.alarms, slot->broken.line));
	sweep_alarm_release(&slot->broken);
	free(differences);
	sweep_answer_release(&answer);
	return 0;
}

static int write_faults(
	struct sweep *s, const struct sweep_try *try, const struct sweep_slot *slot, struct err *err)
{
	char *path;
	int rc;

	if (slot->stage == SWEEP_AGAIN || try->position->kind == SWEEP_GIVEN)
		return 0;
	path = sweep_slot_faults(&s->runs, slot);
	rc = slot->stage == SWEEP_CONTROL ? sweep_control_write(try->position, path, err)
					  : sweep_fault_write(try->position, try->words, path, err);
	free(path);
	return rc;
}

/* Events are to come one after the other, so that their number is a time. */
static bool is_paced(const struct sweep *s, const struct sweep_try *try, enum sweep_stage stage)
{
	bool again = stage != SWEEP_FIRST && sweep_is_of_run(try->position);

	return s->paced.number && (again || sweep_is_late_by_events(try->position));
}

/* What is late must have time to come, and who does nothing wrong before it has resumed its watch, time to resume it. A harmless
 * cut is mostly over at once. */
static bool may_be_quick(const struct sweep *s, const struct sweep_try *try, enum sweep_stage stage)
{
	const struct sweep_position *p = try->position;
	bool is_short = stage == SWEEP_FIRST || (stage == SWEEP_CONTROL && !try->strays_at_cut);

	return is_short && s->quick && p->pattern != SWEEP_SLOW && !sweep_is_resumption(p);
}

/* What happened at a write is tried again at the program's own pace. */
static int begin_try(
	struct sweep *s, size_t at, struct sweep_try *try, enum sweep_stage stage, struct err *err)
{
	struct sweep_slot *slot = &s->runs.slot[at];
	int rc;

	*slot = (struct sweep_slot){.of = try,
		.stage = stage,
		.laid_over = try->position->laid_over,
		.quick = may_be_quick(s, try, stage),
		.paced = is_paced(s, try, stage),
		.begun_ns = clock_mono_ns(&clock_system)};
	try->has_begun = true;
	rc = write_faults(s, try, slot, err);
	return rc ? rc : sweep_run_start(&s->runs, at, err);
}

/* One that was put back goes on where it was. */
static enum sweep_stage first_stage(struct sweep_try *try)
{
	bool goes_on = try->is_put_back;

	try->is_put_back = false;
	return goes_on ? SWEEP_AGAIN : SWEEP_FIRST;
}

/* What is to run in a slot that is free. Returns 1, or 0 if there is nothing. */
static int begin_next(struct sweep *s, size_t at, struct err *err)
{
	struct sweep_try *waiting, *next;
	int rc;

	if (s->begins_anew)
		return 0;
	waiting = s->is_patient ? NULL : next_try(s, true);
	if (waiting) {
		rc = sweep_patience_begin(s, at, waiting, err);
		return rc ? rc : 1;
	}
	next = find_ordinary_end(s);
	next = next ? next : next_try(s, false);
	if (!next)
		return 0;
	rc = begin_try(s, at, next, first_stage(next), err);
	return rc ? rc : 1;
}

/* Judges what has ended, and begins what follows of the same try. */
static int go_on(struct sweep *s, size_t at, struct err *err)
{
	struct sweep_slot *slot = &s->runs.slot[at];
	enum sweep_stage stage;
	int rc;

	if (!slot->of)
		return sweep_patience_judge(s, at, err);
	if (s->begins_anew) {
		sweep_run_remove(&s->runs, slot);
		sweep_alarm_release(&slot->broken);
		return 0;
	}
	rc = sweep_tries_judge(s, at, &stage, err);
	return rc || stage == SWEEP_OVER ? rc : begin_try(s, at, slot->of, stage, err);
}

/* Gives each slot that is free something to do; returns how many are busy. */
static int fill_slots(struct sweep *s, struct err *err)
{
	int busy = 0, rc = 1;

	for (size_t i = 0; i < s->jobs; i++) {
		if (!s->runs.job[i].pid && rc > 0)
			rc = begin_next(s, i, err);
		if (rc < 0)
			return rc;
		busy += s->runs.job[i].pid != 0;
	}
	return busy;
}

/* Keeps all jobs busy until there is nothing left to try. */
static int run_untried(struct sweep *s, struct err *err)
{
	const struct sweep_looker looker = {SWEEP_LOOK_NS, sweep_look, s};
	bool shown = isatty(STDERR_FILENO);
	int rc, at;

	while ((rc = fill_slots(s, err)) > 0) {
		sweep_show_progress(s, shown);
		at = sweep_jobs_wait(s->runs.job, s->jobs, s->v->invariants.count ? &looker : NULL);
		if (at < 0) {
			sweep_stop(s);
			rc = 0;
			break;
		}
		rc = go_on(s, (size_t)at, err);
		if (rc)
			break;
	}
	if (shown)
		fputs("\r\033[K", stderr);
	return rc;
}

int sweep_run_tries(struct sweep *s, struct err *err)
{
	int rc;

	s->begun_ns = clock_mono_ns(&clock_system);
	rc = run_untried(s, err);
	if (s->begins_anew)
		sweep_begin_anew(s);
	for (size_t i = 0; i < s->try_count; i++) {
		if (s->tries[i].is_put_back)
			forget_try(s, &s->tries[i]);
	}
	return rc;
}

void sweep_tries_release(struct sweep *s)
{
	for (size_t i = 0; i < s->try_count; i++) {
		free(s->tries[i].faults);
		free(s->tries[i].differences);
		free(s->tries[i].narrowed);
	}
	free(s->tries);
	s->tries = NULL;
	s->try_count = 0;
}
