/* processors.c: see processors.h; sched_getaffinity, cgroups and /proc/stat are Linux's. */
#include "schema/base/processors.h"

#include "schema/base/clock.h"

#include <sched.h>
#include <stdio.h>
#include <unistd.h>

/* Of the whole machine, or of the container, which sees its own limit there; SIZE_MAX: none. */
static size_t limit_of_container(void)
{
	FILE *file = fopen("/sys/fs/cgroup/cpu.max", "re");
	long long quota = 0, period = 0;
	int found = file ? fscanf(file, "%lld %lld", &quota, &period) : 0;

	if (file)
		fclose(file);
	return found == 2 && quota > 0 && period > 0 ? (size_t)((quota + period - 1) / period) : SIZE_MAX;
}

size_t processors(size_t max)
{
	size_t limit = limit_of_container(), count = 1;
	cpu_set_t cpus;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
		count = (size_t)CPU_COUNT(&cpus);
	count = count < limit ? count : limit;
	return count < max ? count : max;
}

int64_t processors_idle_ns(void)
{
	FILE *file = fopen("/proc/stat", "re");
	long long idle = 0, waiting = 0;
	int found = file ? fscanf(file, "cpu %*s %*s %*s %lld %lld", &idle, &waiting) : 0;
	long ticks = sysconf(_SC_CLK_TCK);

	if (file)
		fclose(file);
	return found == 2 && ticks > 0 ? (idle + waiting) * (NS_PER_S / ticks) : 0;
}
