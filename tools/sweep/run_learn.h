/*
 * run_learn.h: learns what differs by itself from two good runs: fields that differ become rules
 * (compare_rules.h) for all writes of that kind, and writes that only one of them has are ignored.
 */
#ifndef TOOLS_RUN_LEARN_H
#define TOOLS_RUN_LEARN_H

#include "schema/run/run_compare.h"

/* All zero: nothing was learned. */
struct run_lessons {
	char **keys; /* of struct run_action, and rules */
	size_t count;
};
void run_lessons_release(struct run_lessons *l);

/* Adds what the other run teaches to the rules and to `l`, and logs it. */
int run_learn(struct run_lessons *l, struct compare_rules *rules, const struct compare_options *options,
	const char *first, const char *other, struct err *err) MUST_CHECK;

/* Whether the difference is one that good runs have, too. */
bool run_lessons_cover(const struct run_lessons *l, const struct run_difference *d);

#endif
