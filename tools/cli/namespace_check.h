/* namespace_check.h: whether a tape knows a namespace that a person names. */
#ifndef TOOLS_CLI_NAMESPACE_CHECK_H
#define TOOLS_CLI_NAMESPACE_CHECK_H

#include "schema/tape/reader.h"

/* ERR_NOT_FOUND for a namespace that the tape does not have: one that is named by mistake would give an answer of nothing.
 * One that is empty has an object of its own name. */
int namespace_check(struct tape *t, const char *name, struct err *err) MUST_CHECK;

#endif
