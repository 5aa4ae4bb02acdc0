/* world.c: see world.h. */
#include "replayer/world/world.h"

#include "replayer/kinds/builtin.h"
#include "replayer/world/counter.h"
#include "replayer/world/reach.h"
#include "replayer/world/world_internal.h"
#include "schema/base/limits.h"
#include "schema/base/rv.h"
#include "schema/tape/position.h"

#include <stdlib.h>

#define SNAPSHOTS_KEPT     4
#define READ_BACK_EVENTS   (128u << 10) /* of all resources, when a position is jumped to: 10 to 20 ms */
#define CHANGE_CACHE_BYTES (32u << 20)

/* ---- opening: the state, then what is known of versions, then the history up to the position ---- */

static void add_collections(struct world *w, const struct marks *marks)
{
	const struct tape_resource *r;

	w->count = w->recorded_count = marks->resource_count;
	/* Never moves: watches point into it. */
	w->collections = xcalloc(w->count + WORLD_ADDED_MAX, sizeof(*w->collections));
	for (size_t i = 0; (r = tape_resource_at(w->tape, i)); i++) {
		struct collection *c = &w->collections[r->id];

		c->resource = *r;
		c->custom = !builtin_group(slice_of(r->apigroup));
	}
}

static int fill_live_sets(struct world *w, uint64_t seq, struct err *err)
{
	struct tape_state *state;
	int rc = tape_state_at(w->tape, seq, 0, &state, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < state->count; i++) {
		const struct tape_live *l = &state->live[i];
		struct collection *c = world_collection(w, l->resource);
		uint64_t rv;

		if (!c)
			continue;
		live_set_put(&c->live, l->namespace, l->name, l->seq);
		if (rv_to_u64(l->rv, &rv) && rv > c->rv)
			c->rv = rv;
	}
	tape_state_free(state);
	return 0;
}

/* The versions that marks told up to the position. The first complete list is where history begins, unless
 * the window begins later. A resource without any list is served from the start. */
static void read_marks(struct world *w, uint64_t window_seq)
{
	size_t passed = marks_behind(w->marks, w->seq);
	bool *listed = xcalloc(w->count, sizeof(*listed));

	for (size_t i = 0; i < w->marks->count; i++) {
		const struct mark *m = &w->marks->items[i];
		struct collection *c = world_collection(w, m->resource);

		if (!c)
			continue;
		if (mark_completes_list(m) && !listed[m->resource]) {
			listed[m->resource] = true;
			c->served = i < passed;
			if (m->after_seq >= window_seq)
				history_reset(&c->history, m->rv, m->after_seq);
		}
		if (i < passed && m->rv > c->rv)
			c->rv = m->rv;
	}
	for (size_t i = 0; i < w->recorded_count; i++)
		w->collections[i].served |= !listed[i];
	free(listed);
}

/* Whether the event is one that a watch delivered, or would have. */
static bool is_change(enum event_origin origin)
{
	return origin != ORIGIN_LIST;
}

static void note_history(struct world *w, const struct event *e)
{
	struct collection *c = world_collection(w, e->resource);
	uint64_t rv;

	if (!c || !is_change(e->origin))
		return;
	if (!rv_to_u64(e->rv, &rv))
		rv = c->rv;
	/* Nothing is known of the versions before this event: the window begins right below it. */
	if (c->history.count == 0 && c->history.floor_rv == 0)
		history_reset(&c->history, rv ? rv - 1 : 0, e->seq - 1);
	if (e->seq > c->history.floor_seq)
		history_add(&c->history, rv, e->seq);
	if (rv > c->rv)
		c->rv = rv;
}

static int read_history(struct world *w, uint64_t from_seq, struct err *err)
{
	struct tape_filter filter = {.seq_min = from_seq, .seq_max = w->seq};
	struct tape_cursor *cursor;
	struct event e;
	int rc;

	if (from_seq > w->seq || w->seq == 0)
		return 0;
	rc = tape_cursor_open(w->tape, &filter, TAPE_FORWARD, &cursor, err);
	if (rc)
		return rc;
	while ((rc = tape_cursor_next(cursor, &e, err)) > 0)
		note_history(w, &e);
	tape_cursor_close(cursor);
	return rc;
}

