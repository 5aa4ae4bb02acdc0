/*
 * list.c: see list.h. A list first chooses a state (the present one, or a snapshot of an older one), then the
 * items of one page, and then writes them piece by piece as the client reads, so that a list of any size
 * costs 8 bytes an item and one piece.
 */
#include "replayer/serve/list.h"

#include "replayer/request/continue_token.h"
#include "replayer/request/selectors.h"
#include "replayer/run/run.h"
#include "replayer/serve/ahead.h"
#include "replayer/serve/list_yaml.h"
#include "replayer/serve/program.h"
#include "replayer/table/table.h"
#include "schema/base/clock.h"
#include "schema/base/json_indent.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/base/log.h"

#include <stdlib.h>

#define PIECE_BYTES  ((size_t)48 << 10) /* of items, then it is sent */
#define PIECE_NS     (2 * NS_PER_MS)    /* ... or so long after it was begun, however few were selected */
#define PIECE_GLANCE 64                 /* items between two looks at the clock */

#define NO_OBJECT ((struct slice){NULL, 0})

#define EXPIRED_CONTINUE                                                                                     \
	"The provided continue parameter is too old to display a consistent list result. You can start a "   \
	"new list without the continue parameter, or use the continue token in this response to retrieve "   \
	"the remainder of the results. Continuing with the provided token results in an inconsistent list "  \
	"- objects that were created, modified, or deleted between the time the first chunk was returned "   \
	"and now may show up in the list."

/* ---- which state ---- */

struct chosen_state {
	const struct live_set *set;
	struct snapshot *snapshot; /* NULL when it is the present one */
	uint64_t rv;
};

static int parse_rv(const struct list_options *o, uint64_t *ret, struct status *st)
{
	char *problem;

	*ret = 0;
	if (!*o->rv || rv_parse(o->rv, ret, &problem))
		return 0;
	status_bad_request(
		st, "invalid resource version: resourceVersion: Invalid value: \"%s\": %s", o->rv, problem);
	free(problem);
	return ERR_FAILED;
}

static int use_snapshot(
	struct world *w, struct collection *c, uint64_t rv, struct chosen_state *ret, struct status *st)
{
	struct err err;

	if (world_snapshot(w, c, rv, &ret->snapshot, &err))
		return status_set(st, 500, "InternalError", "Internal error occurred: %s", err.text);
	ret->set = &ret->snapshot->live;
	ret->rv = rv;
	return 0;
}

static int use_present(const struct collection *c, struct chosen_state *ret)
{
	*ret = (struct chosen_state){.set = &c->live, .rv = c->rv};
	return 0;
}

/* Exactly the state of rv; the present one when nothing has happened since. */
static int use_exact(
	struct world *w, struct collection *c, uint64_t rv, struct chosen_state *ret, struct status *st)
{
	if (history_after(&c->history, rv) == history_end(&c->history)) {
		*ret = (struct chosen_state){.set = &c->live, .rv = rv};
		return 0;
	}
	*ret = (struct chosen_state){0};
	return use_snapshot(w, c, rv, ret, st);
}

static uint64_t floor_of(const struct api_call *call, const struct collection *c)
{
	return call->floor > c->history.floor_rv ? call->floor : c->history.floor_rv;
}

static int choose_for_token(struct api_call *call, struct collection *c, const struct continue_token *token,
	struct chosen_state *ret, struct status *st)
{
	uint64_t rv = token->rv > 0 ? (uint64_t)token->rv : 0;

	if (token->rv < 0)
		return use_present(c, ret);
	if (rv > c->rv)
		return ahead_refuse(call, c, rv, st);
	if (rv < floor_of(call, c)) {
		st->continue_token = continue_token_make(CONTINUE_LATEST,
			(struct slice){token->key,
				token->key_len - (token->key_len && !token->key[token->key_len - 1])},
			false);
		return status_expired(st, EXPIRED_CONTINUE);
	}
	return use_exact(call->api->world, c, rv, ret, st);
}

