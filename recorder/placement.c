/* placement.c: see placement.h. */
#include "recorder/placement.h"

#include "schema/base/buf.h"
#include "schema/base/count_of.h"

#include <string.h>

/* Events a second for each object, of what changes by itself in a cluster at work: renewed every ten seconds,
 * scaled every fifteen, and what comes and goes with pods. */
static const struct {
	const char *resource;
	double rate;
} lively[] = {
	{"leases", 0.1},
	{"nodes", 0.1},
	{"horizontalpodautoscalers", 0.07},
	{"pods", 0.05},
	{"events", 0.05},
	{"endpointslices", 0.02},
	{"endpoints", 0.02},
	{"jobs", 0.02},
	{"replicasets", 0.01},
	{"deployments", 0.01},
	{"statefulsets", 0.01},
	{"daemonsets", 0.01},
	{"cronjobs", 0.01},
};
/* Also when there are none yet. */
#define LIVELY_RATE 1
/* Fewer than that go to the first place, whatever the others carry. */
#define QUIET_RATE 0.1
/* Operators write to the objects of their own kinds. */
#define CUSTOM_RATE 0.01

size_t placement_choose(const struct placement *places, size_t count, double rate)
{
	size_t best = 0;
	double least = 0;

	for (size_t i = 1; i < count && rate >= QUIET_RATE; i++) {
		const struct placement *p = &places[i];
		/* Each event costs as much as there are watches: (rate + r)(count + 1) - rate * count. */
		double added = p->rate + rate * (double)(p->count + 1);

		if (best && added >= least)
			continue;
		least = added;
		best = i;
	}
	return best;
}

/* The project's own groups have a name without a dot, or one that ends so. */
static bool is_custom(const char *group)
{
	static const char own[] = ".k8s.io";
	size_t len = strlen(group);

	return strchr(group, '.') &&
	       !(len >= sizeof(own) - 1 && strcmp(group + len - sizeof(own) + 1, own) == 0);
}

double placement_guess(const char *group, const char *resource, size_t objects)
{
	if (is_custom(group))
		return CUSTOM_RATE * (double)objects;
	for (size_t i = 0; i < COUNT_OF(lively); i++) {
		if (strcmp(resource, lively[i].resource) == 0)
			return LIVELY_RATE + lively[i].rate * (double)objects;
	}
	return 0;
}
