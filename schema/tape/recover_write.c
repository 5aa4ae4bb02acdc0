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

static const struct pack_options state_options = {.level = 1};

struct copy {
	struct recovery *r;
	struct tape_writer *w;
	uint64_t unflushed_bytes;
	size_t next_rescued;
	int64_t highest_mark, highest_document; /* copied so far: later segments repeat them */
	size_t next_run;                        /* of lost ones, to become gaps */
	int64_t last_time_ns, gap_id;
};

static int progress(struct recovery *r, uint64_t bytes, struct err *err)
{
	r->done_bytes += bytes;
	if (r->options->progress && r->options->progress(r->options->context, r->done_bytes, r->total_bytes))
		return err_set(err, ERR_STOPPED, "stopped before the tape was recovered");
	return 0;
}

/* ---- the state before the first event ---- */

static int put_state_extent(
	struct salvaged *s, const struct kept_extent *e, sqlite3 *db, int64_t id, struct err *err)
{
	struct extent_blocks *blocks = extent_blocks_new(s, e);
	struct extent *x = extent_new();
	int failed = 0;

	for (size_t i = 0; i < e->x->event_count && !failed; i++) {
		char rv[RV_TEXT_BYTES];
		struct slice object;
		struct event event;

		extent_event_get(e->x, i, rv, &event);
		if (extent_blocks_object(blocks, (uint32_t)i, &object))
			failed = extent_add(x, &event, object, err);
	}
	if (!failed && x->event_count)
		failed = extent_store(db, id, "state", x, &state_options, err);
	extent_blocks_free(blocks);
	extent_unref(x);
	return failed;
}

static int put_first_state(void *context, sqlite3 *db, int64_t *extent_id, struct err *err)
{
	struct recovery *r = context;
	struct salvaged *s = &r->segments[0];
	int failed;

	for (size_t i = 0; i < s->extent_count; i++) {
		const struct kept_extent *e = &s->extents[i];

		if (!e->is_state || !e->x || e->last_seq >= r->first_seq)
			continue;
		failed = put_state_extent(s, e, db, (*extent_id)++, err);
		if (failed)
			return failed;
	}
	return 0;
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

static void raise_id(struct row_ids *ids, enum table table, int64_t id)
{
	int64_t *const highest[TABLE_COUNT] = {
		[TABLE_CONNECTION] = &ids->connection,
		[TABLE_MARK] = &ids->mark,
		[TABLE_GAP] = &ids->gap,
		[TABLE_MISSED] = &ids->missed,
		[TABLE_CLOCK] = &ids->clock,
		[TABLE_EPOCH] = &ids->epoch,
		[TABLE_DOCUMENT] = &ids->document,
	};

	if (highest[table] && id > *highest[table])
		*highest[table] = id;
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
	raise_id(&c->w->ids, table, id);
	c->r->result.rows++;
}

/* A packed document gets a frame of its own; the new segment is packed when it is sealed. */
static void queue_document(
	struct copy *c, const struct salvaged *s, const struct kept_row *row, struct value *values)
{
	struct buf data;

	buf_init(&data, LIMIT_CHUNK_BYTES);
	if (codec_pack(salvage_document(s, row), 1, &data, NULL) == 0) {
		values[9] = value_integer((int64_t)codec_hash(buf_slice(&data)));
		values[10] = value_blob(buf_slice(&data));
		queue_row(c, row->table, values, row->id);
	}
	buf_release(&data);
}

static void copy_row(struct copy *c, const struct salvaged *s, const struct kept_row *row)
{
	struct value values[RAW_COLUMNS_MAX];

	if (is_copy(c, row))
		return;
	for (int i = 0; i < table_formats[row->table].column_count; i++) {
		values[i] = row->values[i];
		if (is_seq(row->table, i) && values[i].kind == VALUE_INTEGER && values[i].integer > 0)
			values[i].integer = (int64_t)recover_map(c->r, (uint64_t)values[i].integer);
	}
	if (row->table == TABLE_DOCUMENT && values[10].kind == VALUE_INTEGER)
		queue_document(c, s, row, values);
	else
		queue_row(c, row->table, values, row->id);
}

static void copy_rows(struct copy *c, const struct salvaged *s)
{
	const struct kept_row *before = NULL;

	for (size_t i = 0; i < s->row_count; i++) {
		const struct kept_row *row = &s->rows[i];
		bool again = before && before->table == row->table && before->id == row->id;

		if (row->unusable)
			continue;
		before = row;
		if (!again && row->table != TABLE_RESOURCE && row->table != TABLE_STREAM)
			copy_row(c, s, row);
	}
}

/* Every segment has the whole registry, so it is put in at once. Stream rows say when the stream began. */
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
		if (r->stream_rows[i].values)
			copy_row(c, NULL, &r->stream_rows[i]);
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

	if (tape_writer_gap(c->w, &gap, NULL) < 0)
		abort(); /* it cannot fail, see there */
}

