/* salvage.c: what is left of one segment: rows that are intact, extents whose index
 * is, and where blocks are. */
#include "schema/base/limits.h"
#include "schema/tape/codec.h"
#include "schema/tape/documents.h"
#include "schema/tape/recover_internal.h"

#include <stdlib.h>

/* ---- taking rows ---- */

static void keep_row(struct salvaged *s, const struct raw_row *row)
{
	size_t bytes = (size_t)row->column_count * sizeof(struct value);
	struct kept_row kept = {.table = row->table, .id = row->id, .order = s->row_count};
	char *at;

	for (int i = 0; i < row->column_count; i++)
		bytes += row->values[i].bytes.len;
	kept.values = xmalloc(bytes);
	at = (char *)&kept.values[row->column_count];
	for (int i = 0; i < row->column_count; i++) {
		kept.values[i] = row->values[i];
		if (row->values[i].kind < VALUE_TEXT)
			continue;
		if (row->values[i].bytes.len)
			memcpy(at, row->values[i].bytes.ptr, row->values[i].bytes.len);
		kept.values[i].bytes.ptr = at;
		at += row->values[i].bytes.len;
	}
	s->rows = room_for_one(s->rows, s->row_count, sizeof(*s->rows));
	s->rows[s->row_count++] = kept;
}

static void keep_meta(struct salvaged *s, const struct raw_row *row)
{
	const struct value *key = &row->values[0], *value = &row->values[1];

	if (!row->intact || key->kind != VALUE_TEXT || value->kind != VALUE_INTEGER)
		return;
	if (slice_is(key->bytes, "first_seq") && value->integer > 0)
		s->first_seq = (uint64_t)value->integer;
	if (slice_is(key->bytes, "state_complete"))
		s->has_state = value->integer != 0;
}

static void keep_block(struct salvaged *s, const struct raw_row *row)
{
	s->blocks = room_for_one(s->blocks, s->block_count, sizeof(*s->blocks));
	s->blocks[s->block_count++] =
		(struct kept_block){row->id, (uint32_t)row->values[2].integer, row->intact, row->place};
}

static void keep_chunk(struct salvaged *s, const struct raw_row *row)
{
	s->chunks = room_for_one(s->chunks, s->chunk_count, sizeof(*s->chunks));
	s->chunks[s->chunk_count++] = (struct kept_chunk){row->id, row->values[1].integer, row->place};
}

static bool has_extent(const struct salvaged *s, int64_t id)
{
	for (size_t i = 0; i < s->extent_count; i++) {
		if (s->extents[i].id == id)
			return true;
	}
	return false;
}

