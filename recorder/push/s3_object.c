/* s3_object.c: see s3.h: objects, written, read and listed. */
#include "recorder/push/s3_internal.h"
#include "recorder/push/xml_text.h"
#include "schema/base/count_of.h"
#include "schema/base/limits.h"
#include "schema/base/out_file.h"
#include "schema/base/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE_BYTES (4u << 20)

static void note_object(const struct web_answer *a, struct s3_object *ret)
{
	if (!ret)
		return;
	ret->bytes = a->length;
	snprintf(ret->etag, sizeof(ret->etag), "%s", a->etag);
	snprintf(ret->sha256, sizeof(ret->sha256), "%s", a->sha256);
}

int s3_head(struct s3 *s, const char *key, struct s3_object *ret, struct err *err)
{
	struct web_answer answer;
	int rc = s3_call(
		s, &(struct s3_request){.method = "HEAD", .verb = "look at", .key = key}, &answer, err);

	if (rc)
		return rc;
	note_object(&answer, ret);
	web_answer_release(&answer);
	return 0;
}

static int get_into(
	struct s3 *s, const struct s3_request *r, struct buf *to, struct s3_object *ret, struct err *err)
{
	struct web_answer answer;
	int rc = s3_call(s, r, &answer, err);

	if (rc)
		return rc;
	note_object(&answer, ret);
	rc = buf_append(to, answer.body.ptr, answer.body.len, err);
	web_answer_release(&answer);
	return rc;
}

int s3_get(struct s3 *s, const char *key, struct buf *to, struct s3_object *ret, struct err *err)
{
	const struct s3_request r = {
		.method = "GET", .verb = "read", .key = key, .max_bytes = to->max - to->len};

	return get_into(s, &r, to, ret, err);
}

int s3_get_range(
	struct s3 *s, const char *key, uint64_t offset, size_t bytes, struct buf *to, struct err *err)
{
	size_t before = to->len;
	char range[80];
	const struct s3_request r = {
		.method = "GET", .verb = "read", .key = key, .headers = {range}, .max_bytes = bytes};
	int rc;

	snprintf(range, sizeof(range), "Range: bytes=%" PRIu64 "-%" PRIu64, offset, offset + bytes - 1);
	rc = get_into(s, &r, to, NULL, err);
	if (!rc && to->len - before != bytes)
		return err_set(err, ERR_PROTOCOL,
			"'%s%s/%s' has %zu bytes at offset %" PRIu64 ", expected %zu", S3_SCHEME, s->bucket,
			key, to->len - before, offset, bytes);
	return rc;
}

int s3_get_to(struct s3 *s, const char *key, uint64_t bytes, FILE *to, struct err *err)
{
	struct buf piece;
	int rc = 0;

	buf_init(&piece, PIECE_BYTES);
	for (uint64_t at = 0; at < bytes && !rc; at += PIECE_BYTES) {
		uint64_t left = bytes - at;

		buf_clear(&piece);
		rc = s3_get_range(s, key, at, left < PIECE_BYTES ? (size_t)left : PIECE_BYTES, &piece, err);
		if (!rc)
			fwrite(piece.ptr, 1, piece.len, to);
	}
	buf_release(&piece);
	return rc ? rc : out_stream_check(to, err);
}

/* ---- writing ---- */

static int put_whole(struct s3 *s, const struct s3_put *put, const struct web_body *body, struct err *err)
{
	char *type = xasprintf(
		"Content-Type: %s", put->content_type ? put->content_type : "application/octet-stream");
	char *sum = xasprintf("x-amz-meta-sha256: %s", put->sha256);
	char *same = put->only_etag ? xasprintf("If-Match: %s", put->only_etag) : NULL;
	const struct s3_request r = {.method = "PUT",
		.verb = "write",
		.key = put->key,
		.headers = {type, sum, put->only_new ? "If-None-Match: *" : same},
		.body = *body,
		.sha256 = put->sha256};
	struct web_answer answer;
	int rc = s3_call(s, &r, &answer, err);

	if (!rc && put->ret_etag)
		snprintf(put->ret_etag, sizeof(answer.etag), "%s", answer.etag);
	if (!rc)
		web_answer_release(&answer);
	free(type);
	free(sum);
	free(same);
	return rc;
}

static int put_file(struct s3 *s, const struct s3_put *put, struct err *err)
{
	struct stat st;
	int rc, fd = regular_file_open(put->path, O_RDONLY, err);

	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		rc = err_set_errno(err, errno, "cannot look at '%s'", put->path);
	else if ((uint64_t)st.st_size > s->options.part_bytes)
		rc = s3_put_parts(s, put, fd, (uint64_t)st.st_size, err);
	else
		rc = put_whole(s, put, &(struct web_body){.fd = fd, .file_bytes = (uint64_t)st.st_size}, err);
	close(fd);
	return rc;
}

