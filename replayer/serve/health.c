/* health.c: see health.h. */
#include "replayer/serve/health.h"
#include "schema/base/count_of.h"

#include <stdlib.h>

static void health_answer(struct api_call *call, const char *text, bool whole)
{
	struct answer_headers h;

	answer_headers_init(&h, call->request, TEXT_TYPE);
	if (whole)
		answer_headers_add(&h, "X-Content-Type-Options", slice_of("nosniff"));
	respond_bytes(call->x, &h, 200, slice_of(text));
}

bool health_serve(struct api_call *call)
{
	static const char *const roots[] = {"/healthz", "/livez", "/readyz"};
	struct slice path = call->query.path;

	for (size_t i = 0; i < COUNT_OF(roots); i++) {
		size_t n = strlen(roots[i]);
		struct slice below;

		if (path.len < n || memcmp(path.ptr, roots[i], n) != 0)
			continue;
		below = (struct slice){path.ptr + n, path.len - n};
		if (below.len == 0 && query_has(&call->query, "verbose")) {
			char *text = xasprintf("[+]ping ok\n[+]replay ok\n%s check passed\n", roots[i] + 1);

			health_answer(call, text, true);
			free(text);
			return true;
		}
		if (below.len == 0 || slice_is(below, "/ping") || slice_is(below, "/etcd")) {
			health_answer(call, "ok", below.len == 0);
			return true;
		}
	}
	return false;
}
