/* reach.c: see reach.h. */
#include "replayer/world/reach.h"

#include "schema/base/rv.h"

/* Versions of one counter come nearly in order, those of one resource in order: the highest is among the
 * last. */
#define LOOK_BACK_EVENTS 4096

/* Whether the event or mark of a resource tells something of the versions that c will have. */
static bool tells_of(struct world *w, const struct collection *c, uint32_t resource)
{
	const struct collection *other = world_collection(w, resource);

	return other == c || (other && c->shares_counter && other->shares_counter);
}

static uint64_t highest_mark(struct world *w, const struct collection *c, uint64_t last_seq)
{
	size_t end = marks_behind(w->marks, last_seq);
	uint64_t highest = 0;

	for (size_t i = 0; i < end; i++) {
		const struct mark *m = &w->marks->items[i];

		if (m->rv > highest && tells_of(w, c, m->resource))
			highest = m->rv;
	}
	return highest;
}

/* What cannot be read is not there to be waited for. */
static uint64_t highest_event(struct world *w, const struct collection *c, uint64_t last_seq)
{
	const struct tape_filter filter = {
		.seq_max = last_seq, .resource = c->shares_counter ? 0 : c->resource.id};
	struct tape_cursor *cursor;
	struct event e;
	uint64_t highest = 0, rv;

	if (tape_cursor_open(w->tape, &filter, TAPE_BACKWARD, &cursor, NULL))
		return 0;
	for (int n = 0; n < LOOK_BACK_EVENTS && tape_cursor_next(cursor, &e, NULL) > 0; n++) {
		if (tells_of(w, c, e.resource) && rv_to_u64(e.rv, &rv) && rv > highest)
			highest = rv;
	}
	tape_cursor_close(cursor);
	return highest;
}

static uint64_t find_final(struct world *w, const struct collection *c, uint64_t last_seq)
{
	uint64_t mark = highest_mark(w, c, last_seq), event = highest_event(w, c, last_seq);

	return mark > event ? mark : event;
}

bool world_will_reach(struct world *w, const struct collection *c, uint64_t rv, uint64_t last_seq)
{
	uint64_t shown = c->shares_counter ? w->shown_counter : c->shown_rv;

	if (rv <= shown || last_seq == 0)
		return false;
	if (!c->shares_counter)
		return rv <= find_final(w, c, last_seq);
	if (w->final_seq != last_seq) {
		w->final_counter = find_final(w, c, last_seq);
		w->final_seq = last_seq;
	}
	return rv <= w->final_counter;
}

void world_note_shown(struct world *w)
{
	if (w->counter > w->shown_counter)
		w->shown_counter = w->counter;
	for (size_t i = 0; i < w->count; i++) {
		struct collection *c = &w->collections[i];

		if (c->rv > c->shown_rv)
			c->shown_rv = c->rv;
	}
}