/* Resources of which nothing was seen up to the position: their first event tells where they begin. Without
 * any, version 1 is as good as another, but an empty version is not allowed. */
static int complete_versions(struct world *w, struct err *err)
{
	for (size_t i = 0; i < w->recorded_count; i++) {
		struct collection *c = &w->collections[i];
		struct tape_filter filter = {.resource = (uint32_t)i, .seq_min = w->seq + 1};
		struct tape_cursor *cursor;
		struct event e;
		int rc;

		if (c->rv == 0 && c->resource.resource) {
			rc = tape_cursor_open(w->tape, &filter, TAPE_FORWARD, &cursor, err);
			if (rc)
				return rc;
			rc = tape_cursor_next(cursor, &e, err);
			if (rc > 0 && rv_to_u64(e.rv, &c->rv) && c->rv)
				c->rv--;
			tape_cursor_close(cursor);
			if (rc < 0)
				return rc;
			if (c->rv == 0)
				c->rv = 1;
		}
		if (c->history.floor_rv == 0)
			history_reset(&c->history, c->rv, w->seq);
	}
	return 0;
}

static void note_counter(struct world *w, const struct collection *c)
{
	if (c->shares_counter && c->rv > w->counter)
		w->counter = c->rv;
}

static int open_at(struct world *w, struct err *err)
{
	struct tape_info info;
	uint64_t from_seq, back = w->window < READ_BACK_EVENTS ? w->window : READ_BACK_EVENTS;
	int rc = tape_info(w->tape, &info, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < w->count; i++)
		history_init(&w->collections[i].history, w->window, 0, 0);
	from_seq = w->seq > back ? w->seq - back + 1 : 1;
	if (from_seq < info.first_seq)
		from_seq = info.first_seq;
	rc = fill_live_sets(w, w->seq, err);
	if (rc == 0) {
		read_marks(w, from_seq);
		rc = read_history(w, from_seq, err);
	}
	w->counter = 0;
	for (size_t i = 0; rc == 0 && i < w->count; i++)
		note_counter(w, &w->collections[i]);
	return rc ? rc : complete_versions(w, err);
}

static int find_counter(struct world *w, struct err *err)
{
	bool *shared;
	int rc = counter_find(w->tape, w->marks, &shared, err);

	for (size_t i = 0; rc == 0 && i < w->recorded_count; i++)
		w->collections[i].shares_counter = shared[i];
	if (rc == 0)
		free(shared);
	return rc;
}

int world_open(struct tape *tape, const struct marks *marks, uint64_t seq, size_t window, struct world **ret,
	struct err *err)
{
	struct world *w = xcalloc(1, sizeof(*w));
	int rc;

	w->tape = tape;
	w->marks = marks;
	w->seq = seq;
	w->overlay = overlay_new();
	buf_init(&w->moved, LIMIT_OBJECT_BYTES);
	w->changes = change_cache_new(tape, w->overlay, CHANGE_CACHE_BYTES);
	add_collections(w, marks);
	w->window = window;
	rc = find_counter(w, err);
	if (rc == 0)
		rc = open_at(w, err);
	if (rc)
		world_close(w);
	else
		*ret = w;
	return rc;
}

bool world_rest(struct world *w)
{
	if (!tape_rest(w->tape))
		return false;
	change_cache_forget(w->changes);
	return true;
}

static void drop_snapshots(struct world *w)
{
	while (w->snapshots) {
		struct snapshot *s = w->snapshots;

		w->snapshots = s->next;
		snapshot_unref(s);
	}
}

int world_seek(struct world *w, uint64_t seq, struct err *err)
{
	int rc;

	drop_snapshots(w);
	w->untold++;
	world_note_shown(w);
	for (size_t i = 0; i < w->count; i++) {
		struct collection *c = &w->collections[i];

		live_set_release(&c->live);
		history_release(&c->history);
		if (c->rv > c->written_rv && c->written_rv)
			c->written_rv = c->rv;
		c->rv = 0;
		c->next_seq = 0;
		c->served = i >= w->recorded_count;
	}
	w->seq = seq;
	rc = open_at(w, err);
	if (rc == 0)
		world_lay_over(w);
	return rc;
}

