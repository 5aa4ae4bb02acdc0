/*
 * http.h: a request as the handlers see it, whichever HTTP version carried it, and the header of an answer.
 */
#ifndef REPLAYER_HTTP_H
#define REPLAYER_HTTP_H

#include "schema/base/buf.h"

struct peer;

#define HTTP_HEADERS_MAX 128 /* header fields of one request */
#define HTTP_DATE_BYTES  40

struct http_header {
	struct slice name, value;
};

/* Everything is borrowed for the call that hands it over. */
struct http_request {
	struct slice method;
	struct slice target; /* path and query, still percent-encoded */
	struct http_header headers[HTTP_HEADERS_MAX];
	size_t header_count;
	struct slice body;
	int major;         /* 1 or 2 */
	bool is_too_large; /* its body was, and is left out */
	struct peer *peer; /* who sent it */
};

/* How many bytes a copy of the request takes, with its body or without. */
size_t http_request_bytes(const struct http_request *r, bool with_body);

/* A copy that outlives the call: its texts are put into `to`, which has room for them, and stay where they
 * are. */
void http_request_copy(
	const struct http_request *r, bool with_body, struct buf *to, struct http_request *ret);

/* The first field of that name (any case), trimmed; the empty slice if there is none. */
struct slice http_header_find(const struct http_request *r, const char *name);

/* Whether a comma list such as "keep-alive, Upgrade" holds the word, in any case. */
bool http_list_has(struct slice list, const char *word);

/* Whether the text may be sent as the value of a header: no control characters but tabs. */
bool http_is_value(struct slice text);

/* Appends the text as the value of a header. It may come from anywhere, a tape or a client: characters that
 * no value may have become blanks. */
int http_append_value(struct buf *to, struct slice text, struct err *err) MUST_CHECK;

bool slice_equal_nocase(struct slice a, struct slice b);
struct slice slice_trim(struct slice s); /* blanks and tabs off both ends */

/* "Not Found"; "Unknown" for a code without a name. */
const char *http_reason(int status);

/* The value of a Date header; borrowed from `to`. */
struct slice http_date_now(char to[HTTP_DATE_BYTES]);

#endif
