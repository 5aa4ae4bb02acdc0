/*
 * rows.c: the tables `streams`, `connections`, `gaps`, `missed`, `marks`, `bookmarks`, `documents`
 * and `segments`.
 *
 * `marks` holds everything that the server said beside objects: list complete, bookmark, end of the initial
 * events of a streaming list, ERROR; `bookmarks` only its bookmarks.
 */
#include "schema/base/clock.h"
#include "schema/sql/row_table.h"
#include "schema/tape/coverage.h"

static const struct tape_stream no_stream = {0, 0, "", "", ""};
static const struct tape_resource no_resource = {0, "", "", "", "", false};

static const struct tape_stream *stream_of(struct tape *t, uint32_t id)
{
	const struct tape_stream *s = tape_stream_by_id(t, id);

	return s ? s : &no_stream;
}

static void put_resource(struct row_store *sink, struct tape *t, uint32_t id)
{
	const struct tape_resource *r = tape_resource_by_id(t, id);

	r = r ? r : &no_resource;
	put_string(sink, r->apigroup);
	put_string(sink, r->version);
	put_string(sink, r->resource);
}

struct walk {
	struct tape *tape;
	struct row_store *sink;
};

/* ---- streams ---- */

static int fill_streams(struct tape *t, struct row_store *sink, struct err *err)
{
	const struct tape_stream *s;

	(void)err;
	for (size_t i = 0; (s = tape_stream_at(t, i)); i++) {
		const struct tape_resource *r = tape_resource_by_id(t, s->resource);

		r = r ? r : &no_resource;
		put_integer(sink, s->id);
		put_resource(sink, t, s->resource);
		put_string(sink, r->kind);
		put_integer(sink, r->namespaced);
		put_string(sink, s->namespace);
		put_string(sink, s->label_selector);
		put_string(sink, s->field_selector);
	}
	return 0;
}

const struct table_kind streams_table = {
	.name = "streams",
	.summary = "what was followed: a resource in one namespace or all, with selectors",
	.columns = "stream INTEGER, apigroup TEXT, version TEXT, resource TEXT, kind TEXT, "
		   "namespaced INTEGER, namespace TEXT, label_selector TEXT, field_selector TEXT",
	ROW_TABLE_METHODS,
	.detail = &(const struct row_detail){9, fill_streams, NULL},
};

/* ---- connections ---- */

static void put_connection_request(struct walk *w, const struct tape_connection *c)
{
	put_integer(w->sink, (int64_t)c->id);
	put_known(w->sink, c->stream ? (int64_t)c->stream : -1);
	put_resource(w->sink, w->tape, stream_of(w->tape, c->stream)->resource);
	put_string(w->sink, c->purpose);
	put_string(w->sink, c->target);
	put_string(w->sink, c->server);
	put_string(w->sink, c->http_version);
	put_integer(w->sink, c->tls);
	put_string(w->sink, c->start_rv);
	put_known(w->sink, c->timeout_seconds);
}

static void put_connection_times(struct walk *w, const struct tape_connection *c)
{
	put_time(w->sink, c->begin_ns);
	if (c->duration_ns >= 0)
		put_time(w->sink, time_add(c->begin_ns, c->duration_ns));
	else
		put_string(w->sink, NULL);
	put_integer(w->sink, c->begin_ns);
	put_known(w->sink, c->first_byte_after_ns);
	put_known(w->sink, c->duration_ns);
}

static void put_connection_end(struct walk *w, const struct tape_connection *c)
{
	put_string(w->sink, c->end_reason);
	put_known(w->sink, c->http_status);
	put_known(w->sink, c->retry_after_s);
	put_known(w->sink, c->curl_code);
	put_known(w->sink, c->os_errno);
	put_known(w->sink, c->h2_error);
	put_string(w->sink, c->error_status);
	put_string(w->sink, c->content_type);
	put_string(w->sink, c->audit_id);
	put_string(w->sink, c->server_date);
	put_string(w->sink, c->next_action);
	put_known(w->sink, c->next_delay_ns);
}