static void keep_extent(struct salvaged *s, const struct raw_row *row)
{
	const struct value *v = row->values;
	uint64_t expected = (uint64_t)v[11].integer;
	struct kept_extent kept = {.id = row->id,
		.is_state = v[1].kind == VALUE_TEXT && slice_is(v[1].bytes, "state"),
		.first_seq = (uint64_t)v[2].integer,
		.last_seq = (uint64_t)v[3].integer};

	if (has_extent(s, row->id) || row->id < 1 || row->id > EXTENT_ID_MAX || v[14].kind != VALUE_BLOB ||
		v[10].integer < 0)
		return;
	if (codec_hash(v[14].bytes) == expected &&
		unpack_index(v[14].bytes, (uint64_t)v[10].integer, &kept.x, NULL) == 0) {
		kept.first_seq = extent_first_seq(kept.x);
		kept.last_seq = extent_last_seq(kept.x);
	} else if (!row->intact) {
		kept.x = NULL;
		kept.first_seq = kept.last_seq = 0; /* what such a row says is worth nothing */
	}
	s->extents = room_for_one(s->extents, s->extent_count, sizeof(*s->extents));
	s->extents[s->extent_count++] = kept;
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

static void keep_document(struct salvaged *s, const struct raw_row *row)
{
	struct document_body b = body_of(row);

	if (row->id > 0 && row->id <= FORMAT_ID_MAX && is_document_intact(row))
		keep_row(s, row);
	if (row->id != DOCUMENTS_PACK_ID || b.packed || s->documents.len)
		return;
	if (documents_append(&b, (struct slice){NULL, 0}, &s->documents, NULL))
		buf_clear(&s->documents);
}

struct slice salvage_document(const struct salvaged *s, const struct kept_row *row)
{
	const struct value *v = row->values;
	struct slice found = {NULL, 0};

	if (documents_find(buf_slice(&s->documents), v[10].integer, v[8].integer, (uint64_t)v[9].integer,
		    &found, NULL))
		return (struct slice){NULL, 0};
	return found;
}

/* Packed documents without the pack are as good as lost. */
static void mark_unusable_documents(struct salvaged *s)
{
	for (size_t i = 0; i < s->row_count; i++) {
		struct kept_row *row = &s->rows[i];

		if (row->table == TABLE_DOCUMENT && row->values[10].kind == VALUE_INTEGER &&
			!salvage_document(s, row).ptr)
			row->unusable = "the pack of documents is damaged";
	}
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
		if (row->intact && row->id > 0 && row->id <= FORMAT_ID_MAX)
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
	return (a->id > b->id) - (a->id < b->id);
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
}

int salvage_segment(const struct segment_file *file, struct salvaged *ret, struct err *err)
{
	struct salvaged s = {.file = *file};
	int failed;

	s.file.path = xstrdup(file->path);
	s.name = strrchr(s.file.path, '/') + 1;
	buf_init(&s.documents, LIMIT_DOCUMENT_BYTES);
	failed = raw_open(file->path, file->sealed, &s.db, err);
	if (failed) {
		salvaged_release(&s);
		return failed;
	}
	raw_each_row(s.db, take_row, &s);
	mark_unusable_documents(&s);
	sort_all(&s);
	*ret = s;
	return 0;
}

void salvaged_release(struct salvaged *s)
{
	for (size_t i = 0; i < s->row_count; i++)
		free(s->rows[i].values);
	for (size_t i = 0; i < s->extent_count; i++) {
		extent_unref(s->extents[i].x);
		free(s->extents[i].lost);
	}
	buf_release(&s->documents);
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
	if (hot_chunk_sum(ret) == ret->xxh64 && ret->events > 0 && ret->events <= LIMIT_EXTENT_EVENTS)
		return true;
	s->chunk_damaged = true;
	return false;
}

/* Decodes chunks [begin, end), which are one hot extent's, until one is missing: the ones behind it refer to
 * it. A row with a bad sum may say anything, also of where it belongs. */
static struct kept_extent decode_chunks(
	struct salvaged *s, size_t begin, size_t end, const struct registry *registry)
{
	struct kept_extent kept = {.id = s->chunks[begin].extent, .is_hot = true};
	uint64_t behind = 0; /* the seq behind the last intact chunk */
	struct hot_reader hot;
	bool broken = false;

	hot_reader_init(&hot);
	for (size_t i = begin; i < end; i++) {
		struct raw_row row = {0};
		struct hot_chunk chunk;

		if (!read_chunk(s, &s->chunks[i], &row, &chunk))
			continue;
		broken = broken || hot_reader_take(&hot, registry, &chunk, NULL);
		behind = chunk.first_seq + (uint64_t)chunk.events;
		kept.first_seq = kept.first_seq ? kept.first_seq : chunk.first_seq;
	}
	kept.last_seq = kept.first_seq - 1;
	if (hot.extent->event_count) {
		kept.x = extent_ref(hot.extent);
		kept.first_seq = extent_first_seq(kept.x);
		kept.last_seq = extent_last_seq(kept.x);
	}
	kept.hot_lost = behind > kept.last_seq + 1 ? behind - kept.last_seq - 1 : 0;
	hot_reader_release(&hot);
	return kept;
}

void salvage_chunks(struct salvaged *s, const struct registry *registry)
{
	int64_t sealed = s->extent_count ? s->extents[s->extent_count - 1].id : 0;

	for (size_t i = 0, end; i < s->chunk_count; i = end) {
		struct kept_extent kept;

		for (end = i + 1; end < s->chunk_count && s->chunks[end].extent == s->chunks[i].extent;)
			end++;
		kept = decode_chunks(s, i, end, registry);
		if (s->chunks[i].extent <= sealed || (!kept.x && !kept.hot_lost)) {
			extent_unref(kept.x); /* a copy on a page that is not used any more */
			continue;
		}
		s->extents = room_for_one(s->extents, s->extent_count, sizeof(*s->extents));
		s->extents[s->extent_count++] = kept;
	}
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

/* A pack is named or, in the first tapes, plain: its frame's checksum tells. */
static bool open_block(const struct block_shape *shape, struct slice data, struct block **ret)
{
	if (shape->is_chain)
		return opens_as(BLOCK_CHAIN, shape, data, ret);
	return opens_as(BLOCK_NAMED, shape, data, ret) || opens_as(BLOCK_PACK, shape, data, ret);
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
