/* merge_rows.c: what is no event of two tapes: streams, connections, gaps, documents, clocks; see merge.h. */
#include "schema/base/clock.h"
#include "schema/base/limits.h"
#include "schema/tape/codec.h"
#include "schema/tape/merge_internal.h"
#include "schema/tape/row_reader.h"

#include <stdlib.h>

#define DOCUMENT_LEVEL 1

/* ---- resources and streams ---- */

static int add_all(struct merge *m, struct merge_source *s, struct err *err)
{
	const struct registry *old = &s->tape->registry;
	int rc = 0;

	s->resources = xcalloc(old->resource_count + 1, sizeof(*s->resources));
	s->streams = xcalloc(old->stream_count + 1, sizeof(*s->streams));
	for (size_t i = 0; i < old->resource_count && !rc; i++)
		rc = tape_writer_resource(m->w, &old->resources[i], &s->resources[i], err);
	for (size_t i = 0; i < old->stream_count && !rc; i++) {
		struct tape_stream stream = old->streams[i];

		stream.resource = s->resources[stream.resource - 1];
		rc = tape_writer_stream(m->w, &stream, &s->streams[i], err);
	}
	return rc;
}

int merge_registry(struct merge *m, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < 2 && !rc; i++)
		rc = add_all(m, &m->sources[i], err);
	m->listed = xcalloc(m->w->registry.stream_count + 1, sizeof(*m->listed));
	m->highest = xcalloc(m->w->registry.stream_count + 1, sizeof(*m->highest));
	return rc;
}

/* ---- numbers ---- */

/* The last event of the new tape when that one of the old was its turn. */
static uint64_t map_seq(const struct merge_source *s, uint64_t seq)
{
	if (!s->info.events || seq < s->info.first_seq)
		return 0;
	return s->seqs[(seq > s->info.last_seq ? s->info.last_seq : seq) - s->info.first_seq];
}

/* Ids of the two take turns. */
static uint64_t map_id(const struct merge *m, const struct merge_source *s, uint64_t id)
{
	return id ? 2 * id - (s == &m->sources[0]) : 0;
}

