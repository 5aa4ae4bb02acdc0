/*
 * sweep_recheck.c: whether findings of other content, and such differences that did not repeat, are no more than what
 * differs from run to run by itself, which a few runs without faults may not have shown; see sweep_course.h. If there are
 * any, further runs are made, and what they teach is no longer compared.
 */
#include "tools/sweep/sweep_course.h"

#include <stdlib.h>
#include <unistd.h>

/* All that it says is that something is left with other content. */
static bool is_of_content(const char *differences)
{
	for (const char *line = differences; *line;) {
		const char *found = strstr(line, SWEEP_OTHER_CONTENT);
		size_t len = strcspn(line, "\n");

		if (!found || found >= line + len)
			return false;
		line += len + (line[len] == '\n');
	}
	return *differences;
}

/* What was seen in lock-step, twice, chance at full speed does not explain. */
static bool is_wanted(const struct sweep_try *t, bool laid_over)
{
	bool is_odd = t->verdict == SWEEP_WRONG || t->verdict == SWEEP_CUT || t->verdict == SWEEP_UNSURE;

	return is_odd && t->differences && !sweep_is_late_by_events(t->position) &&
	       t->position->laid_over == laid_over && is_of_content(t->differences);
}

/* Compares its run once more. */
static int judge_anew(struct sweep *s, struct sweep_try *t, struct err *err)
{
	struct sweep_slot *slot = &s->runs.slot[0];
	struct sweep_answer answer;
	char *differences;
	int rc;

	*slot = (struct sweep_slot){.of = t, .laid_over = t->position->laid_over};
	s->runs.job[0] = (struct sweep_job){0};
	rc = sweep_try_read(s, 0, &answer, err);
	if (rc)
		return rc;
	differences = sweep_differences(s, slot, &answer);
	sweep_answer_release(&answer);
	free(t->differences);
	t->differences = differences;
	if (differences)
		return 0;
	t->verdict = SWEEP_FINE;
	sweep_run_remove(&s->runs, slot);
	if (t->position->kind != SWEEP_GIVEN)
		unlink(t->faults);
	return 0;
}

static int recheck(struct sweep *s, bool laid_over, struct err *err)
{
	bool has_learned = false;
	size_t at = 0;
	int rc;

	while (at < s->try_count && !is_wanted(&s->tries[at], laid_over))
		at++;
	if (at == s->try_count)
		return 0;
	rc = sweep_learn_more(s, laid_over, &has_learned, err);
	for (; at < s->try_count && rc == 0 && has_learned; at++) {
		if (is_wanted(&s->tries[at], laid_over))
			rc = judge_anew(s, &s->tries[at], err);
	}
	return rc;
}

int sweep_recheck(struct sweep *s, struct err *err)
{
	int rc = recheck(s, false, err);

	return rc || s->stopped ? rc : recheck(s, true, err);
}
