/*
 * sweep_adopted.h: objects that one run keeps where another makes new ones, whose names the API server draws
 * (metadata.generateName). A program that did not see the end of what "web-x7k2p" belonged to may well take that for its
 * successor, instead of making "web-*". So the one stands for the other, and their contents are compared.
 */
#ifndef TOOLS_SWEEP_ADOPTED_H
#define TOOLS_SWEEP_ADOPTED_H

#include "tools/sweep/sweep_answer.h"

/* The effects of a run in which those kept have the key of those made ("pods shop/web-*"), sorted. */
struct sweep_adopted {
	struct sweep_effect *effects; /* borrowed from the answer, unless there are any such */
	size_t count;
	bool owned;
	struct text_list ends; /* keys of the deletions in the other run of what this one keeps; owned */
};

/* Of `keeps`, beside `makes`. Objects are taken that only `keeps` has, for names of which `makes` has more. The caller
 * releases. */
void sweep_adopted_find(
	const struct sweep_answer *keeps, const struct sweep_answer *makes, struct sweep_adopted *ret);
void sweep_adopted_release(struct sweep_adopted *a);

#endif