void world_rebase(struct world *w, int64_t tape_ns)
{
	if (w->rebase)
		rebase_restart(w->rebase, tape_ns);
	else
		w->rebase = rebase_new(&clock_system, tape_ns);
	change_cache_rebase(w->changes, w->rebase);
}

static void release_columns(struct collection *c)
{
	if (c->columns)
		c->columns_free(c->columns);
}

void world_close(struct world *w)
{
	if (!w)
		return;
	drop_snapshots(w);
	for (size_t i = 0; i < w->count; i++) {
		live_set_release(&w->collections[i].live);
		history_release(&w->collections[i].history);
		live_set_release(&w->collections[i].written);
		live_set_release(&w->collections[i].absorbed);
		release_columns(&w->collections[i]);
		free(w->collections[i].watches);
	}
	world_free_added(w);
	free(w->collections);
	change_cache_free(w->changes);
	overlay_free(w->overlay);
	rebase_free(w->rebase);
	buf_release(&w->moved);
	free(w);
}

/* ---- finding ---- */

struct collection *world_collection(struct world *w, uint32_t resource)
{
	if (resource >= w->count || !w->collections[resource].resource.resource)
		return NULL;
	return &w->collections[resource];
}

struct collection *world_find(
	struct world *w, struct slice group, struct slice version, struct slice resource)
{
	for (size_t i = 0; i < w->count; i++) {
		const struct tape_resource *r = &w->collections[i].resource;

		if (r->resource && slice_is(resource, r->resource) && slice_is(group, r->apigroup) &&
			slice_is(version, r->version))
			return &w->collections[i];
	}
	return NULL;
}

bool collection_is_uncached(const struct collection *c)
{
	return builtin_is_event(slice_of(c->resource.apigroup), slice_of(c->resource.resource));
}

/* ---- moving ---- */

int64_t world_apply_change(struct world *w, struct change **change)
{
	struct collection *in = world_collection(w, (*change)->resource);
	struct change *c = *change;
	uint64_t previous;

	if (c->seq > w->seq)
		w->seq = c->seq;
	w->time_ns = c->time_ns;
	if (w->rebase)
		rebase_reach(w->rebase, c->time_ns);
	change_rebase(c, w->rebase);
	if (!in || world_hides(in, c))
		return -1;
	c = world_move_up(w, in, change);
	world_forget(w, in, c->namespace, c->name);
	if (c->type == EVENT_DELETED)
		previous = live_set_remove(&in->live, c->namespace, c->name);
	else
		previous = live_set_put(&in->live, c->namespace, c->name, c->seq);
	c->previous_seq = previous;
	c->previous_known = true;
	if (!is_change(c->origin)) {
		w->untold++;
		return -1;
	}
	change_cache_add(w->changes, c);
	history_add(&in->history, c->rv ? c->rv : in->rv, c->seq);
	if (c->rv > in->rv)
		in->rv = c->rv;
	note_counter(w, in);
	return (int64_t)history_end(&in->history) - 1;
}

void world_apply_mark(struct world *w, const struct mark *m)
{
	struct collection *c = world_collection(w, m->resource);

	w->time_ns = m->time_ns;
	if (!c)
		return;
	if (m->rv > c->rv)
		c->rv = m->rv;
	note_counter(w, c);
	if (mark_completes_list(m) && !c->served) {
		c->served = true;
		history_reset(&c->history, c->rv, m->after_seq);
	}
}

