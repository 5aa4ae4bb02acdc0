/*
 * connection.h: one request of a stream as a row of the tape: written when it begins and again, whole, when
 * it ended.
 */
#ifndef RECORDER_CONNECTION_H
#define RECORDER_CONNECTION_H

#include "recorder/context.h"
#include "recorder/end_reason.h"

/* So much is kept of the body of an error: a proxy's HTML page does not have to be whole. */
#define CONNECTION_STATUS_BYTES (64u << 10)
/* And this much of an incomplete frame. */
#define CONNECTION_TAIL_BYTES (1u << 20)

struct connection {
	struct tape_connection row;
	char *target, *start_rv;
	char reason[END_REASON_BYTES]; /* why it ended, after connection_end */
};

/* The facts about a request before it is sent. */
struct connection_start {
	uint32_t stream;
	const char *purpose; /* "list", "watch", "probe"; must outlive the connection */
	const char *target;
	const char *start_rv;    /* NULL: not a watch */
	int64_t timeout_seconds; /* that the server was asked to end it after; -1: not */
};

/* Writes the row, which gets its id. Copies target and start_rv. Of an earlier connection in c nothing stays.
 */
int connection_begin(struct connection *c, struct recorder_context *x, const struct connection_start *start,
	struct err *err) MUST_CHECK;

/* An event was delivered. */
void connection_event(struct connection *c, uint64_t seq);

/* The meaning of a connection's end beyond the answer itself. */
struct connection_end {
	const char *reason;
	struct slice error_status; /* of an ERROR event, or the body of an error answer */
	struct slice tail;
	const char *last_rv;
	const char *next_action;
	int64_t next_delay_ns;
};

/* answer NULL: there was none yet (a request that is cancelled). Ends nothing when none began. */
int connection_end(struct connection *c, struct recorder_context *x, const struct http_answer *answer,
	const struct connection_end *end, struct err *err) MUST_CHECK;

void connection_release(struct connection *c);

#endif