int list_older_version(
	const struct api_call *call, const struct collection *c, uint64_t *ret, struct err *err)
{
	const struct fault_state *older = &call->older;

	if (!older->by_seq)
		return world_version_at(call->api->world, c, older->time_ns, ret, err);
	*ret = history_rv_seen(&c->history, older->seq, older->version);
	return 0;
}

/* The state of an earlier time, whatever version was asked for. */
static int choose_older(
	const struct api_call *call, struct collection *c, struct chosen_state *ret, struct status *st)
{
	struct err err;
	uint64_t rv;

	if (list_older_version(call, c, &rv, &err))
		return status_set(st, 500, "InternalError", "Internal error occurred: %s", err.text);
	return use_exact(call->api->world, c, rv, ret, st);
}

static int choose_for_version(struct api_call *call, struct collection *c, const struct list_options *o,
	uint64_t rv, struct chosen_state *ret, struct status *st)
{
	bool exact = o->match == MATCH_EXACT || (o->match == MATCH_NONE && o->limit > 0 && rv > 0);

	if (rv > c->rv)
		return ahead_refuse(call, c, rv, st);
	if (!exact)
		return use_present(c, ret);
	if (rv < floor_of(call, c))
		return status_expired(st, "The resourceVersion for the provided list is too old.");
	return use_exact(call->api->world, c, rv, ret, st);
}

static int choose_state(struct api_call *call, struct collection *c, struct list_options *o,
	struct continue_token *ret_token, struct chosen_state *ret, struct status *st)
{
	uint64_t rv;
	struct err err;

	if (*o->continue_token && continue_token_parse(slice_of(o->continue_token), ret_token, &err))
		return status_bad_request(st, "invalid continue token: %s", err.text);
	if (parse_rv(o, &rv, st))
		return ERR_FAILED;
	if (*o->continue_token && rv > 0)
		return status_bad_request(
			st, "specifying resource version is not allowed when using continue");
	/* "Any version" is answered from the cache, which does not know pages. */
	if (*o->rv && rv == 0 && !collection_is_uncached(c))
		o->limit = 0;
	if (*o->continue_token)
		return choose_for_token(call, c, ret_token, ret, st);
	if (call->is_older)
		return choose_older(call, c, ret, st);
	return choose_for_version(call, c, o, rv, ret, st);
}

/* Sends the error, unless it is about a version for which the request waits. */
static void refuse_or_wait(struct api_call *call, struct collection *c, struct status *st)
{
	if (ahead_park(call, c))
		status_release(st);
	else
		api_fail(call, st);
}

/* ---- which items ---- */

/* What is being answered; owns itself and lives until the exchange is closed. */
struct list_answer {
	struct world *world;
	struct exchange *x;
	struct view view;
	struct list_meta meta;
	char *token;
	struct label_selector *labels;
	struct field_selector *fields;
	bool filter; /* items are yet to be selected while they are written */
	bool pretty, yaml, wrote_item, done;
	struct json_indent indent;
	struct list_yaml as_yaml;
	struct answer_headers headers;
	uint64_t *seqs;
	size_t count, at;
	/* Of a page that is yet to be selected: of all items, `at` were looked at, and `selected` are the
	 * first ones. */
	size_t limit, selected; /* limit 0: it is selected */
	bool in_namespace;
	struct buf piece, raw;
};

/* The token after the item: its key relative to the collection that was asked for. */
static void set_token(struct list_answer *a, struct slice namespace, struct slice name)
{
	char *key = a->in_namespace || !namespace.len ? slice_dup(name)
						      : xasprintf("%.*s/%.*s", (int)namespace.len,
								namespace.ptr, (int)name.len, name.ptr);

	a->token = continue_token_make(
		(int64_t)a->meta.rv, slice_of(key), !collection_is_uncached(a->view.collection));
	a->meta.continue_token = a->token;
	free(key);
}

size_t list_page_begin(
	const struct live_set *set, struct slice namespace, const struct continue_token *token, size_t begin)
{
	struct buf key;
	size_t at = begin;

	if (!token->key)
		return begin;
	buf_init(&key, 2 * LIMIT_REQUEST_HEAD_BYTES);
	if ((namespace.len == 0 || buf_printf(&key, NULL, "%.*s/", (int)namespace.len, namespace.ptr) == 0) &&
		buf_append(&key, token->key, token->key_len, NULL) == 0)
		at = live_set_lower_bound(set, buf_slice(&key));
	buf_release(&key);
	return at > begin ? at : begin;
}

