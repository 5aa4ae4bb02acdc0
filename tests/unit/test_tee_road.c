/* What a tee tells its desk of the bytes that pass, and what it changes in them. */
#include "tests/unit/unit.h"
#include "tools/tee/h1_body.h"
#include "tools/tee/road.h"
#include "tools/tee/talk.h"

#include <stdio.h>
#include <string.h>

/* A road whose feed is read as one line for each item. */
struct told {
	struct feed *feed;
	struct road *road;
	struct rewrite rewrite;
	uint64_t last;
	struct buf out;
	char lines[1 << 16];
	unsigned rooms;
};

static void on_room(void *context)
{
	((struct told *)context)->rooms++;
}

static void open_told(struct told *t, enum road_protocol protocol, size_t feed_bytes)
{
	struct road_options o;

	*t = (struct told){.rewrite = {.authority = "real"}};
	t->feed = feed_new(feed_bytes, on_room, t);
	o = (struct road_options){t->feed, &t->rewrite, 1, &t->last};
	t->road = road_new(&o, protocol);
	buf_init(&t->out, 1 << 20);
}

static void close_told(struct told *t)
{
	road_end(t->road, PARTY_SERVER, ROAD_RESET);
	road_free(t->road);
	feed_free(t->feed);
	buf_release(&t->out);
}

static void tell_line(struct told *t, const struct feed_item *item)
{
	static const char *const kinds[] = {"connected", "disconnected", "unreached", "request", "asked",
		"asked_end", "answer", "body", "lost", "end"};
	struct slice text = feed_text(item, item->kind == FEED_REQUEST ? REQUEST_TARGET : 0);
	size_t len = strlen(t->lines);

	if (item->kind == FEED_END)
		text = (struct slice){NULL, 0};
	snprintf(t->lines + len, sizeof(t->lines) - len, "%s %d %d,%d %.*s\n", kinds[item->kind],
		(int)item->id, (int)item->number, (int)item->other, (int)text.len, text.len ? text.ptr : "");
}

static const char *lines(struct told *t)
{
	bool closed = false;
	struct feed_block *b = feed_take(t->feed, 0, &closed), *next;

	t->lines[0] = 0;
	for (; b; b = next) {
		const struct feed_item *item;
		size_t at = 0;

		next = b->next;
		while ((item = feed_next(b, &at)))
			tell_line(t, item);
		feed_give_back(t->feed, b);
	}
	return t->lines;
}

static void client_says(struct told *t, const char *text)
{
	struct slice in = slice_of(text);
	struct err err;

	ck_assert_ok(road_request(t->road, &in, &t->out, &err), &err);
}

static void server_says(struct told *t, const char *text)
{
	struct err err;

	ck_assert_ok(road_answer(t->road, slice_of(text), &err), &err);
}

