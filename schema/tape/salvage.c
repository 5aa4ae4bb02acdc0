/*
 * salvage.c: what is left of one segment: where its rows, blocks and chunks are, and which extents have an
 * index that is intact.
 */
#include "schema/tape/salvage.h"

#include "schema/base/limits.h"
#include "schema/tape/codec.h"
#include "schema/tape/documents.h"

#include <stdlib.h>

/* ---- taking rows ---- */

/* Which column of a table names a stream, or -1. */
static int stream_column(enum table table)
{
	switch (table) {
	case TABLE_CONNECTION: return 2;
	case TABLE_MARK: return 4;
	case TABLE_GAP: return 1;
	default: return -1;
	}
}

static uint32_t stream_of(const struct raw_row *row)
{
	int column = stream_column(row->table);
	const struct value *v = column < 0 ? NULL : &row->values[column];

	if (!v || v->kind == VALUE_NULL)
		return 0;
	if (v->kind != VALUE_INTEGER || v->integer < 0 || v->integer >= STREAM_STRANGE)
		return STREAM_STRANGE;
	return (uint32_t)v->integer;
}

static void keep_row(struct salvaged *s, const struct raw_row *row)
{
	if (row->id < 1 || row->id > FORMAT_ID_MAX) {
		s->strange_ids[row->table] = true;
		return;
	}
	s->rows = xgrow(s->rows, s->row_count, sizeof(*s->rows));
	s->rows[s->row_count] = (struct kept_row){.id = row->id,
		.place = row->place,
		.order = (uint32_t)s->row_count,
		.stream = stream_of(row),
		.table = (uint8_t)row->table};
	s->row_count++;
}

static void keep_meta(struct salvaged *s, const struct raw_row *row)
{
	const struct value *key = &row->values[0], *value = &row->values[1];

	if (!row->intact || key->kind != VALUE_TEXT || value->kind != VALUE_INTEGER)
		return;
	if (slice_is(key->bytes, "first_seq") && value->integer > 0 && value->integer <= FORMAT_SEQ_MAX)
		s->first_seq = (uint64_t)value->integer;
	if (slice_is(key->bytes, "state_complete"))
		s->has_state = value->integer != 0;
	if (slice_is(key->bytes, "state_segment"))
		s->base = value->integer;
}

static void keep_block(struct salvaged *s, const struct raw_row *row)
{
	s->blocks = xgrow(s->blocks, s->block_count, sizeof(*s->blocks));
	s->blocks[s->block_count++] =
		(struct kept_block){row->id, (uint32_t)row->values[2].integer, row->intact, row->place};
}

static void keep_chunk(struct salvaged *s, const struct raw_row *row)
{
	s->chunks = xgrow(s->chunks, s->chunk_count, sizeof(*s->chunks));
	s->chunks[s->chunk_count++] = (struct kept_chunk){row->id, row->values[1].integer, row->place};
}

static void keep_extent(struct salvaged *s, const struct raw_row *row)
{
	const struct value *v = row->values;

	if (row->id < 1 || row->id > EXTENT_ID_MAX || v[14].kind != VALUE_BLOB || v[10].integer < 0)
		return;
	s->extents = xgrow(s->extents, s->extent_count, sizeof(*s->extents));
	s->extents[s->extent_count] = (struct kept_extent){.id = row->id,
		.order = (uint32_t)s->extent_count,
		.place = row->place,
		.is_state = v[1].kind == VALUE_TEXT && slice_is(v[1].bytes, "state"),
		.is_intact = row->intact,
		.first_seq = (uint64_t)v[2].integer,
		.last_seq = (uint64_t)v[3].integer};
	s->extent_count++;
}

static struct document_body body_of(const struct raw_row *row)
{
	const struct value *v = row->values;

	return (struct document_body){
		.raw_bytes = v[8].integer,
		.xxh64 = (uint64_t)v[9].integer,
		.packed = v[10].kind != VALUE_BLOB,
		.offset = v[10].integer,
		.frame = v[10].bytes,
	};
}

/* A body has its own checksum, which speaks where nobody knows about the pages; its size has none. Of a
 * packed one both are looked at when the pack is known. */
static bool is_document_intact(const struct raw_row *row)
{
	struct document_body b = body_of(row);
	struct buf body;
	bool intact;

	if (!row->intact || b.packed)
		return row->intact && row->values[10].kind == VALUE_INTEGER;
	buf_init(&body, LIMIT_DOCUMENT_BYTES);
	intact = documents_append(&b, (struct slice){NULL, 0}, &body, NULL) == 0;
	buf_release(&body);
	return intact;
}

