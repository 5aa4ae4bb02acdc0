/* documents.c: see documents.h. */
#include "schema/tape/documents.h"

#include "schema/base/limits.h"
#include "schema/tape/checksum.h"
#include "schema/tape/codec.h"
#include "schema/tape/format.h"
#include "schema/tape/pod_log.h"
#include "schema/tape/segment.h"

/* What holds where the next segment begins. Logs are about a moment, and stay in the segment of it. */
#define NEWEST "(SELECT max(id) FROM document WHERE id > 0 AND NOT " POD_LOG_SQL " GROUP BY path, variant)"

int documents_find(struct slice pack, int64_t offset, int64_t raw_bytes, uint64_t xxh64, struct slice *ret,
	struct err *err)
{
	struct slice found;

	if (offset < 0 || raw_bytes < 0 || (uint64_t)offset > pack.len ||
		(uint64_t)raw_bytes > pack.len - (uint64_t)offset)
		return err_set(err, ERR_CORRUPT, "%lld bytes at %lld are not in a pack of %zu",
			(long long)raw_bytes, (long long)offset, pack.len);
	found = (struct slice){pack.ptr + offset, (size_t)raw_bytes};
	if (checksum_expect(codec_hash(found), xxh64, err))
		return ERR_CORRUPT;
	*ret = found;
	return 0;
}

struct document_body documents_body(sqlite3_stmt *row, int first)
{
	struct document_body b = {
		.raw_bytes = sqlite3_column_int64(row, first),
		.xxh64 = (uint64_t)sqlite3_column_int64(row, first + 1),
		.packed = sqlite3_column_type(row, first + 2) == SQLITE_INTEGER,
	};

	if (b.packed)
		b.offset = sqlite3_column_int64(row, first + 2);
	else
		b.frame = (struct slice){
			sqlite3_column_blob(row, first + 2), (size_t)sqlite3_column_bytes(row, first + 2)};
	return b;
}

int documents_append(const struct document_body *b, struct slice pack, struct buf *to, struct err *err)
{
	struct slice found;

	if (b->packed) {
		int rc = documents_find(pack, b->offset, b->raw_bytes, b->xxh64, &found, err);

		return rc ? rc : buf_append(to, found.ptr, found.len, err);
	}
	if (b->raw_bytes < 0)
		return err_set(err, ERR_CORRUPT, "found a size of %lld bytes", (long long)b->raw_bytes);
	if (checksum_expect(codec_hash(b->frame), b->xxh64, err))
		return ERR_CORRUPT;
	return codec_unpack(b->frame, (size_t)b->raw_bytes, to, err);
}

/* Packed documents lie side by side: places that overlap could name the same bytes a million times. */
static int check_places(sqlite3 *db, int64_t pack_bytes, struct err *err)
{
	int64_t claimed;
	int rc = segment_number(db,
		"SELECT total(max(raw_bytes, 0)) FROM document WHERE id > 0 AND typeof(body) = 'integer'", 0,
		&claimed, err);

	if (rc || claimed <= pack_bytes)
		return rc;
	return err_set(err, ERR_CORRUPT, "found %lld bytes of documents in a pack of %lld",
		(long long)claimed, (long long)pack_bytes);
}

int documents_unpack(sqlite3 *db, struct buf *to, struct err *err)
{
	sqlite3_stmt *row;
	int step, rc = segment_prepare(
			  db, "SELECT raw_bytes, xxh64, body FROM document WHERE id = 0", &row, err);

	if (rc)
		return rc;
	step = sqlite3_step(row);
	if (step == SQLITE_ROW) {
		struct document_body pack = documents_body(row, 0);

		rc = documents_append(&pack, (struct slice){NULL, 0}, to, err);
		if (!rc)
			rc = check_places(db, (int64_t)pack.raw_bytes, err);
		if (rc)
			err_prefix(err, rc, "pack of documents");
	} else if (step != SQLITE_DONE) {
		rc = segment_failed(db, err, "cannot read the pack of documents");
	}
	sqlite3_finalize(row);
	return rc;
}

bool documents_want_packing(sqlite3 *db, bool newest_only)
{
	const char *sql = newest_only
				  ? "SELECT count(*) FROM document WHERE id > 0 AND id NOT IN " NEWEST
				  : "SELECT count(*) FROM document WHERE id > 0 AND typeof(body) = 'blob'";
	int64_t count;

	return segment_number(db, sql, 0, &count, NULL) == 0 && count > 0;
}

struct document_packer {
	sqlite3 *db;
	sqlite3_stmt *place; /* sets a document's offset and sum */
	struct buf old, raw; /* decoded packs */
};

