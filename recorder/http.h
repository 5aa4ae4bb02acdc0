/*
 * http.h: GET requests to one server, many at a time, on one loop. libcurl is behind it; others see only its codes.
 *
 * Watches never end by themselves; everything else has connections of its own, so that a list never queues
 * after watches that hold all streams of a connection. Over TLS HTTP/2 is used where the server speaks it,
 * with few connections: eight, until more than a hundred watches are on one.
 *
 * Callbacks come from the loop, never from inside http_get. on_done is the last one of a request; after
 * http_cancel none comes.
 */
#ifndef RECORDER_HTTP_H
#define RECORDER_HTTP_H

#include "recorder/credentials.h"

struct http;
struct http_request;

/* The facts about an answer, so far or at its end. Strings are borrowed for the call, "" if unknown. */
struct http_answer {
	int status;                               /* 0: no status line came */
	bool sent;                                /* there was a connection, and the request went out */
	int64_t begin_ns;                         /* wall clock of the request's start */
	int64_t first_byte_after_ns, duration_ns; /* monotonic; -1 no byte came */
	uint64_t bytes;                           /* of the body, decoded */
	int retry_after_s;                        /* -1 none */
	const char *content_type, *etag, *audit_id, *date;
	const char *http_version; /* "1.1", "2" */
	const char *server;       /* address and port reached */
	bool tls;
	/* At the end only. */
	bool aborted; /* on_body said so */
	int curl_code, os_errno, h2_error;
	bool goaway;       /* the server said so on this connection; h2_error is its code */
	const char *error; /* libcurl's words */
};

struct http_handler {
	/* The header has arrived; may be NULL. */
	void (*on_header)(void *context, const struct http_answer *answer);
	/* Bytes of the body, and the wall clock at which they were there. Non-zero: abort the request. */
	int (*on_body)(void *context, struct slice bytes, int64_t time_ns);
	void (*on_done)(void *context, const struct http_answer *answer);
	void *context;
};

/* Everything is borrowed for the life of the http. */
struct http *http_new(uv_loop_t *loop, const struct clock *clock, const struct cluster_config *config);

/* Cancels what runs. The loop must run once more before it is closed. */
void http_free(struct http *h);

/* How many watches there will be: limits how many connections are opened for them. */
void http_expect_watches(struct http *h, size_t count);

/* `target` is path and query, `accept` the Accept header's value; both are copied. on_done also reports
 * failures to start, such as a failing credential plugin. At most a few run at a time; each is given up after
 * a minute without a byte. */
struct http_request *http_get(
	struct http *h, const char *target, const char *accept, const struct http_handler *handler);

/* The same without a limit of time, for an answer that is a stream; `rate` is how many events a second are
 * expected, and decides which others share its connection. */
struct http_request *http_watch(
	struct http *h, const char *target, double rate, const struct http_handler *handler);

void http_cancel(struct http_request *r);

/* The facts about a running request; strings are borrowed until it ends. */
struct http_answer http_answer_so_far(struct http_request *r);

/* While held, no body is delivered; sockets are not read, so that the server has to wait. */
void http_hold(struct http *h, bool hold);

/* While the gate is shut, sockets are read but bodies and ends are kept back; they are delivered, with the
 * time at which they came, when it opens. What exceeds max_bytes waits in the socket. Who takes them in may
 * shut the gate again. */
void http_shut_gate(struct http *h, size_t max_bytes);
void http_open_gate(struct http *h);

/* The bytes that the gate keeps back now. */
size_t http_backlog_bytes(const struct http *h);

/* "host:port" and whether TLS is used, as the configuration says; borrowed. */
const char *http_server(const struct http *h);

/* Appends `text` percent-encoded as a query value. */
int http_escape(const char *text, struct buf *to, struct err *err) MUST_CHECK;

#endif
