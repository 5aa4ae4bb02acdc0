/* fault_answer.c: what requests get while a fault lasts; see fault_act.h. */
#include "replayer/fault/fault_keys.h"
#include "replayer/fault/fault_tally.h"
#include "replayer/request/continue_token.h"
#include "replayer/request/list_options.h"
#include "replayer/serve/ahead.h"
#include "replayer/serve/fault_act_internal.h"
#include "replayer/serve/unrecorded.h"
#include "replayer/wire/server.h"
#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/base/limits.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- what is asked ---- */

static struct slice bearer_of(const struct http_request *r)
{
	static const char scheme[] = "bearer ";
	struct slice value = http_header_find(r, "Authorization");
	size_t n = sizeof(scheme) - 1;

	if (value.len <= n || !slice_equal_nocase((struct slice){value.ptr, n}, slice_of(scheme)))
		return (struct slice){NULL, 0};
	return slice_trim((struct slice){value.ptr + n, value.len - n});
}

static uint64_t version_of(struct slice text)
{
	char *copy = slice_dup(text), *problem = NULL;
	uint64_t rv = 0;

	if (*copy && !rv_parse(copy, &rv, &problem))
		rv = 0;
	free(problem);
	free(copy);
	return rv;
}

/* The version of the snapshot whose pages are being read; 0: none. */
static uint64_t token_version(const struct query *q)
{
	struct continue_token token = {0};
	uint64_t rv = 0;

	if (query_get(q, "continue").len &&
		continue_token_parse(query_get(q, "continue"), &token, NULL) == 0 && token.rv > 0)
		rv = (uint64_t)token.rv;
	continue_token_release(&token);
	return rv;
}

static bool is_streaming_list(const struct query *q)
{
	return query_has(q, "sendInitialEvents") && query_true(q, "sendInitialEvents");
}

/* Whether that very version is needed, so that it can have expired: of a watch, of further pages, of a list
 * that names it. */
static void find_version(const struct api_call *call, struct fault_request *r)
{
	const struct query *q = &call->query;
	uint64_t token = r->kind == FAULT_LIST ? token_version(q) : 0;
	struct slice limit = query_get(q, "limit");

	r->rv = token ? token : version_of(query_get(q, "resourceVersion"));
	if (r->kind == FAULT_WATCH)
		r->rv_exact = !is_streaming_list(q);
	else if (r->kind == FAULT_LIST)
		r->rv_exact = token || slice_is(query_get(q, "resourceVersionMatch"), "Exact") ||
			      (limit.len && !slice_is(limit, "0") && !query_has(q, "resourceVersionMatch"));
}

/* "0" is any version that a server has: one that another server has left behind, too. */
static bool may_be_any_state(const struct api_call *call)
{
	return slice_is(query_get(&call->query, "resourceVersion"), "0");
}

void fault_act_describe(struct api_call *call)
{
	const struct api_path *p = &call->path;
	const struct collection *c = p->kind == API_PATH_RESOURCE ? collection_find(call) : NULL;

	call->fault = (struct fault_request){.kind = verb_fault_kind(call->verb),
		.resource = c ? &c->resource : NULL,
		.namespace = p->namespace,
		.user_agent = http_header_find(call->request, "User-Agent"),
		.credential = bearer_of(call->request)};
	find_version(call, &call->fault);
	call->fault.any_state = may_be_any_state(call);
}

/* ---- answers ---- */

static const struct {
	int code;
	const char *reason, *message;
} known[] = {
	{400, "BadRequest", "the server rejected our request for an unknown reason"},
	{401, "Unauthorized", "Unauthorized"},
	{403, "Forbidden", "forbidden: a fault of the replay says so"},
	{404, "NotFound", "the server could not find the requested resource"},
	{405, "MethodNotAllowed", "the server does not allow this method on the requested resource"},
	{409, "Conflict",
		"the object has been modified; please apply your changes to the latest version and try again"},
	{410, "Expired", "The resourceVersion for the provided list is too old."},
	{429, "TooManyRequests", "Too many requests, please try again later."},
	{500, "InternalError", "Internal error occurred: a fault of the replay says so"},
	{503, "ServiceUnavailable", "the server is currently unable to handle the request"},
	{504, "Timeout", "Timeout: request did not complete within the allotted timeout"},
};

void fault_status_of(const struct fault_what *what, struct status *ret)
{
	const char *reason = what->code < 500 ? "BadRequest" : "InternalError", *message = "an error";

	for (size_t i = 0; i < COUNT_OF(known); i++) {
		if (known[i].code == what->code) {
			reason = known[i].reason;
			message = known[i].message;
		}
	}
	status_set(ret, (int)what->code, what->reason ? what->reason : reason, "%s",
		what->message ? what->message : message);
	ret->retry_after_s = (int)(what->retry_after_ns / NS_PER_S);
	ret->has_details = ret->retry_after_s > 0;
}

static void answer_raw(struct api_call *call, const struct fault_what *what)
{
	struct answer_headers h;
	char seconds[24];
	struct buf body;

	buf_init(&body, LIMIT_CONFIG_BYTES + 1);
	answer_headers_init(&h, call->request, JSON_TYPE);
	snprintf(seconds, sizeof(seconds), "%lld", (long long)(what->retry_after_ns / NS_PER_S));
	if (what->retry_after_ns)
		answer_headers_add(&h, "Retry-After", slice_of(seconds));
	if (buf_printf(&body, NULL, "%s\n", what->status) == 0)
		respond_bytes(call->x, &h, (int)what->code, buf_slice(&body));
	else
		exchange_abort(call->x, ABORT_FIN);
	buf_release(&body);
}

