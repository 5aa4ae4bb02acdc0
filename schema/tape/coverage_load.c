/* coverage_load.c: see coverage.h. One pass over each kind of row, then conclusions, stream by stream. */
#include "schema/tape/coverage_internal.h"

#include "schema/base/clock.h"
#include "schema/tape/position.h"

#include <stdlib.h>

/* Reasons are told as long as they are few, as those of a recorder are. */
#define WORDS_MAX 200

static const char *keep_word(struct coverage *c, const char *word)
{
	word = word ? word : "";
	for (size_t i = 0; i < c->word_count; i++) {
		if (strcmp(c->words[i], word) == 0)
			return c->words[i];
	}
	if (c->word_count == WORDS_MAX)
		return "unknown";
	c->words = xrealloc(c->words, (c->word_count + 1) * sizeof(*c->words));
	c->words[c->word_count] = xstrdup(word);
	return c->words[c->word_count++];
}

static void lengthen(struct coverage *c, int64_t ns)
{
	if (ns > c->span.end_ns)
		c->span.end_ns = ns;
}

/* ---- rows ---- */

static int take_mark(void *context, const struct tape_mark *mark)
{
	struct coverage *c = context;
	struct coverage_stream *s = coverage_stream_of(c, mark->stream);
	bool is_list = mark->kind == MARK_LIST || mark->kind == MARK_INITIAL_END;

	lengthen(c, mark->time_ns);
	if (!s || mark->kind == MARK_ERROR)
		return 0;
	if (is_list && !s->has_list) {
		/* A bookmark before the first list: the list is on a segment that was removed. */
		s->listed_seq = s->has_mark ? 0 : mark->after_seq;
		s->listed_ns = s->has_mark ? INT64_MIN : mark->time_ns;
	}
	s->has_mark = true;
	s->has_list |= is_list;
	s->last_mark_ns = mark->time_ns;
	c->has_lists |= is_list;
	return 0;
}

static bool is_watch(const struct tape_connection *w)
{
	return w->purpose && (strcmp(w->purpose, "watch") == 0 || strcmp(w->purpose, "watchlist") == 0);
}

static bool is_list(const struct tape_connection *w)
{
	return w->purpose && (strcmp(w->purpose, "list") == 0 || strcmp(w->purpose, "watchlist") == 0);
}

static bool is_recorders_doing(const char *reason)
{
	return strcmp(reason, "client_stop") == 0 || strcmp(reason, "recorder_died") == 0;
}

static int64_t end_of(const struct tape_connection *w)
{
	return w->end_reason && w->duration_ns >= 0 ? time_add(w->begin_ns, w->duration_ns) : NEVER;
}

/* On a tape that was merged of two, watches of both recorders run side by side: the one that ends last counts. */
static bool ended_before(const struct coverage_stream *s, int64_t steady_end_ns)
{
	if (!s->has_watch)
		return false;
	return !s->end_reason || (s->steady_end_ns != NEVER && steady_end_ns < s->steady_end_ns);
}

static void take_watch(struct coverage *c, struct coverage_stream *s, const struct tape_connection *w,
	int64_t steady_begin_ns)
{
	int64_t end_ns = end_of(w),
		steady_end_ns = end_ns == NEVER ? NEVER : time_add(steady_begin_ns, w->duration_ns);

	if (w->http_status >= 300)
		return; /* it never was one */
	if (!ended_before(s, steady_end_ns)) {
		s->last_watch = w->id;
		s->watch_begin_ns = w->begin_ns;
		s->watch_end_ns = end_ns;
		s->steady_end_ns = steady_end_ns;
		s->end_reason = w->end_reason ? keep_word(c, w->end_reason) : NULL;
	}
	s->has_watch = true;
	if (end_ns == NEVER || !is_recorders_doing(w->end_reason))
		return;
	c->ends = xgrow(c->ends, c->end_count, sizeof(*c->ends));
	c->ends[c->end_count++] = (struct watch_end){w->id, end_ns, steady_end_ns};
}

static int take_connection(void *context, const struct tape_connection *w)
{
	struct coverage *c = context;
	struct coverage_stream *s = coverage_stream_of(c, w->stream);
	int64_t steady_begin_ns;

	if (end_of(w) != NEVER && s)
		lengthen(c, end_of(w));
	c->has_import |= w->purpose && strcmp(w->purpose, "import") == 0;
	if (!s)
		return 0;
	steady_begin_ns = steady_time_of(c->steady, w->begin_ns, c->last_begin_ns);
	if (steady_begin_ns > c->last_begin_ns)
		c->last_begin_ns = steady_begin_ns;
	s->asks_first |= is_list(w) && !s->has_watch;
	if (is_watch(w))
		take_watch(c, s, w, steady_begin_ns);
	return 0;
}

static bool is_open(const struct tape_gap *g)
{
	return g->how_ended && strcmp(g->how_ended, "open") == 0;
}