int s3_put(struct s3 *s, const struct s3_put *put, struct err *err)
{
	if (put->path)
		return put_file(s, put, err);
	return put_whole(s, put, &(struct web_body){.memory = put->memory}, err);
}

/* ---- lists ---- */

struct s3_listing {
	const char *prefix, *delimiter;
	int (*each)(void *context, const struct s3_entry *entry);
	void *context;
	char *next; /* where the next page begins; NULL after the last */
};

/* The names of a query's values are in order. */
static int list_query(const struct s3_listing *l, struct buf *to, struct err *err)
{
	int rc = 0;

	if (l->next) {
		rc = buf_printf(to, err, "continuation-token=");
		rc = rc ? rc : web_encode(l->next, false, to, err);
		rc = rc ? rc : buf_append(to, "&", 1, err);
	}
	if (!rc && l->delimiter) {
		rc = buf_printf(to, err, "delimiter=");
		rc = rc ? rc : web_encode(l->delimiter, false, to, err);
		rc = rc ? rc : buf_append(to, "&", 1, err);
	}
	rc = rc ? rc : buf_printf(to, err, "list-type=2&prefix=");
	rc = rc ? rc : web_encode(l->prefix, false, to, err);
	return rc ? rc : buf_append(to, "", 1, err);
}

static int give_entry(const struct s3_listing *l, struct slice entry, const char *tag)
{
	char *key = xml_text(entry, tag), *size = xml_text(entry, "Size"), *etag = xml_text(entry, "ETag");
	int stop = 0;

	if (key)
		stop = l->each(l->context, &(struct s3_entry){key, size ? strtoull(size, NULL, 10) : 0,
						   s3_etag_bare(etag ? etag : "")});
	free(key);
	free(size);
	free(etag);
	return stop;
}

static int give_page(struct s3_listing *l, struct slice page)
{
	static const struct {
		const char *element, *name;
	} kinds[] = {{"Contents", "Key"}, {"CommonPrefixes", "Prefix"}};
	int stop = 0;

	for (size_t i = 0; i < COUNT_OF(kinds) && !stop; i++) {
		struct slice rest = page, entry;

		while (!stop && xml_cut(&rest, kinds[i].element, &entry))
			stop = give_entry(l, entry, kinds[i].name);
	}
	return stop;
}

/* Takes where the next page begins. */
static int turn_page(struct s3_listing *l, struct slice page, struct err *err)
{
	char *is_truncated = xml_text(page, "IsTruncated"), *next = xml_text(page, "NextContinuationToken");
	char *before = l->next;
	bool has_more = is_truncated ? strcmp(is_truncated, "true") == 0 : next && *next;
	int rc = 0;

	if (has_more && (!next || !*next || (before && strcmp(next, before) == 0)))
		rc = err_set(err, ERR_PROTOCOL,
			"the store says that its list goes on, and names no place where, or the same again");
	l->next = has_more && !rc ? xstrdup(next) : NULL;
	free(before);
	free(next);
	free(is_truncated);
	return rc;
}

static bool has_text(struct slice page, const char *text)
{
	return page.len && memmem(page.ptr, page.len, text, strlen(text));
}

static int check_list(const struct s3_request *r, const struct web_answer *answer, struct err *err)
{
	struct slice page = buf_slice(&answer->body);

	(void)r;
	if (!has_text(page, "<ListBucketResult"))
		return err_set(err, ERR_PROTOCOL,
			"what answers in place of the store gives no list of objects; is its address right?");
	if (!has_text(page, "</ListBucketResult>"))
		return err_set(err, ERR_PROTOCOL, "the store's list of objects breaks off");
	return 0;
}

static int list_page(struct s3 *s, struct s3_listing *l, struct err *err)
{
	struct s3_request r = {.method = "GET", .verb = "list", .judge = check_list};
	struct web_answer answer;
	struct buf query;
	int rc;

	buf_init(&query, 8 * LIMIT_NAME_BYTES);
	rc = list_query(l, &query, err);
	r.query = query.ptr;
	if (!rc && !(rc = s3_call(s, &r, &answer, err))) {
		rc = give_page(l, buf_slice(&answer.body));
		rc = rc ? rc : turn_page(l, buf_slice(&answer.body), err);
		web_answer_release(&answer);
	}
	buf_release(&query);
	return rc;
}

int s3_list(struct s3 *s, const char *prefix, const char *delimiter,
	int (*each)(void *context, const struct s3_entry *entry), void *context, struct err *err)
{
	struct s3_listing l = {prefix, delimiter, each, context, NULL};
	int rc;

	do
		rc = list_page(s, &l, err);
	while (!rc && l.next);
	free(l.next);
	return rc;
}
