/* age.h: how long ago something was, as kubectl writes it: "37s", "4m12s", "5h", "3d4h", "2y10d". */
#ifndef REPLAYER_AGE_H
#define REPLAYER_AGE_H

#include "schema/base/buf.h"

#define AGE_TEXT_MAX 32

/* `timestamp` is RFC 3339 text without quotes; "<unknown>" when it is empty or none. Returns to. */
const char *age_format(char to[AGE_TEXT_MAX], struct slice timestamp, int64_t now_ns);

/* The same for a duration; negative ones by more than a second are "<invalid>". */
const char *age_of_ns(char to[AGE_TEXT_MAX], int64_t ns);

#endif
