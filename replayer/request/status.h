/*
 * status.h: the error object of the API, kind Status, in the shapes that the API server gives it. Clients
 * decide by code, reason and causes; people read the message: all are the server's own words.
 */
#ifndef REPLAYER_STATUS_H
#define REPLAYER_STATUS_H

#include "schema/base/buf.h"

struct status_cause {
	const char *reason; /* constant */
	char *message;      /* owned, may be NULL */
	char *field;        /* owned, may be NULL */
};

struct status {
	int code;
	const char *reason; /* constant; NULL where the server leaves it out */
	char *message;
	bool has_details;          /* "details" is there, if only as {} */
	char *name, *group, *kind; /* of the details; NULL: left out */
	struct status_cause *causes;
	size_t cause_count;
	int retry_after_s;    /* of the details, and of the Retry-After header; 0 none */
	char *continue_token; /* of metadata; a fresh token of an expired list */
};

/* An all-zero status means no error. Releasing one twice is fine. */
void status_release(struct status *s);

/* All of these fill `s` (which must be empty) and return ERR_FAILED, for `return status_...(...)`. */
int status_set(struct status *s, int code, const char *reason, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
int status_bad_request(struct status *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* 404 "the server could not find the requested resource" with empty details. */
int status_no_resource(struct status *s);
/* 405 "the server does not allow this method on the requested resource" with empty details. */
int status_no_method(struct status *s);
/* The same of a custom resource; `verb` is that of the request, "" if it has none. */
int status_no_verb(struct status *s, const char *verb, struct slice group, struct slice resource);
/* 404 of one object: `pods "web" not found`. */
int status_not_found(struct status *s, struct slice group, struct slice resource, struct slice name);
/* 410 Expired. */
int status_expired(struct status *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* 504 with the cause by which clients know that they are ahead of the server. retry_after_s 0: no hint. */
int status_too_large_version(struct status *s, uint64_t asked, uint64_t current, int retry_after_s);

/* Adds a cause; reason is a constant, message (may be NULL) is taken over, field (may be NULL) copied. */
void status_add_cause(struct status *s, const char *reason, char *message, const char *field);

/* A 422 about the options of a request, such as kind ListOptions: begin, add a cause for each fault, then end
 * with the message made of them. */
void status_invalid_begin(struct status *s, const char *kind);
void status_invalid_cause(struct status *s, const char *reason, const char *field, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
int status_invalid_end(struct status *s);

/* Appends the Status as one line of JSON without a line feed. */
int status_write(const struct status *s, struct buf *to, struct err *err) MUST_CHECK;

#endif