static void put_connection_counts(struct walk *w, const struct tape_connection *c)
{
	put_integer(w->sink, (int64_t)c->events);
	put_integer(w->sink, (int64_t)c->bookmarks);
	put_integer(w->sink, (int64_t)c->bytes);
	put_known(w->sink, c->first_seq ? (int64_t)c->first_seq : -1);
	put_known(w->sink, c->last_seq ? (int64_t)c->last_seq : -1);
	put_string(w->sink, c->last_rv);
	put_optional(w->sink, c->tail);
}

static int each_connection(void *context, const struct tape_connection *c)
{
	put_connection_request(context, c);
	put_connection_times(context, c);
	put_connection_end(context, c);
	put_connection_counts(context, c);
	return 0;
}

static int fill_connections(struct tape *t, struct row_store *sink, struct err *err)
{
	return tape_each_connection(t, each_connection, &(struct walk){t, sink}, err);
}

const struct table_kind connections_table = {
	.name = "connections",
	.summary = "one row for each HTTP request of the recorder: how it went, how it ended",
	.columns =
		"connection INTEGER, stream INTEGER, apigroup TEXT, version TEXT, resource TEXT, "
		"purpose TEXT, target TEXT, server TEXT, http_version TEXT, tls INTEGER, start_rv TEXT COLLATE kubetape_rv, "
		"timeout_seconds INTEGER, "
		"begin TEXT COLLATE kubetape_time, end TEXT COLLATE kubetape_time, begin_ns INTEGER, "
		"first_byte_after_ns INTEGER, duration_ns INTEGER, "
		"end_reason TEXT, http_status INTEGER, retry_after_s INTEGER, curl_code INTEGER, "
		"os_errno INTEGER, h2_error INTEGER, error_status TEXT, content_type TEXT, "
		"audit_id TEXT, server_date TEXT, next_action TEXT, next_delay_ns INTEGER, "
		"events INTEGER, bookmarks INTEGER, bytes INTEGER, first_seq INTEGER, last_seq INTEGER, "
		"last_rv TEXT COLLATE kubetape_rv, tail TEXT",
	ROW_TABLE_METHODS,
	.detail = &(const struct row_detail){36, fill_connections, NULL},
};

/* ---- gaps ---- */

static bool is_open(const struct tape_gap *g)
{
	return strcmp(g->how_ended, "open") == 0;
}

static void put_gap_interval(struct walk *w, const struct tape_gap *g)
{
	const struct tape_stream *s = stream_of(w->tape, g->stream);

	put_known(w->sink, g->id ? (int64_t)g->id : -1);
	put_integer(w->sink, g->stream);
	put_resource(w->sink, w->tape, s->resource);
	put_string(w->sink, s->namespace);
	put_time(w->sink, g->begin_ns);
	if (is_open(g))
		put_string(w->sink, NULL);
	else
		put_time(w->sink, g->end_ns);
	put_string(w->sink, g->reason);
	put_string(w->sink, g->how_ended);
	put_integer(w->sink, g->begin_ns);
	put_known(w->sink, is_open(g) ? -1 : g->end_ns);
	put_known(w->sink, g->duration_ns);
}

static int each_gap(void *context, const struct tape_gap *g)
{
	struct walk *w = context;

	put_gap_interval(w, g);
	put_integer(w->sink, (int64_t)g->begin_seq);
	put_known(w->sink, is_open(g) ? -1 : (int64_t)g->end_seq);
	put_string(w->sink, g->from_rv);
	put_string(w->sink, g->to_rv);
	put_known(w->sink, g->connection_before ? (int64_t)g->connection_before : -1);
	put_known(w->sink, g->connection_after ? (int64_t)g->connection_after : -1);
	put_integer(w->sink, (int64_t)g->modified);
	put_integer(w->sink, (int64_t)g->added);
	put_integer(w->sink, (int64_t)g->deleted);
	put_integer(w->sink, (int64_t)g->recreated);
	put_integer(w->sink, (int64_t)g->unchanged);
	return 0;
}

