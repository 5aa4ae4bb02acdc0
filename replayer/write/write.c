/* write.c: see write.h. */
#include "replayer/write/write.h"

#include "replayer/kinds/builtin.h"
#include "replayer/run/run.h"
#include "replayer/serve/ahead.h"
#include "replayer/serve/discovery.h"
#include "replayer/serve/fault_act.h"
#include "replayer/serve/program.h"
#include "replayer/world/crd.h"
#include "replayer/write/write_internal.h"
#include "schema/base/count_of.h"
#include "schema/base/hash.h"
#include "schema/base/limits.h"
#include "schema/run/run_file.h"

#include <stdlib.h>

/* ---- what is asked for ---- */

static bool is_recorded(const struct write *w)
{
	return w->c->resource.id < w->call->api->world->recorded_count;
}

bool write_hides(const struct api_call *call, const struct collection *c, struct slice name)
{
	const struct tape_resource *r = &c->resource;
	struct slice agent = http_header_find(call->request, "User-Agent");
	struct slice group = slice_of(r->apigroup), resource = slice_of(r->resource);

	if (!builtin_is_lease(group, resource) || agent.len == 0 ||
		live_set_find(&c->written, call->path.namespace, name) ||
		write_rules_find(call->api->rules, group, resource, (struct slice){NULL, 0}, VERB_UPDATE,
			true) != WRITE_OVERLAY)
		return false;
	return !program_is_of_people(call);
}

static int write_refuse(struct write *w)
{
	const struct tape_resource *r = &w->c->resource;

	write_set_details(w, r->resource);
	return status_set(&w->st, 403, "Forbidden", "%s%s%s is forbidden: this replay rejects %s of %s",
		r->resource, *r->apigroup ? "." : "", r->apigroup, verb_name(w->verb), r->resource);
}

/* Subresources through which the object itself is written. */
static bool is_part(struct slice sub)
{
	static const char *const parts[] = {
		"status", "finalize", "approval", "ephemeralcontainers", "resize", "scale"};

	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		if (slice_is(sub, parts[i]))
			return true;
	}
	return sub.len == 0;
}

/* Whether a built-in kind's subresource takes the method. */
static bool is_taken(const struct write *w)
{
	switch (w->verb) {
	case VERB_CREATE:
		return slice_is(w->sub, "binding") || slice_is(w->sub, "eviction") ||
		       slice_is(w->sub, "token");
	case VERB_UPDATE: return is_part(w->sub);
	case VERB_PATCH: return is_part(w->sub) && !slice_is(w->sub, "finalize");
	default: return false;
	}
}

/* If the tape does not define the kind, discovery decides; if there is no discovery document, the kind has a status. */
static bool has_custom_part(struct write *w)
{
	bool is_status = slice_is(w->sub, "status"), is_scale = slice_is(w->sub, "scale");
	struct slice crd;

	if ((is_status || is_scale) && write_has_subresource(w, is_status ? "status" : "scale"))
		return true;
	return is_status && !crd_find(w->call->api->world, w->c, &crd) &&
	       discovery_may_know(w->call, "/status");
}

static int check_custom_subresource(struct write *w)
{
	const struct tape_resource *r = &w->c->resource;
	const char *verb = w->verb == VERB_CREATE ? "create" : "delete";

	if (!has_custom_part(w))
		return status_not_found(
			&w->st, slice_of(r->apigroup), slice_of(r->resource), slice_of(w->name));
	if (w->verb == VERB_UPDATE || w->verb == VERB_PATCH)
		return 0;
	return status_no_verb(&w->st, verb, slice_of(r->apigroup), slice_of(r->resource));
}

/* Whether there is such a subresource, and whether it takes the method. */
static int check_subresource(struct write *w)
{
	char *name;
	bool known;

	if (w->sub.len == 0)
		return 0;
	if (w->c->custom)
		return check_custom_subresource(w);
	name = xasprintf("/%.*s", (int)w->sub.len, w->sub.ptr);
	known = discovery_may_know(w->call, name);
	free(name);
	if (!known)
		return status_no_resource(&w->st);
	return is_taken(w) ? 0 : status_no_method(&w->st);
}

