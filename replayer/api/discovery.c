/* discovery.c: see discovery.h. */
#include "replayer/api/discovery.h"

#include "replayer/api/derived_discovery.h"
#include "schema/base/limits.h"

#include <stdio.h>
#include <stdlib.h>

#define AGGREGATED_TYPE  "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
#define PROTO_OPENAPI    "proto-openapi.spec.v2"
#define PROTO_OPENAPI_V3 "proto-openapi.spec.v3"

/* What a replay says of itself when no version was recorded. */
static const char default_version[] =
	"{\n  \"major\": \"1\",\n  \"minor\": \"34\",\n  \"gitVersion\": \"v1.34.0\",\n  \"gitCommit\": \"\",\n"
	"  \"gitTreeState\": \"clean\",\n  \"buildDate\": \"1970-01-01T00:00:00Z\",\n  \"goVersion\": \"\",\n"
	"  \"compiler\": \"gc\",\n  \"platform\": \"linux/amd64\"\n}";

/* The document as it was at the position. 1 when there is one. */
static int find_document(struct api_call *call, const char *path, const char *variant,
	struct tape_document *ret, struct buf *body)
{
	return tape_document(call->api->tape, path, variant, call->api->world->seq, ret, body, NULL) == 0;
}

/* FNV-1a, spelled out to the length that clients are used to. */
static void make_etag(struct slice body, char to[160])
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	int at = 1;

	for (size_t i = 0; i < body.len; i++)
		h = (h ^ (unsigned char)body.ptr[i]) * UINT64_C(0x100000001b3);
	to[0] = '"';
	for (int i = 0; i < 8; i++, h = h * UINT64_C(0x9e3779b97f4a7c15) + 1)
		at += snprintf(to + at, 160 - (size_t)at, "%016llx", (unsigned long long)h);
	snprintf(to + at, 160 - (size_t)at, "\"");
}

/* Discovery in the aggregated form carries its own headers; "same as you have" is 304. */
static void answer_aggregated(struct api_call *call, const char *etag, struct slice body)
{
	char made[160];
	struct answer_headers h;
	struct slice have = http_header_find(call->request, "If-None-Match");

	if (!etag || !*etag) {
		make_etag(body, made);
		etag = made;
	}
	answer_headers_init(&h, call->request, AGGREGATED_TYPE);
	h.items[1].value = slice_of("public");
	answer_headers_add(&h, "Etag", slice_of(etag));
	answer_headers_add(&h, "Vary", slice_of("Accept"));
	if (slice_is(have, etag)) {
		h.items[2] = h.items[4];
		h.count = 4;
		respond_bytes(call->x, &h, 304, (struct slice){NULL, 0});
		return;
	}
	respond_bytes(call->x, &h, 200, body);
}

static void serve_aggregated(struct api_call *call, bool core)
{
	struct tape_document d;
	struct buf body;
	struct err err;

	buf_init(&body, LIMIT_DOCUMENT_BYTES);
	if (find_document(call, core ? "/api" : "/apis", "aggregated", &d, &body) && d.http_status == 200)
		answer_aggregated(call, d.etag, buf_slice(&body));
	else if (derive_aggregated(call->api->world, core, &body, &err) == 0 &&
		 buf_append(&body, "\n", 1, &err) == 0)
		answer_aggregated(call, NULL, buf_slice(&body));
	else
		exchange_abort(call->x, ABORT_FIN);
	buf_release(&body);
}

/* A recorded body goes out byte for byte. */
static void answer_document(struct api_call *call, const struct tape_document *d, struct slice body)
{
	struct answer_headers h;

	answer_headers_init(
		&h, call->request, d->content_type && *d->content_type ? d->content_type : JSON_TYPE);
	if (d->etag && *d->etag) {
		answer_headers_add(&h, "Etag", slice_of(d->etag));
		answer_headers_add(&h, "Vary", slice_of("Accept"));
	}
	respond_bytes(call->x, &h, d->http_status ? d->http_status : 200, body);
}

static int derive(struct api_call *call, struct buf *body)
{
	const struct api_path *p = &call->path;
	const struct world *w = call->api->world;

	switch (p->kind) {
	case API_PATH_ROOT:
		if (slice_is(call->query.path, "/api") || slice_is(call->query.path, "/api/"))
			return derive_core_versions(w, body, NULL);
		return derive_group_list(w, body, NULL);
	case API_PATH_GROUP: return derive_group(w, p->group, body, NULL);
	default: return derive_resources(w, p->group, p->version, body, NULL);
	}
}

/* The document at the path that the parts make. 1 when there is one. */
static int find_parts(struct api_call *call, struct slice group, struct slice version, struct buf *body)
{
	struct tape_document d;
	char *path = xasprintf("%s%.*s%s%.*s", group.len ? "/apis/" : "/api", (int)group.len, group.ptr,
		version.len ? "/" : "", (int)version.len, version.ptr);
	int found = find_document(call, path, "", &d, body) && (d.http_status == 200 || d.http_status == 0);

	free(path);
	return found;
}

