/*
 * sweep_made_up.h: names that a program makes up itself, a stem and an ending drawn at random, where others leave that to
 * the API server (metadata.generateName). They differ from run to run, and nothing else need to.
 */
#ifndef TOOLS_SWEEP_MADE_UP_H
#define TOOLS_SWEEP_MADE_UP_H

#include "tools/sweep/sweep_answer.h"

/* Adds the stems ("pods shop/web-") of which two runs without faults made as many names, but others, if all that only one of
 * them has are such names: behind the last hyphen they have five or more small letters and digits. Whether there are any;
 * sweep_made_up_apply is to be called for both then. */
bool sweep_made_up_learn(
	struct text_list *stems, const struct sweep_answer *one, const struct sweep_answer *other);

/* Names of those stems become "web-*", in keys and in the object's own metadata, and the answer is sorted again. */
void sweep_made_up_apply(const struct text_list *stems, struct sweep_answer *a);

#endif
