/* remake_events.c: the state at the beginning of a new tape, and its events. */
#include "schema/base/limits.h"
#include "schema/tape/remake_internal.h"
#include "schema/tape/state_extents.h"

#include <stdlib.h>

/* A state of more objects is packed as fast as can be. */
#define SMALL_STATE 2000

#define PROGRESS_EVENTS 1024

/* ---- one event ---- */

/* Whether it goes into the new tape: 1, with the id of its stream there, or 0. */
static int is_wanted(
	struct remake *r, const struct event *e, struct slice object, uint32_t *ret_stream, struct err *err)
{
	const struct remake_hooks *h = &r->o->hooks;
	uint32_t stream = remake_stream_id(r, e->stream, e->namespace);
	int wanted = 1;

	if (!stream)
		return 0;
	if (h->wants)
		wanted = h->wants(h->context, e, err);
	if (wanted > 0 && h->wants_object)
		wanted = h->wants_object(
			h->context, tape_resource_by_id(r->from, e->resource), e, object, err);
	if (wanted == 0)
		remake_note_left_out(r, stream, e->seq,
			r->o->from && e->seq < r->first_seq ? r->o->from->time_ns : e->time_ns);
	*ret_stream = stream;
	return wanted;
}

/* Makes it one of the new tape, but for its seq. */
static int rewrite(struct remake *r, struct event *e, struct slice *object, struct err *err)
{
	const struct remake_hooks *h = &r->o->hooks;
	uint32_t old = e->resource, stream = remake_stream_id(r, e->stream, e->namespace);
	int rc = 0;

	if (h->rewrite)
		rc = h->rewrite(h->context, tape_resource_by_id(r->from, old), object, err);
	if (h->rewrite && rc >= 0)
		rc = hot_identify(e, *object, &r->scratch, err);
	e->stream = stream;
	e->resource = r->resources[old - 1];
	return rc < 0 ? rc : 0;
}

/* ---- the state ---- */

