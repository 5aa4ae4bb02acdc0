/* flow_control.c: see flow_control.h. */
#include "replayer/serve/flow_control.h"

#include "schema/base/count_of.h"
#include "schema/base/json_scan.h"

#include <stdio.h>

#define GROUP "flowcontrol.apiserver.k8s.io"

static struct collection *find_collection(struct world *w, const char *resource)
{
	static const char *const versions[] = {"v1", "v1beta3", "v1beta2"};

	for (size_t i = 0; i < COUNT_OF(versions); i++) {
		struct collection *c =
			world_find(w, slice_of(GROUP), slice_of(versions[i]), slice_of(resource));

		if (c)
			return c;
	}
	return NULL;
}

/* The UID of the object `exempt`; false when there is none that fits a header. */
static bool find_uid(struct world *w, const char *resource, char to[UUID_TEXT_BYTES])
{
	struct collection *c = find_collection(w, resource);
	const struct live *l = c ? live_set_find(&c->live, slice_of(""), slice_of("exempt")) : NULL;
	struct slice object, uid;

	if (!l || world_object(w, l->seq, &object, NULL) ||
		json_get(object, "metadata.uid", &uid, NULL) <= 0 ||
		uid.len != UUID_TEXT_BYTES - 1 + strlen("\"\""))
		return false;
	snprintf(to, UUID_TEXT_BYTES, "%.*s", UUID_TEXT_BYTES - 1, uid.ptr + 1);
	return strspn(to, "0123456789abcdefABCDEF-") == UUID_TEXT_BYTES - 1;
}

const struct http_header *flow_control_headers(struct flow_control *f, struct world *w)
{
	if (f->known)
		return f->headers;
	if (!find_uid(w, "flowschemas", f->schema))
		snprintf(f->schema, sizeof(f->schema), "00000000-0000-4000-8000-000000000001");
	if (!find_uid(w, "prioritylevelconfigurations", f->level))
		snprintf(f->level, sizeof(f->level), "00000000-0000-4000-8000-000000000002");
	f->headers[0] = (struct http_header){slice_of("X-Kubernetes-Pf-Flowschema-Uid"), slice_of(f->schema)};
	f->headers[1] =
		(struct http_header){slice_of("X-Kubernetes-Pf-Prioritylevel-Uid"), slice_of(f->level)};
	f->known = true;
	return f->headers;
}
