/* watch.c: the states of watches and the set of them; see watch.h and watch_internal.h. */
#include "replayer/serve/fault_act.h"
#include "replayer/serve/watch_internal.h"

#include <stdlib.h>

#define TICK_MS      250
#define STEP_CHANGES 64 /* fetched for one watch before the next has its turn */

/* ---- states ---- */

static bool is_behind(enum watch_state state)
{
	return state == WATCH_INITIAL || state == WATCH_HISTORY;
}

/* The list in which watches of that state are kept; NULL: in none. */
static struct watch **list_of(struct watch *w, enum watch_state state)
{
	if (is_behind(state))
		return &w->set->behind;
	return state == WATCH_WAITING ? &w->set->waiting : NULL;
}

static void link_to(struct watch **list, struct watch *w)
{
	w->previous_behind = NULL;
	w->next_behind = *list;
	if (w->next_behind)
		w->next_behind->previous_behind = w;
	*list = w;
}

static void unlink_from(struct watch **list, struct watch *w)
{
	if (w->previous_behind)
		w->previous_behind->next_behind = w->next_behind;
	else
		*list = w->next_behind;
	if (w->next_behind)
		w->next_behind->previous_behind = w->previous_behind;
}

void watch_enter(struct watch *w, enum watch_state state)
{
	struct watch **from = list_of(w, w->state), **to = list_of(w, state);

	w->state = state;
	if (state == WATCH_ENDED && w->faulty)
		fault_act_closed(w->set->faults, w);
	if (from != to) {
		if (from)
			unlink_from(from, w);
		if (to)
			link_to(to, w);
		if (from && watches_keep_up(w->set))
			w->set->listener->caught_up(w->set->context);
	}
	if (state != WATCH_INITIAL) {
		free(w->initial);
		w->initial = NULL;
	}
}

void watch_end(struct watch *w)
{
	if (w->state == WATCH_ENDED)
		return;
	if (w->websocket)
		websocket_watch_say_goodbye(w->websocket);
	watch_enter(w, WATCH_ENDED);
	exchange_finish(w->x);
}

void watch_break(struct watch *w, enum exchange_abort how, uint32_t code)
{
	if (w->state == WATCH_ENDED)
		return;
	watch_enter(w, WATCH_ENDED);
	exchange_break(w->x, how, code);
}

/* From LIVE it goes on after everything that it was handed. */
static void wait_frozen(struct watch *w)
{
	if (w->state == WATCH_LIVE)
		w->number = history_end(&w->collection->history);
	else if (w->state != WATCH_HISTORY)
		return;
	w->wait_tape_ns = w->wait_mono_ns = INT64_MAX;
	w->wait_goes_on = true;
	watch_enter(w, WATCH_WAITING);
}

void watch_freeze(struct watch *w, uint64_t by)
{
	exchange_freeze(w->x, by);
	wait_frozen(w);
}

void watch_release(struct watch *w)
{
	if (w->state != WATCH_WAITING)
		return;
	watch_enter(w, WATCH_HISTORY);
	watches_wake(w->set);
}

static uint64_t deliver_to(struct watch *w, struct change *c, uint64_t number)
{
	uint64_t reached = 0;

	for (struct watch *next; w; w = next) {
		next = w->next;
		if (w->state != WATCH_LIVE)
			continue;
		w->number = number;
		if (w->faulty && exchange_is_frozen(w->x)) {
			wait_frozen(w);
		} else if (exchange_waiting(w->x) >= WATCH_WAITING_MAX) {
			watch_enter(w, WATCH_HISTORY);
		} else {
			enum watch_sent sent = watch_send_change(w, c);

			reached += sent == WATCH_SENT;
			if (sent == WATCH_LATER)
				watch_enter(w, WATCH_WAITING);
		}
	}
	return reached;
}

/* A live watch whose number lies after was not concerned by what came since. */
uint64_t watches_deliver(struct watches *ws, struct collection *in, struct change *c, uint64_t number)
{
	uint64_t reached = 0;

	(void)ws;
	if (!in->watches)
		return 0;
	reached = deliver_to(in->watches->everywhere, c, number);
	if (c->namespace.len)
		reached += deliver_to(*watch_index_list(in->watches, c->namespace), c, number);
	return reached;
}

