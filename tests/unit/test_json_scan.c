#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "tests/unit/unit.h"

#include <stdio.h>

static const char pod[] =
	"{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"web-0\",\"namespace\":\"shop\","
	"\"uid\":\"4c1f6a52-0000-4000-8000-000000000001\",\"resourceVersion\":\"4711\",\"creationTimestamp\":"
	"\"2026-01-02T03:04:05Z\",\"labels\":{\"name\":\"not "
	"me\",\"a\":\"}{][\\\\\\\"\"}},\"spec\":{\"metadata\":"
	"{\"name\":\"nor me\"},\"kind\":[[],{}]},\"status\":{}}";

static struct watch_frame scan(const char *text)
{
	struct watch_frame frame = {0};
	struct err err;

	ck_assert_ok(json_scan_frame(slice_of(text), &frame, &err), &err);
	return frame;
}

START_TEST(frame__names_its_object_in_the_order_of_go_structs)
{
	char text[1024];
	struct watch_frame f;

	snprintf(text, sizeof(text), "{\"type\":\"MODIFIED\",\"object\":%s}", pod);
	f = scan(text);
	ck_assert_slice_eq(f.type, "MODIFIED");
	ck_assert_slice_eq(f.object, pod);
	ck_assert_slice_eq(f.meta.kind, "Pod");
	ck_assert_slice_eq(f.meta.api_version, "v1");
	ck_assert_slice_eq(f.meta.name, "web-0");
	ck_assert_slice_eq(f.meta.namespace, "shop");
	ck_assert_slice_eq(f.meta.uid, "4c1f6a52-0000-4000-8000-000000000001");
	ck_assert_slice_eq(f.meta.rv, "4711");
	ck_assert_slice_eq(f.meta.creation_timestamp, "2026-01-02T03:04:05Z");
}
END_TEST

START_TEST(frame__names_its_object_when_everything_stands_behind)
{
	struct watch_frame f =
		scan(" { \"object\" : {\"spec\":{\"type\":\"x\"},\"metadata\":{\"uid\":\"u\",\"name\":\"n\"},"
		     "\"kind\":\"K\"\n} ,\t\"type\":\"ADDED\" }\r\n");

	ck_assert_slice_eq(f.type, "ADDED");
	ck_assert_slice_eq(f.object,
		"{\"spec\":{\"type\":\"x\"},\"metadata\":{\"uid\":\"u\",\"name\":\"n\"},\"kind\":\"K\"\n}");
	ck_assert_slice_eq(f.meta.kind, "K");
	ck_assert_slice_eq(f.meta.uid, "u");
	ck_assert_slice_eq(f.meta.name, "n");
	ck_assert_uint_eq(f.meta.namespace.len, 0);
	ck_assert_uint_eq(f.meta.rv.len, 0);
}
END_TEST

START_TEST(frame__takes_the_last_of_duplicate_members)
{
	struct watch_frame f = scan("{\"type\":\"A\",\"object\":{\"kind\":\"x\"},\"type\":\"B\",\"object\":"
				    "{\"metadata\":{\"name\":\"a\",\"uid\":\"u\"},\"metadata\":{\"name\":"
				    "\"b\",\"name\":\"c\"}}}");

	ck_assert_slice_eq(f.type, "B");
	ck_assert_uint_eq(f.meta.kind.len, 0);
	ck_assert_uint_eq(f.meta.uid.len, 0);
	ck_assert_slice_eq(f.meta.name, "c");
}
END_TEST

START_TEST(frame__knows_keys_that_are_written_with_escapes)
{
	struct watch_frame f = scan(
		"{\"t\\u0079pe\":\"A\",\"\\u006fbject\":{\"metad\\u0061ta\":{\"n\\u0061me\":\"a\\n\"}}}");

	ck_assert_slice_eq(f.type, "A");
	ck_assert_slice_eq(f.meta.name, "a\\n");
}
END_TEST

