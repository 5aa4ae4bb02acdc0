/*
 * reader_indexes.c: the decoded indexes and filters of sealed extents, those used last kept while there is
 * room. An extent that somebody holds a reference to outlives its place here.
 */
#include "schema/base/limits.h"
#include "schema/tape/checksum.h"
#include "schema/tape/reader_internal.h"

#include <stdlib.h>

#define FILTER_CACHE_BYTES (64u << 20)

/* What each costs beside its contents; so the lists below stay short enough to be searched. */
#define INDEX_FIXED_BYTES  (64u << 10)
#define FILTER_FIXED_BYTES (16u << 10)

/* ---- what is kept ---- */

static struct tape_extent *entry_of(struct tape *t, const struct kept_part *part)
{
	return part->is_state ? &t->states.items[part->index] : &t->events.items[part->index];
}

static struct kept_part part_of(const struct tape *t, const struct tape_extent *row)
{
	bool is_state = t->states.count && row >= t->states.items && row < t->states.items + t->states.count;

	return (struct kept_part){
		is_state, (size_t)(row - (is_state ? t->states.items : t->events.items)), 0};
}

static void reader_indexes_keep(
	struct tape *t, struct kept_parts *parts, const struct tape_extent *row, size_t bytes)
{
	parts->items = xgrow(parts->items, parts->count, sizeof(*parts->items));
	parts->items[parts->count] = part_of(t, row);
	parts->items[parts->count++].bytes = bytes;
	parts->bytes += bytes;
}

/* Takes the one used longest ago off the list; never the last one, which somebody is about to use. NULL when
 * there is no other. */
static struct tape_extent *take_oldest(struct tape *t, struct kept_parts *parts)
{
	size_t oldest = 0;
	struct tape_extent *row;

	if (parts->count < 2)
		return NULL;
	for (size_t i = 1; i + 1 < parts->count; i++) {
		if (entry_of(t, &parts->items[i])->used < entry_of(t, &parts->items[oldest])->used)
			oldest = i;
	}
	row = entry_of(t, &parts->items[oldest]);
	parts->bytes -= parts->items[oldest].bytes;
	memmove(&parts->items[oldest], &parts->items[oldest + 1],
		(parts->count - oldest - 1) * sizeof(*parts->items));
	parts->count--;
	return row;
}

static void keep_index(struct tape *t, struct tape_extent *row)
{
	struct tape_extent *oldest;

	reader_indexes_keep(t, &t->indexes, row, extent_index_memory(row->index) + INDEX_FIXED_BYTES);
	while (t->indexes.bytes > t->indexes_max_bytes && (oldest = take_oldest(t, &t->indexes))) {
		extent_unref(oldest->index);
		oldest->index = NULL;
	}
}

static void keep_filter(struct tape *t, struct tape_extent *row)
{
	struct tape_extent *oldest;

	reader_indexes_keep(
		t, &t->filters, row, row->filter_count * sizeof(*row->filter) + FILTER_FIXED_BYTES);
	while (t->filters.bytes + reader_excess(t) > FILTER_CACHE_BYTES &&
		(oldest = take_oldest(t, &t->filters))) {
		free(oldest->filter);
		oldest->filter = NULL;
	}
}

/* ---- indexes ---- */

static int check_against_row(const struct tape_extent *row, const struct extent *x, struct err *err)
{
	if (x->event_count == row->events && extent_first_seq(x) == row->first_seq &&
		extent_last_seq(x) == row->last_seq && x->raw_bytes == row->raw_bytes)
		return 0;
	return err_set(err, ERR_CORRUPT,
		"index: found %zu events from %llu to %llu, expected %llu from %llu to %llu", x->event_count,
		(unsigned long long)extent_first_seq(x), (unsigned long long)extent_last_seq(x),
		(unsigned long long)row->events, (unsigned long long)row->first_seq,
		(unsigned long long)row->last_seq);
}

/* Objects are sorted, so that the last one has the highest resource. */
static int check_names(const struct tape *t, const struct extent *x, struct err *err)
{
	if (x->object_count && !registry_resource(&t->registry, x->objects[x->object_count - 1].resource))
		return err_set(err, ERR_CORRUPT, "index: found resource %u, the tape has %zu",
			x->objects[x->object_count - 1].resource, t->registry.resource_count);
	for (size_t i = 0; i < x->event_count; i++) {
		const struct tape_stream *s = registry_stream(&t->registry, x->events[i].stream);

		if (!s || s->resource != x->objects[x->events[i].object].resource)
			return err_set(err, ERR_CORRUPT,
				"index: event %llu names stream %u, which is not one of its resource",
				(unsigned long long)x->events[i].seq, x->events[i].stream);
	}
	return 0;
}

/* Columns: index, index_raw_bytes, index_xxh64. */
static int decompress_index(sqlite3_stmt *columns, struct buf *raw, struct err *err)
{
	struct slice index = {sqlite3_column_blob(columns, 0), (size_t)sqlite3_column_bytes(columns, 0)};
	int64_t raw_bytes = sqlite3_column_int64(columns, 1);
	int rc = checksum_expect(codec_hash(index), (uint64_t)sqlite3_column_int64(columns, 2), err);

	if (rc)
		return err_prefix(err, rc, "index");
	return unpack_index_bytes(index, raw_bytes < 0 ? 0 : (uint64_t)raw_bytes, raw, err);
}

