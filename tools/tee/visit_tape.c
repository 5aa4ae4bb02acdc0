/* visit_tape.c: see visit.h. */
#include "tools/tee/visit_internal.h"

#include <stdio.h>
#include <stdlib.h>

/* A server ends a watch that much before the time asked for and still means the time-out. */
#define TIMEOUT_SLACK_NS (3 * NS_PER_S)

#define ERROR_BYTES_MAX ((size_t)64 << 10)
#define TAIL_BYTES_MAX  ((size_t)1 << 20)

/* ---- the stream ---- */

/* What it selects, as a stream of the tape would; the caller frees. */
static char *fields_of(const struct visit *v)
{
	if (v->path.name.len)
		return xasprintf("metadata.name=%.*s", (int)v->path.name.len, v->path.name.ptr);
	return slice_dup(query_get(&v->query, "fieldSelector"));
}

static int get_stream(struct visit *v, const struct tape_resource *resource, struct err *err)
{
	char *namespace = slice_dup(v->path.in_namespace ? v->path.namespace : slice_of(""));
	char *labels = slice_dup(query_get(&v->query, "labelSelector")), *fields = fields_of(v);
	const struct tee_stream_spec spec = {namespace, labels, fields};
	struct ledger *ledger;
	int rc = shelf_ledger(v->office->shelf, resource, &ledger, err);

	if (rc == 0)
		rc = tee_stream_get(ledger, &spec, &v->stream, err);
	free(namespace);
	free(labels);
	free(fields);
	return rc;
}

static bool has_list_ending(struct slice kind)
{
	return kind.len > 4 && memcmp(kind.ptr + kind.len - 4, "List", 4) == 0;
}

void visit_find_stream(struct visit *v, struct slice kind, bool is_namespaced)
{
	struct tape_resource r = {.apigroup = slice_dup(v->path.group),
		.version = slice_dup(v->path.version),
		.resource = slice_dup(v->path.resource)};
	const struct catalog_resource *known =
		catalog_find_version(tape_book_catalog(v->office->book), r.apigroup, r.version, r.resource);
	struct err err;

	if (has_list_ending(kind))
		kind.len -= 4;
	r.kind = known ? xstrdup(known->kind) : slice_dup(kind);
	r.namespaced = known ? known->namespaced : is_namespaced || v->path.in_namespace;
	if (!v->stream && !v->is_partial && *r.kind)
		office_judge(v->office, get_stream(v, &r, &err), &err);
	free(r.apigroup);
	free(r.version);
	free(r.resource);
	free(r.kind);
}

/* ---- the connection ---- */

static int64_t seconds_asked(const struct visit *v)
{
	struct slice text = query_get(&v->query, "timeoutSeconds");
	char digits[16];

	if (!text.len || text.len >= sizeof(digits))
		return -1;
	snprintf(digits, sizeof(digits), "%.*s", (int)text.len, text.ptr);
	return strtoll(digits, NULL, 10);
}

void visit_connection_begin(struct visit *v, const char *purpose)
{
	struct tape_writer *writer = tape_book_writer(v->office->book);
	char *start_rv = slice_dup(query_get(&v->query, "resourceVersion"));
	struct err err;

	v->connection = (struct tape_connection){.stream = tee_stream_id(v->stream),
		.purpose = purpose,
		.target = v->target,
		.server = v->server,
		.http_version = v->version,
		.tls = v->tls,
		.start_rv = v->kind == VISIT_WATCH ? start_rv : NULL,
		.timeout_seconds = v->kind == VISIT_WATCH ? seconds_asked(v) : -1,
		.begin_ns = v->row.time_ns,
		.first_byte_after_ns = -1,
		.duration_ns = -1,
		.retry_after_s = -1,
		.next_delay_ns = -1};
	if (writer)
		office_judge(v->office, tape_writer_begin_connection(writer, &v->connection, &err), &err);
	tape_book_dirty(v->office->book);
	v->connection.start_rv = NULL;
	free(start_rv);
}

static struct slice front(struct slice s, size_t max)
{
	return (struct slice){s.ptr, s.len < max ? s.len : max};
}

void visit_connection_end(struct visit *v, const struct visit_ending *end, const char *reason,
	struct slice status, struct slice tail)
{
	struct tape_writer *writer = tape_book_writer(v->office->book);
	char *start_rv = slice_dup(query_get(&v->query, "resourceVersion"));
	char *error = status.len ? slice_dup(front(status, ERROR_BYTES_MAX)) : NULL;
	struct tape_connection *c = &v->connection;
	struct err err;

	c->start_rv = v->kind == VISIT_WATCH ? start_rv : NULL;
	c->end_reason = reason;
	c->http_status = v->status;
	c->first_byte_after_ns = v->status ? v->answer_mono_ns - v->begin_mono_ns : -1;
	c->duration_ns = end->mono_ns - v->begin_mono_ns;
	c->retry_after_s = (int)v->retry_after;
	c->h2_error = end->code > 0 ? (int)end->code : 0;
	c->error_status = error;
	c->content_type = v->answer_type;
	c->audit_id = v->audit_id;
	c->server_date = v->date;
	c->bytes = v->bytes;
	c->tail = front(tail, TAIL_BYTES_MAX);
	if (writer && c->id)
		office_judge(v->office, tape_writer_end_connection(writer, c, &err), &err);
	tape_book_dirty(v->office->book);
	*c = (struct tape_connection){.id = 0};
	free(start_rv);
	free(error);
}

/* ---- why it ended ---- */

static const char *clean_end(const struct visit *v, const struct visit_ending *end, bool has_tail)
{
	int64_t seconds = seconds_asked(v);

	if (v->kind != VISIT_WATCH)
		return "complete";
	if (has_tail)
		return "cut_clean_midframe";
	if (seconds >= 0 && end->mono_ns - v->begin_mono_ns >= seconds * NS_PER_S - TIMEOUT_SLACK_NS)
		return "server_timeout";
	return "server_close_early";
}

static const char *word_of(const struct visit *v, const struct visit_ending *end, bool has_tail)
{
	if (end->by != PARTY_SERVER)
		return end->by == PARTY_CLIENT ? "client_closed" : "client_stop";
	if (!v->status && end->how != ROAD_RST_STREAM && end->how != ROAD_GOAWAY)
		return "no_response";
	switch (end->how) {
	case ROAD_COMPLETE: return clean_end(v, end, has_tail);
	case ROAD_RST_STREAM: return "h2_stream";
	case ROAD_GOAWAY: return "goaway";
	case ROAD_FIN: return "cut";
	case ROAD_RESET: return "reset";
	default: return "failed";
	}
}

const char *visit_end_reason(
	char to[END_REASON_BYTES], const struct visit *v, const struct visit_ending *end, bool has_tail)
{
	if (v->status >= 300)
		snprintf(to, END_REASON_BYTES, "http_%d", v->status);
	else
		snprintf(to, END_REASON_BYTES, "%s", word_of(v, end, has_tail));
	return to;
}
