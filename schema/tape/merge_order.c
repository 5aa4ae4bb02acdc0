/* merge_order.c: events and marks of two tapes in one order; see merge.h. */
#include "schema/base/clock.h"
#include "schema/base/rv.h"
#include "schema/tape/codec.h"
#include "schema/tape/merge_internal.h"

#include <stdlib.h>

/* Two recorders are told the same event so far apart at most, if their clocks agree. */
#define SHIFT_MIN_NS (200 * NS_PER_MS)

/* A version of an object, as both tapes may have it. */
struct version {
	uint64_t hash;
	int64_t time_ns;
	bool watched;
};

struct versions {
	struct version *items;
	size_t count;
};

static struct merge_entry *add_entry(struct merge *m)
{
	m->entries = xgrow(m->entries, m->entry_count, sizeof(*m->entries));
	return &m->entries[m->entry_count++];
}

static int add_version(
	struct merge *m, struct versions *v, const struct event *e, uint32_t resource, struct err *err)
{
	int rc;

	buf_clear(&m->names);
	rc = buf_printf(&m->names, err, "%u %d %.*s %.*s", resource, e->type == EVENT_DELETED,
		(int)e->uid.len, e->uid.ptr, (int)e->rv.len, e->rv.ptr);
	if (rc)
		return rc;
	v->items = xgrow(v->items, v->count, sizeof(*v->items));
	v->items[v->count++] =
		(struct version){codec_hash(buf_slice(&m->names)), e->time_ns, e->origin == ORIGIN_WATCH};
	return 0;
}

static int add_event(struct merge *m, uint8_t source, const struct event *e, bool is_state,
	struct versions *v, struct err *err)
{
	const struct merge_source *s = &m->sources[source];
	uint32_t resource = s->resources[e->resource - 1];
	struct merge_entry *entry;
	uint64_t rv = 0;

	if (m->entry_count >= MERGE_EVENTS_MAX)
		return err_set(err, ERR_TOO_LARGE, "the tapes have more than %d events", MERGE_EVENTS_MAX);
	if (e->origin != ORIGIN_WATCH || is_state || !rv_to_u64(e->rv, &rv))
		rv = 0;
	entry = add_entry(m);
	*entry = (struct merge_entry){.time_ns = is_state ? s->span.begin_ns : e->time_ns,
		.rv = rv,
		.seq = e->seq,
		.resource = resource,
		.source = source,
		.rank = is_state                    ? MERGE_STATE
			: e->origin == ORIGIN_WATCH ? MERGE_WATCHED
						    : MERGE_LISTED};
	return add_version(m, v, e, resource, err);
}

static int read_state(struct merge *m, uint8_t source, struct versions *v, struct err *err)
{
	struct merge_source *s = &m->sources[source];
	struct tape_state *state;
	struct event e;
	int rc = tape_state_at(
		s->tape, s->info.first_seq ? s->info.first_seq - 1 : UINT64_MAX, 0, &state, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < state->count && !rc; i++) {
		struct buf names;

		buf_init(&names, m->names.max);
		rc = tape_event(s->tape, state->live[i].seq, &e, &names, err);
		if (!rc)
			rc = add_event(m, source, &e, true, v, err);
		buf_release(&names);
	}
	tape_state_free(state);
	return rc;
}

static int read_events(struct merge *m, uint8_t source, struct versions *v, struct err *err)
{
	const struct tape_filter all = {0};
	struct tape_cursor *c;
	struct event e;
	int more = tape_cursor_open(m->sources[source].tape, &all, TAPE_FORWARD, &c, err), rc = 0;

	if (more)
		return more;
	while (!rc && (more = tape_cursor_next(c, &e, err)) > 0)
		rc = add_event(m, source, &e, false, v, err);
	tape_cursor_close(c);
	return rc ? rc : more;
}

/* ---- marks ---- */

struct mark_walk {
	struct merge *m;
	uint8_t source;
};

static int take_mark(void *context, const struct tape_mark *mark)
{
	const struct mark_walk *walk = context;
	struct merge_source *s = &walk->m->sources[walk->source];
	struct tape_mark own = *mark;

	if (!mark->stream || mark->stream > s->tape->registry.stream_count)
		return 0;
	own.stream = s->streams[mark->stream - 1];
	own.rv = mark->rv.ptr ? (struct slice){slice_dup(mark->rv), mark->rv.len} : mark->rv;
	own.object =
		mark->object.ptr ? (struct slice){slice_dup(mark->object), mark->object.len} : mark->object;
	s->marks = xgrow(s->marks, s->mark_count, sizeof(*s->marks));
	s->marks[s->mark_count] = (struct merge_mark){own};
	*add_entry(walk->m) = (struct merge_entry){.time_ns = mark->time_ns,
		.seq = s->mark_count++,
		.source = walk->source,
		.rank = mark->kind == MARK_LIST || mark->kind == MARK_INITIAL_END ? MERGE_LIST : MERGE_MARK};
	return 0;
}