/* How many events of the new tape came by then. */
static uint64_t seq_at(const struct merge *m, int64_t time_ns)
{
	size_t low = 0, high = m->time_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->times_ns[middle] <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- connections: the one that ends last has the last id, as coverage takes it ---- */

struct row_walk {
	struct merge *m;
	struct merge_source *s;
	struct err *err;
};

static void map_delivered(const struct merge_source *s, struct value *first, struct value *last)
{
	uint64_t from = (uint64_t)value_number(first), to = (uint64_t)value_number(last);
	uint64_t new_first = 0, new_last = 0;

	for (uint64_t seq = from; from && seq <= to && seq >= s->info.first_seq && seq <= s->info.last_seq;
		seq++) {
		uint64_t kept = s->kept[seq - s->info.first_seq];

		new_first = new_first ? new_first : kept;
		new_last = kept ? kept : new_last;
	}
	*first = value_integer((int64_t)new_first);
	*last = value_integer((int64_t)new_last);
}

static int take_connection(void *context, struct value *v)
{
	const struct row_walk *w = context;
	struct merge *m = w->m;
	uint32_t stream = (uint32_t)value_number(&v[CONNECTION_STREAM]);
	int64_t begin_ns = value_number(&v[CONNECTION_BEGIN_NS]), id = value_number(&v[0]);

	if (stream > w->s->tape->registry.stream_count || id < 1 || id > FORMAT_ID_MAX / 2)
		return err_set(w->err, ERR_CORRUPT, "connection %lld of '%s' cannot be one", (long long)id,
			w->s->tape->path);
	v[0] = value_integer((int64_t)map_id(m, w->s, (uint64_t)id));
	if (v[0].integer > m->w->ids[TABLE_CONNECTION])
		m->w->ids[TABLE_CONNECTION] = v[0].integer;
	v[CONNECTION_STREAM] = value_integer(stream ? w->s->streams[stream - 1] : 0);
	v[CONNECTION_AFTER_SEQ] =
		value_integer((int64_t)map_seq(w->s, (uint64_t)value_number(&v[CONNECTION_AFTER_SEQ])));
	v[CONNECTION_BEGIN_NS] = value_integer(merge_time(w->s, begin_ns));
	map_delivered(w->s, &v[CONNECTION_FIRST_SEQ], &v[CONNECTION_LAST_SEQ]);
	row_queue_add(m->w->rows, TABLE_CONNECTION, v);
	return row_queue_bytes(m->w->rows) > (8u << 20) ? tape_writer_flush(m->w, w->err) : 0;
}

/* Of the second tape only what is later than the first one: two monotonic clocks make no sense by turns. */
static int take_clock(void *context, struct value *v)
{
	const struct row_walk *w = context;
	struct merge *m = w->m;
	int64_t time_ns = merge_time(w->s, value_number(&v[HELD_TIME_NS]));
	const struct merge_source *first = &m->sources[0];

	if (w->s != first && time_ns < merge_time(first, first->span.end_ns))
		return 0;
	v[0] = value_integer(++m->w->ids[TABLE_CLOCK]);
	v[HELD_AFTER_SEQ] = value_integer((int64_t)map_seq(w->s, (uint64_t)value_number(&v[HELD_AFTER_SEQ])));
	v[HELD_TIME_NS] = value_integer(time_ns);
	row_queue_add(m->w->rows, TABLE_CLOCK, v);
	return 0;
}

static int take_epoch(void *context, struct value *v)
{
	const struct row_walk *w = context;
	struct merge *m = w->m;

	v[0] = value_integer(++m->w->ids[TABLE_EPOCH]);
	v[HELD_AFTER_SEQ] = value_integer((int64_t)map_seq(w->s, (uint64_t)value_number(&v[HELD_AFTER_SEQ])));
	v[HELD_TIME_NS] = value_integer(merge_time(w->s, value_number(&v[HELD_TIME_NS])));
	row_queue_add(m->w->rows, TABLE_EPOCH, v);
	return 0;
}

static int put_table(struct merge *m, struct merge_source *s, enum table table,
	int (*take)(void *context, struct value *values), struct err *err)
{
	struct row_walk walk = {m, s, err};
	struct row_reader rows;
	int rc = row_reader_open(s->tape, table, &rows, err);

	for (size_t i = 0; i < s->tape->segment_count && !rc; i++)
		rc = row_reader_values(&rows, i, take, &walk, err);
	row_reader_close(&rows);
	return rc;
}

/* ---- documents: the second tape's where they are others ---- */

static int is_known_document(
	struct merge *m, const struct tape_document *d, struct slice body, bool *ret, struct err *err)
{
	struct tape_document other;
	struct buf known;
	int rc;

	buf_init(&known, LIMIT_DOCUMENT_BYTES);
	rc = tape_document(m->sources[0].tape, d->path, d->variant, 0, &other, &known, NULL);
	*ret = !rc && slice_equal(buf_slice(&known), body);
	buf_release(&known);
	(void)err;
	return rc == ERR_NOT_FOUND ? 0 : rc;
}

static int queue_document(struct merge *m, const struct merge_source *s, const struct tape_document *d,
	struct slice body, struct err *err)
{
	struct buf packed;
	int rc;

	buf_init(&packed, LIMIT_CHUNK_BYTES);
	rc = codec_pack(body, DOCUMENT_LEVEL, &packed, err);
	if (!rc)
		row_queue_add(m->w->rows, TABLE_DOCUMENT,
			(struct value[]){value_integer(++m->w->ids[TABLE_DOCUMENT]),
				value_integer((int64_t)map_seq(s, d->after_seq)),
				value_integer(merge_time(s, d->time_ns)), value_text(d->path),
				value_text(d->variant), value_integer(d->http_status),
				value_text(d->content_type), value_text(d->etag),
				value_integer((int64_t)body.len),
				value_integer((int64_t)codec_hash(buf_slice(&packed))),
				value_blob(buf_slice(&packed))});
	buf_release(&packed);
	return rc ? rc : tape_writer_flush(m->w, err);
}

static int take_document(void *context, const struct tape_document *d)
{
	const struct row_walk *w = context;
	struct tape_document own = *d;
	char *path = xstrdup(d->path), *variant = xstrdup(d->variant), *type = xstrdup(d->content_type),
	     *etag = xstrdup(d->etag);
	bool known = false;
	struct buf body;
	int rc;

	own.path = path;
	own.variant = variant;
	own.content_type = type;
	own.etag = etag;
	buf_init(&body, LIMIT_DOCUMENT_BYTES);
	rc = tape_document_body(w->s->tape, own.segment, own.id, &body, w->err);
	if (!rc && w->s != &w->m->sources[0])
		rc = is_known_document(w->m, &own, buf_slice(&body), &known, w->err);
	if (!rc && !known)
		rc = queue_document(w->m, w->s, &own, buf_slice(&body), w->err);
	buf_release(&body);
	free(path);
	free(variant);
	free(type);
	free(etag);
	return rc;
}

/* ---- gaps ---- */

static int take_gap(void *context, const struct tape_gap *gap)
{
	const struct row_walk *w = context;
	struct merge_source *s = w->s;
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
		struct row_walk walk = {m, s, err};

		rc = coverage_each_gap(s->coverage, s->tape, take_gap, &walk, err);
	}
	return rc;
}

