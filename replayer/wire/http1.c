/* http1.c: see http1.h. */
#include "replayer/wire/http1.h"

#include "schema/base/hex.h"
#include "schema/base/limits.h"

#include <assert.h>

#define CHUNK_LINE_MAX 1024 /* a chunk's size line or a trailer line */

static bool is_token_char(unsigned char c)
{
	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
		return true;
	return c && strchr("!#$%&'*+-.^_`|~", c);
}

static bool is_token(struct slice s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (!is_token_char((unsigned char)s.ptr[i]))
			return false;
	}
	return s.len > 0;
}

static bool is_target(struct slice s)
{
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];

		if (c <= 0x20 || c == 0x7f)
			return false;
	}
	return s.len > 0 && (s.ptr[0] == '/' || slice_is(s, "*"));
}

/* Proxies may send "http://host/path": only the path counts. */
static struct slice without_authority(struct slice target)
{
	static const char *const schemes[] = {"http://", "https://"};

	for (size_t i = 0; i < 2; i++) {
		size_t n = strlen(schemes[i]);
		const char *slash;

		if (target.len <= n || memcmp(target.ptr, schemes[i], n) != 0)
			continue;
		slash = memchr(target.ptr + n, '/', target.len - n);
		if (slash)
			return (struct slice){slash, target.len - (size_t)(slash - target.ptr)};
		return slice_of("/");
	}
	return target;
}

/* Takes one line off `rest`; the caller knows that every line ends in CRLF. */
static struct slice take_line(struct slice *rest)
{
	const char *end = memmem(rest->ptr, rest->len, "\r\n", 2);
	struct slice line = {rest->ptr, (size_t)(end - rest->ptr)};

	*rest = (struct slice){end + 2, rest->len - line.len - 2};
	return line;
}

static int read_request_line(struct slice line, struct http_request *ret, bool *ret_10, struct err *err)
{
	const char *first = memchr(line.ptr, ' ', line.len);
	const char *last = memrchr(line.ptr, ' ', line.len);
	struct slice version;

	if (!first || first == last)
		return err_set(err, ERR_PROTOCOL, "malformed request line: expected 'METHOD TARGET VERSION'");
	ret->method = (struct slice){line.ptr, (size_t)(first - line.ptr)};
	ret->target = without_authority((struct slice){first + 1, (size_t)(last - first - 1)});
	version = (struct slice){last + 1, line.len - (size_t)(last + 1 - line.ptr)};
	*ret_10 = slice_is(version, "HTTP/1.0");
	if (!*ret_10 && !slice_is(version, "HTTP/1.1"))
		return err_set(err, ERR_PROTOCOL, "malformed HTTP version '%.*s'",
			(int)(version.len > 40 ? 40 : version.len), version.ptr);
	if (!is_token(ret->method))
		return err_set(err, ERR_PROTOCOL, "malformed request method");
	if (!is_target(ret->target))
		return err_set(err, ERR_PROTOCOL, "malformed request target");
	return 0;
}

static int read_field(struct slice line, struct http_request *ret, struct err *err)
{
	const char *colon = memchr(line.ptr, ':', line.len);
	struct http_header *h = &ret->headers[ret->header_count];

	if (ret->header_count == HTTP_HEADERS_MAX)
		return err_set(err, ERR_TOO_LARGE, "more than %d header fields", HTTP_HEADERS_MAX);
	if (!colon)
		return err_set(err, ERR_PROTOCOL, "header line without a colon");
	h->name = (struct slice){line.ptr, (size_t)(colon - line.ptr)};
	h->value = slice_trim((struct slice){colon + 1, line.len - h->name.len - 1});
	if (!is_token(h->name))
		return err_set(err, ERR_PROTOCOL, "malformed header name");
	if (!http_is_value(h->value))
		return err_set(err, ERR_PROTOCOL, "malformed value of header '%.*s'",
			(int)(h->name.len > 80 ? 80 : h->name.len), h->name.ptr);
	ret->header_count++;
	return 0;
}

static size_t count_fields(const struct http_request *r, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < r->header_count; i++)
		n += slice_equal_nocase(r->headers[i].name, slice_of(name));
	return n;
}

