/*
 * request_row.h: one request that belongs to no stream (discovery, OpenAPI) as a row of the tape. It is kept
 * from when the request has ended until there is a tape to write it to.
 */
#ifndef RECORDER_REQUEST_ROW_H
#define RECORDER_REQUEST_ROW_H

#include "recorder/end_reason.h"
#include "recorder/http.h"
#include "schema/tape/writer.h"

struct request_row {
	struct tape_connection row; /* its strings are those below */
	bool set;
	char reason[END_REASON_BYTES];
	char *target, *server, *content_type, *audit_id, *date, *error_status;
};

/* Takes the facts of the answer; body is that of an error. Copies everything. */
void request_row_set(struct request_row *r, const char *purpose, const char *target,
	const struct http_answer *answer, struct slice body);

/* Writes it, once. Nothing when none is set. */
int request_row_write(struct request_row *r, struct tape_writer *tape, struct err *err) MUST_CHECK;

void request_row_release(struct request_row *r);

#endif
