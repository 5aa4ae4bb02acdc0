/*
 * import_rows.c: rows as `kubetape export` writes them. Streams, connections and gaps get the ids that our
 * tape gives, and what refers to them follows.
 */
#include "schema/base/count_of.h"
#include "tools/import/import_internal.h"

#include <stdlib.h>

static struct tape_resource resource_of(struct importer *m)
{
	return (struct tape_resource){.apigroup = import_text(m, "apigroup"),
		.version = import_text(m, "version"),
		.resource = import_text(m, "resource"),
		.kind = import_text(m, "kind"),
		.namespaced = import_number(m, "namespaced", 0) != 0};
}

/* By its id when its row was there, else by the names of the resource. */
static int stream_of(struct importer *m, uint32_t *ret, struct err *err)
{
	struct tape_resource resource = resource_of(m);
	int64_t id = import_number(m, "stream", 0);
	int rc;

	*ret = (uint32_t)id_map_get(&m->streams, id);
	if (*ret || !*resource.resource)
		return 0;
	if (!*resource.kind)
		resource.kind = import_text(m, "object.kind");
	resource.namespaced = *import_text(m, "namespace") != 0;
	rc = import_stream(m, &resource, ret, err);
	if (rc)
		return rc;
	if (id)
		id_map_put(&m->streams, id, *ret);
	return 0;
}

static int add_stream(struct importer *m, struct err *err)
{
	struct tape_resource resource = resource_of(m);
	struct tape_stream stream = {.namespace = import_text(m, "namespace"),
		.label_selector = import_text(m, "label_selector"),
		.field_selector = import_text(m, "field_selector")};
	uint32_t id;
	int rc = import_make_stream(m, &resource, &stream, &id, err);

	if (rc)
		return rc;
	id_map_put(&m->streams, import_number(m, "stream", 0), id);
	m->has_stream_row = true;
	return 0;
}

/* ---- events ---- */

static enum event_origin origin_of(const char *name)
{
	enum event_origin origin = ORIGIN_WATCH;

	(void)event_origin_parse(slice_of(name), &origin);
	return origin;
}

static int add_event(struct importer *m, struct err *err)
{
	int64_t seq = import_number(m, "seq", 0);
	int queued = seq ? import_queued_rows(m, seq, err) : 0; /* first: it overwrites texts */
	struct event e = {.time_ns = import_number(m, "time_ns", 0),
		.origin = origin_of(import_text(m, "origin")),
		.flags = (unsigned)import_number(m, "flags", 0) & EVENT_TYPED,
		.rv = slice_of(import_text(m, "rv"))};
	int rc;

	if (queued)
		return queued;
	if (!event_type_parse(slice_of(import_text(m, "type")), &e.type))
		return err_set(err, ERR_PROTOCOL, "a row of events has no type");
	if ((rc = stream_of(m, &e.stream, err)) ||
		(rc = import_append(m, &e, import_raw(m, "object"), &m->last_seq, err)))
		return rc;
	m->has_event_row = true;
	m->counts.events++;
	return 0;
}

static int write_mark(struct importer *m, struct err *err)
{
	const char *kind = import_text(m, "kind");
	struct tape_mark mark = {.time_ns = import_number(m, "time_ns", 0),
		.kind = MARK_BOOKMARK,
		.connection = id_map_get(&m->connections, import_number(m, "connection", 0)),
		.rv = slice_of(import_text(m, "rv")),
		.object = import_raw(m, "object")};
	int rc;

	if (slice_is(mark.object, "null"))
		mark.object = (struct slice){NULL, 0};
	for (int i = MARK_LIST; i <= MARK_ERROR; i++) {
		if (strcmp(kind, mark_kind_name((enum mark_kind)i)) == 0)
			mark.kind = (enum mark_kind)i;
	}
	rc = stream_of(m, &mark.stream, err);
	if (rc)
		return rc;
	m->counts.marks++;
	return import_mark(m, &mark, err);
}

