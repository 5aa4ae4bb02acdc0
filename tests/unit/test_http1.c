/* test_http1.c: the strict reader of HTTP/1.1 requests. */
#include "replayer/wire/http1.h"
#include "schema/base/limits.h"
#include "tests/unit/unit.h"

static struct http_request request;
static struct http1_framing framing;
static struct err err;

static int read_text(const char *text)
{
	size_t scanned = 0;

	return http1_read_head(slice_of(text), &scanned, &request, &framing, &err);
}

START_TEST(head_reader__takes_a_plain_get)
{
	const char *text =
		"GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: a:1\r\nAccept:  application/json \r\n\r\n";

	ck_assert_int_eq(read_text(text), (int)strlen(text));
	ck_assert_slice_eq(request.method, "GET");
	ck_assert_slice_eq(request.target, "/api/v1/pods?watch=1");
	ck_assert_slice_eq(http_header_find(&request, "accept"), "application/json");
	ck_assert(framing.keep_alive);
	ck_assert(!framing.chunked);
	ck_assert_uint_eq(framing.content_length, 0);
}
END_TEST

START_TEST(head_reader__waits_at_every_cut)
{
	const char *text = "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 12\r\n\r\nbody";
	size_t scanned = 0, whole = strlen(text) - 4;

	for (size_t len = 0; len < whole; len++) {
		struct slice part = {text, len};

		ck_assert_int_eq(http1_read_head(part, &scanned, &request, &framing, &err), 0);
	}
	ck_assert_int_eq(http1_read_head(slice_of(text), &scanned, &request, &framing, &err), (int)whole);
	ck_assert_uint_eq(framing.content_length, 12);
}
END_TEST

START_TEST(head_reader__refuses_what_two_readers_could_read_differently)
{
	static const char *const bad[] = {
		"GET / HTTP/1.1\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
		"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET / HTTP/2.0\r\nHost: a\r\n\r\n",
		"G(T / HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET x HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\nX: y\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
		"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
		"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
	};

	for (size_t i = 0; i < COUNT_OF(bad); i++)
		ck_assert_msg(read_text(bad[i]) == ERR_PROTOCOL, "accepted: %s", bad[i]);
}
END_TEST

START_TEST(head_reader__does_not_wait_for_the_end_of_what_begins_no_method)
{
	ck_assert_int_eq(read_text("\x16\x03\x01\x02"), ERR_PROTOCOL);
	ck_assert_int_eq(read_text("G"), 0);
}
END_TEST

START_TEST(head_reader__knows_when_the_connection_closes)
{
	ck_assert_int_gt(read_text("GET / HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n"), 0);
	ck_assert(!framing.keep_alive);
	ck_assert_int_gt(read_text("GET / HTTP/1.0\r\n\r\n"), 0);
	ck_assert(!framing.keep_alive);
	ck_assert_int_gt(read_text("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"), 0);
	ck_assert(framing.keep_alive);
}
END_TEST

START_TEST(head_reader__drops_scheme_and_host_of_a_proxy_request)
{
	ck_assert_int_gt(read_text("GET http://host:80/api?x=1 HTTP/1.1\r\nHost: a\r\n\r\n"), 0);
	ck_assert_slice_eq(request.target, "/api?x=1");
	ck_assert_int_gt(read_text("GET https://host HTTP/1.1\r\nHost: a\r\n\r\n"), 0);
	ck_assert_slice_eq(request.target, "/");
}
END_TEST

START_TEST(head_reader__refuses_heads_above_the_limit)
{
	size_t len = LIMIT_REQUEST_HEAD_BYTES + 1, scanned = 0;
	char *text = malloc(len);

	memset(text, 'a', len);
	ck_assert_int_eq(http1_read_head((struct slice){text, len}, &scanned, &request, &framing, &err),
		ERR_TOO_LARGE);
	free(text);
}
END_TEST

START_TEST(chunk_reader__joins_chunks_however_they_arrive)
{
	const char *text = "4;name=x\r\nWiki\r\n5\r\npedia\r\n0\r\nTrailer: y\r\n\r\nNEXT";

	for (size_t step = 1; step <= strlen(text); step++) {
		struct http1_chunks chunks = {0};
		struct buf body;
		size_t used = 0, arrived = 0;

		buf_init(&body, 100);
		while (chunks.state != HTTP1_CHUNK_DONE) {
			struct slice in = {text + used, 0};
			int n;

			arrived = arrived + step > strlen(text) ? strlen(text) : arrived + step;
			in.len = arrived - used;
			n = http1_read_chunks(&chunks, in, &body, &err);
			ck_assert_ok(n, &err);
			used += (size_t)n;
		}
		ck_assert_slice_eq(buf_slice(&body), "Wikipedia");
		ck_assert_str_eq(text + used, "NEXT");
		buf_release(&body);
	}
}
END_TEST

