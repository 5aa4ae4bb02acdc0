/* writer_rows.c: the rows of writer.h, put into the order of their tables' columns (format.c) and queued. */
#include "schema/base/limits.h"
#include "schema/tape/writer_internal.h"

/* Documents are packed anew, with each other, when their segment is sealed. */
#define DOCUMENT_LEVEL 1

#define N(number) value_integer((int64_t)(number))
#define T(text)   value_text(text)
#define S(slice)  value_slice(slice)

/* The last event before a row. */
static struct value after_seq(const struct tape_writer *w)
{
	return N(w->last_seq);
}

int tape_writer_resource(
	struct tape_writer *w, const struct tape_resource *r, uint32_t *ret_id, struct err *err)
{
	uint32_t id = registry_find_resource(&w->registry, r);

	(void)err;
	if (!id) {
		id = registry_add_resource(&w->registry, r);
		row_queue_add(w->rows, TABLE_RESOURCE,
			(struct value[]){N(id), T(r->apigroup), T(r->version), T(r->resource), T(r->kind),
				N(r->namespaced)});
	}
	*ret_id = id;
	return 0;
}

int tape_writer_stream(struct tape_writer *w, const struct tape_stream *s, uint32_t *ret_id, struct err *err)
{
	uint32_t id = registry_find_stream(&w->registry, s);

	if (!registry_resource(&w->registry, s->resource))
		return err_set(err, ERR_USAGE, "stream names resource %u, which the tape does not have",
			s->resource);
	if (!id) {
		id = registry_add_stream(&w->registry, s);
		row_queue_add(w->rows, TABLE_STREAM,
			(struct value[]){N(id), N(s->resource), T(s->namespace), T(s->label_selector),
				T(s->field_selector), after_seq(w), N(clock_wall_ns(w->options.clock))});
	}
	*ret_id = id;
	return 0;
}

static void queue_connection(struct tape_writer *w, const struct tape_connection *c)
{
	struct value values[] = {
		N(c->id),
		after_seq(w),
		N(c->stream),
		T(c->purpose),
		T(c->target),
		T(c->server),
		T(c->http_version),
		N(c->tls),
		T(c->start_rv),
		N(c->timeout_seconds),
		N(c->begin_ns),
		N(c->first_byte_after_ns),
		N(c->duration_ns),
		N(c->first_seq),
		N(c->last_seq),
		T(c->end_reason),
		N(c->http_status),
		N(c->retry_after_s),
		N(c->curl_code),
		N(c->os_errno),
		N(c->h2_error),
		T(c->error_status),
		T(c->content_type),
		T(c->audit_id),
		T(c->server_date),
		N(c->bytes),
		N(c->events),
		N(c->bookmarks),
		T(c->last_rv),
		value_blob(c->tail),
		T(c->next_action),
		N(c->next_delay_ns),
	};

	row_queue_add(w->rows, TABLE_CONNECTION, values);
}

int tape_writer_begin_connection(struct tape_writer *w, struct tape_connection *c, struct err *err)
{
	(void)err;
	c->id = (uint64_t)++w->ids[TABLE_CONNECTION];
	queue_connection(w, c);
	return 0;
}

int tape_writer_end_connection(struct tape_writer *w, const struct tape_connection *c, struct err *err)
{
	if (!c->id || (int64_t)c->id > w->ids[TABLE_CONNECTION])
		return err_set(err, ERR_USAGE, "connection %llu was never begun", (unsigned long long)c->id);
	queue_connection(w, c);
	return 0;
}

int tape_writer_mark(struct tape_writer *w, const struct tape_mark *m, struct err *err)
{
	(void)err;
	row_queue_add(w->rows, TABLE_MARK,
		(struct value[]){N(++w->ids[TABLE_MARK]), after_seq(w), N(m->time_ns),
			T(mark_kind_name(m->kind)), N(m->stream), N(m->connection), S(m->rv), S(m->object)});
	return 0;
}

int tape_writer_gap(struct tape_writer *w, struct tape_gap *g, struct err *err)
{
	(void)err;
	if (!g->id)
		g->id = (uint64_t)++w->ids[TABLE_GAP];
	row_queue_add(w->rows, TABLE_GAP,
		(struct value[]){N(g->id), N(g->stream), N(g->begin_seq), N(g->end_seq), N(g->begin_ns),
			N(g->end_ns), N(g->duration_ns), T(g->from_rv), T(g->to_rv), T(g->reason),
			T(g->how_ended), N(g->connection_before), N(g->connection_after), N(g->modified),
			N(g->added), N(g->deleted), N(g->recreated), N(g->unchanged)});
	return 0;
}

int tape_writer_missed(struct tape_writer *w, const struct tape_missed *m, struct err *err)
{
	(void)err;
	row_queue_add(w->rows, TABLE_MISSED,
		(struct value[]){N(++w->ids[TABLE_MISSED]), N(m->gap), T(m->change), N(m->resource),
			S(m->namespace), S(m->name), S(m->uid), S(m->old_uid), S(m->rv), S(m->old_rv)});
	return 0;
}

int tape_writer_epoch(struct tape_writer *w, const char *cluster_uid, const char *reason, struct err *err)
{
	(void)err;
	row_queue_add(w->rows, TABLE_EPOCH,
		(struct value[]){N(++w->ids[TABLE_EPOCH]), after_seq(w), N(clock_wall_ns(w->options.clock)),
			T(cluster_uid), T(reason)});
	return 0;
}

int tape_writer_document(struct tape_writer *w, const struct tape_document *d, struct err *err)
{
	struct buf body;
	int rc;

	buf_init(&body, LIMIT_DOCUMENT_BYTES);
	rc = codec_pack(d->body, DOCUMENT_LEVEL, &body, err);
	if (!rc)
		row_queue_add(w->rows, TABLE_DOCUMENT,
			(struct value[]){N(++w->ids[TABLE_DOCUMENT]), after_seq(w), N(d->time_ns), T(d->path),
				T(d->variant), N(d->http_status), T(d->content_type), T(d->etag),
				N(d->body.len), N(codec_hash(buf_slice(&body))),
				value_blob(buf_slice(&body))});
	buf_release(&body);
	return rc;
}
