/*
 * sweep_made_up.h: names that a program makes up itself, a stem and an ending drawn at random, where others leave that to
 * the API server (metadata.generateName). They differ from run to run, and nothing else need to.
 */
#ifndef TOOLS_SWEEP_MADE_UP_H
#define TOOLS_SWEEP_MADE_UP_H

#include "tools/sweep/sweep_answer.h"

/* Compares two runs without faults. If each object that only one of them has left has a made-up name, and both have as
 * many of each stem, adds the stems ("pods shop/web-*"). A made-up name ends in a hyphen and five or more small letters and
 * digits; if that does not explain what differs, in two such endings ("pods shop/web-*-*"). Returns whether any stem is new; the caller then applies them to both answers. */
bool sweep_made_up_learn(
	struct text_list *stems, const struct sweep_answer *one, const struct sweep_answer *other);

/* Names of those stems become "web-*", in keys and in the object's own metadata, and the answer is sorted again. */
void sweep_made_up_apply(const struct text_list *stems, struct sweep_answer *a);

/* The key with "*" in the place of a random ending: "pods shop/web-*"; NULL: it has none. The caller frees. */
char *sweep_made_up_stem(const char *key);

/* Without the object's own name. */
void sweep_made_up_drop_name(char **content);

#endif
