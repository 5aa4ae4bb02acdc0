/* watch.c: see watch.h. */
#include "replayer/watch.h"

#include "replayer/list.h"
#include "schema/base/clock.h"
#include "schema/base/limits.h"
#include "schema/base/log.h"

#include <stdlib.h>

#define TICK_MS         250
#define STEP_CHANGES    64 /* fetched for one watch before the next has its turn */
#define BOOKMARK_NS     (60 * NS_PER_S)
#define BEFORE_END_NS   (2 * NS_PER_S) /* the last bookmarks come so long before the end */
#define TIMEOUT_LEAST_S 1800           /* without timeoutSeconds: this to twice this */
#define TIMEOUT_MOST_S  (365 * 86400)  /* longer wishes are the same as for ever */

enum watch_state {
	WATCH_INITIAL, /* the objects that existed when it began are being sent */
	WATCH_HISTORY, /* changes that lie behind the position are being sent */
	WATCH_LIVE,    /* has everything up to the position */
	WATCH_ENDED,   /* finished; what is queued still goes out */
};

struct watch {
	struct watches *set;
	struct watch *next, *previous;               /* in its collection */
	struct watch *next_behind, *previous_behind; /* in the set's list of those that are not live */
	struct exchange *x;
	struct collection *collection;
	enum watch_state state;
	struct view view;
	char *namespace, *name; /* "" any */
	struct label_selector *labels;
	struct field_selector *fields;
	bool reads_object;
	bool bookmarks, initial_end; /* initial_end: an annotated bookmark ends the initial part */
	uint64_t number;             /* in the history: the next change to send */
	uint64_t initial_rv;
	uint64_t *initial; /* seqs of the objects to begin with */
	size_t initial_count, initial_at;
	int64_t deadline_ns, bookmark_ns; /* monotonic */
};

struct watches {
	struct world *world;
	const struct marks *marks;
	const struct watches_listener *listener;
	void *context;
	size_t running;
	struct watch *behind; /* INITIAL and HISTORY */
	uv_timer_t ticker;
	uv_idle_t stepper; /* runs while some watch that is behind can be sent more */
	int open_handles;
	uint64_t random;
};

static void on_step(uv_idle_t *handle);

/* ---- states ---- */

static void link_behind(struct watch *w)
{
	w->previous_behind = NULL;
	w->next_behind = w->set->behind;
	if (w->next_behind)
		w->next_behind->previous_behind = w;
	w->set->behind = w;
}

static void unlink_behind(struct watch *w)
{
	if (w->previous_behind)
		w->previous_behind->next_behind = w->next_behind;
	else
		w->set->behind = w->next_behind;
	if (w->next_behind)
		w->next_behind->previous_behind = w->previous_behind;
}

static bool is_behind(enum watch_state state)
{
	return state == WATCH_INITIAL || state == WATCH_HISTORY;
}

static void enter(struct watch *w, enum watch_state state)
{
	bool was_behind = is_behind(w->state);

	w->state = state;
	if (was_behind && !is_behind(state)) {
		unlink_behind(w);
		if (!w->set->behind)
			w->set->listener->caught_up(w->set->context);
	} else if (!was_behind && is_behind(state)) {
		link_behind(w);
	}
	if (state != WATCH_INITIAL) {
		free(w->initial);
		w->initial = NULL;
	}
}

static void end(struct watch *w)
{
	if (w->state == WATCH_ENDED)
		return;
	enter(w, WATCH_ENDED);
	exchange_finish(w->x);
}

/* ---- sending ---- */

static void push(struct watch *w, struct blob *frame)
{
	if (!frame)
		return;
	exchange_push(w->x, frame);
	blob_unref(frame);
}

static void send_bookmark(struct watch *w, uint64_t rv, bool initial_end)
{
	struct blob *recorded = NULL;
	struct buf object;

	if (w->collection->resource.id < w->set->marks->resource_count)
		recorded = w->set->marks->bookmarks[w->collection->resource.id];
	buf_init(&object, LIMIT_OBJECT_BYTES);
	if (bookmark_object(w->collection, recorded ? blob_body(recorded) : (struct slice){NULL, 0}, rv,
		    initial_end, &object, NULL) == 0)
		push(w, view_new_frame(&w->view, "BOOKMARK", buf_slice(&object)));
	buf_release(&object);
}

