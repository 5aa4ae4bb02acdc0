/* sweep_ground_internal.h: the runs of sweep_without.c, for sweep_ground.c, which chooses them. */
#ifndef TOOLS_SWEEP_GROUND_INTERNAL_H
#define TOOLS_SWEEP_GROUND_INTERNAL_H

#include "tools/sweep/sweep_course.h"

/* What runs beside each other came to. */
struct sweep_beside {
	size_t differ; /* from the first of their kind */
	bool first;    /* the first of them does */
	bool early; /* one has ended by itself, as what cannot run beside another does; the first had not */
};

/* Starts all at once and compares each with the first of its kind. */
int sweep_run_beside(struct sweep *s, const struct sweep_slot *slots, size_t count, struct sweep_beside *ret,
	struct buf *differences, struct err *err) MUST_CHECK;
/* One; returns whether it differs, or an error. */
int sweep_run_without(
	struct sweep *s, const struct sweep_slot *slot, struct buf *differences, struct err *err) MUST_CHECK;
/* What on the tape is left to the command, as the run has shown that it does it as well. */
int sweep_learn_of_tape(struct sweep *s, const struct sweep_answer *answer, struct err *err) MUST_CHECK;

#endif