START_TEST(road__tells_requests_bodies_answers_and_ends_of_http1)
{
	struct told t;

	open_told(&t, ROAD_HTTP1, 1 << 20);
	client_says(&t,
		"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbodyGET /b HTTP/1.1\r\nHost: x\r\n\r\n");
	server_says(&t,
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Type: t\r\nContent-Length: 2\r\n\r\nok");
	server_says(&t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde");
	road_end(t.road, PARTY_SERVER, ROAD_FIN);
	ck_assert_str_eq(lines(&t),
		"request 1 0,1 /a\nasked 1 0,0 body\nasked_end 1 0,0 \nrequest 2 0,1 /b\nasked_end 2 0,0 \n"
		"answer 1 201,0 t\nbody 1 0,0 ok\nend 1 0,0 \n"
		"answer 2 200,0 \nbody 2 0,0 abc\nbody 2 0,0 de\nend 2 3,0 \n");
	close_told(&t);
}
END_TEST

START_TEST(road__takes_the_close_for_the_end_of_a_body_without_a_length)
{
	struct told t;

	open_told(&t, ROAD_HTTP1, 1 << 20);
	client_says(&t, "GET /a HTTP/1.0\r\n\r\n");
	server_says(&t, "HTTP/1.0 200 OK\r\n\r\nall");
	(void)lines(&t);
	road_end(t.road, PARTY_SERVER, ROAD_FIN);
	ck_assert_str_eq(lines(&t), "end 1 0,0 \n");
	close_told(&t);
}
END_TEST

START_TEST(road__knows_answers_that_have_no_body)
{
	struct told t;

	open_told(&t, ROAD_HTTP1, 1 << 20);
	client_says(&t,
		"HEAD /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\nGET /c HTTP/1.1\r\nHost: x\r\n\r\n");
	(void)lines(&t);
	server_says(&t,
		"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nHTTP/1.1 304 N\r\nContent-Length: 9\r\n\r\n"
		"HTTP/1.1 204 N\r\n\r\n");
	ck_assert_str_eq(lines(&t),
		"answer 1 200,0 \nend 1 0,0 \nanswer 2 304,0 \nend 2 0,0 \nanswer 3 204,0 \nend 3 0,0 \n");
	close_told(&t);
}
END_TEST

START_TEST(road__tells_the_end_that_the_client_made_when_the_server_has_followed)
{
	struct told t;

	open_told(&t, ROAD_HTTP1, 1 << 20);
	client_says(&t, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
	(void)lines(&t);
	road_end(t.road, PARTY_CLIENT, ROAD_FIN);
	ck_assert_str_eq(lines(&t), "");
	road_end(t.road, PARTY_SERVER, ROAD_FIN);
	ck_assert_str_eq(lines(&t), "end 1 3,1 \n");
	close_told(&t);
}
END_TEST

START_TEST(road__reads_a_websocket_that_carries_a_watch_and_no_other_upgrade)
{
	static const char *const requests[] = {
		"GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
		"GET /exec HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"};
	static const char *const expected[] = {
		"answer 1 101,0 \nbody 1 0,0 raw\nend 1 4,0 \n", "answer 1 101,0 \nend 1 0,0 \n"};

	for (size_t i = 0; i < COUNT_OF(requests); i++) {
		struct told t;

		open_told(&t, ROAD_HTTP1, 1 << 20);
		client_says(&t, requests[i]);
		ck_assert(road_waits(t.road));
		(void)lines(&t);
		server_says(&t, "HTTP/1.1 101 S\r\n\r\nraw");
		ck_assert(!road_waits(t.road));
		road_end(t.road, PARTY_SERVER, ROAD_RESET);
		ck_assert_str_eq(lines(&t), expected[i]);
		close_told(&t);
	}
}
END_TEST

START_TEST(feed__loses_bodies_when_it_is_full_and_tells_how_much_when_there_is_room)
{
	static char large[3000];
	struct told t;
	struct field_list none = {.count = 0};
	const struct talk_head head = {slice_of("GET"), slice_of("/"), &none, "1.1"};
	struct talk *talk;
	const char *told;

	memset(large, 'x', sizeof(large) - 1);
	open_told(&t, ROAD_HTTP1, 8000);
	talk = talk_begin(t.feed, 7, 1, &head);
	for (int i = 0; i < 4; i++)
		talk_body(talk, slice_of(large));
	told = lines(&t);
	ck_assert_ptr_eq(strstr(told, "lost"), NULL);
	ck_assert_uint_eq(t.rooms, 1);
	talk_body(talk, slice_of("more"));
	talk_end(talk, ROAD_COMPLETE, PARTY_SERVER, -1);
	ck_assert_str_eq(lines(&t), "lost 7 5998,0 \nbody 7 0,0 more\nend 7 0,0 \n");
	close_told(&t);
}
END_TEST

START_TEST(feed__takes_ends_also_when_it_is_full)
{
	static char large[7000];
	struct told t;
	struct field_list none = {.count = 0};
	const struct talk_head head = {slice_of("GET"), slice_of("/"), &none, "1.1"};
	struct talk *talks[200];
	size_t ends = 0;

	memset(large, 'x', sizeof(large) - 1);
	open_told(&t, ROAD_HTTP1, 8000);
	for (size_t i = 0; i < COUNT_OF(talks); i++)
		talks[i] = talk_begin(t.feed, i + 1, 1, &head);
	talk_body(talks[0], slice_of(large));
	for (size_t i = 0; i < COUNT_OF(talks); i++) {
		ends += talks[i]->is_told;
		talk_end(talks[i], ROAD_COMPLETE, PARTY_SERVER, -1);
	}
	for (const char *at = lines(&t); (at = strstr(at, "end ")); at++)
		ends--;
	ck_assert_uint_eq(ends, 0);
	close_told(&t);
}
END_TEST

START_TEST(h1_body__refuses_malformed_chunks)
{
	static const char *const bad[] = {
		"\r\n", "g\r\n", "-1\r\n", "5\r\nhelloX", "\n", "fffffffffffffffff\r\n", "1 x"};

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct slice in = slice_of(bad[i]), data;
		struct h1_body b;
		enum h1_step step;

		h1_body_begin(&b, H1_CHUNKED, 0);
		while ((step = h1_body_next(&b, &in, &data)) == H1_STEP_DATA)
			;
		ck_assert_msg(
			step == (i + 1 == COUNT_OF(bad) ? H1_STEP_MORE : H1_STEP_NONSENSE), "'%s'", bad[i]);
	}
}
END_TEST

UNIT_MAIN("tee_road", road__tells_requests_bodies_answers_and_ends_of_http1,
	road__takes_the_close_for_the_end_of_a_body_without_a_length, road__knows_answers_that_have_no_body,
	road__tells_the_end_that_the_client_made_when_the_server_has_followed,
	road__reads_a_websocket_that_carries_a_watch_and_no_other_upgrade,
	feed__loses_bodies_when_it_is_full_and_tells_how_much_when_there_is_room,
	feed__takes_ends_also_when_it_is_full, h1_body__refuses_malformed_chunks)
