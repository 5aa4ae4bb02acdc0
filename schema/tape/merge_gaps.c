/* merge_gaps.c: what neither of two tapes saw; see merge.h. */
#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/tape/merge_internal.h"

#include <stdlib.h>

static int take_gap(void *context, const struct tape_gap *gap)
{
	struct merge_source *s = context;
	struct tape_gap own = *gap;
	bool open = strcmp(gap->how_ended, "open") == 0;

	if (!gap->stream || gap->stream > s->tape->registry.stream_count)
		return 0;
	own.from_rv = gap->from_rv ? xstrdup(gap->from_rv) : NULL;
	own.to_rv = gap->to_rv ? xstrdup(gap->to_rv) : NULL;
	own.reason = xstrdup(gap->reason);
	own.how_ended = xstrdup(gap->how_ended);
	s->gaps = xgrow(s->gaps, s->gap_count, sizeof(*s->gaps));
	s->gaps[s->gap_count++] = (struct merge_gap){own, open ? INT64_MAX : gap->end_ns};
	return 0;
}

int merge_read_gaps(struct merge *m, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < 2 && !rc; i++) {
		struct merge_source *s = &m->sources[i];

		rc = coverage_each_gap(s->coverage, s->tape, take_gap, s, err);
	}
	return rc;
}

void merge_gaps_release(struct merge_source *s)
{
	for (size_t i = 0; i < s->gap_count; i++) {
		const struct tape_gap *g = &s->gaps[i].gap;

		free((char *)(uintptr_t)g->from_rv);
		free((char *)(uintptr_t)g->to_rv);
		free((char *)(uintptr_t)g->reason);
		free((char *)(uintptr_t)g->how_ended);
	}
	free(s->gaps);
}

/* Whether who follows the one sees all of the other. */
static bool is_within(const struct merge *m, uint32_t stream, uint32_t other)
{
	const struct tape_stream *a = registry_stream(&m->w->registry, stream),
				 *b = registry_stream(&m->w->registry, other);

	if (a->resource != b->resource)
		return false;
	return stream == other || ((!*b->namespace || strcmp(a->namespace, b->namespace) == 0) &&
					  !*b->label_selector && !*b->field_selector);
}

static bool was_watched_at(const struct merge_source *s, uint32_t stream, int64_t time_ns)
{
	const struct coverage_point point = {.time_ns = time_ns, .by_time = true};

	return time_ns >= s->span.begin_ns && time_ns <= s->span.end_ns &&
	       coverage_at(s->coverage, stream, &point).state == COVERAGE_WATCHED;
}

/* When that tape lists a stream first, as time of the new one; INT64_MAX: never. */
static int64_t first_list_ns(const struct merge_source *s, uint32_t stream)
{
	for (size_t i = 0; i < s->mark_count; i++) {
		const struct tape_mark *mark = &s->marks[i].mark;

		if (mark->stream == stream && (mark->kind == MARK_LIST || mark->kind == MARK_INITIAL_END))
			return merge_time(s, mark->time_ns);
	}
	return INT64_MAX;
}

/* Whether one of the streams of the other tape that show all of this one was watched then. */
static bool was_seen_at(
	const struct merge *m, const struct merge_source *other, uint32_t stream, int64_t time_ns)
{
	for (uint32_t i = 0; i < other->tape->registry.stream_count; i++) {
		if (is_within(m, stream, other->streams[i]) &&
			was_watched_at(other, i + 1, time_ns + other->shift_ns))
			return true;
	}
	return false;
}

bool merge_was_seen_at(const struct merge *m, size_t source, uint32_t stream, int64_t time_ns)
{
	return was_seen_at(m, &m->sources[source], stream, time_ns);
}

/* ---- what the other one saw of a gap ---- */