/* A number of one to 18 digits. */
static bool read_number(struct slice digits, uint64_t *ret)
{
	uint64_t number = 0;

	if (digits.len == 0 || digits.len > 18)
		return false;
	for (size_t i = 0; i < digits.len; i++) {
		if (digits.ptr[i] < '0' || digits.ptr[i] > '9')
			return false;
		number = number * 10 + (uint64_t)(digits.ptr[i] - '0');
	}
	*ret = number;
	return true;
}

static int read_content_length(struct slice digits, uint64_t *ret, struct err *err)
{
	uint64_t length;

	if (!read_number(digits, &length))
		return err_set(err, ERR_PROTOCOL, "malformed Content-Length '%.*s'",
			(int)(digits.len > 40 ? 40 : digits.len), digits.ptr);
	*ret = length;
	return 0;
}

static int read_framing(
	const struct http_request *r, bool http_10, struct http1_framing *ret, struct err *err)
{
	struct slice connection = http_header_find(r, "Connection");
	size_t lengths = count_fields(r, "Content-Length"), codings = count_fields(r, "Transfer-Encoding");
	struct http1_framing f = {
		.keep_alive = http_10 ? http_list_has(connection, "keep-alive")
				      : !http_list_has(connection, "close"),
		.expect_continue =
			slice_equal_nocase(http_header_find(r, "Expect"), slice_of("100-continue")),
		.chunked = codings > 0,
	};
	int rc = 0;

	if (!http_10 && count_fields(r, "Host") != 1)
		return err_set(err, ERR_PROTOCOL, "expected exactly one Host header");
	if (lengths + codings > 1)
		return err_set(err, ERR_PROTOCOL, "more than one statement of the body's length");
	if (codings && (http_10 || !slice_equal_nocase(
					   http_header_find(r, "Transfer-Encoding"), slice_of("chunked"))))
		return err_set(err, ERR_PROTOCOL,
			"unsupported Transfer-Encoding: expected 'chunked', with HTTP/1.1");
	if (lengths)
		rc = read_content_length(http_header_find(r, "Content-Length"), &f.content_length, err);
	if (rc == 0)
		*ret = f;
	return rc;
}

int http1_read_head(struct slice in, size_t *scanned, struct http_request *ret,
	struct http1_framing *ret_framing, struct err *err)
{
	size_t from = *scanned > 3 ? *scanned - 3 : 0;
	const char *end = from < in.len ? memmem(in.ptr + from, in.len - from, "\r\n\r\n", 4) : NULL;
	struct slice rest;
	bool http_10 = false;
	int rc;

	*scanned = in.len;
	/* Somebody who speaks TLS to a plain port waits for an answer before it sends more. */
	if (in.len && !is_token_char((unsigned char)in.ptr[0]))
		return err_set(err, ERR_PROTOCOL, "malformed request method");
	if (!end && in.len < LIMIT_REQUEST_HEAD_BYTES)
		return 0;
	if (!end || (size_t)(end - in.ptr) > LIMIT_REQUEST_HEAD_BYTES)
		return err_set(
			err, ERR_TOO_LARGE, "request head of more than %u bytes", LIMIT_REQUEST_HEAD_BYTES);
	rest = (struct slice){in.ptr, (size_t)(end - in.ptr) + 2};
	ret->header_count = 0;
	ret->body = (struct slice){NULL, 0};
	ret->major = 1;
	rc = read_request_line(take_line(&rest), ret, &http_10, err);
	while (rc == 0 && rest.len)
		rc = read_field(take_line(&rest), ret, err);
	if (rc == 0)
		rc = read_framing(ret, http_10, ret_framing, err);
	return rc ? rc : (int)(end - in.ptr) + 4;
}

/* "1f4" or "1f4;extension" */
static int read_chunk_size(struct slice line, uint64_t *ret, struct err *err)
{
	uint64_t size = 0;
	size_t i = 0;

	for (; i < line.len && hex_digit(line.ptr[i]) >= 0; i++) {
		size = size << 4 | (uint64_t)hex_digit(line.ptr[i]);
		if (size > LIMIT_DROPPED_BYTES)
			return err_set(err, ERR_TOO_LARGE, "chunk above the maximum of %u bytes",
				LIMIT_DROPPED_BYTES);
	}
	if (i == 0 || (i < line.len && line.ptr[i] != ';'))
		return err_set(err, ERR_PROTOCOL, "malformed chunk size");
	*ret = size;
	return 0;
}

