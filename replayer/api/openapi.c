/* openapi.c: see openapi.h. */
#include "replayer/api/openapi.h"

#include "replayer/api/discovery.h"
#include "schema/base/limits.h"

#include <stdlib.h>

#define INDEX    "/openapi/v3"
#define PROTO_V2 "proto-openapi.spec.v2"
#define PROTO_V3 "proto-openapi.spec.v3"

static bool wants(const struct api_call *call, const char *media_type)
{
	struct slice accept = http_header_find(call->request, "Accept");

	return accept.len && memmem(accept.ptr, accept.len, media_type, strlen(media_type));
}

/* Unlike everything else these have their length told, whatever it is. */
static void respond_whole(
	struct api_call *call, const struct answer_headers *h, int status, struct slice body)
{
	struct blob *b = body.len ? blob_of(body) : NULL;

	exchange_answer(call->x, status, h->items, h->count, (int64_t)body.len);
	if (b)
		exchange_push(call->x, b);
	blob_unref(b);
	exchange_finish(call->x);
}

/* A document that is named with its hash never changes; a wrong hash leads to the right one. */
static void answer_document(struct api_call *call, const struct tape_document *d, struct slice body)
{
	struct slice hash = query_get(&call->query, "hash"), etag = slice_of(d->etag ? d->etag : "");
	struct slice right = {etag.len > 2 ? etag.ptr + 1 : NULL, etag.len > 2 ? etag.len - 2 : 0};
	bool moved = hash.len && right.len && !slice_equal(hash, right);
	char *location = xasprintf("%.*s?hash=%.*s", (int)call->query.path.len, call->query.path.ptr,
		(int)right.len, right.ptr ? right.ptr : "");
	struct answer_headers h;
	int status = d->http_status ? d->http_status : 200;

	answer_headers_init(
		&h, call->request, d->content_type && *d->content_type ? d->content_type : JSON_TYPE);
	if (hash.len && !moved)
		h.items[1].value = slice_of("public, immutable");
	if (etag.len) {
		answer_headers_add(&h, "Etag", etag);
		answer_headers_add(&h, "Vary", slice_of("Accept"));
	}
	if (moved)
		answer_headers_add(&h, "Location", slice_of(location));
	if (moved)
		respond_whole(call, &h, 301, (struct slice){NULL, 0});
	else
		respond_whole(call, &h, status, body);
	free(location);
}

/* Nothing is said, not even what it is. */
static void answer_nothing(struct api_call *call)
{
	struct answer_headers h;

	answer_headers_init(&h, call->request, JSON_TYPE);
	h.count--;
	respond_whole(call, &h, 404, (struct slice){NULL, 0});
}

/* kubectl falls back to version 2, wants it as protobuf, and takes no bytes for a document without types;
 * that lets it create and apply without knowing schemas. */
static void answer_empty_v2(struct api_call *call)
{
	static const char json[] =
		"{\"swagger\":\"2.0\",\"info\":{\"title\":\"Kubernetes\",\"version\":\"\"},\"paths\":{}}";
	bool protobuf = wants(call, PROTO_V2);
	struct answer_headers h;

	answer_headers_init(&h, call->request,
		protobuf ? "application/com.github.proto-openapi.spec.v2.v1.0+protobuf" : JSON_TYPE);
	respond_whole(call, &h, 200, slice_of(protobuf ? "" : json));
}

bool openapi_serve(struct api_call *call)
{
	struct slice at = call->query.path;
	bool below = at.len > strlen(INDEX) && memcmp(at.ptr, INDEX "/", strlen(INDEX "/")) == 0;
	struct tape_document d;
	struct buf body;
	char *path;
	bool found;

	if (!below && !slice_is(at, INDEX) && !slice_is(at, "/openapi/v2"))
		return false;
	path = slice_dup(at);
	buf_init(&body, LIMIT_DOCUMENT_BYTES);
	found = wants(call, PROTO_V3) && discovery_find_document(call, path, "protobuf", &d, &body);
	if (!found)
		found = discovery_find_document(call, path, "", &d, &body);
	if (found)
		answer_document(call, &d, buf_slice(&body));
	else if (slice_is(at, "/openapi/v2"))
		answer_empty_v2(call);
	else if (below)
		answer_nothing(call);
	else
		respond_no_page(call->x, call->request);
	buf_release(&body);
	free(path);
	return true;
}
