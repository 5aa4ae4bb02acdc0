/*
 * duration.h: Go's durations ("1h5m", "-1.5s", "300ms").
 */
#ifndef REPLAYER_DURATION_H
#define REPLAYER_DURATION_H

#include "schema/base/buf.h"

/* NULL and the length, which saturates; or the error in the words of Go's parser, which the caller frees.
 */
char *go_duration_parse(struct slice text, int64_t *ret_ns);

#endif
