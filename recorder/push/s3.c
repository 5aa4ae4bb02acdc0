/* s3.c: see s3.h: where an object is, and one request for it. */
#include "recorder/push/patience.h"
#include "recorder/push/s3_internal.h"
#include "schema/base/clock.h"
#include "schema/base/limits.h"
#include "schema/base/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_REGION "us-east-1"
#define EMPTY_SHA256   "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define SUM_BLOCK      (256u << 10)
#define BUCKET_LEAST   3
#define BUCKET_MOST    63

/* ---- places ---- */

bool s3_is_url(const char *text)
{
	return strncmp(text, S3_SCHEME, strlen(S3_SCHEME)) == 0;
}

struct slice s3_etag_bare(const char *etag)
{
	size_t len = strlen(etag);
	bool is_quoted = len >= 2 && *etag == '"' && etag[len - 1] == '"';

	return is_quoted ? (struct slice){etag + 1, len - 2} : (struct slice){etag, len};
}

/* By the rules of AWS, which other stores share; anything else would end up in a host's name or a path. */
static bool is_bucket_name(struct slice name)
{
	static const char ends[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	size_t len = name.len;

	if (len < BUCKET_LEAST || len > BUCKET_MOST || !memchr(ends, name.ptr[0], sizeof(ends) - 1) ||
		!memchr(ends, name.ptr[len - 1], sizeof(ends) - 1))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!memchr(ends, name.ptr[i], sizeof(ends) - 1) && name.ptr[i] != '.' && name.ptr[i] != '-')
			return false;
	}
	return true;
}

int s3_place_parse(const char *url, struct s3_place *ret, struct err *err)
{
	struct slice rest = slice_of(url), bucket;

	if (!slice_skip(&rest, S3_SCHEME))
		return err_set(
			err, ERR_USAGE, "'%s' is no place in a store, expected s3://BUCKET/PREFIX", url);
	bucket = slice_cut(&rest, '/');
	if (!bucket.len)
		return err_set(err, ERR_USAGE, "'%s' names no bucket, expected s3://BUCKET/PREFIX", url);
	if (!is_bucket_name(bucket))
		return err_set(err, ERR_USAGE,
			"no bucket has a name like '%.*s': expected %d to %d lower-case letters, digits, dots and "
			"hyphens, and a letter or a digit at both ends",
			(int)bucket.len, bucket.ptr, BUCKET_LEAST, BUCKET_MOST);
	while (rest.len && rest.ptr[rest.len - 1] == '/')
		rest.len--;
	*ret = (struct s3_place){slice_dup(bucket), slice_dup(rest)};
	return 0;
}

void s3_place_release(struct s3_place *p)
{
	free(p->bucket);
	free(p->key);
	*p = (struct s3_place){0};
}

/* ---- the store ---- */

int s3_open(const struct s3_options *options, const char *bucket, struct s3 **ret, struct err *err)
{
	struct s3 *s = xcalloc(1, sizeof(*s));
	const char *region;
	int rc;

	s->options = *options;
	s->bucket = xstrdup(bucket);
	s->web = web_new(options->stop, options->context);
	rc = aws_open(s->web, options->profile, &s->aws, err);
	if (rc) {
		s3_close(s);
		return rc;
	}
	region = aws_region(s->aws);
	snprintf(s->region, sizeof(s->region), "%s", region ? region : DEFAULT_REGION);
	if (!s->options.endpoint)
		s->options.endpoint = aws_endpoint(s->aws);
	if (s->options.endpoint && !web_is_address(s->options.endpoint)) {
		rc = err_set(err, ERR_USAGE, "'%s' is no address of a store, expected https://HOST[:PORT]",
			s->options.endpoint);
		s3_close(s);
		return rc;
	}
	if (!s->options.part_bytes)
		s->options.part_bytes = S3_PART_BYTES;
	*ret = s;
	return 0;
}

void s3_close(struct s3 *s)
{
	if (!s)
		return;
	aws_close(s->aws);
	web_free(s->web);
	free(s->bucket);
	free(s);
}

/* ---- one request ---- */

/* Of AWS itself the bucket is part of the host's name, unless a dot in it would spoil the certificate; others have it
 * in the path. */
static int append_base(const struct s3 *s, struct buf *url, struct err *err)
{
	const char *suffix = strncmp(s->region, "cn-", 3) == 0 ? ".cn" : "";
	size_t len = s->options.endpoint ? strlen(s->options.endpoint) : 0;

	while (len && s->options.endpoint[len - 1] == '/')
		len--;
	if (len)
		return buf_printf(url, err, "%.*s/%s/", (int)len, s->options.endpoint, s->bucket);
	if (strchr(s->bucket, '.'))
		return buf_printf(
			url, err, "https://s3.%s.amazonaws.com%s/%s/", s->region, suffix, s->bucket);
	return buf_printf(url, err, "https://%s.s3.%s.amazonaws.com%s/", s->bucket, s->region, suffix);
}

static int append_url(const struct s3 *s, const struct s3_request *r, struct buf *url, struct err *err)
{
	int rc = append_base(s, url, err);

	if (!rc && r->key)
		rc = web_encode(r->key, true, url, err);
	if (!rc && r->query)
		rc = buf_printf(url, err, "?%s", r->query);
	return rc ? rc : buf_append(url, "", 1, err);
}

