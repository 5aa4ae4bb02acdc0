/* run_rows.c: see run_file.h. Rows are put, cell by cell, into the buffer that the thread of run_file.c
 * empties. */
#include "schema/run/run_file_internal.h"

#include <stdlib.h>

static void begin_row(struct run_file *f, enum run_statement statement)
{
	char byte = (char)statement;

	pthread_mutex_lock(&f->mutex);
	while (f->filling.len >= f->waiting_max && !f->failure.code)
		pthread_cond_wait(&f->room, &f->mutex);
	if (f->failure.code)
		buf_clear(&f->filling);
	f->is_first = f->filling.len == 0;
	if (buf_append(&f->filling, &byte, 1, NULL))
		abort(); /* the maximum is SIZE_MAX */
}

static void end_row(struct run_file *f)
{
	if (f->is_first || f->filling.len >= f->waiting_max / 2)
		pthread_cond_signal(&f->work);
	pthread_mutex_unlock(&f->mutex);
}

static void run_rows_put(
	struct run_file *f, enum cell kind, const void *head, size_t head_len, struct slice bytes)
{
	char byte = (char)kind;

	if (buf_append(&f->filling, &byte, 1, NULL) || buf_append(&f->filling, head, head_len, NULL) ||
		buf_append(&f->filling, bytes.ptr, bytes.len, NULL))
		abort();
}

static void put_integer(struct run_file *f, int64_t n)
{
	run_rows_put(f, CELL_INTEGER, &n, sizeof(n), (struct slice){NULL, 0});
}

static void put_known(struct run_file *f, bool known, int64_t n)
{
	if (known)
		put_integer(f, n);
	else
		run_rows_put(f, CELL_NULL, NULL, 0, (struct slice){NULL, 0});
}

static void put_blob(struct run_file *f, struct slice s)
{
	uint32_t len = (uint32_t)s.len;

	run_rows_put(f, CELL_BLOB, &len, sizeof(len), s);
}

static void put_text(struct run_file *f, struct slice s)
{
	uint32_t len = (uint32_t)s.len;

	if (s.len)
		run_rows_put(f, CELL_TEXT, &len, sizeof(len), s);
	else
		put_known(f, false, 0);
}

/* The core group has no name, so it is an empty text where there is a resource. */
static void put_resource(struct run_file *f, const struct run_resource *r)
{
	static const uint32_t none;

	if (r->resource.len && !r->apigroup.len)
		run_rows_put(f, CELL_TEXT, &none, sizeof(none), (struct slice){NULL, 0});
	else
		put_text(f, r->apigroup);
	put_text(f, r->version);
	put_text(f, r->resource);
	put_text(f, r->subresource);
	put_text(f, r->namespace);
	put_text(f, r->name);
}

static void put_when(struct run_file *f, int64_t time_ns, int64_t tape_time_ns, uint64_t seq)
{
	put_known(f, time_ns != RUN_NO_TIME, time_ns);
	put_known(f, tape_time_ns != RUN_NO_TIME, tape_time_ns);
	put_integer(f, (int64_t)seq);
}

void run_file_fact(struct run_file *f, const char *name, const char *value)
{
	begin_row(f, RUN_FACT);
	put_text(f, slice_of(name));
	put_text(f, slice_of(value));
	end_row(f);
}

void run_file_request(struct run_file *f, const struct run_request_row *row)
{
	begin_row(f, RUN_REQUEST);
	put_integer(f, (int64_t)row->id);
	put_when(f, row->time_ns, row->tape_time_ns, row->seq);
	put_text(f, row->client);
	put_text(f, row->method);
	put_text(f, row->path);
	put_text(f, row->verb);
	put_resource(f, &row->what);
	put_text(f, row->rv);
	put_known(f, row->seen_seq != 0, (int64_t)row->seen_seq);
	put_known(f, row->seen_rv != 0, (int64_t)row->seen_rv);
	put_known(f, row->latency_ns != RUN_NO_TIME, row->latency_ns);
	put_text(f, row->body);
	put_known(f, row->client_id != 0, (int64_t)row->client_id);
	put_known(f, row->socket != 0, (int64_t)row->socket);
	put_text(f, row->accept);
	end_row(f);
}