static int take_gap(void *context, const struct tape_gap *g)
{
	struct coverage *c = context;
	struct coverage_stream *s = coverage_stream_of(c, g->stream);
	struct coverage_gap *gap;

	/* After a snapshot nothing is known: the tape ends with it, before the gap. */
	lengthen(c, strcmp(g->reason, "snapshot") == 0 ? g->begin_ns - 1 : g->begin_ns);
	if (!is_open(g))
		lengthen(c, g->end_ns);
	if (!s || strcmp(g->how_ended, "filled") == 0)
		return 0;
	s->has_open_gap = is_open(g);
	c->gaps = xgrow(c->gaps, c->gap_count, sizeof(*c->gaps));
	gap = &c->gaps[c->gap_count++];
	*gap = (struct coverage_gap){.id = g->id,
		.stream = g->stream,
		.begin_ns = g->begin_ns,
		.end_ns = is_open(g) ? NEVER : g->end_ns,
		.begin_seq = g->begin_seq,
		.end_seq = g->end_seq,
		.connection_before = g->connection_before,
		.reason = keep_word(c, g->reason)};
	gap->by_recorder = is_recorders_doing(gap->reason);
	return 0;
}

/* ---- conclusions ---- */

/* When the watch of that connection ended; NEVER when that is not known. */
static int64_t find_end(const struct coverage *c, uint64_t connection)
{
	size_t low = 0, high = c->end_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c->ends[middle].connection < connection)
			low = middle + 1;
		else
			high = middle;
	}
	return low < c->end_count && c->ends[low].connection == connection ? c->ends[low].ns : NEVER;
}

static int compare_ends(const void *left, const void *right)
{
	const struct watch_end *a = left, *b = right;

	return (a->connection > b->connection) - (a->connection < b->connection);
}

/* The recorder wrote that the gap began with the last thing on the tape: true of one that recorded nothing
 * else meanwhile. */
static int correct_begin(const struct coverage *c, struct tape *t, struct coverage_gap *g, struct err *err)
{
	int64_t end_ns = g->by_recorder ? find_end(c, g->connection_before) : NEVER;

	if (end_ns == NEVER || end_ns > g->end_ns || end_ns == g->begin_ns)
		return 0;
	g->begin_ns = end_ns;
	return tape_position_at_time(t, end_ns, &g->begin_seq, err);
}

static int correct_gaps(struct coverage *c, struct tape *t, struct err *err)
{
	int rc = 0;

	if (c->end_count)
		qsort(c->ends, c->end_count, sizeof(*c->ends), compare_ends);
	for (size_t i = 0; i < c->gap_count && rc == 0; i++)
		rc = correct_begin(c, t, &c->gaps[i], err);
	return rc;
}