/* ---- catching up ---- */

/* One object that existed at the beginning. */
static void step_initial(struct watch *w)
{
	struct change *c;
	struct err err;

	if (w->initial_at == w->initial_count) {
		if (w->initial_end)
			watch_send_bookmark(w, w->initial_rv, true);
		if (w->state == WATCH_INITIAL)
			watch_enter(w, WATCH_HISTORY);
		return;
	}
	if (change_cache_get(w->set->world->changes, w->initial[w->initial_at++], 0, &c, &err)) {
		watch_end_with_failure(w, &err);
		return;
	}
	watch_send_initial(w, c);
	change_unref(c);
}

/* One change that lies after the position. */
static void step_history(struct watch *w)
{
	const struct history *h = &w->collection->history;
	const struct history_entry *entry = history_at(h, w->number);
	struct change *c;
	struct err err;

	if (w->number == history_end(h)) {
		watch_enter(w, WATCH_LIVE);
		return;
	}
	if (!entry) {
		watch_end(w);
		return;
	}
	if (change_cache_get(w->set->world->changes, entry->seq, entry->rv, &c, &err)) {
		watch_end_with_failure(w, &err);
		return;
	}
	if (watch_send_change(w, c) == WATCH_LATER)
		watch_enter(w, WATCH_WAITING);
	else
		w->number++;
	change_unref(c);
}

bool watch_step(struct watch *w)
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
		any |= watch_step(w);
	}
	if (!any)
		uv_idle_stop(&ws->stepper);
}

void watches_wake(struct watches *ws)
{
	uv_idle_start(&ws->stepper, on_step);
}

/* `what` may end the watch it is given. */
static void each_of(struct watch *first, void (*what)(void *context, struct watch *w), void *context)
{
	for (struct watch *w = first, *next; w; w = next) {
		next = w->next;
		if (w->state != WATCH_ENDED)
			what(context, w);
	}
}

void watches_each(struct watches *ws, void (*what)(void *context, struct watch *w), void *context)
{
	for (size_t i = 0; ws->running && i < ws->world->count; i++) {
		const struct watch_index *index = ws->world->collections[i].watches;

		for (size_t k = 0; index && k <= WATCH_BUCKETS; k++)
			each_of(watch_index_at(index, k), what, context);
	}
}

/* ---- bookmarks and ends ---- */

static bool has_periodic_bookmarks(const struct watch *w)
{
	return w->bookmarks && w->state == WATCH_LIVE && !collection_is_uncached(w->collection);
}

static void watch_tick(void *context, struct watch *w)
{
	int64_t now_ns = *(const int64_t *)context;

	if (now_ns >= w->deadline_ns) {
		watch_end(w);
		return;
	}
	if (now_ns < w->bookmark_ns)
		return;
	if (has_periodic_bookmarks(w)) {
		world_catch_up(w->set->world, w->collection);
		/* A watch from a version ahead hears nothing of those before it. */
		if (w->collection->rv > w->ahead_rv)
			watch_send_bookmark(w, w->collection->rv, false);
	}
	w->bookmark_ns = now_ns + WATCH_BOOKMARK_NS;
	if (w->bookmark_ns > w->deadline_ns - WATCH_BEFORE_END_NS)
		w->bookmark_ns = now_ns < w->deadline_ns - WATCH_BEFORE_END_NS
					 ? w->deadline_ns - WATCH_BEFORE_END_NS
					 : w->deadline_ns - WATCH_BEFORE_END_NS / 2;
	if (w->bookmark_ns <= now_ns)
		w->bookmark_ns = INT64_MAX;
}

static void on_tick(uv_timer_t *handle)
{
	int64_t now_ns = clock_mono_ns(&clock_system);

	watches_each(handle->data, watch_tick, &now_ns);
}

/* ---- the set ---- */

