/* Pages of lists, read as their bytes arrive. */
#include "schema/base/json_list.h"

#include "schema/base/json_scan.h"
#include "tests/unit/unit.h"

#include <stdio.h>

#define MAX_BYTES (1u << 16)

static const char page[] =
	" { \"kind\" : \"PodList\", \"apiVersion\":\"v1\",\n \"metadata\":{\"resourceVersion\":\"12\",\"continue\":\"a\\u003d\"},"
	"\"items\" : [ {\"metadata\":{\"name\":\"a]}\\\"\"}} , {\"n\":[1,2,{\"x\":\"y\"}]},12,\"t\" ] } \n";
static const char sorted[] =
	"{\"apiVersion\":\"x/v1\",\"items\":[{\"a\":1}],\"kind\":\"XList\",\"metadata\":{\"resourceVersion\":"
	"\"7\"}}";

struct seen {
	struct buf text; /* the items, each with a line feed */
	int code;        /* to be returned for each */
};

static int note(void *context, struct slice item, struct err *err)
{
	struct seen *seen = context;

	if (seen->code)
		return err_set(err, seen->code, "no more");
	ck_assert_int_eq(buf_append(&seen->text, item.ptr, item.len, NULL), 0);
	ck_assert_int_eq(buf_append(&seen->text, "\n", 1, NULL), 0);
	return 0;
}

static struct json_list list;
static struct seen seen;

static void begin(void)
{
	json_list_init(&list, MAX_BYTES);
	seen = (struct seen){.code = 0};
	buf_init(&seen.text, 1 << 24);
}

static void end(void)
{
	json_list_release(&list);
	buf_release(&seen.text);
}

/* Gives the text in pieces of that size, the first one of `first` bytes. */
static int feed(const char *text, size_t first, size_t size, struct err *err)
{
	size_t len = strlen(text), at = 0;
	int rc = 0;

	while (rc == 0 && at < len) {
		size_t n = at ? size : first;

		n = n < len - at ? n : len - at;
		rc = json_list_feed(&list, (struct slice){text + at, n}, note, &seen, err);
		at += n;
	}
	return rc ? rc : json_list_end(&list, note, &seen, err);
}

START_TEST(json_list__hands_on_each_item_however_the_page_is_cut)
{
	for (size_t first = 1; first < sizeof(page); first++) {
		for (size_t size = 1; size < 12; size++) {
			struct err err;

			begin();
			ck_assert_ok(feed(page, first, size, &err), &err);
			ck_assert_slice_eq(buf_slice(&seen.text),
				"{\"metadata\":{\"name\":\"a]}\\\"\"}}\n{\"n\":[1,2,{\"x\":\"y\"}]}\n12\n\"t\"\n");
			ck_assert_slice_eq(buf_slice(&list.kind), "PodList");
			ck_assert_slice_eq(buf_slice(&list.api_version), "v1");
			ck_assert_slice_eq(buf_slice(&list.rv), "12");
			ck_assert_slice_eq(buf_slice(&list.continue_token), "a=");
			ck_assert_uint_eq(list.item_count, 4);
			end();
		}
	}
}
END_TEST

START_TEST(json_list__takes_kind_and_metadata_after_the_items)
{
	struct err err;

	begin();
	ck_assert_ok(feed(sorted, 5, 7, &err), &err);
	ck_assert_slice_eq(buf_slice(&seen.text), "{\"a\":1}\n");
	ck_assert_slice_eq(buf_slice(&list.kind), "XList");
	ck_assert_slice_eq(buf_slice(&list.rv), "7");
	end();
}
END_TEST

START_TEST(json_list__takes_lists_without_items)
{
	static const char *const pages[] = {"{\"items\":null}", "{}", "{\"items\":[]}",
		"{\"items\":[ ],\"kind\":null}", "{\"metadata\":null,\"kind\":\"A\",\"kind\":\"B\"}"};

	for (size_t i = 0; i < COUNT_OF(pages); i++) {
		struct err err;

		begin();
		ck_assert_ok(feed(pages[i], 3, 1, &err), &err);
		ck_assert_uint_eq(list.item_count, 0);
		end();
	}
}
END_TEST