START_TEST(frame__leaves_out_members_that_are_no_strings)
{
	struct watch_frame f =
		scan("{\"type\":\"ERROR\",\"object\":{\"kind\":7,\"apiVersion\":null,\"metadata\":{"
		     "\"name\":{\"a\":1},\"uid\":[\"u\"],\"resourceVersion\":12}}}");

	ck_assert_uint_eq(f.meta.kind.len + f.meta.api_version.len, 0);
	ck_assert_uint_eq(f.meta.name.len + f.meta.uid.len + f.meta.rv.len, 0);
	f = scan("{\"type\":\"ERROR\",\"object\":{\"metadata\":null,\"metadata\":[{\"name\":\"x\"}],\"kind\":"
		 "\"S\"}}");
	ck_assert_uint_eq(f.meta.name.len, 0);
	ck_assert_slice_eq(f.meta.kind, "S");
}
END_TEST

START_TEST(frame__is_refused_when_it_is_none)
{
	static const char *const texts[] = {"", " ", "null", "[]", "\"\"", "7", "{}", "{\"type\":\"ADDED\"}",
		"{\"object\":{}}", "{\"type\":null,\"object\":{}}", "{\"type\":\"A\",\"object\":null}",
		"{\"type\":\"A\",\"object\":[]}", "{\"type\":\"A\",\"object\":{}}}",
		"{\"type\":\"A\",\"object\":{}} x", "{\"type\":\"A\",\"object\":{}}{}",
		"{\"type\":\"A\",\"object\":{}", "{\"type\":\"A\",\"object\":{}]",
		"{\"type\":\"A\",\"object\":{},}", "{,\"type\":\"A\",\"object\":{}}",
		"{\"type\":\"A\" \"object\":{}}", "{\"type\" \"A\",\"object\":{}}",
		"{\"type\":\"A,\"object\":{}}", "{\"type\":\"A\",\"object\":{\"a\":\"b\\\"}}",
		"{\"type\":A,\"object\":{}}", "{\"type\":\"A\",\"object\":{},\"x\":}",
		"{\"type\":\"A\",\"object\":{},\"x\":tru}", "{\"type\":\"A\",\"object\":{},\"x\":-}",
		"{\"type\":\"A\",\"object\":{},\"x\":1.}", "{\"type\":\"A\",\"object\":{},\"x\":1e}",
		"{\"type\":\"A\",\"object\":{},\"x\":01}", "{\"type\":\"A\",\"object\":{},\"x\":[1}}",
		"{type:\"A\",\"object\":{}}", "{\"type\":\"A\",\"object\":{},\"x\":[[]}", "\xef\xbb\xbf{}"};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct watch_frame frame = {.type = slice_of("untouched")};
		struct err err = {0};

		ck_assert_msg(
			json_scan_frame(slice_of(texts[i]), &frame, &err) == ERR_PROTOCOL, "%s", texts[i]);
		ck_assert_slice_eq(frame.type, "untouched");
		ck_assert_str_ne(err.text, "");
	}
}
END_TEST

START_TEST(frame__says_where_it_is_broken)
{
	struct watch_frame frame;
	struct err err;

	ck_assert_int_eq(json_scan_frame(slice_of("{\"type\":\"A\",\"object\":{\"a\":?}}"), &frame, &err),
		ERR_PROTOCOL);
	ck_assert_str_eq(err.text, "bad JSON at byte 26: expected a value, found '?'");
	ck_assert_int_eq(json_scan_frame(slice_of("{\"type\":\"A\",\"object\":{\"a\":[1"), &frame, &err),
		ERR_PROTOCOL);
	ck_assert_ptr_nonnull(strstr(err.text, "never ends"));
}
END_TEST

/* open * depth, close * depth, in a buffer of the caller's. */
static struct slice nest(char *to, size_t depth)
{
	memset(to, '[', depth);
	memset(to + depth, ']', depth);
	return (struct slice){to, 2 * depth};
}

