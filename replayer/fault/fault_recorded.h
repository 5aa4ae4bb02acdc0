/*
 * fault_recorded.h: the gaps of a recording as rules, so that they happen again: at the recorded position the
 * watches of that resource end as the recorder's did, requests get what the recorder's attempts got, one
 * after the other, and where the recorder had to list again history is gone up to that list.
 *
 * A gap that was the recorder's own doing (it was stopped, or died, or did not watch) makes no rule.
 */
#ifndef REPLAYER_FAULT_RECORDED_H
#define REPLAYER_FAULT_RECORDED_H

#include "replayer/fault/fault_rule.h"

struct tape;

/* Adds the rules after those of the file, in the order in which they happen. */
int fault_recorded_add(struct tape *t, struct fault_file *to, struct err *err) MUST_CHECK;

#endif