int write_do(struct write *w)
{
	bool done = false;
	int rc = w->sub.len ? write_subresource(w, &done) : 0;
	bool part = is_part(w->sub), whole = w->sub.len == 0;

	if (rc || done)
		return rc;
	switch (w->verb) {
	case VERB_CREATE:
		if (w->c->resource.namespaced && !w->namespace.len)
			return status_no_method(&w->st);
		if (!whole || *w->name)
			return whole ? status_no_method(&w->st) : status_no_resource(&w->st);
		return write_create(w);
	case VERB_UPDATE: return part && *w->name ? write_update(w) : status_no_method(&w->st);
	case VERB_PATCH: return part && *w->name ? write_patch(w) : status_no_method(&w->st);
	case VERB_DELETE: return whole ? write_delete(w) : status_no_method(&w->st);
	case VERB_DELETE_COLLECTION: return write_delete_collection(w);
	default: return status_no_method(&w->st);
	}
}

int write_begin(struct write *w)
{
	const struct tape_resource *r = &w->c->resource;
	int rc = check_subresource(w);

	if (rc == 0)
		rc = write_check_options(w);
	w->policy = write_rules_find(w->call->api->rules, slice_of(r->apigroup), slice_of(r->resource),
		w->sub, w->verb, is_recorded(w));
	if (rc == 0 && w->policy == WRITE_REJECT)
		rc = write_refuse(w);
	if (rc == 0)
		rc = api_view(w->call, w->c, &w->view, &w->st);
	return rc;
}

/* ---- what is answered ---- */

void write_text_init(struct write_text *t)
{
	buf_init(&t->plain, LIMIT_OBJECT_BYTES);
	buf_init(&t->body, LIMIT_LIST_BYTES);
}

void write_text_release(struct write_text *t)
{
	buf_release(&t->plain);
	buf_release(&t->body);
}

static int too_large(struct write *w)
{
	return status_set(&w->st, 500, "InternalError", "Internal error occurred: the answer is too large");
}

static bool is_shown_as_it_is(const struct write *w)
{
	return w->is_status || w->view.form == FORM_OBJECT;
}

void write_print(struct write *w, struct write_text *ret)
{
	int rc = w->st.code || !w->answer ? 0 : json_tree_print(w->answer, &ret->plain, NULL);

	if (rc == 0 && ret->plain.len && is_shown_as_it_is(w))
		rc = respond_lay_out(&w->call->style, buf_slice(&ret->plain), &ret->body, NULL);
	if (rc)
		too_large(w);
}

/* In another form than the object's own. */
static int write_show(struct write *w, struct write_text *text)
{
	struct buf shown;
	int rc;

	buf_init(&shown, 2 * LIMIT_OBJECT_BYTES);
	rc = view_object(&w->view, buf_slice(&text->plain), &shown, NULL);
	if (rc == 0)
		rc = respond_lay_out(&w->call->style, buf_slice(&shown), &text->body, NULL);
	buf_release(&shown);
	return rc;
}

static void store_row(struct write *w, struct slice answer)
{
	struct api_call *call = w->call;
	const struct tape_resource *r = &w->c->resource;
	const cJSON *metadata = w->is_status ? NULL : json_tree_at(w->answer, "metadata", NULL);
	struct buf answered;
	struct run_write_row row = {.verb = slice_of(verb_name(w->verb)),
		.what = {slice_of(r->apigroup), slice_of(r->version), slice_of(r->resource), w->sub,
			w->namespace, slice_of(w->name)},
		.policy = slice_of(write_policy_name(w->policy)),
		.content_type = http_header_find(call->request, "Content-Type"),
		.body = run_request_body(call->stored),
		.dry_run = w->dry_run,
		.status = w->st.code ? w->st.code : w->code,
		.reason = slice_of(w->st.reason ? w->st.reason : ""),
		.rv = slice_of(json_tree_text(metadata, "resourceVersion")),
		.uid = slice_of(json_tree_text(metadata, "uid"))};

	buf_init(&answered, LIMIT_OBJECT_BYTES);
	if (call->api->run->file && answer.len)
		run_clean_answer(
			call->api->run->redactor, &call->path, call->stored->secret, answer, &answered);
	row.object = buf_slice(&answered);
	run_write(call->api->run, call->stored, &row);
	buf_release(&answered);
}

/* A fault speaks in the place of the answer, or nobody does; what was done is stored as it was. */
static void answer_as_fault(struct write *w)
{
	struct status st = {0};

	if (w->fault.what->act == FAULT_RESTART)
		run_is_unfinished(w->call->api->run);
	else
		run_is_struck(w->call->api->run, w->call->path.resource, w->call->path.name);
	if (w->fault.what->act != FAULT_WRITE_ERROR)
		return;
	fault_act_write_error(&w->fault, &st);
	api_fail(w->call, &st);
}