/* Until when that stream of the other tape was watched on from then, which was in its watch, and `end_ns` at most. */
static int64_t watched_until(
	const struct merge_source *other, uint32_t stream, int64_t from_ns, int64_t end_ns)
{
	int64_t until_ns = merge_time(other, other->span.end_ns);

	for (size_t i = 0; i < other->gap_count; i++) {
		const struct merge_gap *g = &other->gaps[i];
		int64_t begin_ns = merge_time(other, g->gap.begin_ns);

		if (g->gap.stream == stream && begin_ns > from_ns && begin_ns < until_ns)
			until_ns = begin_ns;
	}
	return until_ns < end_ns ? until_ns : end_ns;
}

/* Until when the other one saw it on from then; from_ns: it did not. */
static int64_t seen_until(const struct merge *m, const struct merge_source *other, uint32_t stream,
	int64_t from_ns, int64_t end_ns)
{
	int64_t best_ns = from_ns, until_ns;

	for (uint32_t i = 0; i < other->tape->registry.stream_count; i++) {
		if (!is_within(m, stream, other->streams[i]) ||
			!was_watched_at(other, i + 1, from_ns + other->shift_ns))
			continue;
		until_ns = watched_until(other, i + 1, from_ns, end_ns);
		best_ns = until_ns > best_ns ? until_ns : best_ns;
	}
	return best_ns;
}

/* Whether what stands on the new tape is all there was, from the end of that gap on: the list that ended it has told what was
 * there, and what was not (conclude_deletions); or nothing was lost. */
static bool ends_surely(const struct merge_gap *g)
{
	static const char *const ends[] = {"relist", "restart", "rewatch"};

	for (size_t i = 0; i < COUNT_OF(ends); i++) {
		if (strcmp(g->gap.how_ended, ends[i]) == 0)
			return true;
	}
	return false;
}

/* A stream that shows only what is selected does not tell what went. */
static bool lists_all(const struct merge *m, uint32_t stream)
{
	const struct tape_stream *s = registry_stream(&m->w->registry, stream);

	return !*s->label_selector && !*s->field_selector;
}

/* The first moment after from_ns, and before best_ns, from which that stream of the other tape is watched. */
static int64_t watched_from(
	const struct merge_source *other, uint32_t stream, int64_t from_ns, int64_t best_ns)
{
	int64_t listed_ns = first_list_ns(other, other->streams[stream - 1]);

	if (listed_ns > from_ns && listed_ns < best_ns &&
		was_watched_at(other, stream, listed_ns + other->shift_ns))
		best_ns = listed_ns;
	for (size_t i = 0; i < other->gap_count; i++) {
		const struct merge_gap *g = &other->gaps[i];
		int64_t end_ns = g->end_ns == INT64_MAX ? INT64_MAX : merge_time(other, g->end_ns);

		if (g->gap.stream == stream && end_ns > from_ns && end_ns < best_ns && ends_surely(g) &&
			was_watched_at(other, stream, g->end_ns))
			best_ns = end_ns;
	}
	return best_ns;
}

/* From when on the other one saw it; end_ns: not before that. */
static int64_t seen_from(const struct merge *m, const struct merge_source *other, uint32_t stream,
	int64_t from_ns, int64_t end_ns)
{
	for (uint32_t i = 0; i < other->tape->registry.stream_count; i++) {
		if (is_within(m, stream, other->streams[i]) && lists_all(m, other->streams[i]))
			end_ns = watched_from(other, i + 1, from_ns, end_ns);
	}
	return end_ns;
}

/* The first tape ends with what was there at a moment, and not by a recorder that was stopped. */
static bool ends_as_snapshot(const struct merge_gap *gap)
{
	return gap->end_ns == INT64_MAX && strcmp(gap->gap.reason, "snapshot") == 0;
}