/* The streams that events of a run were of, or all when nobody knows. */
static void add_gaps_of_run(struct copy *c, const struct lost_run *run, int64_t end_ns)
{
	uint64_t seq = recover_map(c->r, run->first);

	for (uint32_t id = 1; id <= c->w->registry.stream_count; id++) {
		bool affected = !run->extent || !run->extent->x;

		for (size_t i = affected ? 0 : extent_find_seq(run->extent->x, run->first);
			!affected && i < run->extent->x->event_count &&
			run->extent->x->events[i].seq <= run->last;
			i++)
			affected = run->extent->x->events[i].stream == id;
		if (affected)
			add_gap(c, id, seq, end_ns);
	}
}

static void add_gaps_before(struct copy *c, uint64_t old_seq, int64_t time_ns)
{
	while (c->next_run < c->r->run_count && c->r->runs[c->next_run].first < old_seq)
		add_gaps_of_run(c, &c->r->runs[c->next_run++], time_ns);
	c->last_time_ns = time_ns;
}

/* ---- events ---- */

static int put_event(struct copy *c, const struct event *e, struct slice object, struct err *err)
{
	uint64_t seq;
	int failed;

	add_gaps_before(c, e->seq, e->time_ns);
	failed = tape_writer_append(c->w, e, object, &seq, err);
	if (failed)
		return failed;
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

static int put_from(struct copy *c, struct extent_blocks *blocks, const struct kept_extent *e, uint32_t index,
	struct err *err)
{
	char rv[RV_TEXT_BYTES];
	struct slice object;
	struct event event;

	extent_event_get(e->x, index, rv, &event);
	if (!extent_blocks_object(blocks, index, &object))
		return err_set(err, ERR_CORRUPT, "event %llu could be read before, and now not",
			(unsigned long long)event.seq);
	return put_event(c, &event, object, err);
}

/* Those that stand in a later state, up to before `end`. */
static int put_rescued(struct copy *c, uint64_t end, struct err *err)
{
	struct recovery *r = c->r;

	for (; c->next_rescued < r->rescued_count && r->rescued[c->next_rescued].seq < end;
		c->next_rescued++) {
		const struct rescued *found = &r->rescued[c->next_rescued];
		struct salvaged *s = &r->segments[found->segment];
		struct extent_blocks *blocks = extent_blocks_new(s, &s->extents[found->extent]);
		int failed = put_from(c, blocks, &s->extents[found->extent], found->index, err);

		extent_blocks_free(blocks);
		if (failed)
			return failed;
	}
	return 0;
}

static int put_extent(struct copy *c, struct salvaged *s, const struct kept_extent *e, struct err *err)
{
	struct extent_blocks *blocks = extent_blocks_new(s, e);
	int failed = 0;

	for (size_t i = 0; i < e->x->event_count && !failed; i++) {
		failed = put_rescued(c, e->x->events[i].seq, err);
		if (!failed && !e->lost[i])
			failed = put_from(c, blocks, e, (uint32_t)i, err);
	}
	extent_blocks_free(blocks);
	return failed ? failed : progress(c->r, e->x->raw_bytes, err);
}

static int copy_segment(struct copy *c, size_t segment, struct err *err)
{
	struct salvaged *s = &c->r->segments[segment];
	bool last = segment + 1 == c->r->segment_count;
	int failed = 0;

	copy_rows(c, s);
	for (size_t i = 0; i < s->extent_count && !failed; i++) {
		if (!s->extents[i].is_state && s->extents[i].x)
			failed = put_extent(c, s, &s->extents[i], err);
	}
	if (!failed)
		failed = put_rescued(c, last ? UINT64_MAX : c->r->segments[segment + 1].first_seq, err);
	if (!failed && last)
		add_gaps_before(c, UINT64_MAX, c->last_time_ns);
	if (!failed && !last)
		tape_writer_rotate(c->w);
	c->unflushed_bytes = 0;
	return failed ? failed : tape_writer_flush(c->w, err);
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
	int failed;

	c->w->copying = true;
	c->w->seed = put_first_state;
	c->w->seed_context = c->r;
	c->w->last_seq = c->w->durable_seq = c->r->first_seq - 1;
	c->gap_id = highest_gap(c->r);
	copy_registry(c);
	for (size_t i = 0; i < c->r->segment_count; i++) {
		failed = copy_segment(c, i, err);
		if (failed)
			return failed;
	}
	return 0;
}

int recover_write(struct recovery *r, const char *to, struct err *err)
{
	struct tape_writer_options options = {.segment_bytes = UINT64_MAX, .program = r->options->program};
	struct copy c = {.r = r};
	struct tape_writer_stats stats;
	int failed = tape_writer_open(to, &options, &c.w, err);

	if (failed)
		return failed;
	failed = copy_all(&c, err);
	if (failed) {
		tape_writer_abandon(c.w);
		return failed;
	}
	tape_writer_stats(c.w, &stats);
	r->result.segments = stats.segments;
	return tape_writer_close(c.w, err);
}