START_TEST(json_list__refuses_a_page_that_is_cut_anywhere)
{
	for (size_t n = 0; n < strlen(sorted); n++) {
		char text[sizeof(sorted)];
		struct err err = {0};

		snprintf(text, sizeof(text), "%.*s", (int)n, sorted);
		begin();
		ck_assert_int_eq(feed(text, 1, 3, &err), ERR_PROTOCOL);
		ck_assert_int_eq(err.code, ERR_PROTOCOL);
		end();
	}
}
END_TEST

START_TEST(json_list__refuses_what_is_no_list)
{
	static const char *const pages[] = {"[]", "hello", "{\"items\":{\"a\":1}}", "{\"items\":12}",
		"{\"items\":[1 2]}", "{\"items\":[1,]}", "{\"items\":[{\"a\":[}]}", "{\"items\":[]}x",
		"{\"items\":[]]", "{\"a\" 1}", "{\"items\":[tru]}", "{\"items\":[],}"};

	for (size_t i = 0; i < COUNT_OF(pages); i++) {
		struct err err = {0};

		begin();
		ck_assert_msg(feed(pages[i], 2, 2, &err) == ERR_PROTOCOL, "%s", pages[i]);
		ck_assert(err.text[0]);
		end();
	}
}
END_TEST

START_TEST(json_list__says_after_how_many_items_it_went_wrong)
{
	struct err err;

	begin();
	ck_assert_int_eq(feed("{\"items\":[1,2,x]}", 20, 1, &err), ERR_PROTOCOL);
	ck_assert_str_eq(err.text, "after 2 items: bad JSON at byte 1: expected a value, found 'x'");
	end();
}
END_TEST

START_TEST(json_list__refuses_an_item_above_its_maximum)
{
	char *text = xmalloc(3 * MAX_BYTES);
	struct err err;

	memset(text, 'y', 3 * MAX_BYTES);
	memcpy(text, "{\"items\":[1,\"", 13);
	text[2 * MAX_BYTES] = 0;
	begin();
	ck_assert_int_eq(feed(text, 1000, 1000, &err), ERR_TOO_LARGE);
	ck_assert_str_eq(err.text, "an item of the list, after 1, is larger than 65536 bytes");
	free(text);
	end();
}
END_TEST

START_TEST(json_list__keeps_no_more_than_an_item_of_a_long_page)
{
	struct err err;

	begin();
	ck_assert_ok(json_list_feed(&list, slice_of("{\"items\":["), note, &seen, &err), &err);
	for (int i = 0; i < 20000; i++) {
		ck_assert_ok(
			json_list_feed(&list,
				slice_of(
					"{\"name\":\"a\",\"text\":\"0123456789012345678901234567890123456\"},"),
				note, &seen, &err),
			&err);
		ck_assert_uint_lt(list.pending.cap, 16384);
	}
	ck_assert_ok(json_list_feed(&list, slice_of("{}]}"), note, &seen, &err), &err);
	ck_assert_ok(json_list_end(&list, note, &seen, &err), &err);
	ck_assert_uint_eq(list.item_count, 20001);
	end();
}
END_TEST

START_TEST(json_list__ends_when_nobody_wants_another_item)
{
	struct err err;

	begin();
	seen.code = ERR_NO_SPACE;
	ck_assert_int_eq(feed(page, 500, 1, &err), ERR_NO_SPACE);
	ck_assert_str_eq(err.text, "no more");
	end();
}
END_TEST

START_TEST(json_list__reads_the_next_page_as_if_it_were_the_first)
{
	struct err err;

	begin();
	ck_assert_int_eq(feed("{\"kind\":\"Old\",\"items\":[{\"a\":", 9, 9, NULL), ERR_PROTOCOL);
	json_list_clear(&list);
	buf_clear(&seen.text);
	ck_assert_ok(feed("{\"items\":[1]}", 9, 9, &err), &err);
	ck_assert_slice_eq(buf_slice(&seen.text), "1\n");
	ck_assert_uint_eq(list.kind.len, 0);
	end();
}
END_TEST

UNIT_MAIN("json_list", json_list__hands_on_each_item_however_the_page_is_cut,
	json_list__takes_kind_and_metadata_after_the_items, json_list__takes_lists_without_items,
	json_list__refuses_a_page_that_is_cut_anywhere, json_list__refuses_what_is_no_list,
	json_list__says_after_how_many_items_it_went_wrong, json_list__refuses_an_item_above_its_maximum,
	json_list__keeps_no_more_than_an_item_of_a_long_page, json_list__ends_when_nobody_wants_another_item,
	json_list__reads_the_next_page_as_if_it_were_the_first)
