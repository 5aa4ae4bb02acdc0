/*
 * rows.c: the tables `streams`, `connections`, `gaps`, `missed`, `marks`, `bookmarks`, `documents`
 * and `segments`.
 *
 * `marks` holds everything that the server said beside objects: list complete, bookmark, end of the initial
 * events of a streaming list, ERROR; `bookmarks` only its bookmarks.
 */
#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/sql/row_table.h"
#include "schema/tape/coverage.h"

#define OF_STREAM(member)   ROW_MEMBER(ROW_STREAM, struct tape_stream, member)
#define OF_RESOURCE(member) ROW_MEMBER(ROW_RESOURCE, struct tape_resource, member)
/* clang-format off */
#define RESOURCE_COLUMNS \
	{"apigroup", "TEXT", OF_RESOURCE(apigroup)}, \
	{"version", "TEXT", OF_RESOURCE(version)}, \
	{"resource", "TEXT", OF_RESOURCE(resource)}
/* clang-format on */

/* What a row of `stream` is about. */
static void put_row_of_stream(struct row_sink *sink, const void *row, uint32_t stream)
{
	const struct tape_stream *s = tape_stream_by_id(sink->tape, stream);

	row_sink_put(sink, row, s, s ? s->resource : 0);
}

/* ---- streams ---- */

static int fill_streams(struct tape *t, struct row_sink *sink, struct err *err)
{
	const struct tape_stream *s;

	(void)err;
	for (size_t i = 0; (s = tape_stream_at(t, i)); i++)
		row_sink_put(sink, s, s, s->resource);
	return 0;
}

static const struct row_column stream_columns[] = {
	{"stream", "INTEGER", OF_STREAM(id)},
	RESOURCE_COLUMNS,
	{"kind", "TEXT", OF_RESOURCE(kind)},
	{"namespaced", "INTEGER", OF_RESOURCE(namespaced)},
	{"namespace", "TEXT", OF_STREAM(namespace)},
	{"label_selector", "TEXT", OF_STREAM(label_selector)},
	{"field_selector", "TEXT", OF_STREAM(field_selector)},
};

const struct table_kind streams_table = {
	.name = "streams",
	.summary = "what was followed: a resource in one namespace or all, with selectors",
	ROW_TABLE_METHODS,
	.detail = &(const struct row_detail){stream_columns, COUNT_OF(stream_columns), fill_streams, NULL},
};

/* ---- connections ---- */

static const struct tape_connection *connection_of(const struct row *row)
{
	return row->parts[ROW_ITSELF];
}

static void put_connection_end(struct row_store *store, const struct row *row)
{
	const struct tape_connection *c = connection_of(row);

	if (c->duration_ns >= 0)
		put_time(store, time_add(c->begin_ns, c->duration_ns));
	else
		put_string(store, NULL);
}

static void put_delivered(struct row_store *store, const struct row *row, uint64_t value)
{
	put_known(store, tape_connection_is_counted(connection_of(row)) ? (int64_t)value : -1);
}

static void put_delivered_events(struct row_store *store, const struct row *row)
{
	put_delivered(store, row, connection_of(row)->events);
}

static void put_delivered_bookmarks(struct row_store *store, const struct row *row)
{
	put_delivered(store, row, connection_of(row)->bookmarks);
}

static void put_delivered_bytes(struct row_store *store, const struct row *row)
{
	put_delivered(store, row, connection_of(row)->bytes);
}

