/* openapi.c: see openapi.h. */
#include "replayer/serve/openapi.h"

#include "replayer/json/json_tree.h"
#include "replayer/serve/discovery.h"
#include "replayer/serve/openapi_v2.h"
#include "schema/base/hash.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"

#include <stdlib.h>

#define INDEX       "/openapi/v3"
#define V2          "/openapi/v2"
#define PROTOBUF_V2 "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

enum document_form { FORM_JSON, FORM_PROTOBUF, FORM_PROTOBUF_OLD };

/* The form that the client wants of a document of that version; -1: none that there is. */
static int form_of(const struct api_call *call, bool v2)
{
	static const char *const forms[][3] = {
		{"application/json", "application/com.github.proto-openapi.spec.v3.v1.0+protobuf",
			"application/com.github.proto-openapi.spec.v3@v1.0+protobuf"},
		{"application/json", PROTOBUF_V2,
			"application/com.github.proto-openapi.spec.v2@v1.0+protobuf"},
	};

	return accept_choose(http_header_find(call->request, "Accept"), forms[v2], 3);
}

/* ---- answers ---- */

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

/* No body, and nothing is said of what it would be. */
static void answer_bare(struct api_call *call, int status, bool varies)
{
	struct answer_headers h;

	answer_headers_init(&h, call->request, JSON_TYPE);
	h.count--;
	if (varies)
		answer_headers_add(&h, "Vary", slice_of("Accept"));
	respond_whole(call, &h, status, (struct slice){NULL, 0});
}

/* Whether the client has it already. */
static bool has_etag(const struct api_call *call, struct slice etag)
{
	struct slice known = http_header_find(call->request, "If-None-Match");

	return etag.len && known.len &&
	       (slice_is(known, "*") || memmem(known.ptr, known.len, etag.ptr, etag.len));
}

