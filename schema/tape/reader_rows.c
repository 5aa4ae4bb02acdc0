/* reader_rows.c: the rows of a tape, as the structs of event.h. */
#include "schema/base/limits.h"
#include "schema/tape/documents.h"
#include "schema/tape/reader_internal.h"
#include "schema/tape/row_reader.h"

#include <stdlib.h>

struct row_walk {
	struct tape *tape;
	enum table table;
	const char *columns;
	size_t segment; /* that is being walked */
	/* What to do with a row; a non-zero return stops. */
	int (*take)(struct row_walk *walk, sqlite3_stmt *row);
	union {
		int (*mark)(void *context, const struct tape_mark *mark);
		int (*connection)(void *context, const struct tape_connection *c);
		int (*gap)(void *context, const struct tape_gap *gap);
		int (*clock)(void *context, const struct tape_clock *clock);
		int (*missed)(void *context, const struct tape_missed *missed);
		int (*document)(void *context, const struct tape_document *document);
	} each;
	void *context;
	struct err *err; /* for take */
};

static int take_row(void *context, sqlite3_stmt *row)
{
	struct row_walk *w = context;

	return w->take(w, row);
}

static int walk_rows(struct row_walk *w, struct err *err)
{
	struct row_reader r;
	int stop = row_reader_open(w->tape, w->table, &r, err);

	w->err = err;
	for (w->segment = 0; w->segment < w->tape->segment_count && !stop; w->segment++)
		stop = row_reader_segment(&r, w->segment, w->columns, take_row, w, err);
	row_reader_close(&r);
	return stop;
}

/* NULL stays NULL. */
static const char *text_at(sqlite3_stmt *row, int column)
{
	return (const char *)sqlite3_column_text(row, column);
}

/* A word that is not there is none of those that mean something. */
static const char *word_at(sqlite3_stmt *row, int column)
{
	const char *text = text_at(row, column);

	return text ? text : "";
}

static struct slice slice_at(sqlite3_stmt *row, int column)
{
	const char *bytes = sqlite3_column_blob(row, column);

	return (struct slice){bytes, bytes ? (size_t)sqlite3_column_bytes(row, column) : 0};
}

#define I64(column) sqlite3_column_int64(row, column)
#define U64(column) (uint64_t) sqlite3_column_int64(row, column)
#define INT(column) (int)sqlite3_column_int64(row, column)

static enum mark_kind mark_kind_of(const char *name)
{
	enum mark_kind kind = MARK_BOOKMARK;

	(void)mark_kind_parse(slice_of(name), &kind);
	return kind;
}

static int take_clock(struct row_walk *w, sqlite3_stmt *row)
{
	struct tape_clock clock = {.time_ns = I64(1), .mono_ns = I64(2), .boot_id = text_at(row, 3)};

	return w->each.clock(w->context, &clock);
}

int tape_each_clock(struct tape *t, int (*each)(void *context, const struct tape_clock *clock), void *context,
	struct err *err)
{
	struct row_walk w = {
		.tape = t,
		.table = TABLE_CLOCK,
		.columns = "time_ns, mono_ns, boot_id",
		.take = take_clock,
		.each.clock = each,
		.context = context,
	};

	return walk_rows(&w, err);
}

static int take_mark(struct row_walk *w, sqlite3_stmt *row)
{
	struct tape_mark mark = {
		.after_seq = U64(1),
		.time_ns = I64(2),
		.kind = mark_kind_of(text_at(row, 3)),
		.stream = (uint32_t)I64(4),
		.connection = U64(5),
		.rv = slice_at(row, 6),
		.object = slice_at(row, 7),
	};

	return w->each.mark(w->context, &mark);
}

int tape_each_mark(struct tape *t, int (*each)(void *context, const struct tape_mark *mark), void *context,
	struct err *err)
{
	struct row_walk w = {
		.tape = t,
		.table = TABLE_MARK,
		.columns = "after_seq, time_ns, kind, stream, connection, rv, object",
		.take = take_mark,
		.each.mark = each,
		.context = context,
	};

	return walk_rows(&w, err);
}

static int take_connection(struct row_walk *w, sqlite3_stmt *row)
{
	struct tape_connection c = {
		.id = U64(0),
		.stream = (uint32_t)I64(1),
		.purpose = word_at(row, 2),
		.target = text_at(row, 3),
		.server = text_at(row, 4),
		.http_version = text_at(row, 5),
		.tls = INT(6) != 0,
		.start_rv = text_at(row, 7),
		.timeout_seconds = I64(8),
		.begin_ns = I64(9),
		.first_byte_after_ns = I64(10),
		.duration_ns = I64(11),
		.first_seq = U64(12),
		.last_seq = U64(13),
		.end_reason = text_at(row, 14),
		.http_status = INT(15),
		.retry_after_s = INT(16),
		.curl_code = INT(17),
		.os_errno = INT(18),
		.h2_error = INT(19),
		.error_status = text_at(row, 20),
		.content_type = text_at(row, 21),
		.audit_id = text_at(row, 22),
		.server_date = text_at(row, 23),
		.bytes = U64(24),
		.events = U64(25),
		.bookmarks = U64(26),
		.last_rv = text_at(row, 27),
		.tail = slice_at(row, 28),
		.next_action = text_at(row, 29),
		.next_delay_ns = I64(30),
	};

	return w->each.connection(w->context, &c);
}