static void on_swallowed_closed(void *owner)
{
	struct swallowed *s = owner;

	*s->link = s->next;
	if (s->next)
		s->next->link = s->link;
	free(s);
}

static const struct exchange_owner swallowed_owner = {.closed = on_swallowed_closed};

/* A connection that a stall has frozen brings no requests; one that brings this was opened since, and freezes
 * too. */
static void swallow(struct fault_act *a, struct exchange *x, const struct fault_answer *answer)
{
	struct swallowed *s = xcalloc(1, sizeof(*s));

	*s = (struct swallowed){
		.x = x, .episode = answer->episode, .next = a->swallowed, .link = &a->swallowed};
	if (s->next)
		s->next->link = &s->next;
	a->swallowed = s;
	exchange_own(x, &swallowed_owner, s);
	if (faults_rule(a->faults, answer->rule_index)->what.act == FAULT_STALL)
		exchange_freeze(x, fault_act_bit(answer->episode));
}

void fault_act_let_go(struct fault_act *a, uint64_t episode)
{
	for (struct swallowed *s = a->swallowed, *next; s; s = next) {
		next = s->next;
		if (s->episode == episode)
			exchange_abort(s->x, ABORT_STREAM);
	}
	server_thaw(a->server, fault_act_bit(episode));
	if (a->ahead)
		ahead_release(a->ahead, episode);
}

static void answer_instead(struct api_call *call, const struct fault_answer *answer)
{
	const struct fault_what *what = answer->what;
	struct status st = {0};

	switch (what->act) {
	case FAULT_FIN: exchange_abort(call->x, ABORT_FIN); return;
	case FAULT_STALL: swallow(call->api->faults, call->x, answer); return;
	case FAULT_WAIT:
		ahead_hold(call, answer->episode);
		call->api->faults->ahead = call->api->ahead;
		return;
	case FAULT_HTTP: break;
	default: exchange_abort(call->x, ABORT_RST); return;
	}
	if (what->status) {
		answer_raw(call, what);
		return;
	}
	fault_status_of(what, &st);
	api_fail(call, &st);
}

static bool begins_with_list(const struct api_call *call)
{
	return is_streaming_list(&call->query) || call->fault.any_state;
}

/* A streaming list is a watch and a list: it is refused as the one, or as the other if the rule says so, and shows an
 * older state as the other. */
static void fault_answer_ask(struct fault_act *a, struct api_call *call, struct fault_answer *ret)
{
	struct fault_request list = call->fault;
	struct fault_answer as_list;
	struct fault_now now;

	fault_act_now(a, &now);
	faults_request(a->faults, &now, &call->fault, ret);
	if (ret->kind == FAULT_INSTEAD || call->fault.kind != FAULT_WATCH || !begins_with_list(call))
		return;
	list.kind = FAULT_LIST;
	faults_request(a->faults, &now, &list, &as_list);
	if (as_list.kind == FAULT_OLDER || as_list.kind == FAULT_LATER ||
		(as_list.kind == FAULT_INSTEAD &&
			faults_rule(a->faults, as_list.rule_index)->where.and_streaming))
		*ret = as_list;
}

static void note_struck(struct api_call *call, size_t rule, const char *step, const char *what)
{
	const struct fault_note note = {.rule = rule,
		.step = step,
		.what = what,
		.resource = call->fault.resource,
		.request = call->stored};

	faults_count_request(call->api->faults->faults, rule);
	fault_act_note(call->api->faults, &note);
}

static void note_request(struct api_call *call, size_t rule, const char *what)
{
	note_struck(call, rule, "request", what);
}

void fault_act_note_write(struct api_call *call, size_t rule, const char *what)
{
	note_struck(call, rule, "write", what);
}

/* A request that is let through may be so later, or see less. */
static bool let_through(struct api_call *call, const struct fault_answer *answer)
{
	switch (answer->kind) {
	case FAULT_EXPIRED:
		call->floor = answer->floor;
		note_request(call, answer->rule_index, "compaction");
		break;
	case FAULT_OLDER:
		call->is_older = true;
		call->older = answer->state;
		note_request(call, answer->rule_index, answer->state.by_seq ? "stale_view" : "stale_list");
		break;
	case FAULT_LATER:
		note_request(call, answer->rule_index, "slow");
		ahead_delay(call, answer->later_ns);
		call->api->faults->ahead = call->api->ahead;
		return true;
	default: break;
	}
	return false;
}

bool fault_act_request(struct api_call *call)
{
	struct fault_act *a = call->api->faults;
	struct fault_answer answer;

	fault_act_describe(call);
	if (a->command_is_dead) {
		exchange_abort(call->x, ABORT_RST);
		return true;
	}
	fault_answer_ask(a, call, &answer);
	player_nudge(a->player);
	if (answer.kind != FAULT_INSTEAD)
		return let_through(call, &answer);
	note_request(call, answer.rule_index, fault_do_word(answer.what->act));
	answer_instead(call, &answer);
	return true;
}
