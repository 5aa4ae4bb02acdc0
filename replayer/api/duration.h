/*
 * duration.h: Go's durations ("1h5m", "-1.5s", "300ms") as far as a request can be wrong about them.
 */
#ifndef REPLAYER_DURATION_H
#define REPLAYER_DURATION_H

#include "schema/base/buf.h"

/* NULL, or what is wrong in the words of Go's parser; the caller frees. */
char *duration_problem(struct slice text);

#endif
