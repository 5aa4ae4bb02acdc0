/* bookkeeping.c: see bookkeeping.h. */
#include "tools/out/bookkeeping.h"

#include "schema/base/count_of.h"

bool is_bookkeeping(const struct tape_resource *r)
{
	static const struct {
		const char *apigroup, *resource;
	} rows[] = {
		{"", "events"},
		{"events.k8s.io", "events"},
		{"coordination.k8s.io", "leases"},
		{"", "endpoints"},
		{"discovery.k8s.io", "endpointslices"},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (strcmp(rows[i].apigroup, r->apigroup) == 0 && strcmp(rows[i].resource, r->resource) == 0)
			return true;
	}
	return false;
}
