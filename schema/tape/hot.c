/* hot.c: see hot.h. */
#include "schema/tape/hot.h"

#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/base/varint.h"
#include "schema/tape/checksum.h"
#include "schema/tape/segment.h"

static int plain_name(struct slice *name, const char *what, struct buf *scratch, struct err *err)
{
	size_t at = scratch->len;
	int rc;

	if (name->len > LIMIT_NAME_BYTES)
		return err_set(err, ERR_TOO_LARGE, "%s of an object has %zu bytes, the maximum is %d", what,
			name->len, LIMIT_NAME_BYTES);
	if (name->len == 0 || !memchr(name->ptr, '\\', name->len))
		return 0;
	/* All at once: it is not to move while slices point into it. */
	rc = buf_reserve(scratch, HOT_SCRATCH_BYTES - scratch->len)
		     ? json_unescape(*name, scratch, err)
		     : err_set(err, ERR_TOO_LARGE, "no memory");
	if (rc)
		return err_prefix(err, rc, "%s of an object", what);
	*name = (struct slice){scratch->ptr + at, scratch->len - at};
	return 0;
}

int hot_identify_scanned(struct event *e, struct slice object, const struct object_meta *scanned,
	struct buf *scratch, struct err *err)
{
	struct object_meta meta = *scanned;
	int rc;

	if (object.len > LIMIT_OBJECT_BYTES)
		return err_set(err, ERR_TOO_LARGE, "object of %zu bytes exceeds the maximum of %u",
			object.len, LIMIT_OBJECT_BYTES);
	if (e->origin == ORIGIN_INFERRED && e->rv.len > LIMIT_NAME_BYTES)
		return err_set(err, ERR_TOO_LARGE, "resourceVersion of %zu bytes exceeds the maximum of %d",
			e->rv.len, LIMIT_NAME_BYTES);
	buf_clear(scratch);
	if ((rc = plain_name(&meta.namespace, "namespace", scratch, err)) ||
		(rc = plain_name(&meta.name, "name", scratch, err)) ||
		(rc = plain_name(&meta.uid, "uid", scratch, err)) ||
		(rc = plain_name(&meta.rv, "resourceVersion", scratch, err)))
		return rc;
	e->namespace = meta.namespace;
	e->name = meta.name;
	e->uid = meta.uid;
	if (e->origin != ORIGIN_INFERRED)
		e->rv = meta.rv;
	return 0;
}

int hot_identify(struct event *e, struct slice object, struct buf *scratch, struct err *err)
{
	struct object_meta meta;
	int rc = json_scan_object(object, &meta, err);

	if (rc)
		return rc;
	return hot_identify_scanned(e, object, &meta, scratch, err);
}

int hot_put_head(
	struct buf *raw, const struct event *e, size_t length, int64_t previous_time_ns, struct err *err)
{
	bool rv_given = e->origin == ORIGIN_INFERRED;
	uint8_t head[1 + 4 * VARINT_MAX_BYTES];
	size_t n = 0;
	int rc;

	head[n++] = (uint8_t)(head_of(e) | (rv_given ? HEAD_RV_GIVEN : 0));
	n += varint_put(head + n, e->stream);
	n += varint_put(head + n, zigzag(wrap_sub(e->time_ns, previous_time_ns)));
	n += varint_put(head + n, length);
	if (rv_given)
		n += varint_put(head + n, e->rv.len);
	rc = buf_append(raw, head, n, err);
	if (rc)
		return rc;
	return rv_given ? buf_append(raw, e->rv.ptr, e->rv.len, err) : 0;
}

void hot_reader_init(struct hot_reader *h)
{
	*h = (struct hot_reader){.extent = extent_new(), .frame = frame_reader_new()};
	buf_init(&h->scratch, HOT_SCRATCH_BYTES);
}

void hot_reader_release(struct hot_reader *h)
{
	extent_unref(h->extent);
	frame_reader_free(h->frame);
	buf_release(&h->scratch);
	*h = (struct hot_reader){0};
}

static bool take_slice(struct varint_reader *r, uint64_t len, struct slice *ret)
{
	if (r->failed || len > (uint64_t)(r->end - r->at))
		return false;
	*ret = (struct slice){(const char *)r->at, len};
	r->at += len;
	return true;
}

static int get_record(struct hot_reader *h, struct varint_reader *r, const struct registry *registry,
	struct event *e, struct err *err)
{
	const struct tape_stream *stream;
	struct slice object;
	uint64_t length, rv_length, stream_id;
	uint8_t head;
	int rc;

	if (r->at == r->end)
		return err_set(err, ERR_CORRUPT, "chunk ends before its last event");
	head = *r->at++;
	e->type = head & HEAD_TYPE_MASK;
	e->origin = (head & HEAD_ORIGIN_MASK) >> HEAD_ORIGIN_SHIFT;
	e->flags = head & HEAD_TYPED ? EVENT_TYPED : 0;
	stream_id = varint_get(r);
	e->time_ns = wrap_add(e->time_ns, unzigzag(varint_get(r)));
	length = varint_get(r);
	rv_length = head & HEAD_RV_GIVEN ? varint_get(r) : 0;
	stream = stream_id <= UINT32_MAX ? registry_stream(registry, (uint32_t)stream_id) : NULL;
	if (!take_slice(r, rv_length, &e->rv) || !take_slice(r, length, &object) || !stream ||
		!head_is_known(head) || rv_length > LIMIT_NAME_BYTES)
		return err_set(
			err, ERR_CORRUPT, "record of event %llu makes no sense", (unsigned long long)e->seq);
	e->stream = stream->id;
	e->resource = stream->resource;
	rc = hot_identify(e, object, &h->scratch, err);
	if (rc)
		return err_prefix(err, rc, "event %llu", (unsigned long long)e->seq);
	if (h->extent->bytes.len + extent_index_memory(h->extent) > LIMIT_HOT_BYTES)
		return err_set(err, ERR_TOO_LARGE, "hot extent exceeds %u bytes", LIMIT_HOT_BYTES);
	return extent_add_placed(h->extent, e, (size_t)(object.ptr - h->extent->bytes.ptr), object.len, err);
}