/* ---- the clocks ---- */

static int compare_versions(const void *left, const void *right)
{
	const struct version *a = left, *b = right;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static int compare_times(const void *left, const void *right)
{
	const int64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* The median of how much later the second tape has what both watches saw. */
static void compare_clocks(struct merge *m, struct versions v[2])
{
	int64_t *differences = xcalloc(v[0].count + 1, sizeof(*differences)), median = 0;
	size_t count = 0;

	for (size_t i = 0; i < 2; i++) {
		if (v[i].count)
			qsort(v[i].items, v[i].count, sizeof(*v[i].items), compare_versions);
	}
	for (size_t i = 0, k = 0; i < v[0].count && k < v[1].count;) {
		const struct version *a = &v[0].items[i], *b = &v[1].items[k];

		i += a->hash <= b->hash;
		k += b->hash <= a->hash;
		if (a->hash != b->hash)
			continue;
		m->result.common++;
		if (a->watched && b->watched)
			differences[count++] = time_sub(b->time_ns, a->time_ns);
	}
	if (count) {
		qsort(differences, count, sizeof(*differences), compare_times);
		median = differences[count / 2];
	}
	if (median >= SHIFT_MIN_NS || median <= -SHIFT_MIN_NS)
		m->result.shift_ns = m->sources[1].shift_ns = median;
	free(differences);
}

static void shift(struct merge *m)
{
	for (size_t i = 0; i < m->entry_count; i++)
		m->entries[i].time_ns = merge_time(&m->sources[m->entries[i].source], m->entries[i].time_ns);
}

int merge_read(struct merge *m, struct err *err)
{
	struct versions v[2] = {0};
	int rc = 0;

	for (uint8_t i = 0; i < 2 && !rc; i++) {
		struct mark_walk walk = {m, i};

		if (!(rc = m->sources[i].info.first_seq == 1 ? 0 : read_state(m, i, &v[i], err)) &&
			!(rc = read_events(m, i, &v[i], err)))
			rc = tape_each_mark(m->sources[i].tape, take_mark, &walk, err);
	}
	compare_clocks(m, v);
	shift(m);
	free(v[0].items);
	free(v[1].items);
	return rc;
}

/* ---- the order ---- */

/* What was seen by watches: by resource and version. */
static int compare_watched(const void *left, const void *right)
{
	const struct merge_entry *a = left, *b = right;

	if (!a->rv != !b->rv)
		return a->rv ? -1 : 1;
	if (a->resource != b->resource)
		return a->resource < b->resource ? -1 : 1;
	if (a->rv != b->rv)
		return a->rv < b->rv ? -1 : 1;
	return (int)a->source - (int)b->source;
}

/* What is of one time: of each tape first what it begins with, then what was listed, and that the list is
 * complete; then what watches saw; then what tells their versions. */
static int compare_order(const void *left, const void *right)
{
	const struct merge_entry *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	if (a->rank != b->rank)
		return (int)a->rank - (int)b->rank;
	if (a->rv != b->rv)
		return a->rv < b->rv ? -1 : 1;
	if (a->source != b->source)
		return (int)a->source - (int)b->source;
	return (a->seq > b->seq) - (a->seq < b->seq);
}

/* It happened before the next version of its resource was seen, by whichever of the two. */
static void draw_forward(struct merge *m)
{
	for (size_t i = m->entry_count; i-- > 1;) {
		const struct merge_entry *next = &m->entries[i];
		struct merge_entry *e = &m->entries[i - 1];

		if (e->rv && next->rv && e->resource == next->resource && e->time_ns > next->time_ns)
			e->time_ns = next->time_ns;
	}
}

void merge_sort(struct merge *m)
{
	if (!m->entry_count)
		return;
	qsort(m->entries, m->entry_count, sizeof(*m->entries), compare_watched);
	draw_forward(m);
	qsort(m->entries, m->entry_count, sizeof(*m->entries), compare_order);
}
