/* api.c: see api.h. */
#include "replayer/api.h"

#include "replayer/control.h"
#include "replayer/kinds/builtin.h"
#include "replayer/request/access.h"
#include "replayer/request/duration.h"
#include "replayer/run/run.h"
#include "replayer/seen/seen.h"
#include "replayer/serve/discovery.h"
#include "replayer/serve/fault_act.h"
#include "replayer/serve/health.h"
#include "replayer/serve/list.h"
#include "replayer/serve/openapi.h"
#include "replayer/serve/pod_logs.h"
#include "replayer/serve/review.h"
#include "replayer/serve/unrecorded.h"
#include "replayer/serve/watch.h"
#include "replayer/world/crd.h"
#include "replayer/write/write.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"

#include <stdlib.h>

/* ---- reading ---- */

/* The old form of a watch names one object in the path; a field selector may only repeat it. */
static int check_path_name(const struct api_call *call, const struct list_options *o, struct status *st)
{
	struct slice name;

	if (call->path.name.len == 0 || !o->fields)
		return 0;
	if (field_selector_name(o->fields, &name) && slice_equal(name, call->path.name))
		return 0;
	return status_bad_request(st, "fieldSelector metadata.name doesn't match requested name");
}

static void serve_collection(struct api_call *call, struct collection *c)
{
	const struct selectable_kind kind = api_selectable_kind(call->api, c);
	struct list_options o = {0};
	struct status st = {0};
	struct view view;
	int rc = api_negotiate(call, c, true, &st);

	if (rc == 0)
		rc = list_options_parse(&call->query, call->path.forced_watch, &kind, &o, &st);
	if (rc == 0)
		rc = check_path_name(call, &o, &st);
	if (rc == 0)
		rc = api_choose_view(call, c, &view, &st);
	if (rc)
		api_fail(call, &st);
	else if (call->verb == VERB_WATCH)
		watch_serve(call, c, &o, &view);
	else
		list_serve(call, c, &o, &view);
	list_options_release(&o);
}

/* Whether the form can be had is looked at when there is an object. */
static void serve_object(struct api_call *call, struct collection *c)
{
	struct status st = {0};
	struct view view;
	int rc = api_negotiate(call, c, false, &st);

	if (rc == 0)
		rc = api_choose_view(call, c, &view, &st);
	if (rc == 0 && write_hides(call, c, call->path.name))
		rc = status_not_found(&st, call->path.group, call->path.resource, call->path.name);
	if (rc)
		api_fail(call, &st);
	else
		get_serve(call, c, &view);
}

/* Whether a GET of the path's subresource is answered with the whole object. */
static bool shows_object(struct api_call *call)
{
	const struct api_path *p = &call->path;
	bool is_pod = p->group.len == 0 && slice_is(p->resource, "pods");

	if (p->rest.len)
		return false;
	if (slice_is(p->subresource, "status"))
		return discovery_may_know(call, "/status");
	if (slice_is(p->subresource, "approval"))
		return slice_is(p->resource, "certificatesigningrequests") &&
		       slice_is(p->group, "certificates.k8s.io");
	if (slice_is(p->subresource, "resize"))
		return is_pod && discovery_may_know(call, "/resize");
	return is_pod && slice_is(p->subresource, "ephemeralcontainers");
}

static bool is_log(const struct api_call *call, const struct collection *c)
{
	const struct api_path *p = &call->path;

	return slice_is(p->subresource, "log") && slice_is(p->resource, "pods") && !p->group.len &&
	       !p->rest.len && live_set_find(&c->live, p->namespace, p->name);
}

static void refuse_subresource(struct api_call *call, const struct collection *c)
{
	const struct api_path *p = &call->path;
	struct slice name = p->subresource;
	struct status st = {0};

	if (verb_is_write(call->verb) && call->verb != VERB_CREATE && !slice_is(name, "proxy"))
		status_no_method(&st);
	else if (subresource_is_talk(name))
		status_set(&st, 403, "Forbidden", "%.*s is not possible in a recording", (int)name.len,
			name.ptr);
	else if (slice_is(name, "finalize") && slice_is(p->resource, "namespaces"))
		status_no_method(&st);
	else if (c->custom || slice_is(name, "log"))
		status_not_found(&st, p->group, p->resource, p->name);
	else
		status_no_resource(&st);
	api_fail(call, &st);
}

/* ---- routing ---- */