int tape_each_connection(struct tape *t, int (*each)(void *context, const struct tape_connection *c),
	void *context, struct err *err)
{
	struct row_walk w = {
		.tape = t,
		.table = TABLE_CONNECTION,
		.columns = "stream, purpose, target, server, http_version, tls, start_rv, timeout_seconds, "
			   "begin_ns, first_byte_after_ns, duration_ns, first_seq, last_seq, end_reason, "
			   "http_status, retry_after_s, curl_code, os_errno, h2_error, error_status, "
			   "content_type, audit_id, server_date, bytes, events, bookmarks, last_rv, tail, "
			   "next_action, next_delay_ns",
		.take = take_connection,
		.each.connection = each,
		.context = context,
	};

	return walk_rows(&w, err);
}

static int take_gap(struct row_walk *w, sqlite3_stmt *row)
{
	struct tape_gap gap = {
		.id = U64(0),
		.stream = (uint32_t)I64(1),
		.begin_seq = U64(2),
		.end_seq = U64(3),
		.begin_ns = I64(4),
		.end_ns = I64(5),
		.duration_ns = I64(6),
		.from_rv = text_at(row, 7),
		.to_rv = text_at(row, 8),
		.reason = word_at(row, 9),
		.how_ended = word_at(row, 10),
		.connection_before = U64(11),
		.connection_after = U64(12),
		.modified = U64(13),
		.added = U64(14),
		.deleted = U64(15),
		.recreated = U64(16),
		.unchanged = U64(17),
	};

	return w->each.gap(w->context, &gap);
}

int tape_each_gap(struct tape *t, int (*each)(void *context, const struct tape_gap *gap), void *context,
	struct err *err)
{
	struct row_walk w = {
		.tape = t,
		.table = TABLE_GAP,
		.columns = "stream, begin_seq, end_seq, begin_ns, end_ns, duration_ns, from_rv, to_rv, "
			   "reason, how_ended, connection_before, connection_after, modified, added, "
			   "deleted, recreated, unchanged",
		.take = take_gap,
		.each.gap = each,
		.context = context,
	};

	return walk_rows(&w, err);
}

static int take_missed(struct row_walk *w, sqlite3_stmt *row)
{
	struct tape_missed missed = {
		.gap = U64(1),
		.change = word_at(row, 2),
		.resource = (uint32_t)I64(3),
		.namespace = slice_at(row, 4),
		.name = slice_at(row, 5),
		.uid = slice_at(row, 6),
		.old_uid = slice_at(row, 7),
		.rv = slice_at(row, 8),
		.old_rv = slice_at(row, 9),
	};

	return w->each.missed(w->context, &missed);
}

int tape_each_missed(struct tape *t, int (*each)(void *context, const struct tape_missed *missed),
	void *context, struct err *err)
{
	struct row_walk w = {
		.tape = t,
		.table = TABLE_MISSED,
		.columns = "gap, change, resource, namespace, name, uid, old_uid, rv, old_rv",
		.take = take_missed,
		.each.missed = each,
		.context = context,
	};

	return walk_rows(&w, err);
}

static const char *keep_text(struct tape *t, sqlite3_stmt *row, int column)
{
	const char *text = text_at(row, column);
	size_t len = text ? strlen(text) + 1 : 0;
	char *at = buf_reserve(&t->document_text, len);

	if (!text || !at)
		return "";
	memcpy(at, text, len);
	t->document_text.len += len;
	return at;
}

/* After the id. The body comes last: it is read only where it is asked for. */
#define DOCUMENT_COLUMNS                                                                                     \
	"time_ns, path, variant, http_status, content_type, etag, after_seq, raw_bytes, xxh64, body"
#define DOCUMENT_BODY 8

/* The pack is read in the snapshot of the row, whose statement is not reset. */
static int find_pack(struct tape *t, sqlite3 *db, struct err *err)
{
	int64_t xxh64;
	int rc = segment_number(db, "SELECT xxh64 FROM document WHERE id = 0", 0, &xxh64, err);

	if (rc)
		return rc;
	if (t->documents.len && xxh64 == t->documents_xxh64)
		return 0;
	buf_clear(&t->documents);
	rc = documents_unpack(db, &t->documents, err);
	if (rc)
		return rc;
	t->documents_xxh64 = xxh64;
	return 0;
}

