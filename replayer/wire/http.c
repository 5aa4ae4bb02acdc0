/* http.c: see http.h. */
#include "replayer/wire/http.h"
#include "schema/base/count_of.h"

#include <strings.h>
#include <time.h>

bool slice_equal_nocase(struct slice a, struct slice b)
{
	return a.len == b.len && (a.len == 0 || strncasecmp(a.ptr, b.ptr, a.len) == 0);
}

struct slice slice_trim(struct slice s)
{
	while (s.len && (s.ptr[0] == ' ' || s.ptr[0] == '\t'))
		s = (struct slice){s.ptr + 1, s.len - 1};
	while (s.len && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
		s.len--;
	return s;
}

size_t http_request_bytes(const struct http_request *r, bool with_body)
{
	size_t n = r->method.len + r->target.len + (with_body ? r->body.len : 0);

	for (size_t i = 0; i < r->header_count; i++)
		n += r->headers[i].name.len + r->headers[i].value.len;
	return n;
}

static struct slice copy_text(struct buf *to, struct slice text)
{
	size_t at = to->len;

	if (!text.len || buf_append(to, text.ptr, text.len, NULL))
		return (struct slice){NULL, 0};
	return (struct slice){to->ptr + at, text.len};
}

void http_request_copy(const struct http_request *r, bool with_body, struct buf *to, struct http_request *ret)
{
	size_t bytes = http_request_bytes(r, with_body);

	buf_init(to, bytes);
	/* All of it now, so that the texts stay where they are. */
	(void)!buf_reserve(to, bytes);
	*ret = (struct http_request){.header_count = r->header_count, .major = r->major};
	ret->method = copy_text(to, r->method);
	ret->target = copy_text(to, r->target);
	for (size_t i = 0; i < r->header_count; i++) {
		ret->headers[i].name = copy_text(to, r->headers[i].name);
		ret->headers[i].value = copy_text(to, r->headers[i].value);
	}
	if (with_body)
		ret->body = copy_text(to, r->body);
}

struct slice http_header_find(const struct http_request *r, const char *name)
{
	struct slice wanted = slice_of(name);

	for (size_t i = 0; i < r->header_count; i++) {
		if (slice_equal_nocase(r->headers[i].name, wanted))
			return r->headers[i].value;
	}
	return (struct slice){NULL, 0};
}

bool http_list_has(struct slice list, const char *word)
{
	while (list.len) {
		const char *comma = memchr(list.ptr, ',', list.len);
		size_t len = comma ? (size_t)(comma - list.ptr) : list.len;
		size_t skip = comma ? len + 1 : len;

		if (slice_equal_nocase(slice_trim((struct slice){list.ptr, len}), slice_of(word)))
			return true;
		list = (struct slice){list.ptr + skip, list.len - skip};
	}
	return false;
}

static bool is_value_char(unsigned char c)
{
	return c == '\t' || (c >= ' ' && c != 0x7f);
}

bool http_is_value(struct slice text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (!is_value_char((unsigned char)text.ptr[i]))
			return false;
	}
	return true;
}

int http_append_value(struct buf *to, struct slice text, struct err *err)
{
	size_t from = to->len;
	int rc = buf_append(to, text.ptr, text.len, err);

	for (size_t i = from; rc == 0 && i < to->len; i++) {
		if (!is_value_char((unsigned char)to->ptr[i]))
			to->ptr[i] = ' ';
	}
	return rc;
}

const char *http_reason(int status)
{
	static const struct {
		int status;
		const char *reason;
	} names[] = {
		{100, "Continue"},
		{101, "Switching Protocols"},
		{200, "OK"},
		{201, "Created"},
		{202, "Accepted"},
		{301, "Moved Permanently"},
		{304, "Not Modified"},
		{400, "Bad Request"},
		{401, "Unauthorized"},
		{403, "Forbidden"},
		{404, "Not Found"},
		{405, "Method Not Allowed"},
		{406, "Not Acceptable"},
		{409, "Conflict"},
		{410, "Gone"},
		{413, "Request Entity Too Large"},
		{415, "Unsupported Media Type"},
		{421, "Misdirected Request"},
		{422, "Unprocessable Entity"},
		{429, "Too Many Requests"},
		{431, "Request Header Fields Too Large"},
		{500, "Internal Server Error"},
		{501, "Not Implemented"},
		{503, "Service Unavailable"},
		{504, "Gateway Timeout"},
		{505, "HTTP Version Not Supported"},
	};

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		if (names[i].status == status)
			return names[i].reason;
	}
	return "Unknown";
}

struct slice http_date_now(char to[HTTP_DATE_BYTES])
{
	time_t now = time(NULL);
	struct tm tm;

	gmtime_r(&now, &tm);
	return (struct slice){to, strftime(to, HTTP_DATE_BYTES, "%a, %d %b %Y %H:%M:%S GMT", &tm)};
}
