/* watch_begin.c: from a request to a running watch; see watch_internal.h. */
#include "replayer/request/selectors.h"
#include "replayer/run/run.h"
#include "replayer/serve/ahead.h"
#include "replayer/serve/fault_act.h"
#include "replayer/serve/list.h"
#include "replayer/serve/watch_internal.h"
#include "schema/base/count_of.h"

#include <stdlib.h>

#define TIMEOUT_LEAST_S 1800          /* without timeoutSeconds: this to twice this */
#define TIMEOUT_MOST_S  (365 * 86400) /* longer wishes are the same as for ever */

/* The client has read: a watch that is behind can be sent more. */
static void on_drained(void *owner)
{
	struct watch *w = owner;

	if (w->state == WATCH_INITIAL || w->state == WATCH_HISTORY)
		watches_wake(w->set);
}

static void unlink_watch(struct watch *w)
{
	if (w->previous)
		w->previous->next = w->next;
	else
		*watch_index_list(w->collection->watches, w->namespace) = w->next;
	if (w->next)
		w->next->previous = w->previous;
	w->set->running--;
}

static void on_closed(void *owner)
{
	struct watch *w = owner;

	watch_enter(w, WATCH_ENDED);
	unlink_watch(w);
	label_selector_free(w->labels);
	field_selector_free(w->fields);
	free(w->own_path);
	websocket_watch_free(w->websocket);
	free(w);
}

/* A WebSocket client says that it leaves, or asks whether we are there. */
static void on_received(void *owner, struct slice bytes)
{
	struct watch *w = owner;

	if (w->websocket && w->state != WATCH_ENDED && !websocket_watch_take(w->websocket, bytes))
		watch_end(w);
}

static const struct exchange_owner watch_owner = {on_drained, on_received, on_closed};

/* xorshift: good enough to spread the ends of watches. */
static uint64_t next_random(struct watches *ws)
{
	ws->random ^= ws->random << 13;
	ws->random ^= ws->random >> 7;
	ws->random ^= ws->random << 17;
	return ws->random;
}

static void set_times(struct watch *w, int64_t timeout_s)
{
	int64_t now_ns = clock_mono_ns(&clock_system), length_ns;

	if (timeout_s > TIMEOUT_MOST_S)
		timeout_s = TIMEOUT_MOST_S;
	length_ns = timeout_s * NS_PER_S;
	if (timeout_s == 0)
		length_ns = TIMEOUT_LEAST_S * NS_PER_S +
			    (int64_t)(next_random(w->set) % (uint64_t)(TIMEOUT_LEAST_S * NS_PER_S));
	w->deadline_ns = now_ns + length_ns;
	w->bookmark_ns = now_ns + (length_ns - WATCH_BEFORE_END_NS < WATCH_BOOKMARK_NS
						  ? length_ns - WATCH_BEFORE_END_NS
						  : WATCH_BOOKMARK_NS);
}

/* The objects of a state that are in scope, in the order of their keys. */
static void take_state(struct watch *w, const struct live_set *live)
{
	size_t begin, end;

	live_set_range(live, w->namespace, &begin, &end);
	w->initial = xmalloc((end > begin ? end - begin : 1) * sizeof(*w->initial));
	for (; begin < end; begin++) {
		const struct live *l = live->items[begin];
		bool chosen = !w->name.len || slice_equal(live_name(l), w->name);

		if (chosen && !w->reads_object)
			chosen = selectors_match(w->labels, w->fields, live_namespace(l), live_name(l),
				(struct slice){NULL, 0});
		if (chosen)
			w->initial[w->initial_count++] = l->seq;
	}
}

static void take_initial(struct watch *w)
{
	take_state(w, &w->collection->live);
	w->initial_rv = w->collection->rv;
	w->number = history_end(&w->collection->history);
	watch_enter(w, WATCH_INITIAL);
}

/* A state of the past, and then what has happened since. */
static void take_older(struct watch *w, const struct api_call *call)
{
	struct world *world = w->set->world;
	struct snapshot *s;
	struct err err;
	uint64_t rv;

	if (list_older_version(call, w->collection, &rv, &err) ||
		world_snapshot(world, w->collection, rv, &s, &err)) {
		watch_end_with_failure(w, &err);
		return;
	}
	take_state(w, &s->live);
	w->initial_rv = rv;
	w->number = history_after(&w->collection->history, rv);
	snapshot_unref(s);
	watch_enter(w, WATCH_INITIAL);
}

/* A version that the replay has not reached: the client must list again. */
static void refuse_future(struct watch *w, uint64_t rv)
{
	struct status st = {0};

	status_expired(&st, "too large resource version: %llu, current: %llu: the replay is not that far",
		(unsigned long long)rv, (unsigned long long)w->collection->rv);
	watch_end_with_error(w, &st);
}

static void refuse_future_state(struct api_call *call, struct watch *w, uint64_t rv)
{
	struct status st = {0};

	(void)ahead_refuse(call, w->collection, rv, &st);
	watch_end_with_error(w, &st);
}

