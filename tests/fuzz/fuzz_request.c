/*
 * fuzz_request.c: what a request can ask for. Input: three lines: a target, an Accept header, a continue
 * token; the rest is an object that selectors are tried on.
 */
#include "replayer/request/accept.h"
#include "replayer/request/api_path.h"
#include "replayer/request/continue_token.h"
#include "replayer/request/duration.h"
#include "replayer/request/list_options.h"
#include "replayer/request/selectors.h"
#include "schema/base/json_scan.h"
#include "tests/fuzz/fuzz.h"

static struct slice take_line(struct slice *rest)
{
	const char *end = rest->len ? memchr(rest->ptr, '\n', rest->len) : NULL;
	size_t len = end ? (size_t)(end - rest->ptr) : rest->len;
	struct slice line = {rest->ptr, len};

	*rest = (struct slice){rest->ptr + len + (end ? 1 : 0), rest->len - len - (end ? 1 : 0)};
	return line;
}

static bool is_inside(struct slice part, struct slice whole)
{
	return part.len == 0 || (part.ptr >= whole.ptr && part.ptr + part.len <= whole.ptr + whole.len);
}

static void try_path(const struct query *q)
{
	struct api_path p;

	if (q->bad_path)
		return;
	api_path_parse(q->path, &p);
	fuzz_demand(
		is_inside(p.resource, q->path) && is_inside(p.name, q->path) && is_inside(p.group, q->path));
	fuzz_demand(p.kind != API_PATH_RESOURCE || p.resource.len > 0);
}

/* Either there are options, or there is an error with a code and a message. */
static void try_options(const struct query *q, struct slice object)
{
	static const char crd_fields[] = "[{\"jsonPath\":\".spec.color\"}]";
	struct selectable_kind kinds[] = {
		{{"", 0}, {"v1", 2}, {"pods", 4}, true, false, {NULL, 0}},
		{{"x.io", 4}, {"v1", 2}, {"widgets", 7}, false, true, {crd_fields, sizeof(crd_fields) - 1}},
	};
	struct object_meta meta;

	for (size_t i = 0; i < 2; i++) {
		struct list_options o;
		struct status st = {0};
		int rc = list_options_parse(q, i == 1, &kinds[i], &o, &st);

		fuzz_demand(rc == 0 ? st.code == 0 : st.code >= 400 && st.message);
		if (rc == 0 && json_scan_object(object, &meta, NULL) == 0)
			selectors_match(o.labels, o.fields, meta.namespace, meta.name, object);
		list_options_release(&o);
		status_release(&st);
	}
}

/* A token that is taken leads to one that is taken again. */
static void try_token(struct slice text)
{
	struct continue_token t, again;

	if (continue_token_parse(text, &t, NULL) == 0) {
		fuzz_demand(t.key_len > 0 && t.rv != 0);
		if (!memchr(t.key, '"', t.key_len) && !memchr(t.key, '\\', t.key_len) &&
			(unsigned char)t.key[0] >= 32) {
			char *made = continue_token_make(
				t.rv, (struct slice){t.key, strnlen(t.key, t.key_len)}, true);

			if (continue_token_parse(slice_of(made), &again, NULL) == 0)
				fuzz_demand(again.rv == t.rv);
			continue_token_release(&again);
			free(made);
		}
	}
	continue_token_release(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct slice rest = {(const char *)bytes, len};
	struct slice target = take_line(&rest), accept = take_line(&rest), token = take_line(&rest);
	struct accepted accepted;
	struct query q;
	int64_t length_ns;
	bool yaml;

	query_parse(target, &q);
	try_path(&q);
	try_options(&q, rest);
	query_release(&q);
	accept_resource(accept, ACCEPT_BY_ROUTER, &accepted);
	accept_resource(accept, ACCEPT_BY_HANDLER, &accepted);
	free(go_duration_parse(accept, &length_ns));
	accept_plain(accept, &yaml);
	accept_stream(accept, ACCEPT_BY_HANDLER, &accepted);
	accept_aggregated_discovery(accept);
	try_token(token);
	return 0;
}
