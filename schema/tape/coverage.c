/* coverage.c: see coverage.h. */
#include "schema/tape/coverage_internal.h"

#include <stdlib.h>

const char *coverage_state_name(enum coverage_state state)
{
	static const char *const names[] = {[COVERAGE_WATCHED] = "watched",
		[COVERAGE_UNLISTED] = "unlisted",
		[COVERAGE_GAP] = "gap",
		[COVERAGE_LEFT] = "left",
		[COVERAGE_UNTOLD] = "untold"};

	return state < COVERAGE_STATE_COUNT ? names[state] : "";
}

void coverage_free(struct coverage *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->word_count; i++)
		free(c->words[i]);
	free(c->words);
	free(c->streams);
	free(c->gaps);
	free(c->places);
	free(c->ends);
	free(c->stops);
	steady_time_free(c->steady);
	free(c);
}

struct tape_span coverage_span(const struct coverage *c)
{
	return c->span;
}

/* ---- answers ---- */

static bool is_in_gap(const struct coverage_gap *g, const struct coverage_point *p)
{
	if (p->time_ns < g->begin_ns)
		return false;
	/* What closed a gap arrived just before its end. */
	return p->by_time ? p->time_ns < g->end_ns : g->end_ns == NEVER || p->seq < g->end_seq;
}

static bool is_before_list(const struct coverage_stream *s, const struct coverage_point *p)
{
	return p->by_time ? p->time_ns < s->listed_ns : p->seq < s->listed_seq;
}

static bool is_before_tape(const struct coverage *c, const struct coverage_point *p)
{
	return p->by_time ? p->time_ns < c->span.begin_ns : p->seq < c->span.first_seq;
}

static const struct coverage_gap *find_gap(
	const struct coverage *c, uint32_t stream, const struct coverage_point *p)
{
	size_t low = 0, high = c->gap_count;

	while (low < high) { /* the stream's first gap */
		size_t middle = low + (high - low) / 2;

		if (c->gaps[middle].stream < stream)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < c->gap_count && c->gaps[low].stream == stream; low++) {
		if (is_in_gap(&c->gaps[low], p))
			return &c->gaps[low];
	}
	return NULL;
}

static struct coverage_answer unlisted_until(int64_t ns)
{
	return (struct coverage_answer){COVERAGE_UNLISTED, INT64_MIN, ns, 0, ""};
}

/* A list, and nobody watched after it: that tells all there is to know. */
static bool is_snapshot(const struct coverage_stream *s)
{
	return s->has_list && s->has_open_gap;
}

struct coverage_answer coverage_at(
	const struct coverage *c, uint32_t stream, const struct coverage_point *point)
{
	const struct coverage_stream *s = coverage_stream_of(c, stream);
	const struct coverage_gap *g = s ? find_gap(c, stream, point) : NULL;
	struct coverage_answer watched = {COVERAGE_WATCHED, INT64_MIN, NEVER, 0, ""};

	if (g)
		return (struct coverage_answer){
			g->id ? COVERAGE_GAP : COVERAGE_LEFT, g->begin_ns, g->end_ns, g->id, g->reason};
	if (!s || (c->has_import && !s->has_watch && !is_snapshot(s)))
		return (struct coverage_answer){COVERAGE_UNTOLD, INT64_MIN, NEVER, 0, ""};
	if ((c->has_lists || s->asks_first) && !s->has_mark)
		return unlisted_until(NEVER);
	if (s->has_list && is_before_list(s, point))
		return unlisted_until(s->listed_ns);
	if (!c->has_lists && is_before_tape(c, point))
		return unlisted_until(c->span.begin_ns);
	return watched;
}

void coverage_count_states(const struct coverage *c, struct tape *t, size_t ret[COVERAGE_STATE_COUNT])
{
	const struct coverage_point end = {.time_ns = c->span.end_ns, .by_time = true};
	const struct tape_stream *s;

	for (size_t i = 0; (s = tape_stream_at(t, i)); i++)
		ret[coverage_at(c, s->id, &end).state]++;
}

size_t coverage_untold_count(const struct coverage *c)
{
	size_t count = 0;

	for (size_t i = 0; i < c->stream_count; i++)
		count += c->has_import && !c->streams[i].has_watch && !is_snapshot(&c->streams[i]);
	return count;
}

size_t coverage_left_count(const struct coverage *c)
{
	return c->left_count;
}

/* ---- gaps, told and concluded ---- */

int coverage_compare_places(const void *left, const void *right)
{
	const struct gap_place *a = left, *b = right;

	return (a->id > b->id) - (a->id < b->id);
}

struct gap_walk {
	const struct coverage *coverage;
	int (*each)(void *context, const struct tape_gap *gap);
	void *context;
};

static const struct coverage_gap *gap_of(const struct coverage *c, uint64_t id)
{
	const struct gap_place key = {.id = id}, *found;

	found = bsearch(&key, c->places, c->place_count, sizeof(key), coverage_compare_places);
	return found ? &c->gaps[found->index] : NULL;
}

static int give_gap(void *context, const struct tape_gap *gap)
{
	const struct gap_walk *w = context;
	const struct coverage_gap *known = gap_of(w->coverage, gap->id);
	struct tape_gap row = *gap;

	if (known) {
		row.begin_ns = known->begin_ns;
		row.begin_seq = known->begin_seq;
	}
	return w->each(w->context, &row);
}

int coverage_each_gap(const struct coverage *c, struct tape *t,
	int (*each)(void *context, const struct tape_gap *gap), void *context, struct err *err)
{
	struct gap_walk w = {c, each, context};
	int rc = tape_each_gap(t, give_gap, &w, err);

	for (size_t i = 0; i < c->gap_count && rc == 0; i++) {
		const struct coverage_gap *g = &c->gaps[i];

		if (g->id == 0)
			rc = each(context, &(struct tape_gap){.stream = g->stream,
						   .begin_seq = g->begin_seq,
						   .begin_ns = g->begin_ns,
						   .duration_ns = -1,
						   .reason = g->reason,
						   .how_ended = "open",
						   .connection_before = g->connection_before});
	}
	return rc;
}