static int send_signed(struct s3 *s, const struct s3_request *r, int64_t give_up_ns, const char *url,
	const struct aws_keys *keys, struct web_answer *ret, struct err *err)
{
	const struct web_signature signature = {s->region, "s3", keys->key_id, keys->secret};
	char *sum = xasprintf("x-amz-content-sha256: %s", r->sha256 ? r->sha256 : EMPTY_SHA256);
	char *token = keys->token ? xasprintf("x-amz-security-token: %s", keys->token) : NULL;
	struct web_request w = {.method = r->method,
		.url = url,
		.headers = {sum, token},
		.signature = &signature,
		.body = r->body,
		.max_bytes = r->max_bytes ? r->max_bytes : S3_ANSWER_BYTES,
		.silence_limit_s =
			s->options.silence_s ? s->options.silence_s : patience_silence_s(give_up_ns)};
	size_t count = token ? 2 : 1;
	int rc;

	for (size_t i = 0; i < sizeof(r->headers) / sizeof(*r->headers); i++) {
		if (r->headers[i])
			w.headers[count++] = r->headers[i];
	}
	rc = web_call(s->web, &w, ret, err);
	free(sum);
	free(token);
	return rc;
}

static int judge(struct s3 *s, const struct s3_request *r, const struct web_answer *a, bool *ret_again,
	struct err *err)
{
	int rc;

	if (a->status >= 300)
		return s3_refuse(s, r, a, ret_again, err);
	rc = r->judge ? r->judge(r, a, err) : 0;
	*ret_again = rc == ERR_NETWORK;
	return rc;
}

/* One attempt. A failure is *ret_again if another one may end otherwise. */
static int try_once(struct s3 *s, const struct s3_request *r, int64_t give_up_ns, struct web_answer *ret,
	bool *ret_again, struct err *err)
{
	const struct aws_keys *keys;
	struct buf url;
	int rc;

	*ret_again = false;
	*ret = (struct web_answer){.retry_after_s = -1};
	buf_init(&url, 4 * LIMIT_NAME_BYTES);
	if ((rc = append_url(s, r, &url, err)))
		goto done;
	rc = aws_keys_get(s->aws, false, &keys, err);
	rc = rc ? rc : send_signed(s, r, give_up_ns, url.ptr, keys, ret, err);
	*ret_again = rc == ERR_NETWORK;
	if (!rc && (rc = judge(s, r, ret, ret_again, err)))
		web_answer_release(ret);
done:
	buf_release(&url);
	return rc;
}

int s3_call(struct s3 *s, const struct s3_request *r, struct web_answer *ret, struct err *err)
{
	int64_t give_up = clock_mono_ns(&clock_system) + (r->once ? 0 : s->options.retry_ns);
	struct err why = {0};
	bool again = true;
	int rc;

	s->has_moved = s->has_renewed = false;
	for (unsigned attempt = 0;; attempt++) {
		bool moved = s->has_moved, renewed = s->has_renewed;
		int64_t delay;

		rc = try_once(s, r, give_up, ret, &again, &why);
		if (!rc && attempt && s->options.waits)
			s->options.waits(s->options.context, NULL, 0);
		if (!rc)
			return 0;
		if (moved != s->has_moved || renewed != s->has_renewed)
			continue;
		delay = patience_delay(attempt, ret->retry_after_s);
		if (!again || clock_mono_ns(&clock_system) + delay > give_up)
			return err_copy(err, &why);
		if (s->options.waits)
			s->options.waits(s->options.context, &why, delay);
		if (patience_wait(delay, s->options.stop, s->options.context))
			return err_set(err, ERR_STOPPED, "stopped while waiting: %s", why.text);
	}
}

/* ---- sums ---- */

static void sum_to_hex(EVP_MD_CTX *context, char ret[S3_SUM_BYTES])
{
	unsigned char bytes[EVP_MAX_MD_SIZE];
	unsigned len = 0;

	EVP_DigestFinal_ex(context, bytes, &len);
	for (unsigned i = 0; i < len && 2 * i + 2 < S3_SUM_BYTES; i++)
		snprintf(ret + 2 * (size_t)i, 3, "%02x", bytes[i]);
}

int s3_sum_of(struct slice bytes, char ret[S3_SUM_BYTES], struct err *err)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	int rc = 0;

	if (!EVP_DigestInit_ex(context, EVP_sha256(), NULL) ||
		!EVP_DigestUpdate(context, bytes.ptr, bytes.len))
		rc = err_set(err, ERR_FAILED, "OpenSSL has no SHA-256");
	else
		sum_to_hex(context, ret);
	EVP_MD_CTX_free(context);
	return rc;
}

int s3_sum_of_path(const char *path, uint64_t *ret_bytes, char ret[S3_SUM_BYTES], struct err *err)
{
	int fd = regular_file_open(path, O_RDONLY, err), rc;
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		rc = err_set_errno(err, errno, "cannot look at '%s'", path);
	else
		rc = s3_sum_of_file(fd, 0, *ret_bytes = (uint64_t)st.st_size, ret, err);
	close(fd);
	return rc;
}

int s3_sum_of_file(int fd, uint64_t offset, uint64_t bytes, char ret[S3_SUM_BYTES], struct err *err)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	char *block = xmalloc(SUM_BLOCK);
	int rc = EVP_DigestInit_ex(context, EVP_sha256(), NULL)
			 ? 0
			 : err_set(err, ERR_FAILED, "OpenSSL has no SHA-256");

	while (bytes && !rc) {
		ssize_t got = pread(fd, block, bytes < SUM_BLOCK ? bytes : SUM_BLOCK, (off_t)offset);

		if (got <= 0)
			rc = err_set_errno(err, got < 0 ? errno : EIO, "cannot read what is to be pushed");
		else
			EVP_DigestUpdate(context, block, (size_t)got);
		offset += got > 0 ? (uint64_t)got : 0;
		bytes -= got > 0 ? (uint64_t)got : 0;
	}
	if (!rc)
		sum_to_hex(context, ret);
	free(block);
	EVP_MD_CTX_free(context);
	return rc;
}