static bool append_pack(const struct raw_row *row, struct buf *to)
{
	struct document_body b = body_of(row);

	return !b.packed && documents_append(&b, (struct slice){NULL, 0}, to, NULL) == 0;
}

static void keep_document(struct salvaged *s, const struct raw_row *row)
{
	struct buf pack;

	if (row->id != DOCUMENTS_PACK_ID) {
		if (is_document_intact(row))
			keep_row(s, row);
		return;
	}
	if (s->has_pack)
		return;
	buf_init(&pack, LIMIT_DOCUMENT_BYTES);
	s->has_pack = append_pack(row, &pack);
	s->pack_place = row->place;
	buf_release(&pack);
}

void salvage_pack(struct salvaged *s, struct buf *to)
{
	struct raw_row row;

	if (s->has_pack && raw_read_row(s->db, s->pack_place, TABLE_DOCUMENT, &row))
		(void)append_pack(&row, to);
}

struct slice salvage_document(const struct raw_row *row, struct slice pack)
{
	struct document_body b = body_of(row);
	struct slice found = {NULL, 0};

	if (!b.packed || documents_find(pack, b.offset, b.raw_bytes, b.xxh64, &found, NULL))
		return (struct slice){NULL, 0};
	return found;
}

bool salvage_row(struct salvaged *s, const struct kept_row *row, struct raw_row *ret)
{
	return raw_read_row(s->db, row->place, (enum table)row->table, ret) && ret->id == row->id;
}

/* Packed documents without the pack are as good as lost, and so are those that share their bytes with others:
 * they lie side by side. */
static void mark_unusable_documents(struct salvaged *s)
{
	uint64_t claimed = 0;
	struct buf pack;

	buf_init(&pack, LIMIT_DOCUMENT_BYTES);
	salvage_pack(s, &pack);
	for (size_t i = 0; i < s->row_count; i++) {
		struct kept_row *kept = &s->rows[i];
		struct raw_row row = {0};

		if (kept->table != TABLE_DOCUMENT || !salvage_row(s, kept, &row) ||
			row.values[10].kind != VALUE_INTEGER)
			continue;
		claimed += row.values[8].integer > 0 ? (uint64_t)row.values[8].integer : 0;
		if (claimed > pack.len || !salvage_document(&row, buf_slice(&pack)).ptr)
			kept->fault = ROW_WITHOUT_ITS_PACK;
	}
	buf_release(&pack);
}

static int take_row(void *context, const struct raw_row *row)
{
	struct salvaged *s = context;

	switch (row->table) {
	case TABLE_META: keep_meta(s, row); break;
	case TABLE_BLOCK: keep_block(s, row); break;
	case TABLE_CHUNK: keep_chunk(s, row); break;
	case TABLE_EXTENT: keep_extent(s, row); break;
	case TABLE_DOCUMENT: keep_document(s, row); break;
	default:
		if (row->intact)
			keep_row(s, row);
	}
	return 0;
}

/* ---- order ---- */

static int compare_blocks(const void *left, const void *right)
{
	const struct kept_block *a = left, *b = right;

	return (a->id > b->id) - (a->id < b->id);
}