static void release_gaps(struct merge_source *s)
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

/* By one stream of the tape, all the time, which is told in its own. */
static bool was_watched(const struct merge_source *s, uint32_t stream, int64_t begin_ns, int64_t end_ns)
{
	if (!was_watched_at(s, stream, begin_ns) || !was_watched_at(s, stream, end_ns))
		return false;
	for (size_t i = 0; i < s->gap_count; i++) {
		const struct merge_gap *g = &s->gaps[i];

		if (g->gap.stream == stream && g->gap.begin_ns <= end_ns && g->end_ns >= begin_ns)
			return false;
	}
	return true;
}

static bool saw_it(const struct merge *m, const struct merge_source *other, uint32_t stream, int64_t begin_ns,
	int64_t end_ns)
{
	int64_t shift_ns = other->shift_ns;

	for (uint32_t i = 0; i < other->tape->registry.stream_count; i++) {
		if (is_within(m, stream, other->streams[i]) &&
			was_watched(other, i + 1, begin_ns + shift_ns, end_ns + shift_ns))
			return true;
	}
	return false;
}

/* When the second tape lists a stream first, as time of ours; INT64_MAX: never. */
static int64_t first_list_ns(const struct merge *m, uint32_t stream)
{
	const struct merge_source *b = &m->sources[1];

	for (size_t i = 0; i < b->mark_count; i++) {
		const struct tape_mark *mark = &b->marks[i].mark;

		if (mark->stream == stream && (mark->kind == MARK_LIST || mark->kind == MARK_INITIAL_END))
			return merge_time(b, mark->time_ns);
	}
	return INT64_MAX;
}

/* The first tape ends with what was there at a moment, and not by a recorder that was stopped. */
static bool ends_as_snapshot(const struct merge_gap *gap)
{
	return gap->end_ns == INT64_MAX && strcmp(gap->gap.reason, "snapshot") == 0;
}

/* What nobody watched after a snapshot ends where the second tape lists it. */
static void end_snapshot(const struct merge *m, struct tape_gap *g)
{
	int64_t listed_ns = first_list_ns(m, g->stream);

	if (listed_ns == INT64_MAX || listed_ns < g->begin_ns)
		return;
	g->end_ns = listed_ns;
	g->end_seq = seq_at(m, listed_ns);
	g->how_ended = "relist";
}

