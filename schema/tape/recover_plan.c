/*
 * recover_plan.c: which seqs of a damaged tape are lost. Walks the extents of all segments in their order and
 * makes spans of them and of the holes between them; then looks for lost events in the states of later
 * segments.
 */
#include "schema/base/limits.h"
#include "schema/tape/recover_internal.h"

#include <stdlib.h>

/* Events that are taken from a state: there are as many as objects live. */
#define RESCUED_MAX (2u << 20)

static struct span *add_span(struct recovery *r, uint64_t first, uint64_t last, size_t segment)
{
	struct span *span;

	r->spans = xgrow(r->spans, r->span_count, sizeof(*r->spans));
	span = &r->spans[r->span_count++];
	*span = (struct span){.first = first, .last = last, .segment = segment};
	return span;
}

static bool recover_plan_step(struct recovery *r, uint64_t bytes)
{
	r->done_bytes += bytes;
	return r->options->progress &&
	       r->options->progress(r->options->context, r->done_bytes, r->total_bytes);
}

/* ---- what is lost ---- */

/* In the order of layout: each block is opened once, and a chain is decoded from its first version. */
static void try_events(struct salvaged *s, struct kept_extent *e, struct extent *x)
{
	struct extent_objects *objects = extent_objects_new(s, e, x);
	struct lost_bits *lost = NULL;

	for (size_t i = 0; i < x->event_count; i++) {
		struct slice object;

		if (extent_objects_get(objects, x->layout[i], &object))
			continue;
		lost = lost ? lost : lost_bits_new(x->event_count);
		lost_bits_set(lost, x->layout[i]);
	}
	if (lost)
		lost_bits_count(lost);
	extent_objects_free(objects);
	e->lost = lost;
}

/* The seqs up to `end` that nothing was found of. */
static void note_hole(
	struct recovery *r, uint64_t *next, uint64_t end, size_t segment, enum hole_why why, int64_t number)
{
	if (*next && *next < end) {
		struct span *span = add_span(r, *next, end - 1, segment);

		span->why = why;
		span->number = number;
	}
	*next = end > *next ? end : *next;
}

static bool take_readable(struct recovery *r, size_t segment, struct kept_extent *e, uint64_t *next)
{
	struct salvaged *s = &r->segments[segment];
	struct extent *x = salvage_extent(s, e, &r->registry);

	if (!x || x->event_count != e->events) { /* it could be read before */
		extent_unref(x);
		e->is_readable = false;
		note_hole(r, next, e->last_seq + 1, segment, HOLE_BAD_INDEX, e->id);
		return true;
	}
	try_events(s, e, x);
	extent_unref(x);
	add_span(r, e->first_seq, e->last_seq, segment)->extent = e;
	*next = e->last_seq + 1;
	return !recover_plan_step(r, e->raw_bytes);
}

/* False when it is to stop. */
static bool walk_extent(struct recovery *r, size_t segment, struct kept_extent *e, uint64_t *next)
{
	if (e->first_seq > *next && e->first_seq <= FORMAT_SEQ_MAX)
		note_hole(r, next, e->first_seq, segment, HOLE_NO_EXTENT, e->id - 1);
	if (e->is_readable) {
		if (!take_readable(r, segment, e, next))
			return false;
	} else if (e->last_seq >= e->first_seq && e->first_seq && e->last_seq <= FORMAT_SEQ_MAX) {
		note_hole(r, next, e->last_seq + 1, segment, HOLE_BAD_INDEX, e->id);
	}
	if (e->hot_lost)
		note_hole(r, next, *next + e->hot_lost, segment, HOLE_BAD_CHUNKS, e->id);
	return true;
}

/* An extent that repeats what was there, or jumps, is a stale copy or a forgery. */
static bool makes_sense(const struct kept_extent *e, uint64_t next)
{
	return !e->is_readable || (e->first_seq >= next && e->last_seq <= FORMAT_SEQ_MAX &&
					  e->last_seq - e->first_seq + 1 == e->events);
}

/* Where it ends is known, by its index or by an intact row. */
static bool is_placed(const struct kept_extent *e)
{
	return e->is_readable || e->last_seq;
}

/* States come first, by their ids. */
static bool is_state(const struct salvaged *s, int64_t extent)
{
	size_t low = 0, high = s->extent_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->extents[middle].is_state && s->extents[middle].id < extent)
			low = middle + 1;
		else
			high = middle;
	}
	return low < s->extent_count && s->extents[low].is_state && s->extents[low].id == extent;
}

