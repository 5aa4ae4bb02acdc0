/*
 * web_call.h: synchronous HTTP requests, one after the other, for threads that have nothing else to do. The
 * connection stays open between requests to one host.
 *
 * Requests can be signed as AWS wants it (SigV4). libcurl signs the request unchanged: the query of the URL
 * has to be sorted and percent-encoded, and the body's checksum to be in a header x-amz-content-sha256.
 */
#ifndef RECORDER_PUSH_WEB_CALL_H
#define RECORDER_PUSH_WEB_CALL_H

#include "schema/base/buf.h"

/* "Name: value", ended by NULL. */
#define WEB_HEADERS_MAX 12

struct web;

/* With what to sign; texts are borrowed for the call. */
struct web_signature {
	const char *region, *service, *key_id, *secret;
};

/* Bytes to send: of memory, or of a file. */
struct web_body {
	struct slice memory;
	int fd; /* counts when file_bytes is not 0 */
	uint64_t file_offset, file_bytes;
};

struct web_request {
	const char *method; /* GET, HEAD, PUT, POST, DELETE */
	const char *url;
	const char *headers[WEB_HEADERS_MAX];
	const struct web_signature *signature; /* NULL: not signed */
	struct web_body body;
	size_t max_bytes;        /* of the answer's body */
	int64_t connect_limit_s; /* 0: half a minute */
	int64_t silence_limit_s; /* for which the server may give and take next to nothing; 0: a minute */
};

struct web_answer {
	int status;
	int retry_after_s; /* -1 if it named none */
	uint64_t length;   /* Content-Length; 0 if there was none */
	char etag[128], region[64], date[64], sha256[80];
	struct buf body;
};

/* `stop`, asked now and then while a request runs, ends it; may be NULL. */
struct web *web_new(bool (*stop)(void *context), void *context);
void web_free(struct web *w); /* accepts NULL */

/* 0 once a whole answer came, whatever its status is; the caller releases it. ERR_NETWORK if none came, or a part of
 * one; ERR_TOO_LARGE; ERR_STOPPED. */
int web_call(
	struct web *w, const struct web_request *request, struct web_answer *ret, struct err *err) MUST_CHECK;
void web_answer_release(struct web_answer *a);

/* The server of a URL, for sentences: "https://host:8443", without what may be secret before and after its name. */
#define WEB_SERVER_BYTES 300
void web_server(const char *url, char ret[WEB_SERVER_BYTES]);

/* Whether it is a URL of http or https. */
bool web_is_address(const char *text);

/* Appends the text percent-encoded; slashes stay if `keeps_slashes`. */
int web_encode(const char *text, bool keeps_slashes, struct buf *to, struct err *err) MUST_CHECK;

#endif