static int compare_chunks(const void *left, const void *right)
{
	const struct kept_chunk *a = left, *b = right;

	if (a->extent != b->extent)
		return a->extent < b->extent ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

static int compare_extents(const void *left, const void *right)
{
	const struct kept_extent *a = left, *b = right;

	if (a->is_state != b->is_state)
		return a->is_state ? -1 : 1;
	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

static int compare_rows(const void *left, const void *right)
{
	const struct kept_row *a = left, *b = right;

	if (a->table != b->table)
		return a->table < b->table ? -1 : 1;
	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

/* Of extents with one id the first one that was found counts. */
static void drop_second_extents(struct salvaged *s)
{
	size_t count = 0;

	for (size_t i = 0; i < s->extent_count; i++) {
		const struct kept_extent *before = count ? &s->extents[count - 1] : NULL;

		if (!before || before->id != s->extents[i].id || before->is_state != s->extents[i].is_state)
			s->extents[count++] = s->extents[i];
	}
	s->extent_count = count;
}

static void sort_all(struct salvaged *s)
{
	if (s->block_count)
		qsort(s->blocks, s->block_count, sizeof(*s->blocks), compare_blocks);
	if (s->chunk_count)
		qsort(s->chunks, s->chunk_count, sizeof(*s->chunks), compare_chunks);
	if (s->extent_count)
		qsort(s->extents, s->extent_count, sizeof(*s->extents), compare_extents);
	if (s->row_count)
		qsort(s->rows, s->row_count, sizeof(*s->rows), compare_rows);
	drop_second_extents(s);
}

const struct kept_row *salvage_find_row(const struct salvaged *s, enum table table, int64_t id)
{
	const struct kept_row wanted = {.table = (uint8_t)table, .id = id};
	size_t low = 0, high = s->row_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_rows(&s->rows[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < s->row_count && s->rows[low].table == table && s->rows[low].id == id; low++) {
		if (s->rows[low].fault == ROW_USABLE)
			return &s->rows[low];
	}
	return NULL;
}

int salvage_segment(const struct segment_file *file, struct salvaged *ret, struct err *err)
{
	struct salvaged s = {.file = *file};
	int rc;

	s.file.path = xstrdup(file->path);
	s.name = strrchr(s.file.path, '/') + 1;
	rc = raw_open(file->path, file->sealed, &s.db, err);
	if (rc) {
		salvaged_release(&s);
		return rc;
	}
	raw_each_row(s.db, take_row, &s);
	mark_unusable_documents(&s);
	sort_all(&s);
	raw_rest(s.db);
	*ret = s;
	return 0;
}

void salvaged_release(struct salvaged *s)
{
	for (size_t i = 0; i < s->extent_count; i++)
		lost_bits_free(s->extents[i].lost);
	free(s->rows);
	free(s->blocks);
	free(s->chunks);
	free(s->extents);
	raw_close(s->db);
	free(s->file.path);
}

/* ---- chunks ---- */

static struct hot_chunk chunk_of(const struct raw_row *row)
{
	const struct value *v = row->values;

	return (struct hot_chunk){
		.id = row->id,
		.extent = v[1].integer,
		.first_seq = (uint64_t)v[2].integer,
		.events = v[3].integer,
		.first_time_ns = v[4].integer,
		.raw_bytes = v[5].integer,
		.xxh64 = (uint64_t)v[6].integer,
		.data = v[7].bytes,
	};
}

static bool read_chunk(
	struct salvaged *s, const struct kept_chunk *kept, struct raw_row *row, struct hot_chunk *ret)
{
	if (!raw_read_row(s->db, kept->place, TABLE_CHUNK, row))
		return false;
	*ret = chunk_of(row);
	if (hot_chunk_sum(ret) == ret->xxh64 && ret->events > 0 && ret->events <= LIMIT_EXTENT_EVENTS &&
		ret->first_seq > 0 && ret->first_seq <= FORMAT_SEQ_MAX)
		return true;
	s->chunk_damaged = true;
	return false;
}

struct chunk_reader {
	struct hot_reader hot;
	uint64_t first_seq, behind; /* of the first intact chunk; after the last one */
};

/* Decodes chunks [begin, end), which are one hot extent's, until one is missing: the ones after it refer to
 * it. A row with a bad sum may say anything, also of where it belongs. */
static void decode_chunks(struct salvaged *s, size_t begin, size_t end, const struct registry *registry,
	struct chunk_reader *ret)
{
	bool broken = false;

	*ret = (struct chunk_reader){0};
	hot_reader_init(&ret->hot);
	for (size_t i = begin; i < end; i++) {
		struct raw_row row = {0};
		struct hot_chunk chunk;

		if (!read_chunk(s, &s->chunks[i], &row, &chunk))
			continue;
		broken = broken || hot_reader_take(&ret->hot, registry, &chunk, NULL);
		ret->behind = chunk.first_seq + (uint64_t)chunk.events;
		ret->first_seq = ret->first_seq ? ret->first_seq : chunk.first_seq;
	}
}

static struct kept_extent measure_chunks(
	struct salvaged *s, size_t begin, size_t end, const struct registry *registry)
{
	struct kept_extent kept = {
		.id = s->chunks[begin].extent, .is_hot = true, .chunk_begin = begin, .chunk_end = end};
	struct chunk_reader reader;

	decode_chunks(s, begin, end, registry, &reader);
	kept.first_seq = reader.first_seq;
	kept.last_seq = reader.first_seq - 1;
	if (reader.hot.extent->event_count) {
		kept.is_readable = true;
		kept.first_seq = extent_first_seq(reader.hot.extent);
		kept.last_seq = extent_last_seq(reader.hot.extent);
		kept.events = reader.hot.extent->event_count;
		kept.raw_bytes = reader.hot.extent->raw_bytes;
	}
	kept.hot_lost = reader.behind > kept.last_seq + 1 ? reader.behind - kept.last_seq - 1 : 0;
	hot_reader_release(&reader.hot);
	return kept;
}

static void settle_chunks(struct salvaged *s, const struct registry *registry)
{
	int64_t sealed = s->extent_count ? s->extents[s->extent_count - 1].id : 0;

	for (size_t i = 0, end; i < s->chunk_count; i = end) {
		struct kept_extent kept;

		for (end = i + 1; end < s->chunk_count && s->chunks[end].extent == s->chunks[i].extent;)
			end++;
		kept = measure_chunks(s, i, end, registry);
		if (kept.id <= sealed || (!kept.is_readable && !kept.hot_lost))
			continue; /* a copy on a page that is not used any more, or nothing */
		s->extents = xgrow(s->extents, s->extent_count, sizeof(*s->extents));
		s->extents[s->extent_count++] = kept;
	}
}

/* ---- extents ---- */

/* Columns: FORMAT.md's of table extent. */
static struct extent *unpack_row(const struct raw_row *row)
{
	const struct value *v = row->values;
	struct extent *x;

	if (v[14].kind != VALUE_BLOB || codec_hash(v[14].bytes) != (uint64_t)v[11].integer ||
		v[10].integer < 0 || unpack_index(v[14].bytes, (uint64_t)v[10].integer, &x, NULL))
		return NULL;
	return x;
}

struct extent *salvage_extent(
	struct salvaged *s, const struct kept_extent *e, const struct registry *registry)
{
	struct chunk_reader reader;
	struct raw_row row = {0};
	struct extent *x;

	if (!e->is_hot)
		return raw_read_row(s->db, e->place, TABLE_EXTENT, &row) ? unpack_row(&row) : NULL;
	decode_chunks(s, e->chunk_begin, e->chunk_end, registry, &reader);
	x = extent_ref(reader.hot.extent);
	hot_reader_release(&reader.hot);
	extent_sort(x);
	return x;
}

/* Events of resources or streams that nobody knows any more cannot be taken. */
static bool is_known(const struct extent *x, const struct registry *registry)
{
	for (size_t i = 0; i < x->event_count; i++) {
		const struct tape_stream *stream = registry_stream(registry, x->events[i].stream);

		if (!stream || stream->resource != x->objects[x->events[i].object].resource)
			return false;
	}
	return true;
}

static void settle_extent(struct salvaged *s, struct kept_extent *e, const struct registry *registry)
{
	struct extent *x = salvage_extent(s, e, registry);

	if (!x) {
		if (!e->is_intact)
			e->first_seq = e->last_seq = 0; /* what such a row says is worth nothing */
		return;
	}
	e->is_readable = x->event_count > 0 && is_known(x, registry);
	e->first_seq = extent_first_seq(x);
	e->last_seq = extent_last_seq(x);
	e->events = x->event_count;
	e->raw_bytes = x->raw_bytes;
	extent_unref(x);
}

static void refuse_unknown_streams(struct salvaged *s, const struct registry *registry)
{
	for (size_t i = 0; i < s->row_count; i++) {
		if (s->rows[i].stream && !registry_stream(registry, s->rows[i].stream))
			s->rows[i].fault = ROW_OF_NO_STREAM;
	}
}

void salvage_settle(struct salvaged *s, const struct registry *registry)
{
	refuse_unknown_streams(s, registry);
	for (size_t i = 0; i < s->extent_count; i++)
		settle_extent(s, &s->extents[i], registry);
	settle_chunks(s, registry);
	raw_rest(s->db);
}

/* ---- blocks ---- */

/* The first row of that id; a page that is not used any more may have another. */
static size_t find_block(const struct salvaged *s, int64_t id)
{
	size_t low = 0, high = s->block_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->blocks[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool opens_as(
	enum block_kind kind, const struct block_shape *shape, struct slice data, struct block **ret)
{
	return block_open_of(
		       shape->x, shape->index, kind, data, shape->events, shape->raw_bytes, ret, NULL) == 0;
}

/* A pack is named, bare or, in the first tapes, plain: its frame's checksum and length tell. */
static bool open_block(const struct block_shape *shape, struct slice data, struct block **ret)
{
	if (shape->is_chain)
		return opens_as(BLOCK_CHAIN, shape, data, ret);
	return opens_as(BLOCK_NAMED, shape, data, ret) || opens_as(BLOCK_BARE, shape, data, ret) ||
	       opens_as(BLOCK_PACK, shape, data, ret);
}

bool salvage_block(struct salvaged *s, int64_t extent, uint32_t number, const struct block_shape *shape,
	struct block **ret)
{
	int64_t id = block_id(extent, number);

	for (size_t i = find_block(s, id); i < s->block_count && s->blocks[i].id == id; i++) {
		struct raw_row row = {0};

		if (raw_read_row(s->db, s->blocks[i].place, TABLE_BLOCK, &row) &&
			row.values[5].kind == VALUE_BLOB && open_block(shape, row.values[5].bytes, ret))
			return true;
	}
	return false;
}
