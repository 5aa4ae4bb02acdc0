/* processors.h: how many processors this process may run on, and what others leave of them. */
#ifndef SCHEMA_BASE_PROCESSORS_H
#define SCHEMA_BASE_PROCESSORS_H

#include <stddef.h>
#include <stdint.h>

/* At least 1, at most `max`. A container's limit (cgroup v2) counts, rounded up. */
size_t processors(size_t max);

/* For how long the machine's processors had nothing to do since it was started, all together; 0: nobody knows. */
int64_t processors_idle_ns(void);

#endif