#define OF_CONNECTION(member) ROW_MEMBER(ROW_ITSELF, struct tape_connection, member)
static const struct row_column connection_columns[] = {
	{"connection", "INTEGER", OF_CONNECTION(id)},
	{"stream", "INTEGER", ROW_NOT_ZERO, OF_CONNECTION(stream)},
	RESOURCE_COLUMNS,
	{"purpose", "TEXT", OF_CONNECTION(purpose)},
	{"target", "TEXT", OF_CONNECTION(target)},
	{"server", "TEXT", OF_CONNECTION(server)},
	{"http_version", "TEXT", OF_CONNECTION(http_version)},
	{"tls", "INTEGER", OF_CONNECTION(tls)},
	{"start_rv", SQL_RV, OF_CONNECTION(start_rv)},
	{"timeout_seconds", "INTEGER", ROW_OR_NULL, OF_CONNECTION(timeout_seconds)},
	{"begin", SQL_TIME, ROW_TIME, OF_CONNECTION(begin_ns)},
	{"end", SQL_TIME, .put = put_connection_end},
	{"begin_ns", "INTEGER", OF_CONNECTION(begin_ns)},
	{"first_byte_after_ns", "INTEGER", ROW_OR_NULL, OF_CONNECTION(first_byte_after_ns)},
	{"duration_ns", "INTEGER", ROW_OR_NULL, OF_CONNECTION(duration_ns)},
	{"end_reason", "TEXT", OF_CONNECTION(end_reason)},
	{"http_status", "INTEGER", ROW_OR_NULL, OF_CONNECTION(http_status)},
	{"retry_after_s", "INTEGER", ROW_OR_NULL, OF_CONNECTION(retry_after_s)},
	{"curl_code", "INTEGER", ROW_OR_NULL, OF_CONNECTION(curl_code)},
	{"os_errno", "INTEGER", ROW_OR_NULL, OF_CONNECTION(os_errno)},
	{"h2_error", "INTEGER", ROW_OR_NULL, OF_CONNECTION(h2_error)},
	{"error_status", "TEXT", OF_CONNECTION(error_status)},
	{"content_type", "TEXT", OF_CONNECTION(content_type)},
	{"audit_id", "TEXT", OF_CONNECTION(audit_id)},
	{"server_date", "TEXT", OF_CONNECTION(server_date)},
	{"next_action", "TEXT", OF_CONNECTION(next_action)},
	{"next_delay_ns", "INTEGER", ROW_OR_NULL, OF_CONNECTION(next_delay_ns)},
	{"events", "INTEGER", .put = put_delivered_events},
	{"bookmarks", "INTEGER", .put = put_delivered_bookmarks},
	{"bytes", "INTEGER", .put = put_delivered_bytes},
	{"first_seq", "INTEGER", ROW_NOT_ZERO, OF_CONNECTION(first_seq)},
	{"last_seq", "INTEGER", ROW_NOT_ZERO, OF_CONNECTION(last_seq)},
	{"last_rv", SQL_RV, OF_CONNECTION(last_rv)},
	{"tail", "TEXT", ROW_OR_NULL, OF_CONNECTION(tail)},
};

static int each_connection(void *context, const struct tape_connection *c)
{
	put_row_of_stream(context, c, c->stream);
	return 0;
}

static int fill_connections(struct tape *t, struct row_sink *sink, struct err *err)
{
	return tape_each_connection(t, each_connection, sink, err);
}

const struct table_kind connections_table = {
	.name = "connections",
	.summary = "one row for each HTTP request of the recorder: how it went, how it ended",
	ROW_TABLE_METHODS,
	.detail = &(const struct row_detail){connection_columns, COUNT_OF(connection_columns),
		fill_connections, NULL},
};

/* ---- gaps ---- */

static const struct tape_gap *gap_of(const struct row *row)
{
	return row->parts[ROW_ITSELF];
}

static bool is_open(const struct tape_gap *g)
{
	return strcmp(g->how_ended, "open") == 0;
}

static void put_gap_end(struct row_store *store, const struct row *row)
{
	if (is_open(gap_of(row)))
		put_string(store, NULL);
	else
		put_time(store, gap_of(row)->end_ns);
}

static void put_gap_end_ns(struct row_store *store, const struct row *row)
{
	put_known(store, is_open(gap_of(row)) ? -1 : gap_of(row)->end_ns);
}

static void put_gap_end_seq(struct row_store *store, const struct row *row)
{
	put_known(store, is_open(gap_of(row)) ? -1 : (int64_t)gap_of(row)->end_seq);
}

#define OF_GAP(member) ROW_MEMBER(ROW_ITSELF, struct tape_gap, member)
static const struct row_column gap_columns[] = {
	{"gap", "INTEGER", ROW_NOT_ZERO, OF_GAP(id)},
	{"stream", "INTEGER", OF_GAP(stream)},
	RESOURCE_COLUMNS,
	{"namespace", "TEXT", OF_STREAM(namespace)},
	{"begin", SQL_TIME, ROW_TIME, OF_GAP(begin_ns)},
	{"end", SQL_TIME, .put = put_gap_end},
	{"reason", "TEXT", OF_GAP(reason)},
	{"how_ended", "TEXT", OF_GAP(how_ended)},
	{"begin_ns", "INTEGER", OF_GAP(begin_ns)},
	{"end_ns", "INTEGER", .put = put_gap_end_ns},
	{"duration_ns", "INTEGER", ROW_OR_NULL, OF_GAP(duration_ns)},
	{"begin_seq", "INTEGER", OF_GAP(begin_seq)},
	{"end_seq", "INTEGER", .put = put_gap_end_seq},
	{"from_rv", SQL_RV, OF_GAP(from_rv)},
	{"to_rv", SQL_RV, OF_GAP(to_rv)},
	{"connection_before", "INTEGER", ROW_NOT_ZERO, OF_GAP(connection_before)},
	{"connection_after", "INTEGER", ROW_NOT_ZERO, OF_GAP(connection_after)},
	{"modified", "INTEGER", OF_GAP(modified)},
	{"added", "INTEGER", OF_GAP(added)},
	{"deleted", "INTEGER", OF_GAP(deleted)},
	{"recreated", "INTEGER", OF_GAP(recreated)},
	{"unchanged", "INTEGER", OF_GAP(unchanged)},
};

