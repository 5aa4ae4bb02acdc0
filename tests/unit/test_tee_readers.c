/* What a tee reads out of answers: events in every framing, CBOR, gzip; however they are cut.
 */
#include "tests/unit/unit.h"
#include "tools/tee/cbor.h"
#include "tools/tee/decoder.h"
#include "tools/tee/watch_reader.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

struct heard {
	char text[4096];
	size_t len;
};

static void note(struct heard *h, const char *format, struct slice a, struct slice b)
{
	h->len += (size_t)snprintf(h->text + h->len, sizeof(h->text) - h->len, format, (int)a.len,
		a.len ? a.ptr : "", (int)b.len, b.len ? b.ptr : "");
}

/* ---- watches ---- */

static int on_event(void *context, const struct watch_event *e)
{
	note(context, e->is_read ? "%.*s %.*s\n" : "?%.*s%.*s\n", e->frame.type, e->frame.object);
	return 0;
}

#define EVENT_A "{\"type\":\"ADDED\",\"object\":{\"a\":1}}"
#define EVENT_B "{\"type\":\"DELETED\",\"object\":{\"b\":\"x\\ny\"}}"
#define HEARD   "ADDED {\"a\":1}\nDELETED {\"b\":\"x\\ny\"}\n"

/* Reads the bytes cut in two at every place, and one by one. */
static void check_events(
	const char *content_type, bool is_websocket, struct slice bytes, const char *expected)
{
	for (size_t cut = 0; cut <= bytes.len; cut++) {
		struct watch_reader *r = watch_reader_new(slice_of(content_type), is_websocket);
		struct heard heard = {.len = 0};
		struct err err;

		for (size_t i = 0; cut == 0 && i < bytes.len; i++)
			ck_assert_ok(watch_reader_feed(
					     r, (struct slice){bytes.ptr + i, 1}, on_event, &heard, &err),
				&err);
		if (cut)
			ck_assert_ok(
				watch_reader_feed(r, (struct slice){bytes.ptr, cut}, on_event, &heard, &err),
				&err);
		if (cut && cut < bytes.len)
			ck_assert_ok(watch_reader_feed(r, (struct slice){bytes.ptr + cut, bytes.len - cut},
					     on_event, &heard, &err),
				&err);
		ck_assert_str_eq(heard.text, expected);
		watch_reader_free(r);
	}
}

START_TEST(watch_reader__reads_lines)
{
	check_events("application/json;stream=watch", false, slice_of(EVENT_A "\n\n" EVENT_B "\n{\"type\""),
		HEARD);
}
END_TEST

START_TEST(watch_reader__counts_a_last_document_without_line_feed)
{
	struct watch_reader *r = watch_reader_new(slice_of("application/json"), false);
	struct heard heard = {.len = 0};
	struct err err;

	ck_assert_ok(watch_reader_feed(r, slice_of(EVENT_A "\n" EVENT_B), on_event, &heard, &err), &err);
	ck_assert_slice_eq(watch_reader_tail(r), EVENT_B);
	ck_assert_ok(watch_reader_end(r, on_event, &heard, &err), &err);
	ck_assert_str_eq(heard.text, HEARD);
	watch_reader_free(r);
}
END_TEST

START_TEST(watch_reader__goes_on_with_the_next_line_after_a_loss)
{
	struct watch_reader *r = watch_reader_new(slice_of("application/json"), false);
	struct heard heard = {.len = 0};
	struct err err;

	ck_assert_ok(watch_reader_feed(r, slice_of("{\"type\":\"ADD"), on_event, &heard, &err), &err);
	watch_reader_lose(r);
	ck_assert_ok(
		watch_reader_feed(r, slice_of("rest\"}\n" EVENT_A "\n" EVENT_B "\n"), on_event, &heard, &err),
		&err);
	ck_assert_str_eq(heard.text, HEARD);
	watch_reader_free(r);
}
END_TEST

START_TEST(watch_reader__tells_lines_that_are_no_events)
{
	check_events("application/json", false, slice_of("nonsense\n" EVENT_A "\n{\"type\":\"X\"}\n"),
		"?\nADDED {\"a\":1}\n?\n");
}
END_TEST

/* A Namespace n: WatchEvent {type ADDED, object {raw: envelope}} after its length. */
START_TEST(watch_reader__reads_protobuf)
{
	static const char event[] =
		"\x0a\x05"
		"ADDED\x12\x22\x0a\x20"
		"k8s\0\x0a\x0f\x0a\x02v1\x12\x09Namespace\x12\x05\x0a\x03\x0a\x01n\x1a\x00\x22\x00";
	char bytes[2 * (sizeof(event) + 4)];
	size_t len = sizeof(event) - 1;

	/* The inner lengths are those of what follows. */
	for (int i = 0; i < 2; i++) {
		char *at = bytes + i * (int)(len + 4);

		memcpy(at, "\0\0\0", 3);
		at[3] = (char)len;
		memcpy(at + 4, event, len);
	}
	check_events("application/vnd.kubernetes.protobuf;stream=watch", false,
		(struct slice){bytes, 2 * (len + 4)},
		"ADDED {\"kind\":\"Namespace\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n\"},\"spec\":{},\"status\":{}}\n"
		"ADDED {\"kind\":\"Namespace\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n\"},\"spec\":{},\"status\":{}}\n");
}
END_TEST

static const char cbor_event[] = "\xd9\xd9\xf7\xa2"
				 "Dtype"
				 "EADDED"
				 "Fobject"
				 "\xa1"
				 "Aa"
				 "\x01";

