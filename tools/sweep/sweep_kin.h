/* sweep_kin.h: whether what a program does with one object may follow from another one that it did not make. */
#ifndef TOOLS_SWEEP_KIN_H
#define TOOLS_SWEEP_KIN_H

#include "tools/sweep/sweep_answer.h"

/* Whether `other` is an owner of the object, or has one in common with it, as the revisions of a workload: which of these is the
 * current one, and what the owner says of them, depends on which of them there have been. */
bool sweep_are_kin(const struct sweep_effect *object, const struct sweep_effect *other);

#endif