/* Lays out what could not be laid out without the world. */
static void finish_text(struct write *w, struct write_text *text)
{
	if (!w->st.code && !is_shown_as_it_is(w) && write_show(w, text))
		too_large(w);
}

static void answer_client(struct write *w, struct write_text *text)
{
	struct api_call *call = w->call;

	if (w->st.code)
		api_fail(call, &w->st);
	else
		respond_laid_out(call->x, call->request, &call->style, w->code, buf_slice(&text->body));
}

void write_answer(struct write *w, struct write_text *text)
{
	struct api_call *call = w->call;

	finish_text(w, text);
	if (w->st.code && call->api->run->file) {
		buf_clear(&text->plain);
		(void)!status_write(&w->st, &text->plain, NULL);
	}
	store_row(w, buf_slice(&text->plain));
	if (!call->x)
		return;
	if (w->fault.what && w->fault.what->act == FAULT_WRITE_LATE && !w->st.code)
		ahead_answer(call, w->code, buf_slice(&text->body), w->fault.what->by_ns);
	else if (w->fault.what && w->fault.what->act != FAULT_WRITE_LATE)
		answer_as_fault(w);
	else
		answer_client(w, text);
}

void write_init(struct write *w, struct api_call *call, struct collection *c)
{
	*w = (struct write){.call = call,
		.c = c,
		.verb = call->verb,
		.by = program_of(call),
		.namespace = call->path.namespace,
		.sub = call->path.subresource,
		.name = slice_dup(call->path.name)};
	buf_init(&w->warnings, WRITE_WARNINGS_BYTES);
}

void write_release(struct write *w)
{
	cJSON_Delete(w->old);
	cJSON_Delete(w->answer);
	status_release(&w->st);
	buf_release(&w->warnings);
	free(w->part);
	free(w->name);
}

/* A write that a fault meets before it is done has failed with what the fault says. */
static int refuse_as_fault(struct write *w)
{
	if (!w->fault.what || w->fault.done_first)
		return 0;
	if (w->fault.what->act != FAULT_WRITE_ERROR)
		return status_set(
			&w->st, 500, "InternalError", "nobody was answered: a fault of the replay says so");
	fault_act_write_error(&w->fault, &w->st);
	return ERR_FAILED;
}

static void ask_faults(struct write *w)
{
	const struct tape_resource *r = &w->c->resource;
	const struct fault_write asked = {.verb = verb_fault_verb(w->verb),
		.resource = r,
		.subresource = w->sub,
		.aside = builtin_is_aside(slice_of(r->apigroup), slice_of(r->resource)),
		.request = &w->call->fault};

	if (w->call->api->faults)
		fault_act_write_begins(w->call, &asked, &w->fault);
}

void write_serve(struct api_call *call, struct collection *c)
{
	struct write w;
	struct write_text text;

	if (!call->api->faults && write_is_long(call, c)) {
		write_beside(call, c);
		return;
	}
	write_init(&w, call, c);
	write_text_init(&text);
	write_find_bound(&w);
	ask_faults(&w);
	if (refuse_as_fault(&w) == 0 && write_begin(&w) == 0 && write_do(&w) == 0)
		write_print(&w, &text);
	write_answer(&w, &text);
	if (call->api->faults)
		fault_act_write_ends(call, &w.fault);
	write_text_release(&text);
	write_release(&w);
}

bool write_serve_scale(struct api_call *call, struct collection *c)
{
	struct write w;
	struct write_text text;
	int rc;

	if (!slice_is(call->path.subresource, "scale"))
		return false;
	write_init(&w, call, c);
	w.verb = VERB_UPDATE;
	w.policy = WRITE_ABSORB;
	w.code = 200;
	w.sub = (struct slice){NULL, 0};
	write_text_init(&text);
	rc = api_view(call, c, &w.view, &w.st);
	if (rc == 0)
		rc = write_load_existing(&w);
	if (rc == 0)
		rc = write_scale_of(&w, w.old, &w.answer);
	if (rc == 0) {
		write_print(&w, &text);
		finish_text(&w, &text);
	}
	answer_client(&w, &text);
	write_text_release(&text);
	write_release(&w);
	return true;
}