/* Where discovery names it but nothing can be served, say why, so that nobody looks for a typing error. */
static void refuse_unknown(struct api_call *call, const struct collection *c)
{
	bool named = (!c || !c->served) && discovery_knows_resource(call);
	struct slice name = call->path.resource;
	struct status st = {0};

	/* Groups of custom resources have no handler for what is not one of them. */
	if (!named && (!builtin_group(call->path.group) || !discovery_knows_group(call))) {
		respond_no_page(call->x, call->request);
		return;
	}
	if (!named)
		status_no_resource(&st);
	else if (c)
		status_set(
			&st, 404, "NotFound", "the recording of %.*s begins later", (int)name.len, name.ptr);
	else
		status_no_method(&st);
	api_fail(call, &st);
}

/* A namespaced object needs its namespace in the path, a cluster-scoped one must not have any. Across
 * namespaces, custom resources can be listed and watched, and nothing else; bindings, which are only made,
 * not even that. */
static bool path_fits(const struct api_call *call, const struct collection *c)
{
	const struct api_path *p = &call->path;

	if (p->in_namespace || !c->resource.namespaced)
		return p->in_namespace == c->resource.namespaced;
	if (p->name.len || (p->group.len == 0 && slice_is(p->resource, "bindings")))
		return false;
	return !c->custom || call->verb == VERB_LIST || call->verb == VERB_WATCH;
}

/* A custom resource may have been defined anew with another scope than the one that the tape noted at first. */
static bool scope_fits(const struct api_call *call, struct collection *c)
{
	struct slice crd;

	if (path_fits(call, c))
		return true;
	if (!c->custom || !crd_find(call->api->world, c, &crd))
		return false;
	c->resource.namespaced = slice_is(json_get_text(crd, "spec.scope"), "Namespaced");
	return path_fits(call, c);
}

/* By a method that nobody has. */
static void refuse_method(struct api_call *call, const struct collection *c)
{
	const struct api_path *p = &call->path;
	struct slice sub = p->subresource;
	bool is_sub = (slice_is(sub, "status") && discovery_may_know(call, "/status")) ||
		      (slice_is(sub, "scale") && discovery_may_know(call, "/scale"));
	struct status st = {0};

	if (!c->custom)
		status_no_method(&st);
	else if (sub.len && !is_sub)
		status_not_found(&st, p->group, p->resource, p->name);
	else
		status_no_verb(&st, "", p->group, p->resource);
	api_fail(call, &st);
}

static void serve_resource(struct api_call *call)
{
	const struct api_path *p = &call->path;
	struct slice method = call->request->method;
	struct collection *c;

	if (call->verb == VERB_CREATE && review_serve(call))
		return;
	c = collection_find(call);
	if (!c || !c->served || !scope_fits(call, c)) {
		refuse_unknown(call, c);
	} else if (subresource_is_talk(p->subresource)) {
		refuse_subresource(call, c);
	} else if (verb_is_write(call->verb)) {
		write_serve(call, c);
	} else if (!slice_is(method, "GET") && !(c->custom && slice_is(method, "HEAD"))) {
		refuse_method(call, c);
	} else if (is_log(call, c)) {
		pod_logs_serve(call, c);
	} else if (p->subresource.len && !shows_object(call)) {
		if (!discovery_may_know(call, "/scale") || !write_serve_scale(call, c))
			refuse_subresource(call, c);
	} else if (p->name.len && !p->forced_watch) {
		world_catch_up(call->api->world, c);
		serve_object(call, c);
	} else {
		world_catch_up(call->api->world, c);
		serve_collection(call, c);
	}
}

static void serve_root(struct api_call *call)
{
	static const char paths[] = "{\"paths\":[\"/api\",\"/apis\",\"/healthz\",\"/livez\",\"/openapi/v2\","
				    "\"/openapi/v3\",\"/readyz\",\"/version\"]}";
	const struct answer_style pretty = {.pretty = true};

	respond_json(call->x, call->request, &pretty, 200, slice_of(paths));
}

static void serve_other(struct api_call *call)
{
	struct status st = {0};
	bool is_get = slice_is(call->request->method, "GET");

	if (control_serve(call))
		return;
	if (!is_get && slice_is(call->query.path, "/version")) {
		status_no_method(&st);
		api_fail(call, &st);
	} else if (is_get && (slice_is(call->query.path, "/") || slice_is(call->query.path, "/index.html"))) {
		serve_root(call);
	} else if (!health_serve(call) && !openapi_serve(call) && !document_serve(call)) {
		respond_no_page(call->x, call->request);
	}
}

static void route(struct api_call *call)
{
	struct status st = {0};

	switch (call->path.kind) {
	case API_PATH_RESOURCE: serve_resource(call); return;
	case API_PATH_OTHER: serve_other(call); return;
	case API_PATH_BAD:
		status_no_resource(&st);
		api_fail(call, &st);
		return;
	default: break;
	}
	/* The list of groups looks at no method. */
	if (slice_is(call->request->method, "GET") || slice_is(call->query.path, "/apis")) {
		discovery_serve(call);
		return;
	}
	status_no_method(&st);
	api_fail(call, &st);
}