/* The last thing a stream says. Releases the status. */
static void end_with_error(struct watch *w, struct status *st)
{
	struct view plain = {.form = FORM_OBJECT};
	struct buf json;

	buf_init(&json, LIMIT_REQUEST_HEAD_BYTES * 8);
	if (status_write(st, &json, NULL) == 0)
		push(w, view_new_frame(&plain, "ERROR", buf_slice(&json)));
	buf_release(&json);
	status_release(st);
	end(w);
}

static bool in_scope(const struct watch *w, const struct change *c)
{
	return (!*w->namespace || slice_is(c->namespace, w->namespace)) &&
	       (!*w->name || slice_is(c->name, w->name));
}

static void send_change(struct watch *w, struct change *c, enum event_type type, struct slice object)
{
	push(w, view_frame(&w->view, c, type, object));
	w->view.no_headers = w->view.form == FORM_TABLE;
}

/* An object that leaves the selection is deleted for this watcher: its old state, at this change's version.
 */
static void send_leaving(struct watch *w, struct change *c, struct slice old)
{
	struct buf object;

	buf_init(&object, LIMIT_OBJECT_BYTES);
	if (object_with_rv(old, c->rv, &object, NULL) == 0)
		send_change(w, c, EVENT_DELETED, buf_slice(&object));
	buf_release(&object);
}

static bool selects(const struct watch *w, const struct change *c, struct slice object)
{
	return selectors_match(w->labels, w->fields, c->namespace, c->name, object);
}

/* What a change is for a watcher that selects by the object:
 *     before   after            sent
 *     out      in               ADDED, new state
 *     in       in               MODIFIED, new state
 *     in       out, deleted     DELETED, old state at the version of the change
 *     out      out, deleted     nothing */
static int send_selected(struct watch *w, struct change *c, struct err *err)
{
	struct slice old = {NULL, 0};
	int rc = change_previous(w->set->world->changes, c, &old, err);
	bool before, after;

	if (rc < 0)
		return rc;
	if (rc == 0 && c->type == EVENT_DELETED)
		old = c->object;
	before = old.len && selects(w, c, old);
	after = c->type != EVENT_DELETED && selects(w, c, c->object);
	if (after)
		send_change(w, c, before ? EVENT_MODIFIED : EVENT_ADDED, c->object);
	else if (before && c->type == EVENT_DELETED)
		send_change(w, c, EVENT_DELETED, c->object);
	else if (before)
		send_leaving(w, c, old);
	return 0;
}

static void deliver(struct watch *w, struct change *c)
{
	struct err err;

	w->view.now_ns = c->time_ns;
	if (!in_scope(w, c))
		return;
	if (!w->reads_object) {
		if (selects(w, c, c->object))
			send_change(w, c, c->type, c->object);
		return;
	}
	if (send_selected(w, c, &err)) {
		struct status st = {0};

		log_error("watch ended: %s", err.text);
		status_set(&st, 500, "InternalError", "Internal error occurred: %s", err.text);
		end_with_error(w, &st);
	}
}

void watches_deliver(struct watches *ws, struct collection *in, struct change *c, uint64_t number)
{
	(void)ws;
	for (struct watch *w = in->watches, *next; w; w = next) {
		next = w->next;
		if (w->state != WATCH_LIVE)
			continue;
		if (exchange_waiting(w->x) >= WATCH_WAITING_MAX) {
			w->number = number;
			enter(w, WATCH_HISTORY);
			continue;
		}
		w->number = number + 1;
		deliver(w, c);
	}
}

/* ---- catching up ---- */

static void fail_reading(struct watch *w, const struct err *err)
{
	struct status st = {0};

	log_error("watch ended: %s", err->text);
	status_set(&st, 500, "InternalError", "Internal error occurred: %s", err->text);
	end_with_error(w, &st);
}

/* One object that existed at the beginning. */
static void step_initial(struct watch *w)
{
	struct change *c;
	struct err err;

	if (w->initial_at == w->initial_count) {
		if (w->initial_end)
			send_bookmark(w, w->initial_rv, true);
		enter(w, WATCH_HISTORY);
		return;
	}
	if (change_cache_get(w->set->world->changes, w->initial[w->initial_at++], &c, &err)) {
		fail_reading(w, &err);
		return;
	}
	if (!w->reads_object || selects(w, c, c->object))
		send_change(w, c, EVENT_ADDED, c->object);
	change_unref(c);
}