/* Collects the page's items. Where selectors read objects all are collected, and selected while they are
 * written or, with a limit, by select_page. */
static void list_collect(struct list_answer *a, const struct chosen_state *state, struct slice namespace,
	const struct continue_token *token, size_t limit)
{
	bool reads = selectors_read_object(a->labels, a->fields);
	size_t at, end;

	live_set_range(state->set, namespace, &at, &end);
	at = list_page_begin(state->set, namespace, token, at);
	a->in_namespace = namespace.len > 0;
	a->filter = reads && limit == 0;
	a->limit = reads ? limit : 0;
	a->seqs = xmalloc((end > at ? end - at : 1) * sizeof(*a->seqs));
	for (; at < end && (limit == 0 || reads || a->count < limit); at++) {
		const struct live *l = state->set->items[at];

		if (reads ||
			selectors_match(a->labels, a->fields, live_namespace(l), live_name(l), NO_OBJECT))
			a->seqs[a->count++] = l->seq;
	}
	if (at < end) {
		set_token(a, live_namespace(state->set->items[at - 1]), live_name(state->set->items[at - 1]));
		if (!a->labels && !a->fields)
			a->meta.remaining = (int64_t)(end - at);
	}
}

static bool takes_long(size_t items, int64_t begin_ns)
{
	return items % PIECE_GLANCE == 0 && clock_mono_ns(&clock_system) - begin_ns > PIECE_NS;
}

/* Looks at collected items until the page has all of its own. 1: there are more to be looked at. */
static int look_at_items(struct list_answer *a, struct object_meta *ret_last, struct err *err)
{
	int64_t begin_ns = clock_mono_ns(&clock_system);
	struct slice object;
	size_t items = 0;

	while (a->at < a->count && a->selected < a->limit) {
		uint64_t seq = a->seqs[a->at];
		int rc = takes_long(++items, begin_ns) ? 1 : world_object(a->world, seq, &object, err);

		if (rc == 0)
			rc = json_scan_object(object, ret_last, err);
		if (rc)
			return rc;
		a->at++;
		if (selectors_match(a->labels, a->fields, ret_last->namespace, ret_last->name, object))
			a->seqs[a->selected++] = seq;
	}
	return 0;
}

/* Selects the page among the items that were collected. 1: not yet. */
static int select_page(struct list_answer *a, struct err *err)
{
	struct object_meta last;
	int rc = a->limit ? look_at_items(a, &last, err) : 0;

	if (rc || !a->limit)
		return rc;
	if (a->at < a->count)
		set_token(a, last.namespace, last.name);
	a->count = a->selected;
	a->at = a->limit = 0;
	return 0;
}

/* ---- writing ---- */

enum part { HEAD, ITEM, TAIL };

/* The head and the whole list as it would be with one item. */
static int begin_yaml(struct list_answer *a, struct err *err)
{
	struct buf marked;
	int rc;

	buf_init(&marked, LIMIT_LIST_BYTES);
	rc = buf_append(&marked, a->raw.ptr, a->raw.len, err);
	if (rc == 0)
		rc = view_list_separator(&a->view, true, &marked, err);
	if (rc == 0)
		rc = buf_printf(&marked, err, LIST_YAML_MARK);
	if (rc == 0)
		rc = view_list_tail(&a->view, &a->meta, false, &marked, err);
	if (rc == 0)
		rc = list_yaml_begin(&a->as_yaml, buf_slice(&a->raw), buf_slice(&marked), err);
	buf_release(&marked);
	return rc;
}

static int emit_yaml(struct list_answer *a, enum part part, struct err *err)
{
	switch (part) {
	case HEAD: return begin_yaml(a, err);
	case ITEM: return list_yaml_item(&a->as_yaml, buf_slice(&a->raw), &a->piece, err);
	case TAIL: break;
	}
	return list_yaml_end(&a->as_yaml, buf_slice(&a->raw), &a->piece, err);
}