/* Blocks of extents at the end of which nothing else is left tell how many events there were. */
static uint64_t events_of_lost_extents(const struct salvaged *s, bool *ret_unsure)
{
	uint64_t events = 0;
	int64_t placed = 0; /* the highest id of an extent that has its place */

	for (size_t i = 0; i < s->extent_count; i++) {
		if (is_placed(&s->extents[i]) && s->extents[i].id > placed)
			placed = s->extents[i].id;
	}
	*ret_unsure = false;
	for (size_t i = 0; i < s->block_count; i++) {
		int64_t extent = s->blocks[i].id >> BLOCK_NUMBER_BITS;

		if (extent <= placed || (i && s->blocks[i].id == s->blocks[i - 1].id) || is_state(s, extent))
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
			return s->extents[i].first_seq <= FORMAT_SEQ_MAX ? s->extents[i].first_seq : 0;
	}
	return s->first_seq;
}

static void note_hole_before(struct recovery *r, size_t segment, uint64_t *next)
{
	const struct salvaged *s = &r->segments[segment];
	bool missing = segment && r->segments[segment - 1].file.number + 1 != s->file.number;

	if (s->first_seq > *next)
		note_hole(r, next, s->first_seq, missing ? SIZE_MAX : segment - 1,
			missing ? HOLE_NO_SEGMENT : HOLE_NO_LAST_EXTENT, 0);
}

static bool walk_segment(struct recovery *r, size_t segment, uint64_t *next)
{
	struct salvaged *s = &r->segments[segment];
	bool go_on = true;

	if (!*next)
		*next = begin_of(s);
	if (!*next)
		*next = 1;
	r->first_seq = r->first_seq ? r->first_seq : *next;
	note_hole_before(r, segment, next);
	for (size_t i = 0; i < s->extent_count && go_on; i++) {
		struct kept_extent *e = &s->extents[i];

		if (e->is_state)
			continue;
		if (makes_sense(e, *next))
			go_on = walk_extent(r, segment, e, next);
		else
			e->is_readable = false;
	}
	raw_rest(s->db);
	return go_on;
}

/* ---- asking ---- */

/* The span that has the seq, or the first one after it; span_count when there is none. */
static size_t find_span(const struct recovery *r, uint64_t seq)
{
	size_t low = 0, high = r->span_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->spans[middle].last < seq)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* How many rescued events lie before that seq. */
static size_t rescued_before(const struct recovery *r, uint64_t seq)
{
	size_t low = 0, high = r->rescued_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->rescued[middle].seq < seq)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Of the span's seqs before `seq`, and of all of them for what lies behind it. */
static uint64_t lost_within(const struct span *span, uint64_t seq)
{
	uint64_t before = (seq <= span->last ? seq : span->last + 1) - span->first;

	if (!span->extent)
		return before;
	return before < span->extent->events ? lost_bits_before(span->extent->lost, before)
	       : span->extent->lost          ? lost_bits_before(span->extent->lost, before - 1) +
					      lost_bits_has(span->extent->lost, before - 1)
				    : 0;
}

static bool is_lost_in_its_place(const struct recovery *r, uint64_t seq)
{
	size_t i = find_span(r, seq);
	const struct span *span = &r->spans[i];

	if (i == r->span_count || seq < span->first)
		return false;
	return !span->extent || lost_bits_has(span->extent->lost, seq - span->first);
}

uint64_t recover_map(const struct recovery *r, uint64_t seq)
{
	size_t i = find_span(r, seq);
	uint64_t end = seq < UINT64_MAX ? seq + 1 : seq, lost = 0;

	if (i < r->span_count)
		lost = r->spans[i].lost_before +
		       (seq >= r->spans[i].first ? lost_within(&r->spans[i], end) : 0);
	else if (i)
		lost = r->spans[i - 1].lost_before + lost_within(&r->spans[i - 1], end);
	return seq - lost + rescued_before(r, end);
}

static bool is_rescued(const struct recovery *r, size_t at, uint64_t seq)
{
	return at < r->rescued_count && r->rescued[at].seq == seq;
}

/* The first lost seq of the span at or after `seq`, rescued or not; past its end when there is none. */
static uint64_t next_lost(const struct span *span, uint64_t seq)
{
	const struct kept_extent *e = span->extent;

	return e ? span->first + lost_bits_next(e->lost, seq - span->first, e->events) : seq;
}

/* The end of the lost seqs from `seq` on: the first that is not, or is rescued, or lies after the span. */
static uint64_t end_of_lost(const struct recovery *r, const struct span *span, size_t rescued, uint64_t seq)
{
	const struct kept_extent *e = span->extent;
	uint64_t end =
		e ? span->first + lost_bits_next_kept(e->lost, seq - span->first, e->events) : span->last + 1;

	return rescued < r->rescued_count && r->rescued[rescued].seq < end ? r->rescued[rescued].seq : end;
}