/* Those of a chunk that was decoded to the end of the extent's bytes. */
static int get_records(
	struct hot_reader *h, const struct registry *registry, const struct hot_chunk *chunk, struct err *err)
{
	const struct buf *bytes = &h->extent->bytes;
	const uint8_t *end = (const uint8_t *)bytes->ptr + bytes->len;
	struct varint_reader r = {end - chunk->raw_bytes, end, false};
	struct event e = {.time_ns = chunk->first_time_ns};

	if (h->extent->event_count && chunk->first_seq != extent_last_seq(h->extent) + 1)
		return err_set(err, ERR_CORRUPT, "found event %llu, expected %llu",
			(unsigned long long)chunk->first_seq,
			(unsigned long long)extent_last_seq(h->extent) + 1);
	if (chunk->events < 1 || chunk->events > LIMIT_EXTENT_EVENTS || !chunk->first_seq ||
		chunk->first_seq > FORMAT_SEQ_MAX)
		return err_set(err, ERR_CORRUPT, "claims %lld events from %llu", (long long)chunk->events,
			(unsigned long long)chunk->first_seq);
	for (int64_t i = 0; i < chunk->events; i++) {
		e.seq = chunk->first_seq + (uint64_t)i;
		if (get_record(h, &r, registry, &e, err))
			return ERR_CORRUPT;
	}
	return r.at == r.end ? 0 : err_set(err, ERR_CORRUPT, "chunk has bytes after its last event");
}

uint64_t hot_chunk_sum(const struct hot_chunk *chunk)
{
	const uint64_t numbers[] = {(uint64_t)chunk->id, (uint64_t)chunk->extent, chunk->first_seq,
		(uint64_t)chunk->events, (uint64_t)chunk->first_time_ns, (uint64_t)chunk->raw_bytes};
	char bytes[sizeof(numbers)];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(numbers[i / 8] >> (8 * (i % 8)));
	return codec_hash_two((struct slice){bytes, sizeof(bytes)}, chunk->data);
}

int hot_reader_take(
	struct hot_reader *h, const struct registry *registry, const struct hot_chunk *chunk, struct err *err)
{
	struct buf *bytes = &h->extent->bytes;
	int64_t room = (int64_t)LIMIT_HOT_BYTES - (int64_t)bytes->len;

	h->last_chunk = chunk->id;
	if (checksum_expect(hot_chunk_sum(chunk), chunk->xxh64, err))
		return ERR_CORRUPT;
	if (chunk->raw_bytes < 0 || chunk->raw_bytes > room)
		return err_set(err, ERR_CORRUPT, "claims %lld bytes, the maximum is %lld",
			(long long)chunk->raw_bytes, (long long)room);
	if (frame_reader_get(h->frame, chunk->data, (size_t)chunk->raw_bytes, bytes, err))
		return ERR_CORRUPT;
	return get_records(h, registry, chunk, err);
}

/* Columns: id, extent, first_seq, events, first_time_ns, raw_bytes, xxh64, data. */
static struct hot_chunk chunk_of(sqlite3_stmt *row)
{
	return (struct hot_chunk){
		.id = sqlite3_column_int64(row, 0),
		.extent = sqlite3_column_int64(row, 1),
		.first_seq = (uint64_t)sqlite3_column_int64(row, 2),
		.events = sqlite3_column_int64(row, 3),
		.first_time_ns = sqlite3_column_int64(row, 4),
		.raw_bytes = sqlite3_column_int64(row, 5),
		.xxh64 = (uint64_t)sqlite3_column_int64(row, 6),
		.data = {sqlite3_column_blob(row, 7), (size_t)sqlite3_column_bytes(row, 7)},
	};
}

int hot_reader_load(struct hot_reader *h, sqlite3 *db, int64_t extent_id, const struct registry *registry,
	struct err *err)
{
	sqlite3_stmt *rows;
	int step, rc = 0, count = 0;

	rc = segment_prepare(db,
		"SELECT id, extent, first_seq, events, first_time_ns, raw_bytes, xxh64, data FROM chunk "
		"WHERE extent = ? AND id > ? ORDER BY id",
		&rows, err);
	if (rc)
		return rc;
	sqlite3_bind_int64(rows, 1, extent_id);
	sqlite3_bind_int64(rows, 2, h->last_chunk);
	while (!rc && (step = sqlite3_step(rows)) == SQLITE_ROW) {
		struct hot_chunk chunk = chunk_of(rows);

		rc = hot_reader_take(h, registry, &chunk, err);
		if (rc)
			err_prefix(err, rc, "'%s' chunk %lld", sqlite3_db_filename(db, "main"),
				(long long)chunk.id);
		count += !rc;
	}
	if (!rc && step != SQLITE_DONE)
		rc = segment_failed(db, err, "cannot read '%s'", sqlite3_db_filename(db, "main"));
	sqlite3_finalize(rows);
	return rc ? rc : count;
}