static int fill_gaps(struct tape *t, struct row_store *sink, struct err *err)
{
	struct coverage *c;
	int rc = coverage_load(t, &c, err);

	if (rc)
		return rc;
	rc = coverage_each_gap(c, t, each_gap, &(struct walk){t, sink}, err);
	coverage_free(c);
	return rc;
}

const struct table_kind gaps_table = {
	.name = "gaps",
	.summary = "intervals in which a stream was not watched: why they began, how they ended",
	.columns =
		"gap INTEGER, stream INTEGER, apigroup TEXT, version TEXT, resource TEXT, namespace TEXT, "
		"begin TEXT COLLATE kubetape_time, end TEXT COLLATE kubetape_time, reason TEXT, "
		"how_ended TEXT, begin_ns INTEGER, end_ns INTEGER, duration_ns INTEGER, "
		"begin_seq INTEGER, end_seq INTEGER, from_rv TEXT COLLATE kubetape_rv, to_rv TEXT COLLATE kubetape_rv, connection_before INTEGER, "
		"connection_after INTEGER, modified INTEGER, added INTEGER, deleted INTEGER, "
		"recreated INTEGER, unchanged INTEGER",
	ROW_TABLE_METHODS,
	.detail = &(const struct row_detail){24, fill_gaps, NULL},
};

/* ---- missed ---- */

static int each_missed(void *context, const struct tape_missed *m)
{
	struct walk *w = context;

	put_integer(w->sink, (int64_t)m->gap);
	put_string(w->sink, m->change);
	put_resource(w->sink, w->tape, m->resource);
	put_slice(w->sink, m->namespace);
	put_slice(w->sink, m->name);
	put_slice(w->sink, m->uid);
	put_optional(w->sink, m->old_uid);
	put_optional(w->sink, m->rv);
	put_optional(w->sink, m->old_rv);
	return 0;
}

static int fill_missed(struct tape *t, struct row_store *sink, struct err *err)
{
	return tape_each_missed(t, each_missed, &(struct walk){t, sink}, err);
}

const struct table_kind missed_table = {
	.name = "missed",
	.summary = "what a gap hid: modified, added, deleted, recreated",
	.columns =
		"gap INTEGER, change TEXT, apigroup TEXT, version TEXT, resource TEXT, namespace TEXT, "
		"name TEXT, uid TEXT, old_uid TEXT, rv TEXT COLLATE kubetape_rv, old_rv TEXT COLLATE kubetape_rv",
	ROW_TABLE_METHODS,
	.detail = &(const struct row_detail){11, fill_missed, NULL},
};

/* ---- marks and bookmarks ---- */

static int each_mark(void *context, const struct tape_mark *m)
{
	struct walk *w = context;

	put_integer(w->sink, (int64_t)m->after_seq);
	put_time(w->sink, m->time_ns);
	put_integer(w->sink, m->time_ns);
	put_string(w->sink, mark_kind_name(m->kind));
	put_integer(w->sink, m->stream);
	put_resource(w->sink, w->tape, stream_of(w->tape, m->stream)->resource);
	put_known(w->sink, m->connection ? (int64_t)m->connection : -1);
	put_slice(w->sink, m->rv);
	put_optional(w->sink, m->object);
	return 0;
}

static int each_bookmark(void *context, const struct tape_mark *m)
{
	bool is_bookmark = m->kind == MARK_BOOKMARK || m->kind == MARK_INITIAL_END;

	return is_bookmark ? each_mark(context, m) : 0;
}

static int fill_marks(struct tape *t, struct row_store *sink, struct err *err)
{
	return tape_each_mark(t, each_mark, &(struct walk){t, sink}, err);
}

static int fill_bookmarks(struct tape *t, struct row_store *sink, struct err *err)
{
	return tape_each_mark(t, each_bookmark, &(struct walk){t, sink}, err);
}

