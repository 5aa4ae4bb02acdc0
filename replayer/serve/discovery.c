/* discovery.c: see discovery.h. */
#include "replayer/serve/discovery.h"

#include "replayer/kinds/builtin.h"
#include "replayer/serve/defined_discovery.h"
#include "replayer/serve/derived_discovery.h"
#include "replayer/world/crd.h"
#include "schema/base/hash.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"

#include <stdio.h>
#include <stdlib.h>

#define AGGREGATED_TYPE "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

/* What a replay says of itself when no version was recorded. */
static const char default_version[] =
	"{\n  \"major\": \"1\",\n  \"minor\": \"34\",\n  \"gitVersion\": \"v1.34.0\",\n  \"gitCommit\": \"\",\n"
	"  \"gitTreeState\": \"clean\",\n  \"buildDate\": \"1970-01-01T00:00:00Z\",\n  \"goVersion\": \"\",\n"
	"  \"compiler\": \"gc\",\n  \"platform\": \"linux/amd64\"\n}";

bool discovery_find_document(struct api_call *call, const char *path, const char *variant,
	struct tape_document *ret, struct buf *body)
{
	return tape_document(call->api->tape, path, variant, call->api->world->seq, ret, body, NULL) == 0;
}

bool discovery_is_recorded(struct api_call *call)
{
	struct tape_document d;
	struct buf body;
	bool is;

	buf_init(&body, LIMIT_DOCUMENT_BYTES);
	is = discovery_find_document(call, "/apis", "", &d, &body);
	buf_release(&body);
	return is;
}

static struct derived_from derived_from(struct api_call *call)
{
	return (struct derived_from){call->api->world, .with_builtins = !discovery_is_recorded(call)};
}

void document_etag(struct slice body, char to[ETAG_BYTES])
{
	uint64_t h = hash_add(HASH_EMPTY, body);
	int at = 1;

	to[0] = '"';
	for (int i = 0; i < 8; i++, h = h * UINT64_C(0x9e3779b97f4a7c15) + 1)
		at += snprintf(to + at, ETAG_BYTES - (size_t)at, "%016llx", (unsigned long long)h);
	snprintf(to + at, ETAG_BYTES - (size_t)at, "\"");
}

