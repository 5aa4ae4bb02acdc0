/*
 * recover_plan.c: which seqs of a damaged tape are lost. Walks the extents of all segments in their order;
 * what is not where it is expected is a lost run. Then looks for lost events in the states of later segments.
 */
#include "schema/base/limits.h"
#include "schema/tape/recover_internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void add_run(struct recovery *r, uint64_t first, uint64_t last, size_t segment,
	const struct kept_extent *extent, const char *format, ...) __attribute__((format(printf, 6, 7)));
static void add_run(struct recovery *r, uint64_t first, uint64_t last, size_t segment,
	const struct kept_extent *extent, const char *format, ...)
{
	struct lost_run run = {.first = first, .last = last, .segment = segment, .extent = extent};
	struct lost_run *before = r->run_count ? &r->runs[r->run_count - 1] : NULL;
	va_list ap;

	va_start(ap, format);
	vsnprintf(run.why, sizeof(run.why), format, ap);
	va_end(ap);
	if (before && before->last + 1 == first && before->segment == segment && before->extent == extent &&
		strcmp(before->why, run.why) == 0) {
		before->last = last;
		return;
	}
	r->runs = room_for_one(r->runs, r->run_count, sizeof(*r->runs));
	r->runs[r->run_count++] = run;
}

static bool step(struct recovery *r, uint64_t bytes)
{
	r->done_bytes += bytes;
	return r->options->progress &&
	       r->options->progress(r->options->context, r->done_bytes, r->total_bytes);
}

/* ---- what is lost ---- */

/* Tries every event. False when it is to stop. */
static bool try_events(struct recovery *r, size_t segment, struct kept_extent *e)
{
	struct extent_blocks *blocks = extent_blocks_new(&r->segments[segment], e);
	bool go_on = true;

	e->lost = xcalloc(e->x->event_count, sizeof(*e->lost));
	extent_sort(e->x);
	/* In the order of layout: a chain is decoded from its first version. */
	for (size_t i = 0; i < e->x->event_count; i++) {
		uint32_t index = e->x->layout[i];
		struct slice object;

		e->lost[index] = !extent_blocks_object(blocks, index, &object);
	}
	go_on = !step(r, e->x->raw_bytes);
	extent_blocks_free(blocks);
	return go_on;
}

static void note_lost_events(struct recovery *r, size_t segment, const struct kept_extent *e)
{
	for (size_t i = 0; i < e->x->event_count; i++) {
		uint64_t seq = e->x->events[i].seq;

		if (e->lost[i])
			add_run(r, seq, seq, segment, e, "block %u of extent %" PRId64 " is damaged",
				e->x->events[i].block, e->id);
	}
}

/* The seqs up to `end` that nothing was found of. */
static void note_hole(struct recovery *r, uint64_t *next, uint64_t end, size_t segment, const char *why)
{
	if (*next && *next < end)
		add_run(r, *next, end - 1, segment, NULL, "%s", why);
	*next = end > *next ? end : *next;
}

static bool walk_extent(struct recovery *r, size_t segment, struct kept_extent *e, uint64_t *next)
{
	char why[64];

	snprintf(why, sizeof(why), "extent %" PRId64 " cannot be found", e->id - 1);
	if (e->first_seq > *next)
		note_hole(r, next, e->first_seq, segment, why);
	snprintf(why, sizeof(why), "the index of extent %" PRId64 " is damaged", e->id);
	if (!e->x) {
		if (e->last_seq >= e->first_seq && e->first_seq && e->last_seq < INT64_MAX)
			note_hole(r, next, e->last_seq + 1, segment, why);
	} else if (e->x->event_count) {
		if (!try_events(r, segment, e))
			return false;
		note_lost_events(r, segment, e);
		*next = e->last_seq + 1;
	}
	snprintf(why, sizeof(why), "chunks of extent %" PRId64 " are damaged", e->id);
	if (e->hot_lost)
		note_hole(r, next, *next + e->hot_lost, segment, why);
	return true;
}

/* An extent that repeats what was there, or jumps, is a stale copy or a forgery. */
static bool makes_sense(const struct kept_extent *e, uint64_t next)
{
	return !e->x || (e->first_seq >= next && e->last_seq - e->first_seq + 1 == e->x->event_count);
}

/* Where it ends is known, by its index or by an intact row. */
static bool is_placed(const struct kept_extent *e)
{
	return e->x || e->last_seq;
}

/* Blocks of extents at the end of which nothing else is left tell how many events there were. */
static uint64_t events_of_lost_extents(const struct salvaged *s, bool *ret_unsure)
{
	uint64_t events = 0;

	*ret_unsure = false;
	for (size_t i = 0; i < s->block_count; i++) {
		int64_t extent = s->blocks[i].id >> BLOCK_NUMBER_BITS;
		bool known = i && s->blocks[i].id == s->blocks[i - 1].id;

		for (size_t k = 0; k < s->extent_count && !known; k++)
			known = (s->extents[k].id >= extent && is_placed(&s->extents[k])) ||
				(s->extents[k].id == extent && s->extents[k].is_state);
		if (known)
			continue;
		if (s->blocks[i].intact && s->blocks[i].events <= LIMIT_EXTENT_EVENTS)
			events += s->blocks[i].events;
		else
			*ret_unsure = true;
	}
	return events;
}

/* Where a segment begins: as it says, else where its first extent does. 0: nobody knows. */
static uint64_t begin_of(const struct salvaged *s)
{
	for (size_t i = 0; i < s->extent_count && !s->first_seq; i++) {
		if (!s->extents[i].is_state)
			return s->extents[i].first_seq;
	}
	return s->first_seq;
}

