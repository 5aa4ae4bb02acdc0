/* processors.h: how many processors this process may run on. */
#ifndef SCHEMA_BASE_PROCESSORS_H
#define SCHEMA_BASE_PROCESSORS_H

#include <stddef.h>

/* At least 1, at most `max`. */
size_t processors(size_t max);

#endif