static int append_body(struct tape *t, sqlite3_stmt *row, struct buf *to, struct err *err)
{
	struct document_body body = documents_body(row, DOCUMENT_BODY);
	int rc;

	if (body.packed && (rc = find_pack(t, sqlite3_db_handle(row), err)))
		return rc;
	return documents_append(&body, buf_slice(&t->documents), to, err);
}

/* Columns: id, then those. */
static int give_document(
	struct tape *t, sqlite3_stmt *row, struct tape_document *ret, struct buf *body, struct err *err)
{
	size_t begin = body ? body->len : 0;
	int rc = body ? append_body(t, row, body, err) : 0;

	if (rc)
		return err_prefix(err, rc, "document '%s'", word_at(row, 2));
	buf_clear(&t->document_text);
	/* Reserved whole, so that no text moves while others are added. */
	if (!buf_reserve(&t->document_text, t->document_text.max))
		return err_set(err, ERR_TOO_LARGE, "no memory for a document");
	*ret = (struct tape_document){
		.after_seq = U64(7),
		.id = I64(0),
		.raw_bytes = I64(DOCUMENT_BODY),
		.time_ns = I64(1),
		.path = keep_text(t, row, 2),
		.variant = keep_text(t, row, 3),
		.http_status = INT(4),
		.content_type = keep_text(t, row, 5),
		.etag = keep_text(t, row, 6),
		.body = body ? (struct slice){body->ptr + begin, body->len - begin} : (struct slice){NULL, 0},
	};
	return 0;
}

static int take_document(struct row_walk *w, sqlite3_stmt *row)
{
	struct tape_document document;
	int stop;

	if (sqlite3_column_int64(row, 0) == DOCUMENTS_PACK_ID)
		return 0;
	stop = give_document(w->tape, row, &document, NULL, w->err);
	document.segment = (uint32_t)w->segment;
	return stop ? stop : w->each.document(w->context, &document);
}

int tape_each_document(struct tape *t, int (*each)(void *context, const struct tape_document *document),
	void *context, struct err *err)
{
	struct row_walk w = {
		.tape = t,
		.table = TABLE_DOCUMENT,
		.columns = DOCUMENT_COLUMNS,
		.take = take_document,
		.each.document = each,
		.context = context,
	};

	return walk_rows(&w, err);
}

int tape_document(struct tape *t, const char *path, const char *variant, uint64_t after_seq,
	struct tape_document *ret, struct buf *body, struct err *err)
{
	for (size_t i = t->segment_count; i-- > 0;) {
		const struct id_range *ids = reader_ids(t, i, TABLE_DOCUMENT);
		sqlite3_stmt *row;
		int step, rc;

		if (ids && ids->lowest > ids->highest)
			continue;
		rc = reader_prepare(t, i,
			"SELECT id, " DOCUMENT_COLUMNS " FROM document "
			"WHERE path = ? AND variant = ? AND after_seq <= ? ORDER BY id DESC LIMIT 1",
			&row, err);

		if (rc)
			return rc;
		sqlite3_bind_text(row, 1, path, -1, SQLITE_STATIC);
		sqlite3_bind_text(row, 2, variant, -1, SQLITE_STATIC);
		sqlite3_bind_int64(row, 3, after_seq ? (int64_t)after_seq : INT64_MAX);
		step = sqlite3_step(row);
		if (step == SQLITE_ROW)
			rc = give_document(t, row, ret, body, err);
		else if (step != SQLITE_DONE)
			rc = segment_failed(
				sqlite3_db_handle(row), err, "cannot read '%s'", t->segments[i].file.path);
		sqlite3_finalize(row);
		if (rc || step == SQLITE_ROW)
			return rc;
	}
	return err_set(err, ERR_NOT_FOUND, "tape '%s' has no document '%s'", t->path, path);
}

int tape_document_body(struct tape *t, uint32_t segment, int64_t id, struct buf *body, struct err *err)
{
	sqlite3_stmt *row;
	int step, rc;

	if (segment >= t->segment_count)
		return err_set(err, ERR_NOT_FOUND, "tape '%s' has no document %lld", t->path, (long long)id);
	rc = reader_prepare(
		t, segment, "SELECT id, " DOCUMENT_COLUMNS " FROM document WHERE id = ?", &row, err);
	if (rc)
		return rc;
	sqlite3_bind_int64(row, 1, id);
	step = sqlite3_step(row);
	rc = step == SQLITE_ROW    ? append_body(t, row, body, err)
	     : step == SQLITE_DONE ? err_set(err, ERR_NOT_FOUND, "it is not there")
				   : segment_failed(sqlite3_db_handle(row), err, "cannot read it");
	sqlite3_finalize(row);
	if (rc)
		err_prefix(err, rc, "'%s' document %lld", t->segments[segment].file.path, (long long)id);
	return rc;
}