bool recover_next_run(const struct recovery *r, uint64_t seq, struct lost_run *ret)
{
	for (size_t i = find_span(r, seq); i < r->span_count; i++) {
		const struct span *span = &r->spans[i];
		uint64_t at = next_lost(span, seq > span->first ? seq : span->first);
		size_t rescued = rescued_before(r, at);

		for (; at <= span->last && is_rescued(r, rescued, at); rescued++)
			at = next_lost(span, at + 1);
		if (at > span->last)
			continue;
		*ret = (struct lost_run){at, end_of_lost(r, span, rescued, at) - 1, span};
		return true;
	}
	return false;
}

/* ---- what is rescued ---- */

static int compare_rescued(const void *left, const void *right)
{
	const struct rescued *a = left, *b = right;

	return (a->seq > b->seq) - (a->seq < b->seq);
}

static bool is_wanted(const struct recovery *r, size_t sorted, uint64_t seq)
{
	const struct rescued wanted = {.seq = seq};

	return is_lost_in_its_place(r, seq) &&
	       !(sorted && bsearch(&wanted, r->rescued, sorted, sizeof(wanted), compare_rescued));
}

static void rescue_events(struct recovery *r, size_t segment, size_t extent, struct extent *x)
{
	struct extent_objects *objects =
		extent_objects_new(&r->segments[segment], &r->segments[segment].extents[extent], x);
	size_t sorted = r->rescued_count; /* of extents before */

	for (size_t i = 0; i < x->event_count && r->rescued_count < RESCUED_MAX; i++) {
		uint32_t index = x->layout[i];
		struct slice object;

		if (!is_wanted(r, sorted, x->events[index].seq) ||
			!extent_objects_get(objects, index, &object))
			continue;
		r->rescued = xgrow(r->rescued, r->rescued_count, sizeof(*r->rescued));
		r->rescued[r->rescued_count++] =
			(struct rescued){x->events[index].seq, (uint32_t)segment, (uint32_t)extent, index};
	}
	if (r->rescued_count > sorted)
		qsort(r->rescued, r->rescued_count, sizeof(*r->rescued), compare_rescued);
	extent_objects_free(objects);
}

static void rescue_from(struct recovery *r, size_t segment, size_t extent)
{
	struct kept_extent *e = &r->segments[segment].extents[extent];
	struct extent *x =
		e->is_state && e->is_readable ? salvage_extent(&r->segments[segment], e, &r->registry) : NULL;

	if (x)
		rescue_events(r, segment, extent, x);
	extent_unref(x);
}

static void rescue(struct recovery *r)
{
	for (size_t i = 0; i < r->segment_count && r->rescued_count < r->result.lost_events; i++) {
		for (size_t k = 0; k < r->segments[i].extent_count; k++)
			rescue_from(r, i, k);
		raw_rest(r->segments[i].db);
	}
}

/* ---- the whole ---- */

static void count_lost(struct recovery *r)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < r->span_count; i++) {
		r->spans[i].lost_before = lost;
		lost += lost_within(&r->spans[i], r->spans[i].last + 1);
	}
	r->result.lost_events = lost;
}

static void look_at_the_end(struct recovery *r, uint64_t *next)
{
	const struct salvaged *last = &r->segments[r->segment_count - 1];
	bool unsure, blocks_hidden = raw_hides_rows(last->db, TABLE_BLOCK);
	uint64_t events = events_of_lost_extents(last, &unsure);

	if (events)
		note_hole(r, next, *next + events, r->segment_count - 1, HOLE_BAD_LAST_EXTENT, 0);
	/* An extent whose row is hidden shows by its blocks. */
	r->result.tail_unknown = unsure || last->chunk_damaged || raw_end_is_damaged(last->db) ||
				 raw_hides_rows(last->db, TABLE_CHUNK) ||
				 (blocks_hidden && (events || raw_hides_rows(last->db, TABLE_EXTENT)));
}

int recover_plan(struct recovery *r, struct err *err)
{
	uint64_t next = 0;

	for (size_t i = 0; i < r->segment_count; i++) {
		for (size_t k = 0; k < r->segments[i].extent_count; k++)
			r->total_bytes += 2 * r->segments[i].extents[k].raw_bytes;
	}
	for (size_t i = 0; i < r->segment_count; i++) {
		if (!walk_segment(r, i, &next))
			return err_set(err, ERR_STOPPED, "stopped before the tape was recovered");
	}
	look_at_the_end(r, &next);
	r->last_seq = next - 1;
	count_lost(r);
	rescue(r);
	r->result.lost_events -= r->rescued_count;
	return 0;
}