START_TEST(nesting__ends_at_the_limit)
{
	static char text[2 * LIMIT_JSON_DEPTH + 2];
	struct slice value;
	struct err err;

	for (int engine = 0; engine < 2; engine++) {
		json_scan_engine(engine);
		ck_assert_int_eq(json_get(nest(text, LIMIT_JSON_DEPTH), "$", &value, &err), 1);
		ck_assert_int_eq(json_get(nest(text, LIMIT_JSON_DEPTH), "$[0][0]", &value, &err), 1);
		ck_assert_int_eq(json_get(nest(text, LIMIT_JSON_DEPTH + 1), "$", &value, &err), ERR_PROTOCOL);
		ck_assert_ptr_nonnull(strstr(err.text, "nested deeper than 1000"));
		ck_assert_int_eq(
			json_get(nest(text, LIMIT_JSON_DEPTH + 1), "$[0][0]", &value, &err), ERR_PROTOCOL);
	}
}
END_TEST

START_TEST(object__is_named_without_a_frame)
{
	struct object_meta meta;
	struct err err;

	ck_assert_ok(json_scan_object(slice_of(pod), &meta, &err), &err);
	ck_assert_slice_eq(meta.name, "web-0");
	ck_assert_int_eq(json_scan_object(slice_of("[]"), &meta, &err), ERR_PROTOCOL);
	ck_assert_int_eq(json_scan_object(slice_of("{} {}"), &meta, &err), ERR_PROTOCOL);
}
END_TEST

START_TEST(list__is_read_when_kind_and_metadata_stand_behind_items)
{
	struct list_page page;
	struct err err;

	ck_assert_ok(json_scan_list(slice_of("{\"apiVersion\":\"v1\",\"items\":[{\"kind\":\"x\"}, "
					     "{}],\"kind\":\"PodList\","
					     "\"metadata\":{\"continue\":\"abc=\",\"remainingItemCount\":17,"
					     "\"resourceVersion\":\"99\"}}\n"),
			     &page, &err),
		&err);
	ck_assert_slice_eq(page.kind, "PodList");
	ck_assert_slice_eq(page.api_version, "v1");
	ck_assert_slice_eq(page.items, "[{\"kind\":\"x\"}, {}]");
	ck_assert_slice_eq(page.continue_token, "abc=");
	ck_assert_slice_eq(page.remaining, "17");
	ck_assert_slice_eq(page.rv, "99");
}
END_TEST

START_TEST(list__without_items_has_the_empty_slice)
{
	struct list_page page;
	struct err err;

	ck_assert_ok(json_scan_list(slice_of("{\"items\":null,\"metadata\":{\"remainingItemCount\":\"3\"}}"),
			     &page, &err),
		&err);
	ck_assert_ptr_null(page.items.ptr);
	ck_assert_uint_eq(page.remaining.len, 0);
	ck_assert_ok(json_scan_list(slice_of("{}"), &page, &err), &err);
	ck_assert_ptr_null(page.items.ptr);
	ck_assert_int_eq(json_scan_list(slice_of("{\"items\":{}}"), &page, &err), ERR_PROTOCOL);
}
END_TEST

START_TEST(iter__walks_objects_and_arrays_once)
{
	struct json_iter it;
	struct slice key, value;
	struct err err;

	ck_assert_ok(json_iter_begin(slice_of(" {\"a\": [1,2] , \"b\\\"\":{}} "), &it, &err), &err);
	ck_assert_int_eq(json_iter_next(&it, &key, &value, &err), 1);
	ck_assert_slice_eq(key, "a");
	ck_assert_slice_eq(value, "[1,2]");
	ck_assert_int_eq(json_iter_next(&it, &key, &value, &err), 1);
	ck_assert_slice_eq(key, "b\\\"");
	ck_assert_slice_eq(value, "{}");
	ck_assert_int_eq(json_iter_next(&it, &key, &value, &err), 0);
	ck_assert_int_eq(json_iter_next(&it, &key, &value, &err), 0);
	ck_assert_ok(json_iter_begin(slice_of("[1,\"x\",]"), &it, &err), &err);
	ck_assert_int_eq(json_iter_next(&it, NULL, &value, &err), 1);
	ck_assert_slice_eq(value, "1");
	ck_assert_int_eq(json_iter_next(&it, NULL, &value, &err), 1);
	ck_assert_slice_eq(value, "\"x\"");
	ck_assert_int_eq(json_iter_next(&it, NULL, &value, &err), ERR_PROTOCOL);
	ck_assert_int_eq(json_iter_begin(slice_of("7"), &it, &err), ERR_PROTOCOL);
}
END_TEST

