/*
 * recover_write.c: the new tape, by the writer itself, segment by segment as in the old one. Rows keep their
 * ids, so that what names a connection or a gap stays right; what names a seq is mapped.
 */
#include "schema/base/limits.h"
#include "schema/tape/codec.h"
#include "schema/tape/extent_store.h"
#include "schema/tape/recover_internal.h"
#include "schema/tape/writer_internal.h"

#include <stdlib.h>

#define FLUSH_BYTES (8u << 20)

/* Gaps that are made of what is lost. */
#define GAPS_MAX 100000

static const struct pack_options state_options = {.effort = {.level = 1}};

struct copy {
	struct recovery *r;
	struct tape_writer *w;
	uint64_t unflushed_bytes;
	size_t next_rescued;
	int64_t highest_mark, highest_document; /* copied so far: later segments repeat them */
	struct lost_run next_run; /* the first one that is no gap yet; at UINT64_MAX when there is none */
	const struct span *run_span;
	struct extent *run_index; /* of that span's extent */
	int64_t last_time_ns, gap_id;
	size_t gaps_made;
	struct buf pack;               /* of the segment's documents */
	struct extent_objects *source; /* of rescued events */
	const struct kept_extent *source_extent;
};

static int progress(struct recovery *r, uint64_t bytes, struct err *err)
{
	r->done_bytes += bytes;
	if (r->options->progress && r->options->progress(r->options->context, r->done_bytes, r->total_bytes))
		return err_set(err, ERR_STOPPED, "stopped before the tape was recovered");
	return 0;
}

/* ---- the state before the first event ---- */

static int put_state_slice(const struct extent *from, const struct object_slice *slice, sqlite3 *db,
	int64_t *id, struct err *err)
{
	struct extent *x = extent_new();
	int rc = 0;

	for (uint32_t i = slice->begin; i < slice->end && !rc; i++) {
		struct slice object = object_slice_get(slice, i);
		char rv[RV_TEXT_BYTES];
		struct event event;

		extent_event_get(from, i, rv, &event);
		if (object.len)
			rc = extent_add(x, &event, object, err);
	}
	if (!rc && x->event_count)
		rc = extent_store(db, (*id)++, "state", x, &state_options, err);
	extent_unref(x);
	return rc;
}

static int put_state_extent(struct salvaged *s, const struct kept_extent *e, struct extent *x, sqlite3 *db,
	int64_t *id, struct err *err)
{
	struct extent_objects *objects = extent_objects_new(s, e, x);
	struct object_slice slice = {0};
	int rc = 0;

	for (uint32_t begin = 0; begin < x->event_count && !rc; begin = slice.end) {
		object_slice_read(&slice, objects, begin);
		rc = put_state_slice(x, &slice, db, id, err);
	}
	object_slice_release(&slice);
	extent_objects_free(objects);
	return rc;
}

static int put_first_state(void *context, sqlite3 *db, int64_t *extent_id, struct err *err)
{
	struct recovery *r = context;
	struct salvaged *s = &r->segments[0];
	int rc = 0;

	for (size_t i = 0; i < s->extent_count && !rc; i++) {
		const struct kept_extent *e = &s->extents[i];
		struct extent *x = e->is_state && e->is_readable && e->last_seq < r->first_seq
					   ? salvage_extent(s, e, &r->registry)
					   : NULL;

		rc = x ? put_state_extent(s, e, x, db, extent_id, err) : 0;
		extent_unref(x);
	}
	return rc;
}

/* ---- rows ---- */

/* Columns that hold a seq. */
static bool is_seq(enum table table, int column)
{
	switch (table) {
	case TABLE_STREAM: return column == 5;
	case TABLE_CONNECTION: return column == 1 || column == 13 || column == 14;
	case TABLE_GAP: return column == 2 || column == 3;
	case TABLE_MARK:
	case TABLE_CLOCK:
	case TABLE_EPOCH:
	case TABLE_DOCUMENT: return column == 1;
	default: return false;
	}
}

static void raise_id(struct tape_writer *w, enum table table, int64_t id)
{
	if (id > w->ids[table])
		w->ids[table] = id;
}

/* A segment begins with copies of the last marks and documents, which we have already. */
static bool is_copy(struct copy *c, const struct kept_row *row)
{
	int64_t *highest = row->table == TABLE_MARK       ? &c->highest_mark
			   : row->table == TABLE_DOCUMENT ? &c->highest_document
							  : NULL;

	if (!highest)
		return false;
	if (row->id <= *highest)
		return true;
	*highest = row->id;
	return false;
}