START_TEST(watch_reader__reads_cbor)
{
	char bytes[2 * sizeof(cbor_event)];
	size_t len = sizeof(cbor_event) - 1;

	memcpy(bytes, cbor_event, len);
	memcpy(bytes + len, cbor_event, len);
	check_events("application/cbor-seq", false, (struct slice){bytes, 2 * len},
		"ADDED {\"a\":1}\nADDED {\"a\":1}\n");
}
END_TEST

START_TEST(watch_reader__reads_websockets_in_fragments_with_pings_between)
{
	char bytes[256] = "\x01\x0a";
	size_t len = 2;

	memcpy(bytes + len, EVENT_A, 10);
	len += 10;
	memcpy(bytes + len, "\x89\x01p", 3); /* a ping */
	len += 3;
	bytes[len++] = (char)0x80;
	bytes[len++] = 126; /* 16 bits of length */
	bytes[len++] = 0;
	bytes[len++] = (char)(strlen(EVENT_A) - 10);
	memcpy(bytes + len, &EVENT_A[10], strlen(EVENT_A) - 10);
	len += strlen(EVENT_A) - 10;
	bytes[len++] = (char)0x81;
	bytes[len++] = (char)strlen(EVENT_B);
	memcpy(bytes + len, EVENT_B, strlen(EVENT_B));
	len += strlen(EVENT_B);
	memcpy(bytes + len, "\x88\x02\x03\xe8", 4);
	check_events("", true, (struct slice){bytes, len + 4}, HEARD);
}
END_TEST

/* ---- CBOR ---- */

START_TEST(cbor__becomes_json)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *json;
	} cases[] = {
		{"\x00", 1, "0"},
		{"\x18\xff", 2, "255"},
		{"\x1b\x7f\xff\xff\xff\xff\xff\xff\xff", 9, "9223372036854775807"},
		{"\x20", 1, "-1"},
		{"\x3b\x7f\xff\xff\xff\xff\xff\xff\xff", 9, "-9223372036854775808"},
		{"\x63"
		 "a\"\n",
			4, "\"a\\\"\\n\""},
		{"\xd6\x43\x00\x01\x02", 5, "\"AAEC\""},
		{"\x83\xf4\xf5\xf6", 4, "[false,true,null]"},
		{"\xa0", 1, "{}"},
		{"\xf9\x3e\x00", 3, "1.5"},
		{"\xfb\x3f\xb9\x99\x99\x99\x99\x99\x9a", 9, "0.10000000000000001"},
		{"\xd9\xd9\xf7\xa1\x41x\x81\x01", 8, "{\"x\":[1]}"},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct slice in = {cases[i].bytes, cases[i].len};
		struct buf json;
		struct err err;

		buf_init(&json, 4096);
		for (size_t cut = 0; cut < in.len; cut++)
			ck_assert_int_eq(cbor_length((struct slice){in.ptr, cut}, &err), 0);
		ck_assert_int_eq(cbor_length(in, &err), (int64_t)in.len);
		ck_assert_ok(cbor_to_json(in, &json, &err), &err);
		ck_assert_slice_eq(buf_slice(&json), cases[i].json);
		buf_release(&json);
	}
}
END_TEST

START_TEST(cbor__refuses_what_kubernetes_never_sends)
{
	static const struct slice bad[] = {{"\x9f\x01\xff", 3}, {"\xf9\x7e\x00", 3}, {"\xf8\x20", 2},
		{"\x1c", 1}, {"\x3b\xff\xff\xff\xff\xff\xff\xff\xff", 9}, {"\x81", 1},
		{"\x63"
		 "ab",
			3},
		{"\x00\x00", 2}};

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct buf json;

		buf_init(&json, 4096);
		ck_assert_int_lt(cbor_to_json(bad[i], &json, NULL), 0);
		ck_assert_uint_eq(json.len, 0);
		buf_release(&json);
	}
}
END_TEST

/* ---- gzip ---- */

static int on_text(void *context, struct slice text)
{
	note(context, "%.*s%.*s", text, (struct slice){NULL, 0});
	return 0;
}

START_TEST(decoder__undoes_gzip_and_tells_what_is_none)
{
	unsigned char packed[256];
	z_stream z = {0};
	struct heard heard = {.len = 0};
	struct decoder *d;
	struct err err;

	ck_assert_int_eq(deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (unsigned char *)(uintptr_t) "hello, hello, hello";
	z.avail_in = 19;
	z.next_out = packed;
	z.avail_out = sizeof(packed);
	ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
	ck_assert_ok(decoder_new(slice_of("GZIP"), &d, &err), &err);
	for (size_t i = 0; i < z.total_out; i++)
		ck_assert_ok(
			decoder_feed(d, (struct slice){(char *)packed + i, 1}, on_text, &heard, &err), &err);
	ck_assert_str_eq(heard.text, "hello, hello, hello");
	decoder_free(d);
	deflateEnd(&z);
	ck_assert_ok(decoder_new(slice_of("gzip"), &d, &err), &err);
	ck_assert_int_eq(decoder_feed(d, slice_of("no gzip at all"), on_text, &heard, &err), ERR_PROTOCOL);
	decoder_free(d);
	ck_assert_int_eq(decoder_new(slice_of("br"), &d, &err), ERR_PROTOCOL);
	ck_assert_ok(decoder_new(slice_of("identity"), &d, &err), &err);
	ck_assert_ptr_null(d);
}
END_TEST

UNIT_MAIN("tee_readers", watch_reader__reads_lines, watch_reader__counts_a_last_document_without_line_feed,
	watch_reader__goes_on_with_the_next_line_after_a_loss, watch_reader__tells_lines_that_are_no_events,
	watch_reader__reads_protobuf, watch_reader__reads_cbor,
	watch_reader__reads_websockets_in_fragments_with_pings_between, cbor__becomes_json,
	cbor__refuses_what_kubernetes_never_sends, decoder__undoes_gzip_and_tells_what_is_none)