/* The first event of the collection after the position; kept until the position has reached it. */
static int find_next(struct world *w, struct collection *c, struct err *err)
{
	struct tape_filter filter = {.resource = c->resource.id, .seq_min = w->seq + 1};
	struct tape_cursor *cursor;
	struct event e;
	int rc = tape_cursor_open(w->tape, &filter, TAPE_FORWARD, &cursor, err);

	if (rc)
		return rc;
	rc = tape_cursor_next(cursor, &e, err);
	if (rc > 0) {
		c->next_seq = e.seq;
		if (!rv_to_u64(e.rv, &c->next_rv) || c->next_rv == 0)
			c->next_rv = 1;
	} else if (rc == 0) {
		c->next_seq = c->next_rv = UINT64_MAX;
	}
	tape_cursor_close(cursor);
	return rc < 0 ? rc : 0;
}

void world_catch_up(struct world *w, struct collection *c)
{
	uint64_t to = w->counter;
	struct err err;

	if (!c->shares_counter || c->rv >= to)
		return;
	/* A tape that cannot be read here: the version stays what is known, which is right, too. */
	if (c->next_seq <= w->seq && find_next(w, c, &err))
		return;
	if (to >= c->next_rv)
		to = c->next_rv - 1;
	if (to > c->rv)
		c->rv = to;
}

/* ---- older states ---- */

void snapshot_unref(struct snapshot *s)
{
	if (!s || --s->refs)
		return;
	live_set_release(&s->live);
	free(s);
}

static struct snapshot *find_snapshot(struct world *w, uint32_t resource, uint64_t rv)
{
	struct snapshot *s = w->snapshots;

	while (s && (s->resource != resource || s->rv != rv))
		s = s->next;
	return s;
}

static void keep_snapshot(struct world *w, struct snapshot *s)
{
	struct snapshot **at = &w->snapshots;
	int n = 0;

	s->next = w->snapshots;
	w->snapshots = s;
	s->refs++;
	while (*at && n < SNAPSHOTS_KEPT) {
		at = &(*at)->next;
		n++;
	}
	while (*at) {
		struct snapshot *old = *at;

		*at = old->next;
		snapshot_unref(old);
	}
}

static int read_state(
	struct world *w, const struct collection *c, uint64_t rv, struct live_set *to, struct err *err)
{
	struct tape_state *state;
	int rc = tape_state_at(w->tape, history_seq_of(&c->history, rv), c->resource.id, &state, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < state->count; i++)
		live_set_put(to, state->live[i].namespace, state->live[i].name, state->live[i].seq);
	tape_state_free(state);
	return 0;
}

int world_snapshot(struct world *w, struct collection *c, uint64_t rv, struct snapshot **ret, struct err *err)
{
	struct snapshot *s = find_snapshot(w, c->resource.id, rv);
	int rc;

	if (s) {
		s->refs++;
		*ret = s;
		return 0;
	}
	s = xcalloc(1, sizeof(*s));
	*s = (struct snapshot){.refs = 1, .resource = c->resource.id, .rv = rv};
	rc = c->written_rv ? world_undo(w, c, rv, &s->live, err) : read_state(w, c, rv, &s->live, err);
	if (rc) {
		snapshot_unref(s);
		return rc;
	}
	keep_snapshot(w, s);
	*ret = s;
	return 0;
}

int world_version_at(
	struct world *w, const struct collection *c, int64_t time_ns, uint64_t *ret, struct err *err)
{
	uint64_t seq;
	int rc = tape_position_at_time(w->tape, time_ns, &seq, err);

	if (rc == 0)
		*ret = history_rv_of(&c->history, seq);
	return rc;
}

int world_object(struct world *w, uint64_t seq, struct slice *ret, struct err *err)
{
	uint64_t moved = overlay_moved(w->overlay, seq);
	int rc;

	if (overlay_has(seq))
		return world_written_object(w, seq, ret, err);
	rc = tape_object(w->tape, seq, ret, err);
	if (rc || (!moved && !w->rebase))
		return rc;
	buf_clear(&w->moved);
	rc = moved ? object_with_rv(*ret, moved, &w->moved, err)
		   : buf_append(&w->moved, ret->ptr, ret->len, err);
	if (rc)
		return rc;
	if (w->rebase)
		rebase_object(w->rebase, w->moved.ptr, w->moved.len);
	*ret = buf_slice(&w->moved);
	return 0;
}