static int write_document(struct importer *m, struct err *err)
{
	struct tape_document d = {.time_ns = import_number(m, "time_ns", 0),
		.path = import_text(m, "path"),
		.variant = import_text(m, "variant"),
		.http_status = (int)import_number(m, "http_status", 0),
		.content_type = import_text(m, "content_type"),
		.etag = import_text(m, "etag"),
		.body = slice_of(import_text(m, "body"))};

	m->counts.rows++;
	return tape_writer_document(m->writer, &d, err);
}

/* The row is written, or written again, when the exported event `after_seq` has passed. */
static void enqueue(struct importer *m, int64_t after_seq, int (*write)(struct importer *m, struct err *err))
{
	m->queue = xgrow(m->queue, m->queue_count, sizeof(*m->queue));
	m->queue[m->queue_count] =
		(struct queued_row){after_seq, m->queue_count, slice_dup(m->document), write};
	m->queue_count++;
	m->queue_sorted = false;
}

/* Marks and documents are exported before the events and have their places among them. */
static int put_in_place(
	struct importer *m, int (*write)(struct importer *m, struct err *err), struct err *err)
{
	int64_t after_seq = import_number(m, "after_seq", -1);

	if (after_seq < 0)
		return write(m, err);
	enqueue(m, after_seq, write);
	return 0;
}

static int add_mark(struct importer *m, struct err *err)
{
	return put_in_place(m, write_mark, err);
}

static int add_document(struct importer *m, struct err *err)
{
	return put_in_place(m, write_document, err);
}