static int put_gap(struct merge *m, size_t source, const struct merge_gap *gap, struct err *err)
{
	const struct merge_source *s = &m->sources[source];
	struct tape_gap g = gap->gap;
	int64_t begin_ns = merge_time(s, g.begin_ns);
	int64_t end_ns = merge_time(s, gap->end_ns == INT64_MAX ? s->span.end_ns : gap->end_ns);

	g.stream = s->streams[g.stream - 1];
	g.id = 0;
	g.begin_seq = seq_at(m, begin_ns);
	g.end_seq = gap->end_ns == INT64_MAX ? 0 : map_seq(s, g.end_seq);
	g.begin_ns = begin_ns;
	g.end_ns = gap->end_ns == INT64_MAX ? g.end_ns : end_ns;
	g.connection_before = map_id(m, s, g.connection_before);
	g.connection_after = map_id(m, s, g.connection_after);
	m->result.gaps++;
	if (source == 0 && ends_as_snapshot(gap))
		end_snapshot(m, &g);
	if (saw_it(m, &m->sources[!source], g.stream, begin_ns, end_ns)) {
		m->result.filled++;
		g.how_ended = "filled";
		g.end_ns = end_ns;
		g.end_seq = seq_at(m, end_ns);
		g.modified = g.added = g.deleted = g.recreated = g.unchanged = 0;
	}
	return tape_writer_gap(m->w, &g, err);
}

/* Missed by the one, told by the other: not missed any more. */
static int put_missed(struct merge *m, size_t source, uint64_t old_gap, int64_t new_gap, struct err *err);

static int put_gaps(struct merge *m, size_t source, struct err *err)
{
	const struct merge_source *s = &m->sources[source];
	int rc = 0;

	for (size_t i = 0; i < s->gap_count && !rc; i++) {
		uint64_t filled = m->result.filled;

		rc = put_gap(m, source, &s->gaps[i], err);
		if (!rc && m->result.filled == filled && s->gaps[i].gap.id)
			rc = put_missed(m, source, s->gaps[i].gap.id, m->w->ids[TABLE_GAP], err);
	}
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
	int64_t begin_ns = merge_time(a, a->span.end_ns), listed_ns = first_list_ns(m, stream);
	struct tape_gap g = {.stream = stream,
		.begin_ns = begin_ns,
		.begin_seq = seq_at(m, begin_ns),
		.duration_ns = -1,
		.reason = "client_stop",
		.how_ended = "relist"};

	if (listed_ns == INT64_MAX || listed_ns <= begin_ns)
		return 0;
	g.end_ns = listed_ns;
	g.end_seq = seq_at(m, listed_ns);
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

static int put_pauses(struct merge *m, struct err *err)
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

/* ---- all ---- */

int merge_put_rows(struct merge *m, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < 2 && !rc; i++) {
		struct merge_source *s = &m->sources[i];
		struct row_walk walk = {m, s, err};

		if (!(rc = put_table(m, s, TABLE_CONNECTION, take_connection, err)) &&
			!(rc = put_table(m, s, TABLE_CLOCK, take_clock, err)) &&
			!(rc = put_table(m, s, TABLE_EPOCH, take_epoch, err)) &&
			!(rc = tape_each_document(s->tape, take_document, &walk, err)))
			rc = put_gaps(m, i, err);
	}
	return rc ? rc : put_pauses(m, err);
}

void merge_rows_release(struct merge *m)
{
	for (size_t i = 0; i < 2; i++) {
		struct merge_source *s = &m->sources[i];

		for (size_t k = 0; k < s->mark_count; k++) {
			free((char *)(uintptr_t)s->marks[k].mark.rv.ptr);
			free((char *)(uintptr_t)s->marks[k].mark.object.ptr);
		}
		release_gaps(s);
		free(s->marks);
		free(s->resources);
		free(s->streams);
		free(s->seqs);
		free(s->kept);
		coverage_free(s->coverage);
	}
	for (size_t i = 0; m->highest && i < m->w->registry.stream_count; i++)
		free(m->highest[i]);
	free(m->highest);
	free(m->listed);
}