/* One change that lies behind the position. */
static void step_history(struct watch *w)
{
	const struct history *h = &w->collection->history;
	const struct history_entry *entry = history_at(h, w->number);
	struct change *c;
	struct err err;

	if (w->number == history_end(h)) {
		enter(w, WATCH_LIVE);
		return;
	}
	if (!entry) {
		end(w);
		return;
	}
	if (change_cache_get(w->set->world->changes, entry->seq, &c, &err)) {
		fail_reading(w, &err);
		return;
	}
	w->number++;
	deliver(w, c);
	change_unref(c);
}

/* True when the watch could be sent something, or was looked at for that. */
static bool step(struct watch *w)
{
	int n = 0;

	while (n < STEP_CHANGES && is_behind(w->state) && exchange_waiting(w->x) < WATCH_WAITING_MAX) {
		if (w->state == WATCH_INITIAL)
			step_initial(w);
		else
			step_history(w);
		n++;
	}
	return n > 0;
}

static void on_step(uv_idle_t *handle)
{
	struct watches *ws = handle->data;
	bool any = false;

	for (struct watch *w = ws->behind, *next; w; w = next) {
		next = w->next_behind;
		any |= step(w);
	}
	if (!any)
		uv_idle_stop(&ws->stepper);
}

static void on_drained(void *owner)
{
	struct watch *w = owner;

	if (is_behind(w->state))
		uv_idle_start(&w->set->stepper, on_step);
}

/* ---- beginning ---- */

static void unlink_watch(struct watch *w)
{
	if (w->previous)
		w->previous->next = w->next;
	else
		w->collection->watches = w->next;
	if (w->next)
		w->next->previous = w->previous;
	w->set->running--;
}

static void on_closed(void *owner)
{
	struct watch *w = owner;

	enter(w, WATCH_ENDED);
	unlink_watch(w);
	label_selector_free(w->labels);
	field_selector_free(w->fields);
	free(w->namespace);
	free(w->name);
	free(w);
}

static const struct exchange_owner watch_owner = {.drained = on_drained, .closed = on_closed};

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
	w->bookmark_ns =
		now_ns + (length_ns - BEFORE_END_NS < BOOKMARK_NS ? length_ns - BEFORE_END_NS : BOOKMARK_NS);
}

/* The objects that exist now and are in scope, in the order of their keys. */
static void take_initial(struct watch *w)
{
	const struct live_set *live = &w->collection->live;
	size_t begin, end;

	live_set_range(live, slice_of(w->namespace), &begin, &end);
	w->initial = xmalloc((end > begin ? end - begin : 1) * sizeof(*w->initial));
	for (; begin < end; begin++) {
		const struct live *l = live->items[begin];
		bool chosen = !*w->name || slice_is(live_name(l), w->name);

		if (chosen && !w->reads_object)
			chosen = selectors_match(w->labels, w->fields, live_namespace(l), live_name(l),
				(struct slice){NULL, 0});
		if (chosen)
			w->initial[w->initial_count++] = l->seq;
	}
	w->initial_rv = w->collection->rv;
	w->number = history_end(&w->collection->history);
	enter(w, WATCH_INITIAL);
}

/* A version that a client has from another run, or from before the replay went back. */
static void refuse_future(struct watch *w, uint64_t rv, bool initial)
{
	struct status st = {0};

	if (initial)
		status_too_large_version(&st, rv, w->collection->rv, 0);
	else
		status_expired(&st,
			"too large resource version: %llu, current: %llu: the replay is not that far",
			(unsigned long long)rv, (unsigned long long)w->collection->rv);
	end_with_error(w, &st);
}

static void begin(struct watch *w, const struct list_options *o, uint64_t rv)
{
	const struct history *h = &w->collection->history;
	bool from_state = o->send_initial == YES || (o->send_initial == UNSET && rv == 0);

	if (rv > w->collection->rv) {
		refuse_future(w, rv, o->send_initial == YES);
	} else if (from_state) {
		w->initial_end = o->send_initial == YES && o->bookmarks;
		take_initial(w);
	} else if (rv == 0) {
		w->number = history_end(h);
		enter(w, WATCH_HISTORY);
	} else if (rv < h->floor_rv) {
		struct status st = {0};

		status_expired(&st, "too old resource version: %llu (%llu)", (unsigned long long)rv,
			(unsigned long long)h->floor_rv);
		end_with_error(w, &st);
	} else {
		w->number = history_after(h, rv);
		enter(w, WATCH_HISTORY);
	}
}