#define MARK_COLUMNS                                                                                         \
	"after_seq INTEGER, time TEXT COLLATE kubetape_time, time_ns INTEGER, kind TEXT, stream INTEGER, "   \
	"apigroup TEXT, version TEXT, resource TEXT, connection INTEGER, rv TEXT COLLATE kubetape_rv, object TEXT"

const struct table_kind marks_table = {
	.name = "marks",
	.summary = "what the server said beside objects: list complete, bookmark, ERROR",
	.columns = MARK_COLUMNS,
	ROW_TABLE_METHODS,
	.detail = &(const struct row_detail){11, fill_marks, NULL},
};

const struct table_kind bookmarks_table = {
	.name = "bookmarks",
	.summary = "the bookmarks among the marks",
	.columns = MARK_COLUMNS,
	ROW_TABLE_METHODS,
	.detail = &(const struct row_detail){11, fill_bookmarks, NULL},
};

/* ---- documents ---- */

static int each_document(void *context, const struct tape_document *d)
{
	struct row_store *sink = ((struct walk *)context)->sink;

	put_integer(sink, (int64_t)d->after_seq);
	put_time(sink, d->time_ns);
	put_integer(sink, d->time_ns);
	put_string(sink, d->path);
	put_string(sink, d->variant);
	put_integer(sink, d->http_status);
	put_string(sink, d->content_type);
	put_string(sink, d->etag);
	put_integer(sink, d->raw_bytes);
	put_later(sink, d->segment, d->id);
	return 0;
}

static int fetch_body(struct tape *t, uint32_t segment, int64_t id, struct buf *to, struct err *err)
{
	return tape_document_body(t, segment, id, to, err);
}

static int fill_documents(struct tape *t, struct row_store *sink, struct err *err)
{
	return tape_each_document(t, each_document, &(struct walk){t, sink}, err);
}

const struct table_kind documents_table = {
	.name = "documents",
	.summary = "what the server said of itself: discovery, version, OpenAPI",
	.columns =
		"after_seq INTEGER, time TEXT COLLATE kubetape_time, time_ns INTEGER, path TEXT, "
		"variant TEXT, http_status INTEGER, content_type TEXT, etag TEXT, bytes INTEGER, body TEXT",
	ROW_TABLE_METHODS,
	.detail = &(const struct row_detail){10, fill_documents, fetch_body},
};

/* ---- segments ---- */

static int each_segment(void *context, const struct tape_segment_info *s)
{
	struct row_store *sink = ((struct walk *)context)->sink;
	bool empty = s->events == 0;

	put_integer(sink, s->number);
	put_string(sink, s->file);
	put_integer(sink, s->sealed);
	put_known(sink, empty ? -1 : (int64_t)s->first_seq);
	put_known(sink, empty ? -1 : (int64_t)s->last_seq);
	put_integer(sink, (int64_t)s->events);
	put_integer(sink, (int64_t)s->extents);
	put_integer(sink, (int64_t)s->state_objects);
	if (empty) {
		put_string(sink, NULL);
		put_string(sink, NULL);
	} else {
		put_time(sink, s->first_time_ns);
		put_time(sink, s->last_time_ns);
	}
	put_integer(sink, (int64_t)s->raw_bytes);
	put_integer(sink, (int64_t)s->disk_bytes);
	put_string(sink, s->program);
	put_string(sink, s->previous_digest);
	return 0;
}

static int fill_segments(struct tape *t, struct row_store *sink, struct err *err)
{
	return tape_each_segment(t, each_segment, &(struct walk){t, sink}, err);
}

const struct table_kind segments_table = {
	.name = "segments",
	.summary = "the files of the tape",
	.columns = "segment INTEGER, file TEXT, sealed INTEGER, first_seq INTEGER, last_seq INTEGER, "
		   "events INTEGER, extents INTEGER, state_objects INTEGER, "
		   "first_time TEXT COLLATE kubetape_time, last_time TEXT COLLATE kubetape_time, "
		   "raw_bytes INTEGER, disk_bytes INTEGER, program TEXT, previous_digest TEXT",
	ROW_TABLE_METHODS,
	.detail = &(const struct row_detail){14, fill_segments, NULL},
};