START_TEST(iter__notices_what_follows_the_value)
{
	struct json_iter it;
	struct slice value;
	struct err err;

	ck_assert_ok(json_iter_begin(slice_of("[] ]"), &it, &err), &err);
	ck_assert_int_eq(json_iter_next(&it, NULL, &value, &err), ERR_PROTOCOL);
}
END_TEST

START_TEST(get__follows_every_form_of_path)
{
	static const char json[] =
		"{\"a\":{\"b\":[10,{\"c.d/e\":\"x\"},[true]],\"b2\":null,\"\":1,\"k\\u0041\":-2.5e1},"
		"\"d\":1,\"d\":{\"e\":2}}";
	static const struct {
		const char *path, *value;
	} rows[] = {
		{"$", json},
		{"$.a.b[0]", "10"},
		{"a.b[0]", "10"},
		{"['a']['b'][1]['c.d/e']", "\"x\""},
		{"$.a.b[1][\"c.d/e\"]", "\"x\""},
		{"$.a.b[1].\"c.d/e\"", "\"x\""},
		{"a.b[2][0]", "true"},
		{"a.b2", "null"},
		{"a['']", "1"},
		{"a.kA", "-2.5e1"},
		{"d.e", "2"},
		{"a.b[3]", NULL},
		{"a.b[0].x", NULL},
		{"a[0]", NULL},
		{"a.b.c", NULL},
		{"x", NULL},
		{"$.a.b[1].c", NULL},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct slice value = {0};
		struct err err = {0};
		int rc = json_get(slice_of(json), rows[i].path, &value, &err);

		ck_assert_msg(rc == (rows[i].value != NULL), "%s: %d %s", rows[i].path, rc, err.text);
		if (rows[i].value)
			ck_assert_slice_eq(value, rows[i].value);
	}
}
END_TEST

START_TEST(get__refuses_bad_paths_and_bad_documents)
{
	static const char *const paths[] = {"", ".", "$.", "$x", "a..b", "a[", "a[]", "a[x]", "a['b]",
		"a['b'", "a]", "a[1]b", "a.", "a[-1]", "a[1234567890]"};
	struct slice value;
	struct err err;
	char deep[300];

	for (size_t i = 0; i < COUNT_OF(paths); i++)
		ck_assert_msg(
			json_get(slice_of("{\"a\":1}"), paths[i], &value, &err) == ERR_USAGE, "%s", paths[i]);
	for (size_t i = 0; i < 130; i += 2)
		memcpy(deep + i, ".a", 3);
	ck_assert_int_eq(json_get(slice_of("{\"a\":1}"), deep + 1, &value, &err), ERR_USAGE);
	deep[128] = 0;
	ck_assert_int_eq(json_get(slice_of("{\"a\":1}"), deep + 1, &value, &err), 0);
	ck_assert_int_eq(json_get(slice_of("{\"a\":1"), "a", &value, &err), ERR_PROTOCOL);
	ck_assert_int_eq(json_get(slice_of("{\"a\":1}}"), "a", &value, &err), ERR_PROTOCOL);
}
END_TEST

static void assert_unescaped(const char *string, const char *text)
{
	struct buf to;
	struct err err;

	buf_init(&to, 1000);
	ck_assert_ok(json_unescape(slice_of(string), &to, &err), &err);
	ck_assert_slice_eq(buf_slice(&to), text);
	buf_release(&to);
}