static void queue_row(struct copy *c, enum table table, const struct value *values, int64_t id)
{
	row_queue_add(c->w->rows, table, values);
	raise_id(c->w, table, id);
	c->r->result.rows++;
}

/* A packed document gets a frame of its own; the new segment is packed when it is sealed. */
static void queue_document(struct copy *c, const struct raw_row *row, struct value *values)
{
	struct buf data;

	buf_init(&data, LIMIT_CHUNK_BYTES);
	if (codec_pack(salvage_document(row, buf_slice(&c->pack)), 1, &data, NULL) == 0) {
		values[9] = value_integer((int64_t)codec_hash(buf_slice(&data)));
		values[10] = value_blob(buf_slice(&data));
		queue_row(c, row->table, values, row->id);
	}
	buf_release(&data);
}

static void queue_mapped(struct copy *c, const struct raw_row *row)
{
	struct value values[RAW_COLUMNS_MAX];

	for (int i = 0; i < table_formats[row->table].column_count; i++) {
		values[i] = row->values[i];
		if (is_seq(row->table, i) && values[i].kind == VALUE_INTEGER && values[i].integer > 0)
			values[i].integer = (int64_t)recover_map(c->r, (uint64_t)values[i].integer);
	}
	if (row->table == TABLE_DOCUMENT && values[10].kind == VALUE_INTEGER)
		queue_document(c, row, values);
	else
		queue_row(c, row->table, values, row->id);
}

/* Rows that wait are in memory. */
static int flush_rows(struct copy *c, struct err *err)
{
	return row_queue_bytes(c->w->rows) < FLUSH_BYTES ? 0 : tape_writer_flush(c->w, err);
}

static int copy_rows(struct copy *c, struct salvaged *s, struct err *err)
{
	const struct kept_row *before = NULL;
	int rc = 0;

	for (size_t i = 0; i < s->row_count && !rc; i++) {
		const struct kept_row *kept = &s->rows[i];
		bool again = before && before->table == kept->table && before->id == kept->id;
		struct raw_row row;

		if (kept->fault != ROW_USABLE)
			continue;
		before = kept;
		if (again || kept->table == TABLE_RESOURCE || kept->table == TABLE_STREAM ||
			is_copy(c, kept) || !salvage_row(s, kept, &row))
			continue;
		queue_mapped(c, &row);
		rc = flush_rows(c, err);
	}
	return rc;
}

static int copy_rows_and_documents(struct copy *c, struct salvaged *s, struct err *err)
{
	int rc;

	buf_init(&c->pack, LIMIT_DOCUMENT_BYTES);
	salvage_pack(s, &c->pack);
	rc = copy_rows(c, s, err);
	buf_release(&c->pack);
	return rc;
}

/* The first segment that has the stream's row says when it began. */
static void copy_stream_row(struct copy *c, int64_t id)
{
	for (size_t i = 0; i < c->r->segment_count; i++) {
		const struct kept_row *kept = salvage_find_row(&c->r->segments[i], TABLE_STREAM, id);
		struct raw_row row;

		if (!kept)
			continue;
		if (salvage_row(&c->r->segments[i], kept, &row))
			queue_mapped(c, &row);
		return;
	}
}

/* Every segment has the whole registry, so it is put in at once. */
static void copy_registry(struct copy *c)
{
	struct recovery *r = c->r;

	for (size_t i = 0; i < r->registry.resource_count; i++) {
		uint32_t id;

		if (tape_writer_resource(c->w, &r->registry.resources[i], &id, NULL) < 0)
			abort(); /* it cannot fail, see there */
	}
	for (size_t i = 0; i < r->registry.stream_count; i++) {
		registry_add_stream(&c->w->registry, &r->registry.streams[i]);
		copy_stream_row(c, (int64_t)i + 1);
	}
}

/* ---- lost runs as gaps ---- */

static void add_gap(struct copy *c, uint32_t stream, uint64_t seq, int64_t end_ns)
{
	struct tape_gap gap = {
		.id = (uint64_t)++c->gap_id,
		.stream = stream,
		.begin_seq = seq,
		.end_seq = seq,
		.begin_ns = c->last_time_ns,
		.end_ns = end_ns,
		.duration_ns = -1,
		.reason = "lost",
		.how_ended = "recovered",
	};

	c->gaps_made++;
	if (tape_writer_gap(c->w, &gap, NULL) < 0)
		abort(); /* it cannot fail, see there */
}

/* The streams that events of a run were of, or all when nobody knows. */
static void mark_affected(const struct copy *c, const struct lost_run *run, bool *affected)
{
	const struct extent *x = c->run_index;

	if (!run->span->extent || !x) {
		memset(affected, true, c->w->registry.stream_count);
		return;
	}
	for (uint64_t seq = run->first; seq <= run->last; seq++)
		affected[x->events[seq - run->span->first].stream - 1] = true;
}