static int each_gap(void *context, const struct tape_gap *g)
{
	put_row_of_stream(context, g, g->stream);
	return 0;
}

static int fill_gaps(struct tape *t, struct row_sink *sink, struct err *err)
{
	struct coverage *c;
	int rc = coverage_load(t, &c, err);

	if (rc)
		return rc;
	rc = coverage_each_gap(c, t, each_gap, sink, err);
	coverage_free(c);
	return rc;
}

const struct table_kind gaps_table = {
	.name = "gaps",
	.summary = "intervals in which a stream was not watched: why they began, how they ended",
	ROW_TABLE_METHODS,
	.detail = &(const struct row_detail){gap_columns, COUNT_OF(gap_columns), fill_gaps, NULL},
};

/* ---- missed ---- */

#define OF_MISSED(member) ROW_MEMBER(ROW_ITSELF, struct tape_missed, member)
static const struct row_column missed_columns[] = {
	{"gap", "INTEGER", OF_MISSED(gap)},
	{"change", "TEXT", OF_MISSED(change)},
	RESOURCE_COLUMNS,
	{"namespace", "TEXT", OF_MISSED(namespace)},
	{"name", "TEXT", OF_MISSED(name)},
	{"uid", "TEXT", OF_MISSED(uid)},
	{"old_uid", "TEXT", ROW_OR_NULL, OF_MISSED(old_uid)},
	{"rv", SQL_RV, ROW_OR_NULL, OF_MISSED(rv)},
	{"old_rv", SQL_RV, ROW_OR_NULL, OF_MISSED(old_rv)},
};

static int each_missed(void *context, const struct tape_missed *m)
{
	row_sink_put(context, m, NULL, m->resource);
	return 0;
}

static int fill_missed(struct tape *t, struct row_sink *sink, struct err *err)
{
	return tape_each_missed(t, each_missed, sink, err);
}

const struct table_kind missed_table = {
	.name = "missed",
	.summary = "what a gap hid: modified, added, deleted, recreated",
	ROW_TABLE_METHODS,
	.detail = &(const struct row_detail){missed_columns, COUNT_OF(missed_columns), fill_missed, NULL},
};

/* ---- marks and bookmarks ---- */

static void put_mark_kind(struct row_store *store, const struct row *row)
{
	const struct tape_mark *m = row->parts[ROW_ITSELF];

	put_string(store, mark_kind_name(m->kind));
}

#define OF_MARK(member) ROW_MEMBER(ROW_ITSELF, struct tape_mark, member)
static const struct row_column mark_columns[] = {
	{"after_seq", "INTEGER", OF_MARK(after_seq)},
	{"time", SQL_TIME, ROW_TIME, OF_MARK(time_ns)},
	{"time_ns", "INTEGER", OF_MARK(time_ns)},
	{"kind", "TEXT", .put = put_mark_kind},
	{"stream", "INTEGER", OF_MARK(stream)},
	RESOURCE_COLUMNS,
	{"connection", "INTEGER", ROW_NOT_ZERO, OF_MARK(connection)},
	{"rv", SQL_RV, OF_MARK(rv)},
	{"object", "TEXT", ROW_OR_NULL, OF_MARK(object)},
};

static int each_mark(void *context, const struct tape_mark *m)
{
	put_row_of_stream(context, m, m->stream);
	return 0;
}

static int each_bookmark(void *context, const struct tape_mark *m)
{
	bool is_bookmark = m->kind == MARK_BOOKMARK || m->kind == MARK_INITIAL_END;

	return is_bookmark ? each_mark(context, m) : 0;
}

static int fill_marks(struct tape *t, struct row_sink *sink, struct err *err)
{
	return tape_each_mark(t, each_mark, sink, err);
}

static int fill_bookmarks(struct tape *t, struct row_sink *sink, struct err *err)
{
	return tape_each_mark(t, each_bookmark, sink, err);
}

const struct table_kind marks_table = {
	.name = "marks",
	.summary = "what the server said beside objects: list complete, bookmark, ERROR",
	ROW_TABLE_METHODS,
	.detail = &(const struct row_detail){mark_columns, COUNT_OF(mark_columns), fill_marks, NULL},
};

