/* compare_load.h: the writes of a run as actions, by compare_load.c for run_compare.c. Nobody else includes it. */
#ifndef SCHEMA_RUN_COMPARE_LOAD_H
#define SCHEMA_RUN_COMPARE_LOAD_H

#include "schema/run/run_compare.h"

struct action_list {
	struct run_action *items;
	size_t count, cap;
};

/* Context for reading both runs: the resources whose status either of them wrote. */
struct compare_load {
	const struct compare_options *options;
	struct word_table *with_status;
};

struct run_reader;

/* Adds to with_status. Called for both runs before either's writes are read. */
int compare_load_status(struct compare_load *l, struct run_reader *r, struct err *err) MUST_CHECK;

/* Appends the run's actions in the order of its writes. *ret_writes counts all of them. */
int compare_load_actions(const struct compare_load *l, struct run_reader *r, struct action_list *to,
	size_t *ret_writes, struct err *err) MUST_CHECK;

void action_list_release(struct action_list *list);
void run_action_release(struct run_action *a);

#endif
