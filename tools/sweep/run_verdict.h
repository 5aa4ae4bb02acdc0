/*
 * run_verdict.h: prints whether two runs did the same; shared by `kubetape diff` and `kubetape replay
 * --golden`.
 */
#ifndef TOOLS_RUN_VERDICT_H
#define TOOLS_RUN_VERDICT_H

#include "schema/run/run_compare.h"
#include "tools/cli/options.h"
#include "tools/sweep/rule_names.h"
#include "tools/sweep/run_learn.h"

/* As the command line gives them. */
struct verdict_options {
	struct text_list ignore, keep;
	const struct rule_names *names; /* of their resources; borrowed. NULL: they count as they are */
	struct text_list also;          /* further runs that were as good as the first; see run_learn.h */
	enum compare_order order;
	const char *client; /* NULL: all programs */
	const char *color;  /* auto, always or never */
	const char *second; /* what to call the second run; NULL: by its path */
	bool full, json;
};

/* Frees the lists. */
void verdict_release(struct verdict_options *o);

/* Applies --ordered and --last. ERR_USAGE if both are given. */
int verdict_order(struct verdict_options *o, bool ordered, bool last, struct err *err) MUST_CHECK;

/* Whether the rules make sense: 0 or ERR_USAGE. */
int verdict_check(const struct verdict_options *o, struct err *err) MUST_CHECK;

/* The basis of a comparison: the rules, and what is learned from further good runs. */
struct verdict_measure {
	struct compare_rules *rules;
	struct run_lessons lessons;
};

/* The rules of the options alone. */
int verdict_measure_make(
	const struct verdict_options *o, struct verdict_measure *ret, struct err *err) MUST_CHECK;
/* Adds what the runs of `also` teach beside the first one; `options` has the measure's rules. */
int verdict_measure_learn(struct verdict_measure *m, const struct verdict_options *o,
	const struct compare_options *options, const char *first, struct err *err) MUST_CHECK;
void verdict_measure_release(struct verdict_measure *m);

/* Compares and prints. Returns EXIT_OK, EXIT_FAILED when they differ, EXIT_LOSS when they do not but one of
 * them is of a replay that did not end in order; or a negative code when they cannot be compared. */
int verdict_give(
	const struct verdict_options *o, const char *first, const char *second, struct err *err) MUST_CHECK;

#endif