/* What nobody watched after a snapshot ends where the second tape lists it. */
static void end_snapshot(const struct merge *m, struct tape_gap *g)
{
	int64_t listed_ns = first_list_ns(&m->sources[1], g->stream);

	if (listed_ns == INT64_MAX || listed_ns < g->begin_ns)
		return;
	g->end_ns = listed_ns;
	g->end_seq = merge_seq_at(m, listed_ns);
	g->how_ended = "relist";
}

/* A gap on its way to the new tape, of which the other one may have seen parts. */
struct whole_gap {
	const struct merge_source *other;
	struct tape_gap gap; /* as it is if none of it was seen */
	int64_t begin_ns, end_ns;
	size_t seen, unseen; /* parts */
	bool ends_unseen;
};

/* The first part has the connection before the gap, the last one all that was told of its end. */
static int put_part(
	struct merge *m, struct whole_gap *w, int64_t begin_ns, int64_t end_ns, bool seen, struct err *err)
{
	struct tape_gap g = w->gap;
	bool is_first = begin_ns == w->begin_ns, is_last = end_ns == w->end_ns;

	if (!is_first) {
		g.begin_ns = begin_ns;
		g.begin_seq = merge_seq_at(m, begin_ns);
		g.connection_before = 0;
		g.from_rv = NULL;
	}
	if (!is_last || seen) {
		g.how_ended = seen ? "filled" : "relist";
		g.end_ns = end_ns;
		g.end_seq = merge_seq_at(m, end_ns);
		g.modified = g.added = g.deleted = g.recreated = g.unchanged = 0;
	}
	if (!is_last) {
		g.connection_after = 0;
		g.to_rv = NULL;
	}
	if (!is_first || !is_last)
		g.duration_ns = strcmp(g.how_ended, "open") == 0 ? -1 : time_sub(end_ns, begin_ns);
	w->seen += seen;
	w->unseen += !seen;
	w->ends_unseen = !seen;
	return tape_writer_gap(m->w, &g, err);
}

/* What the other one saw, what neither saw, and so on by turns. */
static int put_parts(struct merge *m, struct whole_gap *w, struct err *err)
{
	int64_t at_ns = w->begin_ns, next_ns;
	int rc = 0;

	while (at_ns < w->end_ns && !rc) {
		next_ns = seen_until(m, w->other, w->gap.stream, at_ns, w->end_ns);
		if (next_ns > at_ns) {
			rc = put_part(m, w, at_ns, next_ns, true, err);
		} else {
			next_ns = seen_from(m, w->other, w->gap.stream, at_ns, w->end_ns);
			rc = put_part(m, w, at_ns, next_ns, false, err);
		}
		at_ns = next_ns;
	}
	return rc;
}

static struct whole_gap whole_gap_of(struct merge *m, size_t source, const struct merge_gap *gap)
{
	const struct merge_source *s = &m->sources[source];
	bool open = gap->end_ns == INT64_MAX;
	struct tape_gap g = gap->gap;
	int64_t begin_ns = merge_time(s, g.begin_ns);
	int64_t end_ns = merge_time(s, open ? s->span.end_ns : gap->end_ns);

	g.stream = s->streams[g.stream - 1];
	g.id = 0;
	g.begin_seq = merge_seq_at(m, begin_ns);
	g.end_seq = open ? 0 : merge_map_seq(s, g.end_seq);
	g.begin_ns = begin_ns;
	g.end_ns = open ? g.end_ns : end_ns;
	g.connection_before = merge_map_id(m, s, g.connection_before);
	g.connection_after = merge_map_id(m, s, g.connection_after);
	return (struct whole_gap){
		.other = &m->sources[!source], .gap = g, .begin_ns = begin_ns, .end_ns = end_ns};
}

/* Missed by the one, told by the other: not missed any more. */
static int put_missed(struct merge *m, size_t source, uint64_t old_gap, int64_t new_gap, struct err *err);

