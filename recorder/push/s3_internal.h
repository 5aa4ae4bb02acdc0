/* s3_internal.h: what s3.c (requests), s3_error.c (what the store refuses), s3_object.c and s3_parts.c (objects, and
 * those that are sent in parts) share. */
#ifndef RECORDER_PUSH_S3_INTERNAL_H
#define RECORDER_PUSH_S3_INTERNAL_H

#include "recorder/push/aws_keys.h"
#include "recorder/push/s3.h"

#define S3_ANSWER_BYTES (8u << 20) /* of lists and errors */

struct s3 {
	struct s3_options options;
	struct web *web;
	struct aws *aws;
	char *bucket;
	char region[64];
	bool has_moved, has_renewed; /* during one request: once is enough */
};

struct s3_request {
	const char *method;
	const char *verb;  /* "write", for sentences */
	const char *key;   /* NULL: the bucket itself */
	const char *query; /* sorted and encoded; NULL: none */
	const char *headers[4];
	struct web_body body;
	const char *sha256; /* of the body; NULL without one */
	size_t max_bytes;
	bool once; /* not worth a second try */
	/* Reads the body of an answer whose status is a success, which may be an error even so: ERR_NETWORK asks for another try.
	 * NULL: the status is believed. */
	int (*judge)(const struct s3_request *r, const struct web_answer *answer, struct err *err);
};

/* Asks until it is answered with a success, or with what no repetition changes. The caller releases the answer of a
 * success. */
int s3_call(
	struct s3 *s, const struct s3_request *request, struct web_answer *ret, struct err *err) MUST_CHECK;

/* Makes a sentence of a refusal; returns its code. *ret_again: it is worth another try. */
int s3_refuse(struct s3 *s, const struct s3_request *request, const struct web_answer *answer,
	bool *ret_again, struct err *err);

/* s3_parts.c: what s3_put does with large files. */
int s3_put_parts(struct s3 *s, const struct s3_put *put, int fd, uint64_t bytes, struct err *err) MUST_CHECK;

#endif