static int emit(struct list_answer *a, enum part part, struct err *err)
{
	int rc = 0;

	if (a->yaml)
		rc = emit_yaml(a, part, err);
	else if (a->pretty)
		rc = json_indent_feed(&a->indent, buf_slice(&a->raw), &a->piece, err);
	else
		rc = buf_append(&a->piece, a->raw.ptr, a->raw.len, err);
	buf_clear(&a->raw);
	return rc;
}

static int write_item(struct list_answer *a, uint64_t seq, struct err *err)
{
	struct slice object;
	int rc = world_object(a->world, seq, &object, err);

	if (rc == 0 && a->filter) {
		struct object_meta m;

		rc = json_scan_object(object, &m, err);
		if (rc == 0 && !selectors_match(a->labels, a->fields, m.namespace, m.name, object))
			return 0;
	}
	if (rc == 0)
		rc = view_list_separator(&a->view, !a->wrote_item, &a->raw, err);
	a->wrote_item = true;
	if (rc == 0)
		rc = view_list_item(&a->view, object, &a->raw, err);
	return rc ? rc : emit(a, ITEM, err);
}

/* Fills the piece. */
static int write_piece(struct list_answer *a, struct err *err)
{
	int64_t begin_ns = clock_mono_ns(&clock_system);
	size_t items = 0;
	int rc = 0;

	while (rc == 0 && a->at < a->count && a->piece.len < PIECE_BYTES && !takes_long(++items, begin_ns))
		rc = write_item(a, a->seqs[a->at++], err);
	if (rc || a->at < a->count)
		return rc;
	rc = view_list_tail(&a->view, &a->meta, !a->wrote_item, &a->raw, err);
	if (rc == 0 && !a->pretty && !a->yaml)
		rc = buf_append(&a->raw, "\n", 1, err);
	a->done = true;
	return rc ? rc : emit(a, TAIL, err);
}

static void push_piece(struct list_answer *a)
{
	struct blob *b = a->piece.len ? blob_of(buf_slice(&a->piece)) : NULL;

	if (b)
		exchange_push(a->x, b);
	buf_clear(&a->piece);
	if (a->done)
		exchange_finish(a->x);
	else if (!b)
		exchange_go_on(a->x);
	blob_unref(b);
}

static void on_closed(void *owner)
{
	struct list_answer *a = owner;

	label_selector_free(a->labels);
	field_selector_free(a->fields);
	free(a->token);
	free(a->seqs);
	list_yaml_release(&a->as_yaml);
	buf_release(&a->piece);
	buf_release(&a->raw);
	free(a);
}

static void on_drained(void *owner);

static const struct exchange_owner list_owner = {.drained = on_drained, .closed = on_closed};

/* The head and the first piece. */
static int begin_answer(struct list_answer *a, struct err *err)
{
	int rc = table_sort_rows(&a->view, a->world, a->seqs, a->count, err);

	if (rc == 0)
		rc = view_list_head(&a->view, &a->meta, &a->raw, err);
	if (rc == 0)
		rc = emit(a, HEAD, err);
	if (rc == 0)
		rc = write_piece(a, err);
	if (rc)
		return rc;
	exchange_own(a->x, &list_owner, a);
	exchange_answer(a->x, 200, a->headers.items, a->headers.count,
		a->done && a->piece.len <= LENGTH_KNOWN_MAX ? (int64_t)a->piece.len : -1);
	push_piece(a);
	return 0;
}

/* 1: the page is not selected yet, this is to be called again. */
static int continue_answer(struct list_answer *a, struct err *err)
{
	int rc;

	if (a->x->state == EXCHANGE_OPEN) {
		rc = select_page(a, err);
		return rc ? rc : begin_answer(a, err);
	}
	rc = write_piece(a, err);
	if (rc == 0)
		push_piece(a);
	return rc;
}

/* The call is gone, so a failure can only be shown by breaking off. */
static void on_drained(void *owner)
{
	struct list_answer *a = owner;
	struct err err;
	int rc = continue_answer(a, &err);

	if (rc > 0) {
		exchange_go_on(a->x);
	} else if (rc) {
		log_error("list broken off: %s", err.text);
		exchange_abort(a->x, ABORT_FIN);
	}
}

