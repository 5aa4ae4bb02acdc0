/* request_row.c: see request_row.h. */
#include "recorder/request_row.h"
#include "schema/base/count_of.h"

#include <stdlib.h>

/* Of an error answer so much is kept. */
#define MAX_STATUS_BYTES (16u << 10)

void request_row_release(struct request_row *r)
{
	char *strings[] = {r->target, r->server, r->content_type, r->audit_id, r->date, r->error_status};

	for (size_t i = 0; i < COUNT_OF(strings); i++)
		free(strings[i]);
	*r = (struct request_row){.set = false};
}

static const char *reason_of(struct request_row *r, const struct http_answer *answer)
{
	const struct end_facts facts = {.http_status = answer->status,
		.curl_code = answer->curl_code,
		.os_errno = answer->os_errno,
		.sent = answer->sent,
		.goaway = answer->goaway,
		.h2_error = answer->h2_error,
		.timeout_seconds = -1};

	return end_reason(r->reason, &facts);
}

void request_row_set(struct request_row *r, const char *purpose, const char *target,
	const struct http_answer *answer, struct slice body)
{
	bool is_error = answer->status && answer->status != 200;

	request_row_release(r);
	r->set = true;
	r->target = xstrdup(target);
	r->server = xstrdup(answer->server);
	r->content_type = xstrdup(answer->content_type);
	r->audit_id = xstrdup(answer->audit_id);
	r->date = xstrdup(answer->date);
	if (is_error && body.len)
		r->error_status = slice_dup(
			(struct slice){body.ptr, body.len < MAX_STATUS_BYTES ? body.len : MAX_STATUS_BYTES});
	r->row = (struct tape_connection){
		.purpose = purpose,
		.target = r->target,
		.server = r->server,
		.http_version = answer->http_version,
		.tls = answer->tls,
		.timeout_seconds = -1,
		.begin_ns = answer->begin_ns,
		.first_byte_after_ns = answer->first_byte_after_ns,
		.duration_ns = answer->duration_ns,
		.end_reason = reason_of(r, answer),
		.http_status = answer->status,
		.retry_after_s = answer->retry_after_s,
		.curl_code = answer->curl_code,
		.os_errno = answer->os_errno,
		.h2_error = answer->h2_error,
		.error_status = r->error_status,
		.content_type = r->content_type,
		.audit_id = r->audit_id,
		.server_date = r->date,
		.bytes = answer->bytes,
		.next_delay_ns = -1,
	};
}

int request_row_write(struct request_row *r, struct tape_writer *tape, struct err *err)
{
	int rc;

	if (!r->set)
		return 0;
	rc = tape_writer_begin_connection(tape, &r->row, err);
	if (rc == 0)
		rc = tape_writer_end_connection(tape, &r->row, err);
	request_row_release(r);
	return rc;
}