static int compare_seqs(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static int ask_for_state_object(struct remake *r, uint64_t seq, struct err *err)
{
	struct slice object = {0};
	uint32_t stream;
	struct event e;
	int rc = tape_event(r->from, seq, &e, &r->names, err);

	if (!rc && r->o->hooks.wants_object && remake_stream_id(r, e.stream, e.namespace))
		rc = tape_object(r->from, seq, &object, err);
	return rc ? rc : is_wanted(r, &e, object, &stream, err);
}

/* Their old seqs, in order, are the first in the new order. */
static int choose_some(struct remake *r, struct err *err)
{
	struct seq_map *m = &r->seqs;

	m->state = xcalloc(r->state->count + 1, sizeof(*m->state));
	for (size_t i = 0; i < r->state->count; i++) {
		int wanted = ask_for_state_object(r, r->state->live[i].seq, err);

		if (wanted < 0)
			return wanted;
		r->state_wanted[i] = wanted;
		if (wanted)
			m->state[m->state_count++] = r->state->live[i].seq;
	}
	if (m->state_count)
		qsort(m->state, m->state_count, sizeof(*m->state), compare_seqs);
	return 0;
}

int remake_choose_state(struct remake *r, struct err *err)
{
	int rc = tape_state_at(r->from, r->first_seq - 1, 0, &r->state, err);

	if (rc)
		return rc;
	r->state_wanted = xcalloc(r->state->count + 1, sizeof(*r->state_wanted));
	if (!r->whole)
		return choose_some(r, err);
	memset(r->state_wanted, true, r->state->count);
	return 0;
}

static int put_state_object(struct remake *r, uint64_t seq, struct state_extents *to, struct err *err)
{
	struct slice object;
	struct event e;
	int rc = tape_object(r->from, seq, &object, err);

	if (rc || (rc = tape_event(r->from, seq, &e, &r->names, err)) || (rc = rewrite(r, &e, &object, err)))
		return rc;
	e.seq = seq_map_find(&r->seqs, seq);
	r->result.state_objects++;
	return state_extents_add(to, &e, object, err);
}

int remake_put_state(void *context, sqlite3 *db, int64_t *extent_id, struct err *err)
{
	struct remake *r = context;
	struct state_extents to;
	int rc = 0;

	state_extents_init(
		&to, db, extent_id, writer_bulk_options(r->state->count > SMALL_STATE ? UINT64_MAX : 0));
	for (size_t i = 0; i < r->state->count && !rc; i++) {
		if (r->state_wanted[i])
			rc = put_state_object(r, r->state->live[i].seq, &to, err);
	}
	if (!rc)
		rc = state_extents_end(&to, err);
	state_extents_release(&to);
	return rc;
}

/* ---- events ---- */

static int remake_events_report(const struct remake *r, uint64_t seq, struct err *err)
{
	const struct remake_hooks *h = &r->o->hooks;

	if (h->progress && h->progress(h->context, seq - r->first_seq + 1, r->last_seq - r->first_seq + 1))
		return err_set(err, ERR_STOPPED, "stopped before the tape was made");
	return 0;
}

static int put_event(struct remake *r, struct tape_cursor *c, struct event *e, struct err *err)
{
	bool reads = r->o->hooks.wants_object && remake_stream_id(r, e->stream, e->namespace);
	struct slice object = {0};
	uint32_t stream;
	int wanted, rc = reads ? tape_cursor_object(c, &object, err) : 0;

	if (rc || (e->seq % PROGRESS_EVENTS == 0 && (rc = remake_events_report(r, e->seq, err))))
		return rc;
	wanted = is_wanted(r, e, object, &stream, err);
	if (wanted < 0)
		return wanted;
	if (!r->whole)
		seq_map_tell(&r->seqs, wanted);
	if (!wanted)
		return 0;
	if ((!reads && (rc = tape_cursor_object(c, &object, err))) || (rc = rewrite(r, e, &object, err)))
		return rc;
	r->result.events++;
	return writer_copy_event(r->w, e, object, err);
}

static int put_range(struct remake *r, uint64_t first, uint64_t last, struct err *err)
{
	const struct tape_filter filter = {.seq_min = first, .seq_max = last};
	struct tape_cursor *c;
	struct event e;
	int more, rc = tape_cursor_open(r->from, &filter, TAPE_FORWARD, &c, err);

	if (rc)
		return rc;
	while (!rc && (more = tape_cursor_next(c, &e, err)) > 0)
		rc = put_event(r, c, &e, err);
	tape_cursor_close(c);
	return rc ? rc : more;
}

/* What nothing has to be asked about need not be decoded. */
static bool can_copy(const struct remake *r, const struct tape_extent *x)
{
	return r->whole && !r->o->hooks.rewrite && !x->hot && !x->is_compact &&
	       x->first_seq >= r->first_seq && x->last_seq <= r->last_seq;
}

static int put_extent(struct remake *r, const struct tape_extent *x, struct err *err)
{
	uint64_t first = x->first_seq > r->first_seq ? x->first_seq : r->first_seq;
	uint64_t last = x->last_seq < r->last_seq ? x->last_seq : r->last_seq;

	if (first > last)
		return 0;
	if (!can_copy(r, x))
		return put_range(r, first, last, err);
	r->result.events += x->events;
	return writer_copy_extent(r->w, r->from, x, err);
}

int remake_put_events(struct remake *r, size_t segment, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < r->from->events.count && !rc; i++) {
		const struct tape_extent *x = &r->from->events.items[i];

		if (x->segment != segment)
			continue;
		rc = put_extent(r, x, err);
		if (!rc && x->last_seq >= r->first_seq && x->first_seq <= r->last_seq)
			rc = remake_events_report(
				r, x->last_seq < r->last_seq ? x->last_seq : r->last_seq, err);
	}
	return rc;
}
