/* verify_rows.c: the tables of a segment that hold no events: resources and streams, documents, and the rest.
 */
#include "schema/base/count_of.h"
#include "schema/base/limits.h"
#include "schema/tape/codec.h"
#include "schema/tape/documents.h"
#include "schema/tape/verify_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- resources and streams ---- */

static bool same_resource(const struct tape_resource *a, const struct tape_resource *b)
{
	return strcmp(a->resource, b->resource) == 0 && strcmp(a->apigroup, b->apigroup) == 0 &&
	       strcmp(a->version, b->version) == 0;
}

static void check_resource(struct verifier *v, const struct tape_resource *own)
{
	const struct tape_resource *before = registry_resource(&v->registry, own->id);

	if (!before || !same_resource(own, before))
		verify_report_row(v, "resource", own->id, own->resource, before ? before->resource : "",
			"resource %u is another one than before", own->id);
}

static bool same_stream(const struct tape_stream *a, const struct tape_stream *b)
{
	return a->resource == b->resource && strcmp(a->namespace, b->namespace) == 0 &&
	       strcmp(a->label_selector, b->label_selector) == 0 &&
	       strcmp(a->field_selector, b->field_selector) == 0;
}

static void check_stream(struct verifier *v, const struct tape_stream *own)
{
	const struct tape_stream *before = registry_stream(&v->registry, own->id);

	if (!before || !same_stream(own, before))
		verify_report_row(
			v, "stream", own->id, "", "", "stream %u is another one than before", own->id);
}

/* An id means the same in every segment. */
void verify_registry(struct verifier *v)
{
	struct registry own = {0};
	struct err err = {0};

	if (registry_load(&own, v->db, &err) || registry_load(&v->registry, v->db, &err)) {
		verify_report_file(v, "%s", err.text);
		registry_release(&own);
		return;
	}
	for (size_t i = 0; i < own.resource_count; i++)
		check_resource(v, &own.resources[i]);
	for (size_t i = 0; i < own.stream_count; i++)
		check_stream(v, &own.streams[i]);
	registry_release(&own);
}

/* ---- plain tables ---- */

struct packed {
	struct buf pack;
	uint64_t claimed; /* bytes of it that documents so far say are theirs */
	bool told;
};

/* Packed documents lie side by side. Once they claim more than there is, none can be trusted. */
static void note_overlap(struct verifier *v, struct packed *packed, int64_t id)
{
	char found[24], expected[24];

	if (packed->told)
		return;
	packed->told = true;
	snprintf(found, sizeof(found), "%" PRIu64, packed->claimed);
	snprintf(expected, sizeof(expected), "%zu", packed->pack.len);
	verify_report_row(v, "document", id, found, expected, "documents claim more bytes than the pack has");
}

/* Columns: id, path, raw_bytes, xxh64, body. The pack is row 0, and so comes before those that are in it. */
static void check_document(struct verifier *v, sqlite3_stmt *row, struct packed *packed, struct buf *body)
{
	int64_t id = sqlite3_column_int64(row, 0);
	bool is_pack = id == DOCUMENTS_PACK_ID;
	struct document_body b = documents_body(row, 2);
	uint64_t sum = b.packed ? b.xxh64 : codec_hash(b.frame);
	struct err err = {0};
	const char *path = (const char *)sqlite3_column_text(row, 1);
	char *what =
		is_pack ? xstrdup("the pack of documents") : xasprintf("document '%s'", path ? path : "");

	v->result.documents += !is_pack;
	packed->claimed += b.packed && b.raw_bytes > 0 ? (uint64_t)b.raw_bytes : 0;
	buf_clear(body);
	if (packed->pack.len && packed->claimed > packed->pack.len)
		note_overlap(v, packed, id);
	else if (sum != b.xxh64)
		verify_report_sum(v, "document", id, sum, b.xxh64, what);
	else if (documents_append(&b, buf_slice(&packed->pack), is_pack ? &packed->pack : body, &err))
		verify_report_row(v, "document", id, "", "", "%s: %s", what, err.text);
	free(what);
}

void verify_documents(struct verifier *v)
{
	sqlite3_stmt *rows =
		verify_prepare(v, "SELECT id, path, raw_bytes, xxh64, body FROM document ORDER BY id");
	struct packed packed = {0};
	struct buf body;

	buf_init(&packed.pack, LIMIT_DOCUMENT_BYTES);
	buf_init(&body, LIMIT_DOCUMENT_BYTES);
	while (rows && verify_step(v, rows))
		check_document(v, rows, &packed, &body);
	sqlite3_finalize(rows);
	buf_release(&packed.pack);
	buf_release(&body);
}

/* Ids are given from 1, without holes; a document 0 is a pack. */
static void check_ids(struct verifier *v)
{
	for (int table = TABLE_RESOURCE; table < TABLE_CHUNK; table++) {
		const char *name = table_formats[table].name;
		char *sql = xasprintf("SELECT id FROM %s WHERE id < %d OR id > %" PRId64, name,
			table != TABLE_DOCUMENT, FORMAT_ID_MAX);
		sqlite3_stmt *rows = verify_prepare(v, sql);

		while (rows && verify_step(v, rows))
			verify_report_row(v, name, sqlite3_column_int64(rows, 0), "", "",
				"%s %lld cannot have that number", name,
				(long long)sqlite3_column_int64(rows, 0));
		sqlite3_finalize(rows);
		free(sql);
	}
}

/* Rows of streams that do not exist, and rows from after the last event. */
void verify_rows(struct verifier *v)
{
	static const char *const tables[] = {"connection", "mark", "gap"};

	check_ids(v);
	for (size_t i = 0; i < COUNT_OF(tables); i++) {
		char *sql = xasprintf("SELECT id, stream FROM %s WHERE stream <> 0 AND stream NOT IN "
				      "(SELECT id FROM stream)",
			tables[i]);
		sqlite3_stmt *rows = verify_prepare(v, sql);

		while (rows && verify_step(v, rows)) {
			verify_report_row(v, tables[i], sqlite3_column_int64(rows, 0),
				(const char *)sqlite3_column_text(rows, 1), "",
				"%s %lld names a stream that is not there", tables[i],
				(long long)sqlite3_column_int64(rows, 0));
		}
		sqlite3_finalize(rows);
		free(sql);
	}
}
