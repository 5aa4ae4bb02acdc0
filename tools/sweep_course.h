/* sweep_course.h: a sweep as it goes: what it was asked for, and how far it is. See sweep.h. */
#ifndef TOOLS_SWEEP_COURSE_H
#define TOOLS_SWEEP_COURSE_H

#include "tools/sweep_run.h"

/* What the command line says. */
struct sweep_values {
	const char *again, *probe, *junit, *sarif, *html;
	struct text_list faults, invariants;
	int64_t budget_ns;
	bool kill;
	const char *patterns, *at, *out, *compare, *speed, *from, *until;
	struct text_list gaps, events, writes;
	int64_t jobs, max, settle_ns, timeout_ns, wait_watchers;
	bool plain, json;
};

struct sweep {
	const struct sweep_values *v;
	struct sweep_runs runs;
	struct sweep_search search;
	unsigned patterns;
	struct sweep_ground plain, laid_over; /* laid_over: known when something is tried on it */
	struct sweep_slot paced;              /* number 0: there is no run in lock-step */
	struct sweep_positions positions;
	struct sweep_try *tries;
	size_t try_count, found, jobs;
	int64_t begun_ns; /* monotonic: trying */
	bool quick;       /* a short time of quiet tells the same, without faults */
	bool alone, stopped, unsteady;
};

/* ---- sweep_ground.c: without faults ---- */

static inline struct sweep_ground *sweep_ground_of(struct sweep *s, bool laid_over)
{
	return laid_over ? &s->laid_over : &s->plain;
}

/* The user has stopped it: nothing runs any more. */
void sweep_stop(struct sweep *s);

/* What the command comes to, always the same or not, also side by side. */
int sweep_find_answer(struct sweep *s, struct err *err) MUST_CHECK;
/* The same with what it writes laid over the tape, if a pattern needs that. */
int sweep_find_laid_over(struct sweep *s, struct err *err) MUST_CHECK;
/* A run in lock-step, once it is known how long the tape is. */
int sweep_find_causes(struct sweep *s, struct err *err) MUST_CHECK;

/* ---- sweep_tries.c: with faults ---- */

int sweep_find_positions(struct sweep *s, struct err *err) MUST_CHECK;
void sweep_make_tries(struct sweep *s);
int sweep_run_tries(struct sweep *s, struct err *err) MUST_CHECK;
size_t sweep_count_verdicts(const struct sweep *s, enum sweep_verdict verdict);

/* ---- sweep_again.c ---- */

/* What went wrong in the sweep of that folder comes first. */
int sweep_order_again(struct sweep *s, struct err *err) MUST_CHECK;

#endif