static struct list_answer *new_answer(
	struct api_call *call, struct list_options *o, const struct view *view, uint64_t rv)
{
	struct list_answer *a = xcalloc(1, sizeof(*a));

	a->world = call->api->world;
	a->x = call->x;
	a->view = *view;
	a->meta = (struct list_meta){rv, "", -1};
	a->yaml = call->style.yaml;
	a->pretty = call->style.pretty && !a->yaml;
	list_yaml_init(&a->as_yaml);
	answer_headers_init(&a->headers, call->request, a->yaml ? YAML_TYPE : JSON_TYPE);
	a->labels = o->labels;
	a->fields = o->fields;
	o->labels = NULL;
	o->fields = NULL;
	buf_init(&a->piece, LIMIT_LIST_BYTES);
	buf_init(&a->raw, LIMIT_LIST_BYTES);
	return a;
}

void list_serve(struct api_call *call, struct collection *c, struct list_options *o, const struct view *view)
{
	struct continue_token token = {0};
	struct chosen_state state = {0};
	struct status st = {0};
	struct list_answer *a;
	struct err err;
	int rc;

	if (choose_state(call, c, o, &token, &state, &st) || api_check_form(call, c, true, &st)) {
		snapshot_unref(state.snapshot);
		continue_token_release(&token);
		refuse_or_wait(call, c, &st);
		return;
	}
	call->client->lists++;
	call->client->relists += call->client->watches > 0;
	a = new_answer(call, o, view, state.rv);
	list_collect(a, &state, call->path.namespace, &token, (size_t)o->limit);
	snapshot_unref(state.snapshot);
	continue_token_release(&token);
	rc = continue_answer(a, &err);
	if (rc > 0) {
		exchange_own(a->x, &list_owner, a);
		exchange_go_on(a->x);
	} else if (rc) {
		on_closed(a);
		status_set(&st, 500, "InternalError", "Internal error occurred: %s", err.text);
		api_fail(call, &st);
	}
}

/* ---- GET ---- */

static int check_get_version(struct api_call *call, const struct collection *c, struct status *st)
{
	char *text = slice_dup(query_get(&call->query, "resourceVersion"));
	char *problem = NULL;
	uint64_t rv = 0;
	int rc = 0;

	if (*text && !rv_parse(text, &rv, &problem))
		rc = collection_is_uncached(c)
			     ? status_bad_request(st,
				       "invalid resource version: resourceVersion: Invalid value: "
				       "\"%s\": %s",
				       text, problem)
			     : status_set(st, 500, NULL, "resourceVersion: Invalid value: \"%s\": %s", text,
				       problem);
	else if (rv > c->rv)
		rc = ahead_refuse(call, c, rv, st);
	free(problem);
	free(text);
	return rc;
}

static int read_one(struct api_call *call, struct collection *c, const struct view *view, struct buf *to,
	struct status *st)
{
	const struct live *l = live_set_find(&c->live, call->path.namespace, call->path.name);
	uint64_t seq = l ? l->seq : 0;
	struct slice object;
	struct err err;
	int rc;

	(void)program_sees_absorbed(call, c, &seq);
	if (!seq)
		return status_not_found(st, call->path.group, call->path.resource, call->path.name);
	if (api_check_form(call, c, false, st))
		return ERR_FAILED;
	rc = world_object(call->api->world, seq, &object, &err);
	if (rc == 0)
		rc = view_object(view, object, to, &err);
	return rc ? status_set(st, 500, "InternalError", "Internal error occurred: %s", err.text) : 0;
}

void get_serve(struct api_call *call, struct collection *c, const struct view *view)
{
	struct status st = {0};
	struct buf body;
	int rc = check_get_version(call, c, &st);

	buf_init(&body, 2 * LIMIT_OBJECT_BYTES);
	if (rc == 0)
		rc = read_one(call, c, view, &body, &st);
	if (rc)
		refuse_or_wait(call, c, &st);
	else
		respond_json(call->x, call->request, &call->style, 200, buf_slice(&body));
	buf_release(&body);
}
