/*
 * json_documents.h: JSON documents one after the other in a stream of bytes, on one line each (NDJSON) or
 * spread over many, as `kubectl get -w -o json` prints them.
 */
#ifndef TOOLS_JSON_DOCUMENTS_H
#define TOOLS_JSON_DOCUMENTS_H

#include "schema/base/buf.h"

struct json_documents {
	int fd; /* the caller's */
	const char *name;
	struct buf bytes;
	size_t begin, at; /* of the document at hand; how far it has been looked through */
	uint64_t passed;  /* bytes of the input before those in `bytes` */
	unsigned depth;
	bool in_string, escaped, ended, spread; /* spread: it has line feeds between its parts */
	uint64_t count;                         /* documents given */
};

void json_documents_init(struct json_documents *d, int fd, const char *name);
void json_documents_release(struct json_documents *d);

/* True if the next document has to be waited for: a good moment to make durable what came before. */
bool json_documents_waits(struct json_documents *d);

/* 1 and the next document, white space between its parts taken out; valid until the next call. 0 at the end
 * or when a signal came, ERR_PROTOCOL if it is not a JSON object, ERR_TOO_LARGE, ERR_IO. */
int json_documents_next(struct json_documents *d, struct slice *ret, struct err *err) MUST_CHECK;

/* How many bytes of the input were looked through. */
uint64_t json_documents_passed(const struct json_documents *d);

/* For input that is not JSON: its first bytes, without consuming them. Empty at its end. */
int json_documents_peek(struct json_documents *d, struct slice *ret, struct err *err) MUST_CHECK;

/* The next line, its line feed included where it has one; valid until the next call. 1, 0 at the end. */
int json_documents_line(struct json_documents *d, struct slice *ret, struct err *err) MUST_CHECK;

#endif