/* The client's own limit of a request; watches have none. */
static bool refuse_timeout(struct api_call *call)
{
	struct slice timeout = query_get(&call->query, "timeout");
	char *problem = timeout.len && call->verb != VERB_WATCH
				? go_duration_parse(timeout, &call->timeout_ns)
				: NULL;
	struct status st = {0};

	if (!problem)
		return false;
	status_bad_request(&st, "invalid timeout specified in the request URL - %s", problem);
	free(problem);
	call->x->more_header_count = 0; /* this is looked at before flow control */
	api_fail(call, &st);
	return true;
}

/* Whatever has a body. */
static bool refuse_body(struct api_call *call)
{
	struct slice method = call->request->method;
	struct status st = {0};

	if (!call->request->is_too_large || slice_is(method, "GET") || slice_is(method, "HEAD"))
		return false;
	status_set(&st, 413, "RequestEntityTooLarge", "Request entity is too large: limit is %u",
		LIMIT_REQUEST_BODY_BYTES);
	api_fail(call, &st);
	return true;
}

/* What programs ask for when they have something to do, and not without end. Discovery is part of it: a client that
 * does not know a kind asks for all groups, one after the other and often throttled. */
static void note_doing(struct run *run, const struct api_path *p, enum verb verb)
{
	bool is_discovery =
		p->kind == API_PATH_ROOT || p->kind == API_PATH_GROUP || p->kind == API_PATH_VERSION;
	bool is_work = p->kind == API_PATH_RESOURCE && run_is_work(p->resource);

	if (is_discovery || is_work)
		run_asked(run, p, verb);
	if (is_discovery)
		run_is_unfinished(run);
}

/* A fault has answered. Who reads again at once, until the fault is over, is as quiet as who waits for a while. */
static void note_struck(struct run *run, const struct api_path *p, enum verb verb)
{
	bool is_write = verb_is_write(verb);

	if (is_write || p->kind != API_PATH_RESOURCE)
		note_doing(run, p, verb);
	else
		run->in_vain++;
	if (is_write)
		run_is_struck(run, p->resource, p->name);
}

/* The API server's flow control looks at every request but those that stream what containers do. */
static void tell_flow(struct api_call *call)
{
	if (control_is_asked(call) || subresource_is_bytes(call->path.subresource))
		return;
	call->x->more_headers = flow_control_headers(&call->api->flow, call->api->world);
	call->x->more_header_count = FLOW_HEADERS;
}

static void find_what(struct api_call *call)
{
	api_path_parse(call->query.path, &call->path);
	call->verb = verb_decide(call->request->method, &call->path, &call->query);
}

void api_route_again(struct api_call *call)
{
	query_parse(call->request->target, &call->query);
	find_what(call);
	answer_style_find(call->request, &call->query, &call->style);
	if (call->api->faults)
		fault_act_describe(call);
	route(call);
	query_release(&call->query);
}

static void api_serve(struct api_call *call)
{
	struct api *api = call->api;
	const struct http_request *r = call->request;

	call->client = run_client_of(api->run, r);
	api->run->requests++;
	call->client->requests++;
	if (call->query.bad_path) {
		respond_text(call->x, r, 400, "400 Bad Request");
		return;
	}
	find_what(call);
	tell_flow(call);
	call->stored = run_request_begin(api->run, call->client, call->x,
		&(struct run_question){r, &call->path, &call->query, call->verb, &call->body});
	if (api->faults && !control_is_asked(call) && fault_act_request(call)) {
		note_struck(api->run, &call->path, call->verb);
		return;
	}
	note_doing(api->run, &call->path, call->verb);
	if (api->seen && seen_serve(api->seen, call))
		return;
	if (!refuse_timeout(call) && !refuse_body(call))
		route(call);
}

/* Whom the replay does not serve is no client of it: nothing of that is counted or stored. */
void api_handle(void *context, struct exchange *x, const struct http_request *r)
{
	struct api *api = context;
	struct api_call call = {.api = api, .x = x, .request = r};
	struct status st = {0};

	query_parse(r->target, &call.query);
	body_init(&call.body, r->body);
	answer_style_find(r, &call.query, &call.style);
	if (access_check(api->access, r, &call.query, control_is_asked(&call), &st))
		respond_status(x, r, &call.style, &st);
	else
		api_serve(&call);
	body_release(&call.body);
	query_release(&call.query);
}