void run_file_answer(struct run_file *f, const struct run_answer_row *row)
{
	begin_row(f, RUN_ANSWER);
	put_integer(f, (int64_t)row->request);
	put_known(f, row->status != 0, row->status);
	put_known(f, row->time_ns != RUN_NO_TIME, row->time_ns);
	put_integer(f, row->duration_ns);
	put_integer(f, row->whole);
	put_integer(f, (int64_t)row->events);
	put_integer(f, (int64_t)row->bytes);
	put_text(f, row->content_type);
	put_text(f, row->how);
	put_text(f, row->ended_by);
	put_known(f, row->how.len && row->h2_error >= 0, row->h2_error);
	put_known(f, row->how.len && row->retry_after >= 0, row->retry_after);
	put_text(f, row->audit_id);
	end_row(f);
}

void run_file_delivery(struct run_file *f, const struct run_delivery_row *row)
{
	begin_row(f, RUN_DELIVERY);
	put_integer(f, (int64_t)row->request);
	put_integer(f, (int64_t)row->seq);
	put_text(f, row->type);
	put_known(f, row->due_ns != RUN_NO_TIME, row->due_ns);
	put_integer(f, row->out_ns);
	put_known(f, row->number != 0, (int64_t)row->number);
	put_text(f, row->rv);
	put_text(f, row->uid);
	end_row(f);
}

void run_file_write(struct run_file *f, const struct run_write_row *row)
{
	begin_row(f, RUN_WRITE);
	put_known(f, row->request != 0, (int64_t)row->request);
	put_when(f, row->time_ns, row->tape_time_ns, row->seq);
	put_text(f, row->client);
	put_text(f, row->verb);
	put_resource(f, &row->what);
	put_text(f, row->policy);
	put_text(f, row->content_type);
	put_integer(f, row->dry_run);
	put_text(f, row->body);
	put_text(f, row->object);
	put_known(f, row->status != 0, row->status);
	put_text(f, row->reason);
	put_text(f, row->rv);
	put_text(f, row->uid);
	end_row(f);
}

void run_file_fault(struct run_file *f, const struct run_fault_row *row)
{
	begin_row(f, RUN_FAULT);
	put_when(f, row->time_ns, row->tape_time_ns, row->seq);
	put_known(f, row->rule != 0, (int64_t)row->rule);
	put_known(f, row->episode != 0, (int64_t)row->episode);
	put_text(f, row->step);
	put_text(f, row->what);
	put_text(f, row->detail);
	put_resource(f, &row->where);
	put_known(f, row->request != 0, (int64_t)row->request);
	end_row(f);
}

void run_file_probe(struct run_file *f, const struct run_probe_row *row)
{
	begin_row(f, RUN_PROBE);
	put_integer(f, row->time_ns);
	put_integer(f, (int64_t)row->seq);
	put_text(f, row->output);
	put_integer(f, row->exit_code);
	end_row(f);
}

void run_file_client(struct run_file *f, const struct run_client_row *row)
{
	begin_row(f, RUN_CLIENT);
	put_integer(f, (int64_t)row->id);
	put_text(f, row->client);
	put_text(f, row->credential);
	put_integer(f, row->time_ns);
	end_row(f);
}

void run_file_socket(struct run_file *f, const struct run_socket_row *row)
{
	begin_row(f, RUN_SOCKET);
	put_integer(f, (int64_t)row->id);
	put_integer(f, row->time_ns);
	put_text(f, row->peer);
	put_text(f, row->server);
	put_text(f, row->http_version);
	put_integer(f, row->tls);
	end_row(f);
}

void run_file_socket_end(
	struct run_file *f, uint64_t socket, int64_t time_ns, struct slice how, struct slice ended_by)
{
	begin_row(f, RUN_SOCKET_END);
	put_integer(f, (int64_t)socket);
	put_integer(f, time_ns);
	put_text(f, how);
	put_text(f, ended_by);
	end_row(f);
}

void run_file_frame(struct run_file *f, const struct run_frame_row *row)
{
	begin_row(f, RUN_FRAME);
	put_integer(f, (int64_t)row->request);
	put_integer(f, (int64_t)row->number);
	put_integer(f, row->out_ns);
	put_text(f, row->type);
	put_text(f, row->rv);
	put_text(f, row->uid);
	put_text(f, row->encoding);
	put_blob(f, row->body);
	end_row(f);
}

void run_file_piece(struct run_file *f, const struct run_piece_row *row)
{
	begin_row(f, RUN_PIECE);
	put_integer(f, (int64_t)row->request);
	put_integer(f, (int64_t)row->piece);
	put_integer(f, (int64_t)row->raw_bytes);
	put_blob(f, row->data);
	end_row(f);
}
