/*
 * sweep_ignored.h: what of a run's remains does not count because the user says so: --ignore of `sweep`, `shrink` and
 * `replay --compare`. The rules are those of compare_rules.h for objects.
 */
#ifndef TOOLS_SWEEP_IGNORED_H
#define TOOLS_SWEEP_IGNORED_H

#include "schema/run/compare_rules.h"
#include "tools/cli/options.h"
#include "tools/sweep/rule_names.h"

/* NULL without rules. `names`: of their resources; NULL: they count as they are. ERR_USAGE if a rule makes no sense. The
 * caller frees. */
int sweep_ignored_make(const struct text_list *rules, const struct rule_names *names,
	struct compare_rules **ret, struct err *err) MUST_CHECK;

/* With the names of that tape. */
int sweep_ignored_of_tape(const struct text_list *rules, const char *tape, struct compare_rules **ret,
	struct err *err) MUST_CHECK;

/* Whether no object of that resource counts. rules: NULL: all do. */
bool sweep_ignores(const struct compare_rules *rules, struct slice resource);

#endif