/* Decodes the index of the run's extent, which the next runs are likely to be of, too. */
static void find_index(struct copy *c, const struct lost_run *run)
{
	if (!run->span->extent || c->run_span == run->span)
		return;
	extent_unref(c->run_index);
	c->run_span = run->span;
	c->run_index =
		salvage_extent(&c->r->segments[run->span->segment], run->span->extent, &c->r->registry);
}

static void add_gaps_of_run(struct copy *c, const struct lost_run *run, int64_t end_ns)
{
	size_t streams = c->w->registry.stream_count;
	bool *affected = xcalloc(streams, sizeof(*affected));
	uint64_t seq = recover_map(c->r, run->first);

	find_index(c, run);
	mark_affected(c, run, affected);
	for (uint32_t i = 0; i < streams; i++) {
		if (affected[i])
			add_gap(c, i + 1, seq, end_ns);
	}
	free(affected);
}

static void find_next_run(struct copy *c, uint64_t seq)
{
	if (!recover_next_run(c->r, seq, &c->next_run))
		c->next_run = (struct lost_run){.first = UINT64_MAX};
}

/* Where there are more lost runs than anybody will look at, the last one stands for those that follow. */
static int add_gaps_before(struct copy *c, uint64_t old_seq, int64_t time_ns, struct err *err)
{
	int rc = 0;

	while (!rc && c->gaps_made < GAPS_MAX && c->next_run.first < old_seq) {
		add_gaps_of_run(c, &c->next_run, time_ns);
		find_next_run(c, c->next_run.last + 1);
		rc = flush_rows(c, err);
	}
	c->last_time_ns = time_ns;
	return rc;
}

/* Nobody knows which objects lived when the first event came, until the tape ends. */
static int add_gaps_of_state(struct copy *c, const struct event *first, struct err *err)
{
	struct tape_gap gap = {
		.begin_seq = recover_map(c->r, first->seq) - 1,
		.begin_ns = first->time_ns,
		.duration_ns = -1,
		.reason = "state_lost",
		.how_ended = "open",
	};
	int rc = 0;

	for (uint32_t i = 0; i < c->w->registry.stream_count && !rc; i++) {
		gap.id = (uint64_t)++c->gap_id;
		gap.stream = i + 1;
		rc = tape_writer_gap(c->w, &gap, err);
	}
	return rc;
}

/* ---- events ---- */

static int put_event(struct copy *c, const struct event *e, struct slice object, struct err *err)
{
	uint64_t seq;
	int rc;

	rc = add_gaps_before(c, e->seq, e->time_ns, err);
	if (!rc && c->r->result.state_unknown && !c->r->result.events)
		rc = add_gaps_of_state(c, e, err);
	if (rc)
		return rc;
	rc = tape_writer_append(c->w, e, object, &seq, err);
	if (rc)
		return rc;
	if (seq != recover_map(c->r, e->seq))
		return err_set(err, ERR_FAILED, "event %llu became %llu, expected %llu",
			(unsigned long long)e->seq, (unsigned long long)seq,
			(unsigned long long)recover_map(c->r, e->seq));
	c->r->result.events++;
	c->unflushed_bytes += object.len;
	if (c->unflushed_bytes < FLUSH_BYTES)
		return 0;
	c->unflushed_bytes = 0;
	return tape_writer_flush(c->w, err);
}

static int lost_since(uint64_t seq, struct err *err)
{
	return err_set(
		err, ERR_CORRUPT, "event %llu could be read before, and now not", (unsigned long long)seq);
}

static void forget_source(struct copy *c)
{
	extent_objects_free(c->source);
	c->source = NULL;
}

/* The objects of the state that it was found in. */
static struct extent_objects *source_of(struct copy *c, const struct rescued *found)
{
	struct salvaged *s = &c->r->segments[found->segment];
	const struct kept_extent *e = &s->extents[found->extent];
	struct extent *x;

	if (c->source && c->source_extent == e)
		return c->source;
	forget_source(c);
	x = salvage_extent(s, e, &c->r->registry);
	c->source = x && found->index < x->event_count ? extent_objects_new(s, e, x) : NULL;
	c->source_extent = e;
	extent_unref(x);
	return c->source;
}

static int put_rescued_event(struct copy *c, const struct rescued *found, struct err *err)
{
	struct extent_objects *objects = source_of(c, found);
	char rv[RV_TEXT_BYTES];
	struct slice object;
	struct event event;

	if (!objects || !extent_objects_get(objects, found->index, &object))
		return lost_since(found->seq, err);
	extent_event_get(extent_objects_index(objects), found->index, rv, &event);
	return put_event(c, &event, object, err);
}