/* SQLite gives its copy back before the index is decoded. */
static int read_index(struct tape *t, const struct tape_extent *row, struct buf *raw, struct err *err)
{
	sqlite3_stmt *columns;
	int rc = reader_prepare(t, row->segment,
		"SELECT \"index\", index_raw_bytes, index_xxh64 FROM extent WHERE id = ?", &columns, err);

	if (rc)
		return rc;
	sqlite3_bind_int64(columns, 1, row->id);
	if (sqlite3_step(columns) == SQLITE_ROW)
		rc = decompress_index(columns, raw, err);
	else
		rc = segment_failed(sqlite3_db_handle(columns), err, "cannot read the index");
	sqlite3_finalize(columns);
	return rc;
}

static int decode_index(const struct tape *t, struct tape_extent *row, struct slice raw, struct err *err)
{
	struct extent *x;
	int rc = unpack_extent(raw, &x, err);

	if (rc)
		return rc;
	if ((rc = check_against_row(row, x, err)) || (rc = check_names(t, x, err))) {
		extent_unref(x);
		return rc;
	}
	row->index = x;
	return 0;
}

static void note_rvs(struct tape_extent *row)
{
	const struct extent *x = row->index;

	row->min_rv = UINT64_MAX;
	row->max_rv = 0;
	for (size_t i = 0; i < x->event_count; i++) {
		uint64_t rv = x->events[i].rv;

		row->min_rv = rv < row->min_rv ? rv : row->min_rv;
		row->max_rv = rv > row->max_rv ? rv : row->max_rv;
	}
	row->rvs_known = x->text_count == 0;
}

static int failed_at(const struct tape *t, const struct tape_extent *row, int failed, struct err *err)
{
	return err_prefix(
		err, failed, "'%s' extent %lld", t->segments[row->segment].file.path, (long long)row->id);
}

static int load_index(struct tape *t, struct tape_extent *row, struct err *err)
{
	struct buf raw;
	int rc;

	buf_init(&raw, LIMIT_INDEX_BYTES);
	rc = read_index(t, row, &raw, err);
	if (!rc)
		rc = decode_index(t, row, buf_slice(&raw), err);
	buf_release(&raw);
	if (rc)
		return failed_at(t, row, rc, err);
	note_rvs(row);
	keep_index(t, row);
	return 0;
}

int reader_extent(struct tape *t, struct tape_extent *row, struct extent **ret, struct err *err)
{
	int rc;

	if (row->hot) {
		extent_sort(row->hot->extent);
		*ret = row->hot->extent;
		return 0;
	}
	row->used = ++t->tick;
	if (!row->index && (rc = load_index(t, row, err)))
		return rc;
	*ret = row->index;
	return 0;
}

/* ---- filters ---- */

/* Columns: filter, filter_xxh64. */
static int decode_filter(sqlite3_stmt *columns, struct tape_extent *row, struct err *err)
{
	struct slice filter = {sqlite3_column_blob(columns, 0), (size_t)sqlite3_column_bytes(columns, 0)};
	int rc = checksum_expect(codec_hash(filter), (uint64_t)sqlite3_column_int64(columns, 1), err);

	if (rc)
		return err_prefix(err, rc, "filter");
	return filter_decode(filter, &row->filter, &row->filter_count, err);
}

static int load_filter(struct tape *t, struct tape_extent *row, struct err *err)
{
	sqlite3_stmt *columns;
	int rc = reader_prepare(
		t, row->segment, "SELECT filter, filter_xxh64 FROM extent WHERE id = ?", &columns, err);

	if (rc)
		return rc;
	sqlite3_bind_int64(columns, 1, row->id);
	if (sqlite3_step(columns) == SQLITE_ROW)
		rc = decode_filter(columns, row, err);
	else
		rc = segment_failed(sqlite3_db_handle(columns), err, "cannot read the filter");
	sqlite3_finalize(columns);
	if (rc)
		return failed_at(t, row, rc, err);
	keep_filter(t, row);
	return 0;
}

int reader_may_have(struct tape *t, struct tape_extent *row, uint32_t hash, bool *ret, struct err *err)
{
	int rc;

	*ret = true;
	if (row->hot || row->is_compact)
		return 0;
	row->used = ++t->tick;
	if (!row->filter && (rc = load_filter(t, row, err)))
		return rc;
	*ret = filter_has(row->filter, row->filter_count, hash);
	return 0;
}

void reader_forget_indexes(struct tape *t)
{
	for (size_t i = 0; i < t->indexes.count; i++) {
		struct tape_extent *row = entry_of(t, &t->indexes.items[i]);

		extent_unref(row->index);
		row->index = NULL;
	}
	for (size_t i = 0; i < t->filters.count; i++) {
		struct tape_extent *row = entry_of(t, &t->filters.items[i]);

		free(row->filter);
		row->filter = NULL;
	}
	reader_release_indexes(t);
}

void reader_release_indexes(struct tape *t)
{
	free(t->indexes.items);
	free(t->filters.items);
	t->indexes = t->filters = (struct kept_parts){0};
}