static int compare_times(const void *left, const void *right)
{
	const int64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static void list_stops(struct coverage *c)
{
	c->stops = xcalloc(c->end_count + 1, sizeof(*c->stops));
	for (size_t i = 0; i < c->end_count; i++)
		c->stops[c->stop_count++] = c->ends[i].steady_ns;
	qsort(c->stops, c->stop_count, sizeof(*c->stops), compare_times);
}

/* Whether a recorder began after the one that the stream's last watch belongs to was stopped. */
static bool was_left(const struct coverage *c, const struct coverage_stream *s)
{
	size_t low = 0, high = c->stop_count;

	if (is_recorders_doing(s->end_reason))
		return c->last_begin_ns > s->steady_end_ns;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c->stops[middle] < s->steady_end_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low < c->stop_count && c->last_begin_ns > c->stops[low];
}

/* The last time of an event of the resource; INT64_MIN when it has none. */
static int last_event_ns(struct tape *t, uint32_t resource, int64_t *ret_ns, struct err *err)
{
	const struct tape_filter filter = {.resource = resource};
	struct tape_cursor *cursor;
	struct event e;
	int more = tape_cursor_open(t, &filter, TAPE_BACKWARD, &cursor, err);

	*ret_ns = INT64_MIN;
	if (more < 0)
		return more;
	more = tape_cursor_next(cursor, &e, err);
	if (more > 0)
		*ret_ns = e.time_ns;
	tape_cursor_close(cursor);
	return more < 0 ? more : 0;
}

/* Of a watch whose recorder was killed the end is not on older tapes: the last sign of life counts. */
static int find_last_sign(
	const struct coverage *c, struct tape *t, struct coverage_stream *s, struct err *err)
{
	int64_t event_ns;
	int rc = last_event_ns(t, s->resource, &event_ns, err);

	s->watch_end_ns = s->watch_begin_ns > s->last_mark_ns ? s->watch_begin_ns : s->last_mark_ns;
	if (rc == 0 && event_ns > s->watch_end_ns)
		s->watch_end_ns = event_ns;
	s->steady_end_ns = steady_time_of(c->steady, s->watch_end_ns, INT64_MIN);
	return rc;
}

static int add_left(
	struct coverage *c, struct tape *t, uint32_t id, const struct coverage_stream *s, struct err *err)
{
	struct coverage_gap gap = {.stream = id,
		.begin_ns = s->watch_end_ns,
		.end_ns = NEVER,
		.connection_before = s->last_watch,
		.reason = s->end_reason,
		.by_recorder = true};
	int rc = tape_position_at_time(t, gap.begin_ns, &gap.begin_seq, err);

	if (rc)
		return rc;
	c->gaps = xgrow(c->gaps, c->gap_count, sizeof(*c->gaps));
	c->gaps[c->gap_count++] = gap;
	c->left_count++;
	return 0;
}

static int find_left(struct coverage *c, struct tape *t, struct err *err)
{
	int rc = 0;

	for (uint32_t id = 1; id <= c->stream_count && rc == 0; id++) {
		struct coverage_stream *s = coverage_stream_of(c, id);

		if (!s || !s->has_watch || s->has_open_gap || !s->end_reason)
			continue;
		if (s->watch_end_ns == NEVER)
			rc = find_last_sign(c, t, s, err);
		/* A later recording has listed it, and its watch is about to begin. */
		if (rc == 0 && s->last_mark_ns > s->watch_end_ns)
			continue;
		if (rc == 0 && was_left(c, s))
			rc = add_left(c, t, id, s, err);
	}
	return rc;
}

static int compare_gaps(const void *left, const void *right)
{
	const struct coverage_gap *a = left, *b = right;

	if (a->stream != b->stream)
		return a->stream < b->stream ? -1 : 1;
	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

static void sort_gaps(struct coverage *c)
{
	c->places = xcalloc(c->gap_count + 1, sizeof(*c->places));
	if (c->gap_count)
		qsort(c->gaps, c->gap_count, sizeof(*c->gaps), compare_gaps);
	for (size_t i = 0; i < c->gap_count; i++) {
		if (c->gaps[i].id)
			c->places[c->place_count++] = (struct gap_place){c->gaps[i].id, i};
	}
	qsort(c->places, c->place_count, sizeof(*c->places), coverage_compare_places);
}

static int conclude(struct coverage *c, struct tape *t, struct err *err)
{
	int rc = correct_gaps(c, t, err);

	if (rc)
		return rc;
	list_stops(c);
	rc = find_left(c, t, err);
	if (rc == 0)
		sort_gaps(c);
	return rc;
}

/* ---- loading ---- */

static void list_streams(struct coverage *c, const struct tape *t)
{
	const struct tape_stream *s;

	for (size_t i = 0; (s = tape_stream_at(t, i)); i++)
		c->stream_count = s->id > c->stream_count ? s->id : c->stream_count;
	c->streams = xcalloc(c->stream_count + 1, sizeof(*c->streams));
	for (size_t i = 0; (s = tape_stream_at(t, i)); i++)
		c->streams[s->id - 1].resource = s->resource;
}

/* The events alone; rows make it longer. */
static int begin_span(struct coverage *c, struct tape *t, struct err *err)
{
	struct tape_info info;
	int rc = tape_info(t, &info, err);

	if (rc)
		return rc;
	c->span = (struct tape_span){.first_seq = info.first_seq,
		.last_seq = info.last_seq,
		.begin_ns = info.events ? info.first_time_ns : NEVER,
		.end_ns = info.events ? info.last_time_ns : INT64_MIN,
		.live = info.open && tape_has_writer(t)};
	return 0;
}

/* Whether the stream was listed right before the tape's first event: by an empty list, if it has none, or
 * where the tape was cut. */
static bool begins_with_list(const struct coverage *c, const struct coverage_stream *s)
{
	uint64_t first_seq = c->span.first_seq;

	return s->has_list && (!first_seq || (first_seq > 1 && s->listed_seq == first_seq - 1));
}

static void end_span(struct coverage *c)
{
	for (size_t i = 0; i < c->stream_count; i++) {
		const struct coverage_stream *s = &c->streams[i];

		if (begins_with_list(c, s) && s->listed_ns < c->span.begin_ns)
			c->span.begin_ns = s->listed_ns;
	}
	if (c->span.begin_ns > c->span.end_ns)
		c->span.begin_ns = c->span.end_ns = 0;
}

int coverage_load(struct tape *t, struct coverage **ret, struct err *err)
{
	struct coverage *c = xcalloc(1, sizeof(*c));
	int rc;

	c->last_begin_ns = INT64_MIN;
	list_streams(c, t);
	rc = begin_span(c, t, err);
	if (rc == 0)
		rc = steady_time_load(t, &c->steady, err);
	if (rc == 0)
		rc = tape_each_mark(t, take_mark, c, err);
	if (rc == 0)
		rc = tape_each_connection(t, take_connection, c, err);
	if (rc == 0)
		rc = tape_each_gap(t, take_gap, c, err);
	if (rc == 0)
		rc = conclude(c, t, err);
	if (rc) {
		coverage_free(c);
		return rc;
	}
	end_span(c);
	*ret = c;
	return 0;
}
