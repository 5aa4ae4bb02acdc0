/* crd.c: see crd.h. */
#include "replayer/world/crd.h"

#include "schema/base/json_scan.h"

#include <stdlib.h>

uint64_t crd_find(struct world *w, const struct collection *c, struct slice *ret)
{
	struct collection *crds = world_find(
		w, slice_of("apiextensions.k8s.io"), slice_of("v1"), slice_of("customresourcedefinitions"));
	char *name = xasprintf("%s.%s", c->resource.resource, c->resource.apigroup);
	const struct live *crd =
		crds ? live_set_find(&crds->live, (struct slice){NULL, 0}, slice_of(name)) : NULL;

	free(name);
	if (!crd || world_object(w, crd->seq, ret, NULL))
		return 0;
	return crd->seq;
}

struct slice crd_version(struct slice crd, const char *version)
{
	struct slice versions, key, entry, name, found = {NULL, 0};
	struct json_iter it;

	if (json_get(crd, "spec.versions", &versions, NULL) <= 0 || json_iter_begin(versions, &it, NULL))
		return found;
	while (json_iter_next(&it, &key, &entry, NULL) > 0) {
		if (json_get(entry, "name", &name, NULL) <= 0 || name.len < 2)
			continue;
		if (slice_is((struct slice){name.ptr + 1, name.len - 2}, version))
			found = entry;
	}
	return found;
}
