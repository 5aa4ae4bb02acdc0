/*
 * fault_scope.h: what rules name, held against a tape: resources by the names that kubectl takes, namespaces,
 * and positions. What the tape cannot have is refused here, before anybody waits for it.
 */
#ifndef REPLAYER_FAULT_SCOPE_H
#define REPLAYER_FAULT_SCOPE_H

#include "replayer/fault/fault_rule.h"

struct tape;

/* Called once, before the rules are used. ERR_USAGE with the place of what is not there. `lenient`: names of
 * resources that nobody knows are none; they count as they are. */
int fault_resolve(struct fault_file *f, struct tape *t, bool lenient, struct err *err) MUST_CHECK;

#endif