START_TEST(unescape__gives_the_text_that_was_meant)
{
	assert_unescaped("", "");
	assert_unescaped("\"\"", "");
	assert_unescaped("\"plain\"", "plain");
	assert_unescaped("plain", "plain");
	assert_unescaped("a\\\"b\\\\c\\/d\\be\\ff\\ng\\rh\\ti", "a\"b\\c/d\be\ff\ng\rh\ti");
	assert_unescaped("\\u0041\\u00e9\\u20AC\\ud83d\\ude00", "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
	assert_unescaped("\\ud83dx\\ude00", "\xef\xbf\xbdx\xef\xbf\xbd");
	assert_unescaped("\\ud83d\\ud83d\\ude00", "\xef\xbf\xbd\xf0\x9f\x98\x80");
	assert_unescaped("\\ud83d\\n", "\xef\xbf\xbd\n");
	assert_unescaped("\\\"quoted\\\"", "\"quoted\"");
}
END_TEST

START_TEST(unescape__refuses_what_is_no_string)
{
	static const char *const texts[] = {
		"\"", "\"a", "a\\", "\\x", "\\u12", "\\u12g4", "\"\\\"", "\\u", "\\U0041"};
	struct buf to;
	struct err err;

	buf_init(&to, 1000);
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		ck_assert_msg(json_unescape(slice_of(texts[i]), &to, &err) == ERR_PROTOCOL, "%s", texts[i]);
	buf_release(&to);
	buf_init(&to, 3);
	ck_assert_int_eq(json_unescape(slice_of("four"), &to, &err), ERR_TOO_LARGE);
	buf_release(&to);
}
END_TEST

START_TEST(escape__writes_what_kubernetes_would_write)
{
	static const struct {
		const char *text, *json;
	} rows[] = {
		{"", "\"\""},
		{"plain \xc3\xa9 \x7f", "\"plain \xc3\xa9 \x7f\""},
		{"<a href=\"x\">&", "\"\\u003ca href=\\\"x\\\"\\u003e\\u0026\""},
		{"\b\f\n\r\t\\\x01\x1f", "\"\\b\\f\\n\\r\\t\\\\\\u0001\\u001f\""},
		{"\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa", "\"\\u2028\\u2029\xe2\x80\xaa\""},
		{"a\xff"
		 "b\xc3",
			"\"a\\ufffdb\\ufffd\""},
		{"\xc0\x80", "\"\\ufffd\\ufffd\""},
		{"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""},
		{"\xf0\x9f\x98\x80\xf4\x90\x80\x80", "\"\xf0\x9f\x98\x80\\ufffd\\ufffd\\ufffd\\ufffd\""},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct buf to;
		struct err err;

		buf_init(&to, 1000);
		ck_assert_ok(json_escape(slice_of(rows[i].text), &to, &err), &err);
		ck_assert_slice_eq(buf_slice(&to), rows[i].json);
		buf_release(&to);
	}
}
END_TEST

START_TEST(unescape__takes_back_what_escape_wrote)
{
	struct buf json, text;
	struct err err;
	char all[128];

	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (char)i;
	buf_init(&json, 2000);
	buf_init(&text, 2000);
	ck_assert_ok(json_escape((struct slice){all, sizeof(all)}, &json, &err), &err);
	ck_assert_ok(json_unescape(buf_slice(&json), &text, &err), &err);
	ck_assert_uint_eq(text.len, sizeof(all));
	ck_assert_mem_eq(text.ptr, all, sizeof(all));
	buf_release(&json);
	buf_release(&text);
}
END_TEST

UNIT_MAIN("json_scan", frame__names_its_object_in_the_order_of_go_structs,
	frame__names_its_object_when_everything_stands_behind, frame__takes_the_last_of_duplicate_members,
	frame__knows_keys_that_are_written_with_escapes, frame__leaves_out_members_that_are_no_strings,
	frame__is_refused_when_it_is_none, frame__says_where_it_is_broken, nesting__ends_at_the_limit,
	object__is_named_without_a_frame, list__is_read_when_kind_and_metadata_stand_behind_items,
	list__without_items_has_the_empty_slice, iter__walks_objects_and_arrays_once,
	iter__notices_what_follows_the_value, get__follows_every_form_of_path,
	get__refuses_bad_paths_and_bad_documents, unescape__gives_the_text_that_was_meant,
	unescape__refuses_what_is_no_string, escape__writes_what_kubernetes_would_write,
	unescape__takes_back_what_escape_wrote)
