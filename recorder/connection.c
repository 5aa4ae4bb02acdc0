/* connection.c: see connection.h. */
#include "recorder/connection.h"

#include <stdlib.h>

int connection_begin(struct connection *c, struct recorder_context *x, const struct connection_start *start,
	struct err *err)
{
	connection_release(c);
	c->target = xstrdup(start->target);
	c->start_rv = start->start_rv ? xstrdup(start->start_rv) : NULL;
	c->row = (struct tape_connection){
		.stream = start->stream,
		.purpose = start->purpose,
		.target = c->target,
		.server = http_server(x->http),
		.start_rv = c->start_rv,
		.timeout_seconds = start->timeout_seconds,
		.begin_ns = clock_wall_ns(x->clock),
		.first_byte_after_ns = -1,
		.duration_ns = -1,
		.retry_after_s = -1,
		.next_delay_ns = -1,
	};
	flusher_dirty(x->flusher);
	return tape_writer_begin_connection(flusher_tape(x->flusher), &c->row, err);
}

void connection_event(struct connection *c, uint64_t seq)
{
	if (!c->row.first_seq)
		c->row.first_seq = seq;
	c->row.last_seq = seq;
	c->row.events++;
}

static void take_answer(struct tape_connection *row, const struct http_answer *answer)
{
	row->begin_ns = answer->begin_ns;
	row->first_byte_after_ns = answer->first_byte_after_ns;
	row->duration_ns = answer->duration_ns;
	row->http_status = answer->status;
	row->retry_after_s = answer->retry_after_s;
	row->curl_code = answer->curl_code;
	row->os_errno = answer->os_errno;
	row->h2_error = answer->h2_error;
	row->content_type = answer->content_type;
	row->audit_id = answer->audit_id;
	row->server_date = answer->date;
	row->http_version = answer->http_version;
	row->tls = answer->tls;
	row->bytes = answer->bytes;
	if (*answer->server)
		row->server = answer->server;
}

static struct slice connection_cut(struct slice s, size_t max)
{
	return (struct slice){s.ptr, s.len < max ? s.len : max};
}

int connection_end(struct connection *c, struct recorder_context *x, const struct http_answer *answer,
	const struct connection_end *end, struct err *err)
{
	char *status;
	int rc;

	if (!c->row.id)
		return 0;
	if (answer)
		take_answer(&c->row, answer);
	snprintf(c->reason, sizeof(c->reason), "%s", end->reason);
	status = end->error_status.len ? slice_dup(connection_cut(end->error_status, CONNECTION_STATUS_BYTES))
				       : NULL;
	c->row.end_reason = c->reason;
	c->row.error_status = status;
	c->row.tail = connection_cut(end->tail, CONNECTION_TAIL_BYTES);
	c->row.last_rv = end->last_rv;
	c->row.next_action = end->next_action;
	c->row.next_delay_ns = end->next_delay_ns;
	flusher_dirty(x->flusher);
	rc = tape_writer_end_connection(flusher_tape(x->flusher), &c->row, err);
	free(status);
	c->row = (struct tape_connection){.id = 0};
	return rc;
}

void connection_release(struct connection *c)
{
	free(c->target);
	free(c->start_rv);
	*c = (struct connection){.target = NULL};
}