/* Columns: id, raw_bytes, xxh64, body. */
static int take_document(struct document_packer *p, sqlite3_stmt *row, struct err *err)
{
	size_t begin = p->raw.len;
	int64_t id = sqlite3_column_int64(row, 0);
	struct document_body body = documents_body(row, 1);
	int rc;

	rc = documents_append(&body, buf_slice(&p->old), &p->raw, err);
	if (rc)
		return err_prefix(err, rc, "document %lld", (long long)id);
	sqlite3_bind_int64(p->place, 1, (int64_t)begin);
	sqlite3_bind_int64(
		p->place, 2, (int64_t)codec_hash((struct slice){p->raw.ptr + begin, p->raw.len - begin}));
	sqlite3_bind_int64(p->place, 3, id);
	if (sqlite3_step(p->place) != SQLITE_DONE)
		return segment_failed(p->db, err, "cannot write to table 'document'");
	sqlite3_reset(p->place);
	return 0;
}

/* A document that the pack has no room for keeps its own frame. */
static bool has_room(const struct document_packer *p, sqlite3_stmt *row)
{
	return sqlite3_column_type(row, 3) == SQLITE_INTEGER ||
	       sqlite3_column_int64(row, 1) <= (int64_t)(p->raw.max - p->raw.len);
}

static int take_documents(struct document_packer *p, struct err *err)
{
	/* Packed ones first: they have had room before. What is sorted is not disturbed by the updates. */
	sqlite3_stmt *row;
	int step = SQLITE_DONE;
	int rc = segment_prepare(p->db,
		"SELECT id, raw_bytes, xxh64, body FROM document WHERE id > 0 "
		"ORDER BY typeof(body) = 'blob', id",
		&row, err);

	if (rc)
		return rc;
	while (!rc && (step = sqlite3_step(row)) == SQLITE_ROW) {
		if (has_room(p, row))
			rc = take_document(p, row, err);
	}
	if (!rc && step != SQLITE_DONE)
		rc = segment_failed(p->db, err, "cannot read table 'document'");
	sqlite3_finalize(row);
	return rc;
}

static int insert_pack(struct document_packer *p, struct slice data, struct err *err)
{
	sqlite3_stmt *put;
	int rc = segment_prepare(
		p->db, "REPLACE INTO document(id, raw_bytes, xxh64, body) VALUES (0, ?, ?, ?)", &put, err);

	if (rc)
		return rc;
	sqlite3_bind_int64(put, 1, (int64_t)p->raw.len);
	sqlite3_bind_int64(put, 2, (int64_t)codec_hash(data));
	sqlite3_bind_blob64(put, 3, data.ptr, data.len, SQLITE_STATIC);
	if (sqlite3_step(put) != SQLITE_DONE)
		rc = segment_failed(p->db, err, "cannot write the pack of documents");
	sqlite3_finalize(put);
	return rc;
}

static int put_pack(struct document_packer *p, int level, struct err *err)
{
	struct buf data;
	int rc;

	buf_init(&data, LIMIT_CHUNK_BYTES);
	rc = codec_pack_long(buf_slice(&p->raw), level, &data, err);
	if (!rc)
		rc = insert_pack(p, buf_slice(&data), err);
	buf_release(&data);
	return rc;
}

/* One alone has nobody to share with. */
static bool is_worth_it(sqlite3 *db)
{
	int64_t count;

	return segment_number(db, "SELECT count(*) FROM document", 0, &count, NULL) == 0 && count > 1;
}

static int pack_all(struct document_packer *p, int level, bool newest_only, struct err *err)
{
	int rc;

	if (newest_only &&
		(rc = segment_exec(p->db, "DELETE FROM document WHERE id > 0 AND id NOT IN " NEWEST, err)))
		return rc;
	if (!is_worth_it(p->db))
		return 0;
	if ((rc = documents_unpack(p->db, &p->old, err)) ||
		(rc = segment_prepare(
			 p->db, "UPDATE document SET body = ?, xxh64 = ? WHERE id = ?", &p->place, err)) ||
		(rc = take_documents(p, err)))
		return rc;
	return p->raw.len ? put_pack(p, level, err) : 0;
}

int documents_pack(sqlite3 *db, int level, bool newest_only, struct err *err)
{
	struct document_packer p = {.db = db};
	int rc = segment_exec(db, "BEGIN IMMEDIATE", err);

	if (rc)
		return rc;
	buf_init(&p.old, LIMIT_DOCUMENT_BYTES);
	buf_init(&p.raw, LIMIT_DOCUMENT_BYTES);
	rc = pack_all(&p, level, newest_only, err);
	sqlite3_finalize(p.place);
	if (!rc)
		rc = segment_exec(db, "COMMIT", err);
	if (rc)
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	buf_release(&p.old);
	buf_release(&p.raw);
	return rc;
}