/* One line of the framing: 1 and the line, 0 when it is not whole yet. */
static int next_line(struct slice in, struct slice *ret, struct err *err)
{
	const char *end = memmem(in.ptr, in.len, "\r\n", 2);

	if ((end ? (size_t)(end - in.ptr) : in.len) > CHUNK_LINE_MAX)
		return err_set(err, ERR_PROTOCOL, "chunk framing line of more than %d bytes", CHUNK_LINE_MAX);
	if (!end)
		return 0;
	*ret = (struct slice){in.ptr, (size_t)(end - in.ptr)};
	return 1;
}

/* Uses what it can of `in` in the present state. Returns bytes used, 0 when more must arrive. */
static int step_line(struct http1_chunks *c, struct slice in, struct err *err)
{
	struct slice line = {NULL, 0};
	int rc = next_line(in, &line, err);

	if (rc <= 0)
		return rc;
	if (c->state == HTTP1_CHUNK_SIZE) {
		rc = read_chunk_size(line, &c->left, err);
		c->state = c->left ? HTTP1_CHUNK_DATA : HTTP1_CHUNK_TRAILER;
	} else if (c->state == HTTP1_CHUNK_DATA_END) {
		rc = line.len ? err_set(err, ERR_PROTOCOL, "chunk longer than its size") : 0;
		c->state = HTTP1_CHUNK_SIZE;
	} else if (line.len == 0) {
		rc = 0;
		c->state = HTTP1_CHUNK_DONE;
	} else {
		rc = 0;
	}
	return rc < 0 ? rc : (int)line.len + 2;
}

static int take_data(struct http1_chunks *c, struct slice bytes, struct buf *body, struct err *err)
{
	if (!c->is_too_large && body->len + bytes.len <= body->max)
		return buf_append(body, bytes.ptr, bytes.len, err);
	c->is_too_large = true;
	c->dropped += body->len + bytes.len;
	buf_release(body);
	if (c->dropped > LIMIT_DROPPED_BYTES)
		return err_set(err, ERR_TOO_LARGE, "request body above the maximum of %zu bytes", body->max);
	return 0;
}

static int step_data(struct http1_chunks *c, struct slice in, struct buf *body, struct err *err)
{
	size_t n = in.len < c->left ? in.len : (size_t)c->left;
	int rc = take_data(c, (struct slice){in.ptr, n}, body, err);

	if (rc)
		return rc;
	c->left -= n;
	if (c->left == 0)
		c->state = HTTP1_CHUNK_DATA_END;
	return (int)n;
}

int http1_read_chunks(struct http1_chunks *c, struct slice in, struct buf *body, struct err *err)
{
	size_t used = 0;

	while (c->state != HTTP1_CHUNK_DONE && used < in.len) {
		struct slice rest = {in.ptr + used, in.len - used};
		int n = c->state == HTTP1_CHUNK_DATA ? step_data(c, rest, body, err)
						     : step_line(c, rest, err);

		if (n < 0)
			return n;
		if (n == 0)
			break;
		used += (size_t)n;
	}
	return (int)used;
}

int http1_write_head(
	struct buf *to, int status, const struct http_header *headers, size_t count, struct err *err)
{
	int rc = buf_printf(to, err, "HTTP/1.1 %d %s\r\n", status, http_reason(status));

	for (size_t i = 0; i < count && rc == 0; i++) {
		assert(is_token(headers[i].name));
		rc = buf_printf(to, err, "%.*s: ", (int)headers[i].name.len, headers[i].name.ptr);
		if (rc == 0)
			rc = http_append_value(to, headers[i].value, err);
		if (rc == 0)
			rc = buf_append(to, "\r\n", 2, err);
	}
	return rc ? rc : buf_append(to, "\r\n", 2, err);
}