/* Discovery in the aggregated form carries its own headers; "same as you have" is 304. */
static void answer_aggregated(struct api_call *call, const char *etag, struct slice body)
{
	char made[ETAG_BYTES];
	struct answer_headers h;
	struct slice have = http_header_find(call->request, "If-None-Match");

	if (!etag || !*etag) {
		document_etag(body, made);
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

/* The entry of a group in the recorded list, as the document of that group: of a group nothing was followed
 * of (events.k8s.io beside events), or not in all its versions, the tape has no other. 0 when there is one.
 */
static int group_of_list(struct api_call *call, struct slice list, struct buf *body)
{
	struct slice groups, key, entry, name;
	struct json_iter it;

	if (json_get(list, "groups", &groups, NULL) <= 0 || json_iter_begin(groups, &it, NULL))
		return ERR_NOT_FOUND;
	while (json_iter_next(&it, &key, &entry, NULL) > 0) {
		if (json_get(entry, "name", &name, NULL) <= 0 || name.len < 2 || entry.ptr[0] != '{' ||
			!slice_equal((struct slice){name.ptr + 1, name.len - 2}, call->path.group))
			continue;
		return buf_printf(body, NULL, "{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",%.*s",
			(int)entry.len - 1, entry.ptr + 1);
	}
	return ERR_NOT_FOUND;
}

static int derive_one_group(struct api_call *call, struct buf *body)
{
	const struct derived_from from = derived_from(call);
	struct tape_document d;
	struct buf list;
	int rc = ERR_NOT_FOUND;

	buf_init(&list, LIMIT_DOCUMENT_BYTES);
	if (discovery_find_document(call, "/apis", "", &d, &list) && d.http_status == 200)
		rc = group_of_list(call, buf_slice(&list), body);
	buf_release(&list);
	return rc == 0 ? 0 : derive_group(&from, call->path.group, body, NULL);
}

static int derive(struct api_call *call, struct buf *body)
{
	const struct api_path *p = &call->path;
	const struct derived_from from = derived_from(call);

	switch (p->kind) {
	case API_PATH_ROOT:
		if (slice_is(call->query.path, "/api") || slice_is(call->query.path, "/api/"))
			return derive_core_versions(&from, body, NULL);
		return derive_group_list(&from, body, NULL);
	case API_PATH_GROUP: return derive_one_group(call, body);
	default: return derive_resources(&from, p->group, p->version, body, NULL);
	}
}

/* The document at the path that the parts make. 1 when there is one. */
static int find_parts(struct api_call *call, struct slice group, struct slice version, struct buf *body)
{
	struct tape_document d;
	char *path = xasprintf("%s%.*s%s%.*s", group.len ? "/apis/" : "/api", (int)group.len, group.ptr,
		version.len ? "/" : "", (int)version.len, version.ptr);
	int found = discovery_find_document(call, path, "", &d, body) &&
		    (d.http_status == 200 || d.http_status == 0);

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
		find_parts(call, group, call->path.version, &body) || derive_one_group(call, &body) == 0;
	buf_release(&body);
	return known;
}

/* What programs have defined is laid into it. */
static bool add_defined(struct api_call *call, bool derived, struct buf *body)
{
	const struct api_path *p = &call->path;
	struct slice path = call->query.path;

	if (slice_is(path, "/apis") || slice_is(path, "/apis/"))
		return defined_discovery_add(
			call->api->world, DEFINED_GROUPS, p->group, p->version, derived, body);
	if (!p->group.len)
		return false;
	return defined_discovery_add(call->api->world,
		p->kind == API_PATH_GROUP ? DEFINED_GROUP : DEFINED_RESOURCES, p->group, p->version, derived,
		body);
}

/* Whether a CRD that a program wrote gives the path's resource that subresource; -1 if none defines it. */
static int defines_part(struct api_call *call, const char *subresource)
{
	const struct api_path *p = &call->path;
	struct world *w = call->api->world;
	const struct collection *c = world_find(w, p->group, p->version, p->resource);
	struct slice crd, found;
	char *member;
	int has;

	if (!c || !c->defined || !crd_find(w, c, &crd))
		return -1;
	member = xasprintf("subresources.%s", *subresource == '/' ? subresource + 1 : subresource);
	has = crd_says(crd, c->resource.version, member, &found);
	free(member);
	return has;
}

/* otherwise: the answer where no document was recorded. */
static bool names_resource(struct api_call *call, const char *subresource, bool otherwise)
{
	char *name = xasprintf(
		"\"name\":\"%.*s%s\"", (int)call->path.resource.len, call->path.resource.ptr, subresource);
	bool known = otherwise;
	struct buf body;

	buf_init(&body, LIMIT_DOCUMENT_BYTES);
	if (find_parts(call, call->path.group, call->path.version, &body) && body.len)
		known = memmem(body.ptr, body.len, name, strlen(name));
	buf_release(&body);
	free(name);
	return known;
}

bool discovery_knows_resource(struct api_call *call)
{
	return names_resource(call, "", false);
}

bool discovery_may_know(struct api_call *call, const char *subresource)
{
	int defined = defines_part(call, subresource);

	return defined >= 0 ? defined : names_resource(call, subresource, true);
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

static bool accept_any(struct api_call *call)
{
	struct accepted accepted;

	return accept_resource(http_header_find(call->request, "Accept"), ACCEPT_BY_HANDLER, &accepted) !=
	       ACCEPT_NO_MEDIA_TYPE;
}

#define MEDIA_TYPES "application/json, application/yaml, application/vnd.kubernetes.protobuf"

/* /api and the versions of built-in groups are behind a router that asks first; its words are others. */
static void refuse_media_type(struct api_call *call)
{
	const struct api_path *p = &call->path;
	bool routed = p->kind == API_PATH_VERSION
			      ? builtin_group(p->group)
			      : slice_is(call->query.path, "/api") || slice_is(call->query.path, "/api/");
	struct status st = {0};

	st.has_details = routed && !accept_any(call);
	status_set(&st, 406, "NotAcceptable",
		st.has_details ? "406: Not Acceptable\n\nAvailable representations: " MEDIA_TYPES
			       : "only the following media types are accepted: " MEDIA_TYPES);
	api_fail(call, &st);
}

static void serve_classic(struct api_call *call)
{
	char *path = path_without_slash(call);
	struct tape_document d = {0};
	struct buf body;
	bool recorded, known;

	buf_init(&body, LIMIT_DOCUMENT_BYTES);
	recorded = discovery_find_document(call, path, "", &d, &body);
	known = recorded || derive(call, &body) == 0;
	if (add_defined(call, !recorded, &body)) {
		known = true;
		recorded = false;
	}
	if (!known)
		refuse_unknown(call);
	else if (!accept_any(call))
		refuse_media_type(call);
	else if (recorded && !((call->style.pretty || call->style.yaml) && d.http_status == 200))
		answer_document(call, &d, buf_slice(&body));
	else
		respond_json(call->x, call->request, &call->style, 200, slice_trim(buf_slice(&body)));
	buf_release(&body);
	free(path);
}

/* If the tape has only the classic form, because its API server was older or because no client asked for the other one, it
 * says more than the tape's events do. */
static bool has_classic(struct api_call *call, bool core)
{
	struct tape_document d;
	struct buf body;
	bool has;

	buf_init(&body, LIMIT_DOCUMENT_BYTES);
	has = discovery_find_document(call, core ? "/api" : "/apis", "", &d, &body) && d.http_status == 200;
	buf_release(&body);
	return has;
}

static void serve_aggregated(struct api_call *call, bool core)
{
	const struct slice any = {NULL, 0};
	struct world *w = call->api->world;
	const struct derived_from from = derived_from(call);
	struct tape_document d = {0};
	struct buf body;
	struct err err;
	bool recorded;
	int rc = 0;

	buf_init(&body, LIMIT_DOCUMENT_BYTES);
	recorded = discovery_find_document(call, core ? "/api" : "/apis", "aggregated", &d, &body) &&
		   d.http_status == 200;
	if (!recorded && has_classic(call, core)) {
		buf_release(&body);
		serve_classic(call);
		return;
	}
	if (!recorded) {
		buf_clear(&body);
		rc = derive_aggregated(&from, core, &body, &err);
	}
	if (rc == 0 && !core && defined_discovery_add(w, DEFINED_AGGREGATED, any, any, !recorded, &body))
		recorded = false;
	if (rc == 0 && !recorded)
		rc = buf_append(&body, "\n", 1, &err);
	if (rc == 0)
		answer_aggregated(call, recorded ? d.etag : NULL, buf_slice(&body));
	else
		exchange_abort(call->x, ABORT_FIN);
	buf_release(&body);
}

void discovery_serve(struct api_call *call)
{
	int aggregated = accept_aggregated_discovery(http_header_find(call->request, "Accept"));
	bool core = slice_is(call->query.path, "/api") || slice_is(call->query.path, "/api/");

	/* Only the list of groups without a slash after it has the new form. */
	if (call->path.kind != API_PATH_ROOT || aggregated == 0 || slice_is(call->query.path, "/apis/"))
		serve_classic(call);
	else if (aggregated < 0)
		refuse_media_type(call);
	else
		serve_aggregated(call, core);
}

/* ---- other documents ---- */

/* This one has no other forms. */
static void refuse_version(struct api_call *call)
{
	struct status st = {.has_details = true};

	status_set(&st, 406, "NotAcceptable",
		"406: Not Acceptable\n\nAvailable representations: application/json");
	api_fail(call, &st);
}

static void answer_version(struct api_call *call)
{
	struct answer_headers h;

	answer_headers_init(&h, call->request, JSON_TYPE);
	respond_bytes(call->x, &h, 200, slice_of(default_version));
}

bool document_serve(struct api_call *call)
{
	char *path = path_without_slash(call);
	struct tape_document d;
	struct buf body;
	bool found;

	buf_init(&body, LIMIT_DOCUMENT_BYTES);
	found = *path && discovery_find_document(call, path, "", &d, &body);
	if (strcmp(path, "/version") == 0 && !accept_json(http_header_find(call->request, "Accept")))
		refuse_version(call);
	else if (found)
		answer_document(call, &d, buf_slice(&body));
	else if (strcmp(path, "/version") == 0)
		answer_version(call);
	found |= strcmp(path, "/version") == 0;
	buf_release(&body);
	free(path);
	return found;
}
