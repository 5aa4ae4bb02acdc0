/*
 * sweep_gathered.h: a text that gathers what a program has seen, such as the last releases, a line each. Who has not seen one lacks
 * its line, and keeps an older one for it where there is room for so many only.
 */
#ifndef TOOLS_SWEEP_GATHERED_H
#define TOOLS_SWEEP_GATHERED_H

#include "schema/base/buf.h"

#include <stdbool.h>

struct sweep_gathered;

/* The field without the fault and with it; borrowed. The caller releases it. */
struct sweep_gathered *sweep_gathered_new(struct slice without, struct slice with);
void sweep_gathered_free(struct sweep_gathered *g);

/* A write of the run without the fault that changed the field; unseen: what it answers could not be seen with the fault. */
void sweep_gathered_write(struct sweep_gathered *g, struct slice before, struct slice after, bool unseen);

/* After the last write: whether the text with the fault lacks only words that unseen writes had put there, and has beside the others
 * only words in front of them, or behind them, that stood there at some time; what both have is in one order. */
bool sweep_gathered_is_unseen(struct sweep_gathered *g);

#endif