static int put_gap(struct merge *m, size_t source, const struct merge_gap *gap, struct err *err)
{
	struct whole_gap w = whole_gap_of(m, source, gap);
	bool is_snapshot = source == 0 && ends_as_snapshot(gap);
	int rc;

	m->result.gaps++;
	if (is_snapshot)
		end_snapshot(m, &w.gap);
	if (is_snapshot || w.begin_ns >= w.end_ns)
		rc = put_part(m, &w, w.begin_ns, w.end_ns,
			was_seen_at(m, w.other, w.gap.stream, w.begin_ns) &&
				seen_until(m, w.other, w.gap.stream, w.begin_ns, w.end_ns) >= w.end_ns,
			err);
	else
		rc = put_parts(m, &w, err);
	m->result.filled += !w.unseen;
	m->result.partly += w.seen && w.unseen;
	if (!rc && w.ends_unseen && gap->gap.id)
		rc = put_missed(m, source, gap->gap.id, m->w->ids[TABLE_GAP], err);
	return rc;
}

int merge_put_gaps(struct merge *m, size_t source, struct err *err)
{
	const struct merge_source *s = &m->sources[source];
	int rc = 0;

	for (size_t i = 0; i < s->gap_count && !rc; i++)
		rc = put_gap(m, source, &s->gaps[i], err);
	return rc;
}

struct missed_walk {
	struct merge *m;
	const struct merge_source *s;
	uint64_t old_gap;
	int64_t new_gap;
	struct err *err;
};

static int take_missed(void *context, const struct tape_missed *missed)
{
	const struct missed_walk *w = context;
	struct tape_missed own = *missed;

	if (missed->gap != w->old_gap || !missed->resource ||
		missed->resource > w->s->tape->registry.resource_count)
		return 0;
	own.gap = (uint64_t)w->new_gap;
	own.resource = w->s->resources[missed->resource - 1];
	return tape_writer_missed(w->m->w, &own, w->err);
}

static int put_missed(struct merge *m, size_t source, uint64_t old_gap, int64_t new_gap, struct err *err)
{
	const struct merge_source *s = &m->sources[source];
	struct missed_walk walk = {m, s, old_gap, new_gap, err};

	return tape_each_missed(s->tape, take_missed, &walk, err);
}

/* Where the first tape ends before the second one has listed a stream that both follow. */
static int put_pause(struct merge *m, uint32_t stream, struct err *err)
{
	const struct merge_source *a = &m->sources[0];
	int64_t begin_ns = merge_time(a, a->span.end_ns), listed_ns = first_list_ns(&m->sources[1], stream);
	struct tape_gap g = {.stream = stream,
		.begin_ns = begin_ns,
		.begin_seq = merge_seq_at(m, begin_ns),
		.duration_ns = -1,
		.reason = "client_stop",
		.how_ended = "relist"};

	if (listed_ns == INT64_MAX || listed_ns <= begin_ns)
		return 0;
	g.end_ns = listed_ns;
	g.end_seq = merge_seq_at(m, listed_ns);
	m->result.gaps++;
	return tape_writer_gap(m->w, &g, err);
}

static bool is_followed_by(const struct merge_source *s, uint32_t stream)
{
	for (size_t i = 0; i < s->tape->registry.stream_count; i++) {
		if (s->streams[i] == stream)
			return true;
	}
	return false;
}

int merge_put_pauses(struct merge *m, struct err *err)
{
	const struct merge_source *a = &m->sources[0];
	bool *is_told = xcalloc(m->w->registry.stream_count + 1, sizeof(*is_told));
	int rc = 0;

	for (size_t i = 0; i < a->gap_count; i++)
		is_told[a->streams[a->gaps[i].gap.stream - 1]] |= ends_as_snapshot(&a->gaps[i]);
	for (uint32_t id = 1; id <= m->w->registry.stream_count && !rc; id++) {
		if (!is_told[id] && is_followed_by(&m->sources[0], id) && is_followed_by(&m->sources[1], id))
			rc = put_pause(m, id, err);
	}
	free(is_told);
	return rc;
}