static void note_hole_before(struct recovery *r, size_t segment, uint64_t *next)
{
	const struct salvaged *s = &r->segments[segment];
	bool missing = segment && r->segments[segment - 1].file.number + 1 != s->file.number;

	if (s->first_seq > *next)
		note_hole(r, next, s->first_seq, missing ? SIZE_MAX : segment - 1,
			missing ? "the segment is missing" : "its last extent cannot be found");
}

static bool walk_segment(struct recovery *r, size_t segment, uint64_t *next)
{
	struct salvaged *s = &r->segments[segment];

	if (!*next)
		*next = begin_of(s);
	if (!*next)
		*next = 1;
	r->first_seq = r->first_seq ? r->first_seq : *next;
	note_hole_before(r, segment, next);
	for (size_t i = 0; i < s->extent_count; i++) {
		struct kept_extent *e = &s->extents[i];

		if (e->is_state)
			continue;
		if (!makes_sense(e, *next)) {
			extent_unref(e->x);
			e->x = NULL;
			continue;
		}
		if (!walk_extent(r, segment, e, next))
			return false;
	}
	return true;
}

/* ---- what is rescued ---- */

static const struct lost_run *run_of(const struct recovery *r, uint64_t seq)
{
	size_t low = 0, high = r->run_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->runs[middle].last < seq)
			low = middle + 1;
		else
			high = middle;
	}
	return low < r->run_count && r->runs[low].first <= seq ? &r->runs[low] : NULL;
}

static int compare_rescued(const void *left, const void *right)
{
	const struct rescued *a = left, *b = right;

	return (a->seq > b->seq) - (a->seq < b->seq);
}

static void rescue_from(struct recovery *r, size_t segment, size_t extent)
{
	struct kept_extent *e = &r->segments[segment].extents[extent];
	size_t before = r->rescued_count; /* of extents before, sorted */
	struct extent_blocks *blocks = NULL;

	for (size_t i = 0; i < e->x->event_count; i++) {
		struct rescued found = {e->x->events[i].seq, segment, extent, (uint32_t)i};
		struct slice object;

		if (!run_of(r, found.seq) ||
			(before && bsearch(&found, r->rescued, before, sizeof(found), compare_rescued)))
			continue;
		blocks = blocks ? blocks : extent_blocks_new(&r->segments[segment], e);
		if (!extent_blocks_object(blocks, (uint32_t)i, &object))
			continue;
		r->rescued = room_for_one(r->rescued, r->rescued_count, sizeof(*r->rescued));
		r->rescued[r->rescued_count++] = found;
	}
	extent_blocks_free(blocks);
	if (r->rescued_count > before)
		qsort(r->rescued, r->rescued_count, sizeof(*r->rescued), compare_rescued);
}

/* Splits runs around what was rescued. */
static void take_rescued_out(struct recovery *r)
{
	struct lost_run *old = r->runs;
	size_t old_count = r->run_count, k = 0;

	r->runs = NULL;
	r->run_count = 0;
	for (size_t i = 0; i < old_count; i++) {
		uint64_t at = old[i].first;

		for (; k < r->rescued_count && r->rescued[k].seq <= old[i].last; k++) {
			if (r->rescued[k].seq > at)
				add_run(r, at, r->rescued[k].seq - 1, old[i].segment, old[i].extent, "%s",
					old[i].why);
			at = r->rescued[k].seq + 1;
		}
		if (at <= old[i].last)
			add_run(r, at, old[i].last, old[i].segment, old[i].extent, "%s", old[i].why);
	}
	free(old);
}

static void rescue(struct recovery *r)
{
	for (size_t i = 0; i < r->segment_count && r->run_count; i++) {
		for (size_t k = 0; k < r->segments[i].extent_count; k++) {
			if (r->segments[i].extents[k].is_state && r->segments[i].extents[k].x)
				rescue_from(r, i, k);
		}
	}
	if (!r->rescued_count)
		return;
	take_rescued_out(r);
}

/* ---- the whole ---- */

uint64_t recover_map(const struct recovery *r, uint64_t seq)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < r->run_count && r->runs[i].first <= seq; i++)
		lost += (r->runs[i].last < seq ? r->runs[i].last : seq) - r->runs[i].first + 1;
	return seq - lost;
}

static void look_at_the_end(struct recovery *r, uint64_t *next)
{
	const struct salvaged *last = &r->segments[r->segment_count - 1];
	bool unsure, blocks_hidden = raw_hides_rows(last->db, TABLE_BLOCK);
	uint64_t events = events_of_lost_extents(last, &unsure);

	if (events)
		note_hole(r, next, *next + events, r->segment_count - 1, "the last extent cannot be read");
	/* An extent whose row is hidden shows by its blocks. */
	r->result.tail_unknown = unsure || last->chunk_damaged || raw_end_is_damaged(last->db) ||
				 raw_hides_rows(last->db, TABLE_CHUNK) ||
				 (blocks_hidden && (events || raw_hides_rows(last->db, TABLE_EXTENT)));
}

int recover_plan(struct recovery *r, struct err *err)
{
	uint64_t next = 0;

	for (size_t i = 0; i < r->segment_count; i++) {
		for (size_t k = 0; k < r->segments[i].extent_count; k++) {
			const struct extent *x = r->segments[i].extents[k].x;

			r->total_bytes += x ? 2 * x->raw_bytes : 0;
		}
	}
	for (size_t i = 0; i < r->segment_count; i++) {
		if (!walk_segment(r, i, &next))
			return err_set(err, ERR_STOPPED, "stopped before the tape was recovered");
	}
	look_at_the_end(r, &next);
	r->last_seq = next - 1;
	rescue(r);
	for (size_t i = 0; i < r->run_count; i++)
		r->result.lost_events += r->runs[i].last - r->runs[i].first + 1;
	return 0;
}