/* Those that stand in a later state, up to before `end`. */
static int put_rescued(struct copy *c, uint64_t end, struct err *err)
{
	const struct recovery *r = c->r;
	int rc = 0;

	while (!rc && c->next_rescued < r->rescued_count && r->rescued[c->next_rescued].seq < end)
		rc = put_rescued_event(c, &r->rescued[c->next_rescued++], err);
	return rc;
}

static int put_slice(struct copy *c, const struct kept_extent *e, const struct extent *x,
	const struct object_slice *slice, struct err *err)
{
	int rc = 0;

	for (uint32_t i = slice->begin; i < slice->end && !rc; i++) {
		struct slice object = object_slice_get(slice, i);
		char rv[RV_TEXT_BYTES];
		struct event event;

		rc = put_rescued(c, x->events[i].seq, err);
		if (rc || lost_bits_has(e->lost, i))
			continue;
		extent_event_get(x, i, rv, &event);
		rc = object.len ? put_event(c, &event, object, err) : lost_since(event.seq, err);
	}
	return rc;
}

static int put_objects(
	struct copy *c, struct salvaged *s, const struct kept_extent *e, struct extent *x, struct err *err)
{
	struct extent_objects *objects = extent_objects_new(s, e, x);
	struct object_slice slice = {0};
	int rc = 0;

	for (uint32_t begin = 0; begin < x->event_count && !rc; begin = slice.end) {
		object_slice_read(&slice, objects, begin);
		rc = put_slice(c, e, x, &slice, err);
	}
	object_slice_release(&slice);
	extent_objects_free(objects);
	return rc;
}

static int put_extent(struct copy *c, struct salvaged *s, const struct kept_extent *e, struct err *err)
{
	struct extent *x = salvage_extent(s, e, &c->r->registry);
	int rc = x && x->event_count == e->events ? put_objects(c, s, e, x, err)
						  : lost_since(e->first_seq, err);

	extent_unref(x);
	return rc ? rc : progress(c->r, e->raw_bytes, err);
}

static int copy_segment(struct copy *c, size_t segment, struct err *err)
{
	struct salvaged *s = &c->r->segments[segment];
	bool last = segment + 1 == c->r->segment_count;
	int rc = copy_rows_and_documents(c, s, err);

	for (size_t i = 0; i < s->extent_count && !rc; i++) {
		if (!s->extents[i].is_state && s->extents[i].is_readable)
			rc = put_extent(c, s, &s->extents[i], err);
	}
	if (!rc)
		rc = put_rescued(c, last ? UINT64_MAX : c->r->segments[segment + 1].first_seq, err);
	if (!rc && last)
		rc = add_gaps_before(c, UINT64_MAX, c->last_time_ns, err);
	if (!rc && !last)
		tape_writer_rotate(c->w);
	c->unflushed_bytes = 0;
	raw_rest(s->db);
	return rc ? rc : tape_writer_flush(c->w, err);
}

static int64_t highest_gap(const struct recovery *r)
{
	int64_t highest = 0;

	for (size_t i = 0; i < r->segment_count; i++) {
		for (size_t k = 0; k < r->segments[i].row_count; k++) {
			const struct kept_row *row = &r->segments[i].rows[k];

			if (row->table == TABLE_GAP && row->id > highest)
				highest = row->id;
		}
	}
	return highest;
}

static int copy_all(struct copy *c, struct err *err)
{
	int rc;

	c->w->copying = true;
	c->w->seed = put_first_state;
	c->w->seed_context = c->r;
	c->w->last_seq = c->w->durable_seq = c->r->first_seq - 1;
	c->gap_id = highest_gap(c->r);
	find_next_run(c, 0);
	copy_registry(c);
	for (size_t i = 0; i < c->r->segment_count; i++) {
		rc = copy_segment(c, i, err);
		if (rc)
			return rc;
	}
	return 0;
}

int recover_write(struct recovery *r, const char *to, struct err *err)
{
	struct tape_writer_options options = {.segment_bytes = UINT64_MAX, .program = r->options->program};
	struct copy c = {.r = r};
	struct tape_writer_stats stats;
	int rc = tape_writer_open(to, &options, &c.w, err);

	if (rc)
		return rc;
	rc = copy_all(&c, err);
	forget_source(&c);
	extent_unref(c.run_index);
	if (rc) {
		tape_writer_abandon(c.w);
		return rc;
	}
	tape_writer_stats(c.w, &stats);
	r->result.segments = stats.segments;
	return tape_writer_close(c.w, err);
}