bool discovery_knows_group(struct api_call *call)
{
	struct slice group = call->path.group;
	struct buf body;
	bool known;

	if (group.len == 0)
		return true;
	buf_init(&body, LIMIT_DOCUMENT_BYTES);
	known = find_parts(call, group, (struct slice){NULL, 0}, &body) ||
		find_parts(call, group, call->path.version, &body) ||
		derive_group(call->api->world, group, &body, NULL) == 0;
	buf_release(&body);
	return known;
}

bool discovery_knows_resource(struct api_call *call)
{
	char *name = xasprintf("\"name\":\"%.*s\"", (int)call->path.resource.len, call->path.resource.ptr);
	struct buf body;
	bool known;

	buf_init(&body, LIMIT_DOCUMENT_BYTES);
	known = find_parts(call, call->path.group, call->path.version, &body) && body.len &&
		memmem(body.ptr, body.len, name, strlen(name));
	buf_release(&body);
	free(name);
	return known;
}

/* Nothing below a group or version that does not exist: plain text where even the group is unknown. */
static void refuse_unknown(struct api_call *call)
{
	struct status st = {0};

	if (!discovery_knows_group(call)) {
		respond_no_page(call->x, call->request);
		return;
	}
	status_no_resource(&st);
	api_fail(call, &st);
}

static char *path_without_slash(const struct api_call *call)
{
	struct slice path = call->query.path;

	if (path.len > 1 && path.ptr[path.len - 1] == '/')
		path.len--;
	return slice_dup(path);
}

static void serve_classic(struct api_call *call)
{
	char *path = path_without_slash(call);
	struct tape_document d;
	struct buf body;

	buf_init(&body, LIMIT_DOCUMENT_BYTES);
	if (find_document(call, path, "", &d, &body))
		answer_document(call, &d, buf_slice(&body));
	else if (derive(call, &body) == 0)
		respond_json(call->x, call->request, &call->style, 200, buf_slice(&body));
	else
		refuse_unknown(call);
	buf_release(&body);
	free(path);
}

void discovery_serve(struct api_call *call)
{
	int aggregated = accept_aggregated_discovery(http_header_find(call->request, "Accept"));
	struct status st = {0};

	if (call->path.kind != API_PATH_ROOT || aggregated == 0) {
		serve_classic(call);
		return;
	}
	if (aggregated < 0) {
		status_set(&st, 406, "NotAcceptable",
			"only the following media types are accepted: application/json, application/yaml, "
			"application/vnd.kubernetes.protobuf");
		api_fail(call, &st);
		return;
	}
	serve_aggregated(call, slice_is(call->query.path, "/api") || slice_is(call->query.path, "/api/"));
}

/* ---- other documents ---- */

static void answer_version(struct api_call *call)
{
	struct answer_headers h;

	answer_headers_init(&h, call->request, JSON_TYPE);
	respond_bytes(call->x, &h, 200, slice_of(default_version));
}

/* Whether the client prefers the OpenAPI document in protobuf. */
static bool wants_protobuf(const struct api_call *call)
{
	struct slice accept = http_header_find(call->request, "Accept");

	return accept.len && memmem(accept.ptr, accept.len, PROTO_OPENAPI_V3, strlen(PROTO_OPENAPI_V3));
}

/* kubectl falls back to version 2, wants it as protobuf, and takes no bytes for a document without types;
 * that lets it create and apply without knowing schemas. */
static void answer_empty_openapi(struct api_call *call)
{
	struct slice accept = http_header_find(call->request, "Accept");
	bool protobuf = accept.len && memmem(accept.ptr, accept.len, PROTO_OPENAPI, strlen(PROTO_OPENAPI));
	struct answer_headers h;

	answer_headers_init(&h, call->request,
		protobuf ? "application/com.github.proto-openapi.spec.v2.v1.0+protobuf" : JSON_TYPE);
	respond_bytes(call->x, &h, 200,
		protobuf
			? (struct slice){NULL, 0}
			: slice_of(
				  "{\"swagger\":\"2.0\",\"info\":{\"title\":\"Kubernetes\",\"version\":\"\"},"
				  "\"paths\":{}}"));
}

bool document_serve(struct api_call *call)
{
	char *path = path_without_slash(call);
	bool is_v2 = strcmp(path, "/openapi/v2") == 0;
	struct tape_document d;
	struct buf body;
	bool found;

	buf_init(&body, LIMIT_DOCUMENT_BYTES);
	found = *path && wants_protobuf(call) && find_document(call, path, "protobuf", &d, &body);
	if (!found)
		found = *path && find_document(call, path, "", &d, &body);
	if (found)
		answer_document(call, &d, buf_slice(&body));
	buf_release(&body);
	if (!found && strcmp(path, "/version") == 0) {
		answer_version(call);
		found = true;
	} else if (!found && is_v2) {
		answer_empty_openapi(call);
		found = true;
	}
	free(path);
	return found;
}
