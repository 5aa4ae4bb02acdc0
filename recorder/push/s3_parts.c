/* s3_parts.c: a large object, sent in parts. The store has none of it until the last request, so that a half of it is never
 * there; parts that a killed program left are given back to the store by the next one that has sent the same object. */
#include "recorder/push/s3_internal.h"
#include "recorder/push/xml_text.h"
#include "schema/base/limits.h"

#include <stdlib.h>

#define LIST_BYTES (4u << 20) /* of part numbers and tags */
#define PARTS_MAX  10000      /* a store takes no more */

/* "uploadId=..." with what stands before it; the caller frees. */
static char *upload_query(const char *before, const char *upload)
{
	struct buf b;
	char *query = NULL;

	buf_init(&b, LIMIT_NAME_BYTES);
	if (!buf_printf(&b, NULL, "%suploadId=", before) && !web_encode(upload, false, &b, NULL))
		query = slice_dup(buf_slice(&b));
	buf_release(&b);
	return query;
}

/* Whatever comes of it: what stays is only paid for. */
static void abort_upload(struct s3 *s, const char *key, const char *upload)
{
	char *query = upload_query("", upload);
	struct web_answer answer;

	if (query &&
		!s3_call(s,
			&(struct s3_request){
				.method = "DELETE", .verb = "end", .key = key, .query = query, .once = true},
			&answer, NULL))
		web_answer_release(&answer);
	free(query);
}

/* Of what is stored now: of a program that was killed, or of one that sends the same, and finds it there. */
static void abort_other_uploads(struct s3 *s, const char *key)
{
	struct s3_request r = {.method = "GET", .verb = "list", .once = true};
	struct web_answer answer;
	struct slice rest, entry;
	struct buf query;

	buf_init(&query, 4 * LIMIT_NAME_BYTES);
	if (buf_printf(&query, NULL, "prefix=") || web_encode(key, false, &query, NULL) ||
		buf_append(&query, "&uploads=", sizeof("&uploads="), NULL))
		goto done;
	r.query = query.ptr;
	if (s3_call(s, &r, &answer, NULL))
		goto done;
	for (rest = buf_slice(&answer.body); xml_cut(&rest, "Upload", &entry);) {
		char *of = xml_text(entry, "Key"), *upload = xml_text(entry, "UploadId");

		if (of && upload && strcmp(of, key) == 0)
			abort_upload(s, key, upload);
		free(of);
		free(upload);
	}
	web_answer_release(&answer);
done:
	buf_release(&query);
}

static int begin_upload(struct s3 *s, const struct s3_put *put, char **ret, struct err *err)
{
	char *sum = xasprintf("x-amz-meta-sha256: %s", put->sha256);
	const struct s3_request r = {
		.method = "POST", .verb = "write", .key = put->key, .query = "uploads=", .headers = {sum}};
	struct web_answer answer;
	int rc = s3_call(s, &r, &answer, err);

	free(sum);
	if (rc)
		return rc;
	*ret = xml_text(buf_slice(&answer.body), "UploadId");
	web_answer_release(&answer);
	return *ret ? 0
		    : err_set(err, ERR_PROTOCOL, "the store began '%s' without naming the upload", put->key);
}

static int send_part(struct s3 *s, const char *key, const char *upload, unsigned number,
	const struct web_body *body, struct buf *list, struct err *err)
{
	char sum[S3_SUM_BYTES], *before = xasprintf("partNumber=%u&", number);
	char *query = upload_query(before, upload);
	const struct s3_request r = {
		.method = "PUT", .verb = "write", .key = key, .query = query, .body = *body, .sha256 = sum};
	struct web_answer answer;
	int rc = s3_sum_of_file(body->fd, body->file_offset, body->file_bytes, sum, err);

	if (!rc && !(rc = s3_call(s, &r, &answer, err))) {
		rc = buf_printf(list, err, "<Part><PartNumber>%u</PartNumber><ETag>%s</ETag></Part>", number,
			answer.etag);
		web_answer_release(&answer);
	}
	free(before);
	free(query);
	return rc;
}

/* A success may still be an error, said after the status. */
static int check_end(const struct s3_request *r, const struct web_answer *answer, struct err *err)
{
	static const char done[] = "CompleteMultipartUploadResult";
	struct slice rest = buf_slice(&answer->body), error;
	char *code;
	int rc;

	if (!xml_cut(&rest, "Error", &error)) {
		if (rest.len && memmem(rest.ptr, rest.len, done, sizeof(done) - 1))
			return 0;
		return err_set(
			err, ERR_NETWORK, "cannot write '%s': the store does not say that it has it", r->key);
	}
	code = xml_text(error, "Code");
	rc = err_set(err, code && strcmp(code, "PreconditionFailed") == 0 ? ERR_BUSY : ERR_NETWORK,
		"cannot write '%s': the store says %s", r->key, code ? code : "no");
	free(code);
	return rc;
}

static int end_upload(
	struct s3 *s, const struct s3_put *put, const char *upload, struct buf *list, struct err *err)
{
	char sum[S3_SUM_BYTES], *query = upload_query("", upload);
	char *same = put->only_etag ? xasprintf("If-Match: %s", put->only_etag) : NULL;
	struct s3_request r = {.method = "POST",
		.verb = "write",
		.key = put->key,
		.query = query,
		.headers = {"Content-Type: application/xml", put->only_new ? "If-None-Match: *" : same},
		.sha256 = sum,
		.judge = check_end};
	struct web_answer answer;
	int rc = buf_printf(list, err, "</CompleteMultipartUpload>");

	r.body.memory = buf_slice(list);
	if (!rc)
		rc = s3_sum_of(r.body.memory, sum, err);
	rc = rc ? rc : s3_call(s, &r, &answer, err);
	if (!rc)
		web_answer_release(&answer);
	free(same);
	free(query);
	return rc;
}

static int send_parts(
	struct s3 *s, const struct s3_put *put, const char *upload, int fd, uint64_t bytes, struct err *err)
{
	uint64_t least = bytes / PARTS_MAX + 1;
	uint64_t step = s->options.part_bytes > least ? s->options.part_bytes : least;
	unsigned number = 0;
	struct buf list;
	int rc;

	buf_init(&list, LIST_BYTES);
	rc = buf_printf(&list, err, "<CompleteMultipartUpload>");
	for (uint64_t at = 0; at < bytes && !rc; at += step) {
		uint64_t len = bytes - at < step ? bytes - at : step;

		rc = send_part(s, put->key, upload, ++number,
			&(struct web_body){.fd = fd, .file_offset = at, .file_bytes = len}, &list, err);
	}
	if (!rc)
		rc = end_upload(s, put, upload, &list, err);
	buf_release(&list);
	return rc;
}

int s3_put_parts(struct s3 *s, const struct s3_put *put, int fd, uint64_t bytes, struct err *err)
{
	char *upload = NULL;
	int rc;

	rc = begin_upload(s, put, &upload, err);
	if (rc)
		return rc;
	rc = send_parts(s, put, upload, fd, bytes, err);
	if (!rc)
		abort_other_uploads(s, put->key);
	else if (rc != ERR_STOPPED)
		abort_upload(s, put->key, upload);
	free(upload);
	return rc;
}