static void answer_unchanged(struct api_call *call, struct slice etag, bool is_index)
{
	struct answer_headers h;

	answer_headers_init(&h, call->request, JSON_TYPE);
	h.count--;
	answer_headers_add(&h, "Etag", etag);
	if (!is_index)
		answer_headers_add(&h, "Vary", slice_of("Accept"));
	respond_whole(call, &h, 304, (struct slice){NULL, 0});
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

static void serve_v3(struct api_call *call, const char *path, bool is_index)
{
	int form = is_index ? FORM_JSON : form_of(call, false);
	struct tape_document d;
	struct buf body;
	bool found;

	buf_init(&body, LIMIT_DOCUMENT_BYTES);
	found = form > FORM_JSON && discovery_find_document(call, path, "protobuf", &d, &body);
	if (!found)
		found = discovery_find_document(call, path, "", &d, &body);
	if (!found && is_index)
		respond_no_page(call->x, call->request);
	else if (!found)
		answer_bare(call, 404, false);
	else if (form < 0)
		answer_bare(call, 406, true);
	else if (has_etag(call, slice_of(d.etag ? d.etag : "")))
		answer_unchanged(call, slice_of(d.etag), is_index);
	else
		answer_document(call, &d, buf_slice(&body));
	buf_release(&body);
}

/* ---- version 2 ---- */

void openapi_kept_release(struct openapi_kept *k)
{
	blob_unref(k->json);
	blob_unref(k->protobuf);
	*k = (struct openapi_kept){0};
}

/* Calls `each` with the path of every document that the index names. Its failure ends the walk. */
static int each_document(struct slice index, int (*each)(void *context, const char *path, struct err *err),
	void *context, struct err *err)
{
	struct slice paths, key, entry;
	struct json_iter it;
	int rc = json_get(index, "$.paths", &paths, err);

	if (rc <= 0)
		return rc;
	rc = json_iter_begin(paths, &it, err);
	while (rc == 0 && (rc = json_iter_next(&it, &key, &entry, err)) > 0) {
		char *path = xasprintf(INDEX "/%.*s", (int)key.len, key.ptr);

		rc = each(context, path, err);
		free(path);
	}
	return rc;
}

struct gathering {
	struct api_call *call;
	struct openapi_v2 *v2;
	uint64_t state; /* a hash of which documents there are */
};

static int note_document(void *context, const char *path, struct err *err)
{
	struct gathering *g = context;
	struct tape_document d;

	(void)err;
	if (discovery_find_document(g->call, path, "", &d, NULL)) {
		g->state = hash_add(g->state, slice_of(path));
		g->state =
			hash_add(g->state, (struct slice){(const char *)&d.after_seq, sizeof(d.after_seq)});
	}
	return 0;
}

/* One that cannot be read is left out, as its owner would be if it did not answer. */
static int gather_document(void *context, const char *path, struct err *err)
{
	struct gathering *g = context;
	struct tape_document d;
	cJSON *v3;
	struct buf body;

	(void)err;
	buf_init(&body, LIMIT_DOCUMENT_BYTES);
	if (discovery_find_document(g->call, path, "", &d, &body) &&
		json_tree_parse(buf_slice(&body), &v3, NULL) == 0)
		openapi_v2_add(g->v2, v3);
	buf_release(&body);
	return 0;
}

static int keep_forms(struct openapi_kept *k, const struct openapi_v2 *v2, struct err *err)
{
	struct buf body;
	int rc;

	buf_init(&body, LIMIT_DOCUMENT_BYTES);
	rc = openapi_v2_json(v2, &body, err);
	if (rc == 0) {
		k->json = blob_of(buf_slice(&body));
		document_etag(buf_slice(&body), k->etag);
		buf_clear(&body);
		rc = openapi_v2_protobuf(v2, &body, err);
	}
	if (rc == 0)
		k->protobuf = blob_of(buf_slice(&body));
	buf_release(&body);
	return rc;
}

/* Makes the document anew when the documents of version 3 are others than last time. */
static int refresh_v2(struct api_call *call, struct slice index, struct err *err)
{
	struct openapi_kept *k = &call->api->openapi;
	struct gathering g = {.call = call, .state = HASH_EMPTY};
	int rc = each_document(index, note_document, &g, err);

	if (rc || (k->protobuf && k->state == g.state))
		return rc;
	openapi_kept_release(k);
	g.v2 = openapi_v2_new();
	rc = each_document(index, gather_document, &g, err);
	if (rc == 0)
		rc = keep_forms(k, g.v2, err);
	if (rc)
		openapi_kept_release(k);
	else
		k->state = g.state;
	openapi_v2_free(g.v2);
	return rc;
}

/* kubectl falls back to version 2, wants it as protobuf, and takes no bytes for a document without types;
 * that lets it create and apply without knowing schemas. */
static void answer_empty_v2(struct api_call *call, bool protobuf)
{
	static const char json[] =
		"{\"swagger\":\"2.0\",\"info\":{\"title\":\"Kubernetes\",\"version\":\"\"},\"paths\":{}}";
	struct answer_headers h;

	answer_headers_init(&h, call->request, protobuf ? PROTOBUF_V2 : JSON_TYPE);
	respond_whole(call, &h, 200, slice_of(protobuf ? "" : json));
}

static void answer_v2(struct api_call *call, bool protobuf)
{
	const struct openapi_kept *k = &call->api->openapi;
	struct answer_headers h;

	if (has_etag(call, slice_of(k->etag))) {
		answer_unchanged(call, slice_of(k->etag), false);
		return;
	}
	answer_headers_init(&h, call->request, protobuf ? PROTOBUF_V2 : JSON_TYPE);
	answer_headers_add(&h, "Etag", slice_of(k->etag));
	answer_headers_add(&h, "Vary", slice_of("Accept"));
	respond_whole(call, &h, 200, blob_body(protobuf ? k->protobuf : k->json));
}

static void serve_v2(struct api_call *call)
{
	int form = form_of(call, true);
	struct tape_document d;
	struct buf index;

	if (form < 0) {
		answer_bare(call, 406, true);
		return;
	}
	buf_init(&index, LIMIT_DOCUMENT_BYTES);
	if (discovery_find_document(call, INDEX, "", &d, &index) &&
		refresh_v2(call, buf_slice(&index), NULL) == 0)
		answer_v2(call, form > FORM_JSON);
	else
		answer_empty_v2(call, form > FORM_JSON);
	buf_release(&index);
}

bool openapi_serve(struct api_call *call)
{
	struct slice at = call->query.path;
	bool below = at.len > strlen(INDEX) && memcmp(at.ptr, INDEX "/", strlen(INDEX "/")) == 0;
	char *path;

	if (slice_is(at, V2)) {
		serve_v2(call);
		return true;
	}
	if (!below && !slice_is(at, INDEX))
		return false;
	path = slice_dup(at);
	serve_v3(call, path, !below);
	free(path);
	return true;
}