static int by_place(const void *a, const void *b)
{
	const struct queued_row *x = a, *y = b;

	if (x->after_seq != y->after_seq)
		return x->after_seq < y->after_seq ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* The text buffer is made large enough for a line that is read while another one is at hand. */
static int write_queued(struct importer *m, const struct queued_row *row, struct err *err)
{
	struct slice document = m->document;
	size_t texts = m->texts.len;
	int rc;

	m->document = slice_of(row->line);
	buf_clear(&m->texts);
	if (!buf_reserve(&m->texts, 2 * m->document.len + 256))
		rc = err_set(err, ERR_TOO_LARGE, "a row of %zu bytes is too large", m->document.len);
	else
		rc = row->write(m, err);
	m->document = document;
	m->texts.len = texts;
	return rc;
}

int import_queued_rows(struct importer *m, int64_t seq, struct err *err)
{
	int rc = 0;

	import_seqs_pass(&m->seqs, seq, m->last_seq);
	if (!m->queue_sorted && m->queue_count)
		qsort(m->queue + m->queue_done, m->queue_count - m->queue_done, sizeof(*m->queue), by_place);
	m->queue_sorted = true;
	for (; m->queue_done < m->queue_count && m->queue[m->queue_done].after_seq < seq && !rc;
		m->queue_done++)
		rc = write_queued(m, &m->queue[m->queue_done], err);
	return rc;
}

/* ---- connections and gaps ---- */

/* NULL where it is null. */
static const char *text_or_null(struct importer *m, const char *path)
{
	const char *text = import_text(m, path);

	return *text ? text : NULL;
}

static void take_connection_end(struct importer *m, struct tape_connection *c)
{
	c->end_reason = text_or_null(m, "end_reason");
	c->http_status = (int)import_number(m, "http_status", -1);
	c->retry_after_s = (int)import_number(m, "retry_after_s", -1);
	c->curl_code = (int)import_number(m, "curl_code", -1);
	c->os_errno = (int)import_number(m, "os_errno", -1);
	c->h2_error = (int)import_number(m, "h2_error", -1);
	c->error_status = text_or_null(m, "error_status");
	c->content_type = text_or_null(m, "content_type");
	c->audit_id = text_or_null(m, "audit_id");
	c->server_date = text_or_null(m, "server_date");
	c->next_action = text_or_null(m, "next_action");
	c->next_delay_ns = import_number(m, "next_delay_ns", -1);
	c->events = (uint64_t)import_number(m, "events", 0);
	c->bookmarks = (uint64_t)import_number(m, "bookmarks", 0);
	c->bytes = (uint64_t)import_number(m, "bytes", 0);
	c->first_seq = (uint64_t)import_number(m, "first_seq", 0);
	c->last_seq = (uint64_t)import_number(m, "last_seq", 0);
	c->last_rv = text_or_null(m, "last_rv");
	c->tail = slice_of(import_text(m, "tail"));
}

static struct tape_connection connection_of(struct importer *m)
{
	struct tape_connection c = {.purpose = text_or_null(m, "purpose"),
		.target = text_or_null(m, "target"),
		.server = text_or_null(m, "server"),
		.http_version = text_or_null(m, "http_version"),
		.tls = import_number(m, "tls", 0) != 0,
		.start_rv = text_or_null(m, "start_rv"),
		.timeout_seconds = import_number(m, "timeout_seconds", -1),
		.begin_ns = import_number(m, "begin_ns", 0),
		.first_byte_after_ns = import_number(m, "first_byte_after_ns", -1),
		.duration_ns = import_number(m, "duration_ns", -1)};

	take_connection_end(m, &c);
	return c;
}

/* The same once more, with the numbers that its events have on our tape. */
static int renumber_connection(struct importer *m, struct err *err)
{
	struct tape_connection c = connection_of(m);
	uint64_t first = import_seqs_get(&m->seqs, (int64_t)c.first_seq - 1) + 1, last = m->last_seq;
	int rc = 0;

	if (first == c.first_seq && last == c.last_seq)
		return 0;
	c.id = id_map_get(&m->connections, import_number(m, "connection", 0));
	c.first_seq = first <= last ? first : 0;
	c.last_seq = first <= last ? last : 0;
	if (import_number(m, "stream", 0))
		rc = stream_of(m, &c.stream, err);
	if (!rc)
		rc = import_clean_connection(m, &c, err);
	return rc ? rc : tape_writer_end_connection(m->writer, &c, err);
}

static int add_connection(struct importer *m, struct err *err)
{
	struct tape_connection c = connection_of(m);
	int rc;

	if (import_number(m, "stream", 0) && (rc = stream_of(m, &c.stream, err)))
		return rc;
	rc = import_clean_connection(m, &c, err);
	if (!rc)
		rc = tape_writer_begin_connection(m->writer, &c, err);
	if (rc)
		return rc;
	id_map_put(&m->connections, import_number(m, "connection", 0), c.id);
	m->counts.rows++;
	if (c.first_seq) {
		import_seqs_want(&m->seqs, (int64_t)c.first_seq - 1);
		enqueue(m, (int64_t)c.last_seq, renumber_connection);
	}
	return c.end_reason ? tape_writer_end_connection(m->writer, &c, err) : 0;
}

static struct tape_gap gap_of(struct importer *m)
{
	return (struct tape_gap){.reason = text_or_null(m, "reason"),
		.how_ended = text_or_null(m, "how_ended"),
		.begin_seq = (uint64_t)import_number(m, "begin_seq", 0),
		.end_seq = (uint64_t)import_number(m, "end_seq", 0),
		.begin_ns = import_number(m, "begin_ns", 0),
		.end_ns = import_number(m, "end_ns", 0),
		.duration_ns = import_number(m, "duration_ns", -1),
		.from_rv = text_or_null(m, "from_rv"),
		.to_rv = text_or_null(m, "to_rv"),
		.connection_before = id_map_get(&m->connections, import_number(m, "connection_before", 0)),
		.connection_after = id_map_get(&m->connections, import_number(m, "connection_after", 0)),
		.modified = (uint64_t)import_number(m, "modified", 0),
		.added = (uint64_t)import_number(m, "added", 0),
		.deleted = (uint64_t)import_number(m, "deleted", 0),
		.recreated = (uint64_t)import_number(m, "recreated", 0),
		.unchanged = (uint64_t)import_number(m, "unchanged", 0)};
}

static int renumber_gap(struct importer *m, struct err *err)
{
	struct tape_gap g = gap_of(m);
	uint64_t begin = import_seqs_get(&m->seqs, (int64_t)g.begin_seq), end = g.end_seq ? m->last_seq : 0;
	int rc;

	if (begin == g.begin_seq && end == g.end_seq)
		return 0;
	g.id = id_map_get(&m->gaps, import_number(m, "gap", 0));
	g.begin_seq = begin;
	g.end_seq = end;
	rc = stream_of(m, &g.stream, err);
	return rc ? rc : tape_writer_gap(m->writer, &g, err);
}

/* A gap without a number is concluded from rows, which are ours as well. */
static int add_gap(struct importer *m, struct err *err)
{
	struct tape_gap g = gap_of(m);
	int64_t id = import_number(m, "gap", 0);
	int rc;

	if (!id)
		return 0;
	if ((rc = stream_of(m, &g.stream, err)) || (rc = tape_writer_gap(m->writer, &g, err)))
		return rc;
	id_map_put(&m->gaps, id, g.id);
	import_seqs_want(&m->seqs, (int64_t)g.begin_seq);
	enqueue(m, (int64_t)(g.end_seq ? g.end_seq : g.begin_seq), renumber_gap);
	m->counts.rows++;
	return 0;
}

/* Events of a stream that the export left out: from the first of them on the tape has only a part. */
static int write_left_out(struct importer *m, struct err *err)
{
	struct tape_gap g = {.reason = "left_out",
		.how_ended = "open",
		.begin_seq = m->last_seq,
		.begin_ns = import_number(m, "begin_ns", 0),
		.duration_ns = -1};
	int rc = stream_of(m, &g.stream, err);

	m->counts.rows++;
	return rc ? rc : tape_writer_gap(m->writer, &g, err);
}

static int add_left_out(struct importer *m, struct err *err)
{
	int rc;

	if (!m->lacks)
		m->lacks = xasprintf("a part of a tape: the events for which %s", import_text(m, "where"));
	rc = import_begin_connection(m, m->lacks, err);
	if (!rc)
		enqueue(m, import_number(m, "begin_seq", 1) - 1, write_left_out);
	return rc;
}

static int add_missed(struct importer *m, struct err *err)
{
	struct tape_resource resource = resource_of(m);
	struct tape_missed missed = {.gap = id_map_get(&m->gaps, import_number(m, "gap", 0)),
		.change = import_text(m, "change"),
		.namespace = slice_of(import_text(m, "namespace")),
		.name = slice_of(import_text(m, "name")),
		.uid = slice_of(import_text(m, "uid")),
		.old_uid = slice_of(import_text(m, "old_uid")),
		.rv = slice_of(import_text(m, "rv")),
		.old_rv = slice_of(import_text(m, "old_rv"))};
	uint32_t stream;
	int rc;

	resource.namespaced = missed.namespace.len > 0;
	if ((rc = import_stream(m, &resource, &stream, err)) ||
		(rc = tape_writer_resource(m->writer, &resource, &missed.resource, err)))
		return rc;
	m->counts.rows++;
	return tape_writer_missed(m->writer, &missed, err);
}

int import_row(struct importer *m, const char *table, struct err *err)
{
	static const struct {
		const char *table;
		int (*add)(struct importer *m, struct err *err);
	} tables[] = {{"events", add_event}, {"streams", add_stream}, {"left_out", add_left_out},
		{"connections", add_connection}, {"gaps", add_gap}, {"missed", add_missed},
		{"marks", add_mark}, {"documents", add_document}};

	for (size_t i = 0; i < COUNT_OF(tables); i++) {
		if (strcmp(tables[i].table, table) == 0)
			return tables[i].add(m, err);
	}
	m->counts.left_out++;
	return 0;
}