START_TEST(chunk_reader__keeps_nothing_of_a_body_that_is_too_large_and_finds_its_end)
{
	const char *text = "4\r\nWiki\r\n5\r\npedia\r\n1\r\nx\r\n0\r\n\r\nNEXT";
	struct http1_chunks chunks = {0};
	struct buf body;
	int n;

	buf_init(&body, 8);
	n = http1_read_chunks(&chunks, slice_of(text), &body, &err);
	ck_assert_ok(n, &err);
	ck_assert_str_eq(text + n, "NEXT");
	ck_assert(chunks.state == HTTP1_CHUNK_DONE && chunks.is_too_large);
	ck_assert_uint_eq(body.len, 0);
	ck_assert_uint_eq(chunks.dropped, 10);
}
END_TEST

START_TEST(chunk_reader__does_not_read_on_for_ever)
{
	static char data[1 << 20];
	struct http1_chunks chunks = {.state = HTTP1_CHUNK_DATA, .left = UINT64_MAX};
	struct buf body;
	size_t used = 0;
	int n = 0;

	buf_init(&body, 8);
	while ((n = http1_read_chunks(&chunks, (struct slice){data, sizeof(data)}, &body, &err)) > 0)
		used += (size_t)n;
	ck_assert_int_eq(n, ERR_TOO_LARGE);
	ck_assert_uint_eq(used, LIMIT_DROPPED_BYTES);
}
END_TEST

START_TEST(chunk_reader__refuses_malformed_chunks)
{
	static const char *const bad[] = {
		"x\r\n", "\r\n", "3\r\nabcd\r\n", "-1\r\n", "fffffffffffffffff\r\n"};

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct http1_chunks chunks = {0};
		struct buf body;

		buf_init(&body, 100);
		ck_assert_msg(http1_read_chunks(&chunks, slice_of(bad[i]), &body, &err) < 0, "accepted: %s",
			bad[i]);
		buf_release(&body);
	}
}
END_TEST

START_TEST(head_writer__makes_blanks_of_what_no_value_may_hold)
{
	const struct http_header headers[] = {{slice_of("Warning"), {"a\x7f\r\nX: y\0z\t\xc3\xa4", 13}},
		{slice_of("Etag"), slice_of("\"e\"")}};
	struct buf head;

	buf_init(&head, 1000);
	ck_assert_int_eq(http1_write_head(&head, 200, headers, COUNT_OF(headers), &err), 0);
	ck_assert_slice_eq(
		buf_slice(&head), "HTTP/1.1 200 OK\r\nWarning: a   X: y z\t\xc3\xa4\r\nEtag: \"e\"\r\n\r\n");
	buf_release(&head);
}
END_TEST

START_TEST(list_header__is_searched_word_by_word)
{
	ck_assert(http_list_has(slice_of("keep-alive, Upgrade"), "upgrade"));
	ck_assert(!http_list_has(slice_of("no-upgrade"), "upgrade"));
	ck_assert(!http_list_has(slice_of(""), "upgrade"));
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		head_reader__takes_a_plain_get,
		head_reader__waits_at_every_cut,
		head_reader__refuses_what_two_readers_could_read_differently,
		head_reader__does_not_wait_for_the_end_of_what_begins_no_method,
		head_reader__knows_when_the_connection_closes,
		head_reader__drops_scheme_and_host_of_a_proxy_request,
		head_reader__refuses_heads_above_the_limit,
		chunk_reader__joins_chunks_however_they_arrive,
		chunk_reader__keeps_nothing_of_a_body_that_is_too_large_and_finds_its_end,
		chunk_reader__does_not_read_on_for_ever,
		chunk_reader__refuses_malformed_chunks,
		head_writer__makes_blanks_of_what_no_value_may_hold,
		list_header__is_searched_word_by_word,
	};

	return unit_main("http1", tests, COUNT_OF(tests));
}