const struct table_kind bookmarks_table = {
	.name = "bookmarks",
	.summary = "the bookmarks among the marks",
	ROW_TABLE_METHODS,
	.detail = &(const struct row_detail){mark_columns, COUNT_OF(mark_columns), fill_bookmarks, NULL},
};

/* ---- documents ---- */

static void put_body(struct row_store *store, const struct row *row)
{
	const struct tape_document *d = row->parts[ROW_ITSELF];

	put_later(store, d->segment, d->id);
}

#define OF_DOCUMENT(member) ROW_MEMBER(ROW_ITSELF, struct tape_document, member)
static const struct row_column document_columns[] = {
	{"after_seq", "INTEGER", OF_DOCUMENT(after_seq)},
	{"time", SQL_TIME, ROW_TIME, OF_DOCUMENT(time_ns)},
	{"time_ns", "INTEGER", OF_DOCUMENT(time_ns)},
	{"path", "TEXT", OF_DOCUMENT(path)},
	{"variant", "TEXT", OF_DOCUMENT(variant)},
	{"http_status", "INTEGER", OF_DOCUMENT(http_status)},
	{"content_type", "TEXT", OF_DOCUMENT(content_type)},
	{"etag", "TEXT", OF_DOCUMENT(etag)},
	{"bytes", "INTEGER", OF_DOCUMENT(raw_bytes)},
	{"body", "TEXT", .put = put_body},
};

static int each_document(void *context, const struct tape_document *d)
{
	row_sink_put(context, d, NULL, 0);
	return 0;
}

static int fetch_body(struct tape *t, uint32_t segment, int64_t id, struct buf *to, struct err *err)
{
	return tape_document_body(t, segment, id, to, err);
}

static int fill_documents(struct tape *t, struct row_sink *sink, struct err *err)
{
	return tape_each_document(t, each_document, sink, err);
}

const struct table_kind documents_table = {
	.name = "documents",
	.summary = "what the server said of itself: discovery, version, OpenAPI",
	ROW_TABLE_METHODS,
	.detail = &(const struct row_detail){document_columns, COUNT_OF(document_columns), fill_documents,
		fetch_body},
};

/* ---- segments ---- */

/* Of the events of a segment, if it has any. */
static void put_if_events(struct row_store *store, const struct row *row, int64_t time_ns)
{
	const struct tape_segment_info *s = row->parts[ROW_ITSELF];

	if (s->events)
		put_time(store, time_ns);
	else
		put_string(store, NULL);
}

static void put_first_time(struct row_store *store, const struct row *row)
{
	const struct tape_segment_info *s = row->parts[ROW_ITSELF];

	put_if_events(store, row, s->first_time_ns);
}

static void put_last_time(struct row_store *store, const struct row *row)
{
	const struct tape_segment_info *s = row->parts[ROW_ITSELF];

	put_if_events(store, row, s->last_time_ns);
}

#define OF_SEGMENT(member) ROW_MEMBER(ROW_ITSELF, struct tape_segment_info, member)
static const struct row_column segment_columns[] = {
	{"segment", "INTEGER", OF_SEGMENT(number)},
	{"file", "TEXT", OF_SEGMENT(file)},
	{"sealed", "INTEGER", OF_SEGMENT(sealed)},
	{"first_seq", "INTEGER", ROW_NOT_ZERO, OF_SEGMENT(first_seq)},
	{"last_seq", "INTEGER", ROW_NOT_ZERO, OF_SEGMENT(last_seq)},
	{"events", "INTEGER", OF_SEGMENT(events)},
	{"extents", "INTEGER", OF_SEGMENT(extents)},
	{"state_objects", "INTEGER", OF_SEGMENT(state_objects)},
	{"state_segment", "INTEGER", OF_SEGMENT(state_segment)},
	{"first_time", SQL_TIME, .put = put_first_time},
	{"last_time", SQL_TIME, .put = put_last_time},
	{"raw_bytes", "INTEGER", OF_SEGMENT(raw_bytes)},
	{"disk_bytes", "INTEGER", OF_SEGMENT(disk_bytes)},
	{"program", "TEXT", OF_SEGMENT(program)},
	{"previous_digest", "TEXT", OF_SEGMENT(previous_digest)},
};

static int each_segment(void *context, const struct tape_segment_info *s)
{
	row_sink_put(context, s, NULL, 0);
	return 0;
}

static int fill_segments(struct tape *t, struct row_sink *sink, struct err *err)
{
	return tape_each_segment(t, each_segment, sink, err);
}

const struct table_kind segments_table = {
	.name = "segments",
	.summary = "the files of the tape",
	ROW_TABLE_METHODS,
	.detail = &(const struct row_detail){segment_columns, COUNT_OF(segment_columns), fill_segments, NULL},
};
