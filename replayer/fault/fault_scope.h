/*
 * fault_scope.h: checks the names in rules against a tape: resources by the names that kubectl takes,
 * namespaces, and positions. Refuses what the tape cannot have before anybody waits for it.
 */
#ifndef REPLAYER_FAULT_SCOPE_H
#define REPLAYER_FAULT_SCOPE_H

#include "replayer/fault/fault_rule.h"

struct tape;

struct fault_ground {
	struct tape *tape;
	bool lenient; /* unknown names of resources count as they are, positions off the tape as far as they
			 go */
	bool goes_on; /* the clock does so after the tape's end: a time there can come */
};

/* Called once, before the rules are used. ERR_USAGE with the place of a name that does not exist. */
int fault_resolve(struct fault_file *f, const struct fault_ground *on, struct err *err) MUST_CHECK;

#endif