struct watches *watches_new(uv_loop_t *loop, struct world *world, const struct marks *marks, struct run *run,
	const struct watches_listener *listener, void *context)
{
	struct watches *ws = xcalloc(1, sizeof(*ws));

	ws->world = world;
	ws->marks = marks;
	ws->run = run;
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

static void watch_remember(void *unused, struct watch *w)
{
	const struct history *h = &w->collection->history;
	const struct history_entry *last = w->number ? history_at(h, w->number - 1) : NULL;

	(void)unused;
	if (w->state == WATCH_LIVE || w->number == history_end(h))
		w->sent_rv = w->collection->rv;
	else
		w->sent_rv = last ? last->rv : h->floor_rv;
}

void watches_before_move(struct watches *ws)
{
	watches_each(ws, watch_remember, NULL);
}

static void end_expired(struct watch *w, const char *why)
{
	struct status st = {0};

	status_expired(&st, "too old resource version: %llu (%llu): %s", (unsigned long long)w->sent_rv,
		(unsigned long long)w->collection->history.floor_rv, why);
	watch_end_with_error(w, &st);
}

/* One that was still being sent the state it began with has no version yet: it ends, and begins again. */
static void reposition(void *context, struct watch *w)
{
	if (*(const bool *)context && w->sent_rv > w->collection->rv) {
		end_expired(w, "the replay went back");
	} else if (w->state == WATCH_INITIAL) {
		watch_end(w);
	} else if (w->sent_rv < w->collection->history.floor_rv || !w->collection->served) {
		end_expired(w, "the replay went on");
	} else {
		w->number = history_after(&w->collection->history, w->sent_rv);
		watch_enter(w, WATCH_HISTORY);
		watches_wake(w->set);
	}
}

void watches_after_move(struct watches *ws, bool went_back)
{
	watches_each(ws, reposition, &went_back);
}

static void end_one(void *unused, struct watch *w)
{
	(void)unused;
	watch_end(w);
}

struct breaking {
	enum watches_break how;
	struct slice resource;
	size_t count;
};

static void break_one(void *context, struct watch *w)
{
	struct breaking *b = context;

	if (b->resource.len && !slice_is(b->resource, w->collection->resource.resource))
		return;
	b->count++;
	switch (b->how) {
	case WATCHES_END: watch_end(w); break;
	case WATCHES_RESET: watch_break(w, ABORT_RST, 0); break;
	case WATCHES_EXPIRE: end_expired(w, "the watch was broken by hand"); break;
	}
}

size_t watches_break(struct watches *ws, enum watches_break how, struct slice resource)
{
	struct breaking breaking = {how, resource, 0};

	watches_each(ws, break_one, &breaking);
	return breaking.count;
}

void watches_end_all(struct watches *ws)
{
	watches_each(ws, end_one, NULL);
}

bool watches_all_live(const struct watches *ws)
{
	return !ws->behind && !ws->waiting;
}

/* Whether a fault stalls each watch that is behind. If the clock waited for such a one, it would wait for ever. */
static bool only_stalled_are_behind(const struct watches *ws)
{
	const struct watch *behind = ws->behind;

	while (behind && behind->faulty && exchange_is_frozen(behind->x))
		behind = behind->next_behind;
	return !behind;
}

bool watches_are_at_rest(const struct watches *ws)
{
	const struct watch *waiting = ws->waiting;

	while (waiting && waiting->wait_mono_ns == INT64_MAX)
		waiting = waiting->next_behind;
	return only_stalled_are_behind(ws) && !waiting;
}

/* What waits for the tape's time, or for events, would wait for ever if the clock waited for it. */
bool watches_keep_up(const struct watches *ws)
{
	const struct watch *waiting = ws->waiting;

	while (waiting && (waiting->wait_goes_on || waiting->wait_mono_ns == INT64_MAX))
		waiting = waiting->next_behind;
	return only_stalled_are_behind(ws) && !waiting;
}

void watches_use_faults(struct watches *ws, struct fault_act *faults)
{
	ws->faults = faults;
}

void watches_count_other(struct watches *ws, int change)
{
	ws->running += (size_t)change;
	if (change > 0)
		ws->listener->opened(ws->context, ws->running);
}

size_t watches_running(const struct watches *ws)
{
	return ws->running;
}