static struct watch *new_watch(
	struct api_call *call, struct collection *c, struct list_options *o, const struct view *view)
{
	struct watch *w = xcalloc(1, sizeof(*w));

	w->set = call->api->watches;
	w->x = call->x;
	w->collection = c;
	w->state = WATCH_LIVE;
	w->view = *view;
	w->namespace = slice_dup(call->path.namespace);
	w->name = slice_dup(call->path.name);
	w->labels = o->labels;
	w->fields = o->fields;
	w->reads_object = selectors_read_object(o->labels, o->fields);
	w->bookmarks = o->bookmarks;
	o->labels = NULL;
	o->fields = NULL;
	w->next = c->watches;
	if (c->watches)
		c->watches->previous = w;
	c->watches = w;
	w->set->running++;
	return w;
}

void watch_serve(struct api_call *call, struct collection *c, struct list_options *o, const struct view *view)
{
	struct answer_headers h;
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
	w = new_watch(call, c, o, view);
	answer_headers_init(&h, call->request, JSON_TYPE);
	exchange_own(call->x, &watch_owner, w);
	exchange_answer(call->x, 200, h.items, h.count, -1);
	set_times(w, o->timeout_seconds);
	if (o->timeout_seconds < 0) {
		end(w);
		return;
	}
	begin(w, o, rv);
	step(w);
	w->set->listener->opened(w->set->context, w->set->running);
}

/* ---- bookmarks and ends ---- */

static bool has_periodic_bookmarks(const struct watch *w)
{
	return w->bookmarks && w->state == WATCH_LIVE &&
	       strcmp(w->collection->resource.resource, "events") != 0;
}

static void tick(struct watch *w, int64_t now_ns)
{
	if (now_ns >= w->deadline_ns) {
		end(w);
		return;
	}
	if (now_ns < w->bookmark_ns)
		return;
	if (has_periodic_bookmarks(w))
		send_bookmark(w, w->collection->rv, false);
	w->bookmark_ns = now_ns + BOOKMARK_NS;
	if (w->bookmark_ns > w->deadline_ns - BEFORE_END_NS)
		w->bookmark_ns = now_ns < w->deadline_ns - BEFORE_END_NS ? w->deadline_ns - BEFORE_END_NS
									 : w->deadline_ns - BEFORE_END_NS / 2;
	if (w->bookmark_ns <= now_ns)
		w->bookmark_ns = INT64_MAX;
}

static void on_tick(uv_timer_t *handle)
{
	struct watches *ws = handle->data;
	int64_t now_ns = clock_mono_ns(&clock_system);

	for (size_t i = 0; ws->running && i < ws->world->count; i++) {
		for (struct watch *w = ws->world->collections[i].watches, *next; w; w = next) {
			next = w->next;
			if (w->state != WATCH_ENDED)
				tick(w, now_ns);
		}
	}
}

/* ---- the set ---- */

struct watches *watches_new(uv_loop_t *loop, struct world *world, const struct marks *marks,
	const struct watches_listener *listener, void *context)
{
	struct watches *ws = xcalloc(1, sizeof(*ws));

	ws->world = world;
	ws->marks = marks;
	ws->listener = listener;
	ws->context = context;
	ws->random = (uint64_t)clock_wall_ns(&clock_system) | 1;
	uv_timer_init(loop, &ws->ticker);
	uv_idle_init(loop, &ws->stepper);
	ws->ticker.data = ws->stepper.data = ws;
	ws->open_handles = 2;
	uv_timer_start(&ws->ticker, on_tick, TICK_MS, TICK_MS);
	return ws;
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct watches *ws = handle->data;

	if (--ws->open_handles == 0)
		free(ws);
}

void watches_close(struct watches *ws)
{
	if (!ws)
		return;
	uv_close((uv_handle_t *)&ws->ticker, on_handle_closed);
	uv_close((uv_handle_t *)&ws->stepper, on_handle_closed);
}

void watches_end_all(struct watches *ws)
{
	for (size_t i = 0; i < ws->world->count; i++) {
		for (struct watch *w = ws->world->collections[i].watches, *next; w; w = next) {
			next = w->next;
			end(w);
		}
	}
}

bool watches_all_live(const struct watches *ws)
{
	return !ws->behind;
}

size_t watches_running(const struct watches *ws)
{
	return ws->running;
}
