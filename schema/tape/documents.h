/*
 * documents.h: the documents of a segment packed together. They describe the same types again and again, and
 * most of them come twice, as JSON and as protobuf: one after the other in one zstd frame they take a quarter
 * of their separate sizes. FORMAT.md, section 3, has the rows.
 */
#ifndef SCHEMA_TAPE_DOCUMENTS_H
#define SCHEMA_TAPE_DOCUMENTS_H

#include "schema/base/buf.h"

#include <sqlite3.h>
#include <stdbool.h>

#define DOCUMENTS_PACK_ID 0 /* the row that holds the pack */

/* In one transaction: puts the documents of an open segment, packed before or not, into one pack, as many as
 * a pack may hold; one alone is left as it is. With newest_only those that a later one of the same path and
 * variant replaces are left out, and so are logs. On failure the segment is as it was. */
int documents_pack(sqlite3 *db, int level, bool newest_only, struct err *err) MUST_CHECK;

/* True if some document of the segment is not packed, or, with newest_only, is replaced by a later one. */
bool documents_want_packing(sqlite3 *db, bool newest_only);

/* Appends the decoded pack of a segment, nothing when the segment has none. */
int documents_unpack(sqlite3 *db, struct buf *to, struct err *err) MUST_CHECK;

/* Where a row of `document` has its body: in a zstd frame of its own, or at an offset of the decoded pack. */
struct document_body {
	int64_t raw_bytes;
	uint64_t xxh64; /* of the frame as it is stored; when packed, of the bytes in the pack */
	bool packed;
	int64_t offset;     /* when packed */
	struct slice frame; /* otherwise; borrowed from the row */
};

/* The columns of the row from `first` on are raw_bytes, xxh64 and body. */
struct document_body documents_body(sqlite3_stmt *row, int first);

/* Appends the body, whose sum is checked. `pack` is what documents_unpack has appended; only a packed body
 * needs it. */
int documents_append(
	const struct document_body *b, struct slice pack, struct buf *to, struct err *err) MUST_CHECK;

/* The packed body that begins at offset of a decoded pack; borrowed from it. Its sum is checked. */
int documents_find(struct slice pack, int64_t offset, int64_t raw_bytes, uint64_t xxh64, struct slice *ret,
	struct err *err) MUST_CHECK;

#endif
