/* processors.c: see processors.h; sched_getaffinity is Linux's. */
#include "schema/base/processors.h"

#include <sched.h>

size_t processors(size_t max)
{
	cpu_set_t cpus;
	size_t count;

	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		return 1;
	count = (size_t)CPU_COUNT(&cpus);
	return count < max ? count : max;
}