static void refuse_past(struct watch *w, uint64_t rv, uint64_t floor_rv)
{
	struct status st = {0};

	status_expired(&st, "too old resource version: %llu (%llu)", (unsigned long long)rv,
		(unsigned long long)floor_rv);
	watch_end_with_error(w, &st);
}

static void begin(struct api_call *call, struct watch *w, const struct list_options *o, uint64_t rv)
{
	const struct history *h = &w->collection->history;
	bool from_state = o->send_initial == YES || (o->send_initial == UNSET && rv == 0);
	uint64_t floor_rv = call->floor > h->floor_rv ? call->floor : h->floor_rv;

	if (from_state && call->is_older) {
		w->initial_end = o->send_initial == YES && o->bookmarks;
		take_older(w, call);
	} else if (rv > w->collection->rv && from_state) {
		refuse_future_state(call, w, rv);
	} else if (rv > w->collection->rv && ahead_is_awaited(call, w->collection, rv)) {
		w->ahead_rv = rv;
		w->number = history_end(h);
		watch_enter(w, WATCH_HISTORY);
	} else if (rv > w->collection->rv) {
		refuse_future(w, rv);
	} else if (from_state) {
		w->initial_end = o->send_initial == YES && o->bookmarks;
		take_initial(w);
	} else if (rv == 0) {
		w->number = history_end(h);
		watch_enter(w, WATCH_HISTORY);
	} else if (rv < floor_rv) {
		refuse_past(w, rv, floor_rv);
	} else {
		w->number = history_after(h, rv);
		watch_enter(w, WATCH_HISTORY);
	}
}

static void keep_path(struct watch *w, const struct api_path *path)
{
	w->own_path = xmalloc(path->namespace.len + path->name.len + 1);
	memcpy(w->own_path, path->namespace.ptr ? path->namespace.ptr : "", path->namespace.len);
	memcpy(w->own_path + path->namespace.len, path->name.ptr ? path->name.ptr : "", path->name.len);
	w->namespace = (struct slice){w->own_path, path->namespace.len};
	w->name = (struct slice){w->own_path + path->namespace.len, path->name.len};
}

static struct watch *new_watch(
	struct api_call *call, struct collection *c, struct list_options *o, const struct view *view)
{
	struct watch *w = xcalloc(1, sizeof(*w)), **list;

	w->set = call->api->watches;
	w->client = call->client;
	w->stored = call->stored;
	w->client->watches++;
	w->set->run->watches++;
	w->x = call->x;
	w->collection = c;
	w->state = WATCH_LIVE;
	w->view = *view;
	keep_path(w, &call->path);
	w->labels = o->labels;
	w->fields = o->fields;
	w->reads_object = selectors_read_object(o->labels, o->fields);
	w->bookmarks = o->bookmarks;
	o->labels = NULL;
	o->fields = NULL;
	if (!c->watches)
		c->watches = xcalloc(1, sizeof(*c->watches));
	list = watch_index_list(c->watches, w->namespace);
	w->next = *list;
	if (w->next)
		w->next->previous = w;
	*list = w;
	w->set->running++;
	return w;
}

static void answer_stream(struct api_call *call)
{
	struct answer_headers h;

	answer_headers_init(&h, call->request, JSON_TYPE);
	exchange_answer(call->x, 200, h.items, h.count, -1);
}

void watch_serve(struct api_call *call, struct collection *c, struct list_options *o, const struct view *view)
{
	bool upgrade = websocket_is_wanted(call->request);
	char accept[WEBSOCKET_ACCEPT_MAX];
	struct status st = {0};
	struct watch *w;
	char *problem;
	uint64_t rv = 0;

	if (*o->rv && !rv_parse(o->rv, &rv, &problem)) {
		status_set(&st, 500, NULL, "resourceVersion: Invalid value: \"%s\": %s", o->rv, problem);
		free(problem);
		api_fail(call, &st);
		return;
	}
	if (upgrade && !*websocket_accept(call->request, accept)) {
		respond_text(call->x, call->request, 400, "mismatch challenge/response");
		return;
	}
	if (rv > c->rv && o->send_initial == YES && !call->is_older) {
		(void)ahead_refuse(call, c, rv, &st);
		status_release(&st);
		if (ahead_park(call, c))
			return;
	}
	w = new_watch(call, c, o, view);
	exchange_own(call->x, &watch_owner, w);
	if (upgrade)
		w->websocket = websocket_watch_open(call->x, accept);
	else
		answer_stream(call);
	set_times(w, o->timeout_seconds);
	if (o->timeout_seconds < 0) {
		watch_end(w);
		return;
	}
	begin(call, w, o, rv);
	/* One that is refused has not come back. */
	if (w->set->faults && w->state != WATCH_ENDED)
		fault_act_opened(w->set->faults, w, call);
	watch_step(w);
	w->set->listener->opened(w->set->context, w->set->running);
}
