#include "recorder/push/aws_profile.h"
#include "recorder/push/manifest.h"
#include "recorder/push/patience.h"
#include "recorder/push/web_call.h"
#include "recorder/push/xml_text.h"
#include "schema/base/clock.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

START_TEST(xml_text__gives_the_first_such_element_with_its_entities_replaced)
{
	struct slice document =
		slice_of("<E><Code>A&amp;B</Code><Code>other</Code><Key>x&lt;&unknown;</Key></E>");
	char *code = xml_text(document, "Code"), *key = xml_text(document, "Key");

	ck_assert_str_eq(code, "A&B");
	ck_assert_str_eq(key, "x<&unknown;");
	ck_assert_ptr_null(xml_text(document, "Nothing"));
	free(code);
	free(key);
}
END_TEST

START_TEST(xml_cut__passes_by_what_is_not_closed)
{
	struct slice rest = slice_of("<A>1</A><A>2</A><A>3"), text;

	ck_assert(xml_cut(&rest, "A", &text));
	ck_assert(slice_is(text, "1"));
	ck_assert(xml_cut(&rest, "A", &text));
	ck_assert(slice_is(text, "2"));
	ck_assert(!xml_cut(&rest, "A", &text));
	ck_assert(slice_is(rest, "<A>3"));
}
END_TEST

START_TEST(aws_profile_read__takes_the_section_of_its_name_alone)
{
	struct aws_profile p = {.name = "ops"};

	aws_profile_read(
		slice_of(
			"[default]\nregion=a\n[profile ops]\n# region=b\r\n region=c\nregion = d \r\nregion=e\n[ops]\n"
			"role_arn=f\n"),
		true, &p);
	ck_assert(p.found);
	ck_assert_str_eq(p.region, "d");
	ck_assert_ptr_null(p.role);
	free(p.region);
}
END_TEST

START_TEST(aws_profile_read__bears_any_text)
{
	struct aws_profile p = {.name = "ops"};

	aws_profile_read(slice_of("[\n]\n[ops\n=\n==\nregion\n[ops]\n=x\nregion=\n[other"), false, &p);
	ck_assert(p.found);
	ck_assert_str_eq(p.region, "");
	free(p.region);
}
END_TEST

#define SUM    "28011e8fa5d87fa928011e8fa5d87fa928011e8fa5d87fa928011e8fa5d87fa9"
#define DIGEST "28011e8fa5d87fa928011e8fa5d87fa9"

static struct manifest_segment segment(uint32_t number)
{
	return (struct manifest_segment){.number = number,
		.bytes = 4096,
		.sha256 = SUM,
		.digest = DIGEST,
		.first_seq = number * 10,
		.last_seq = number * 10 + 9,
		.events = 10,
		.first_time_ns = 1700000000 * INT64_C(1000000000),
		.last_time_ns = 1700000000 * INT64_C(1000000000) + 1,
		.pushed_ns = 1700000001 * INT64_C(1000000000)};
}

START_TEST(manifest__is_read_as_it_was_written)
{
	struct manifest m = {.tape_id = "id", .cluster = "a\"b", .name = "x", .complete = true}, read;
	struct buf json;

	for (uint32_t number = 3; number; number--) {
		const struct manifest_segment added = segment(number);

		manifest_add(&m, &added);
	}
	manifest_add_loss(&m, &(struct manifest_loss){4, 6, 1700000000});
	buf_init(&json, 1 << 20);
	ck_assert_int_eq(manifest_format(&m, &json, NULL), 0);
	ck_assert_int_eq(manifest_parse(buf_slice(&json), &read, NULL), 0);
	ck_assert_str_eq(read.cluster, "a\"b");
	ck_assert(read.complete);
	ck_assert_uint_eq(read.segment_count, 3);
	ck_assert_uint_eq(read.segments[0].number, 1);
	ck_assert_str_eq(read.segments[2].sha256, SUM);
	ck_assert_str_eq(read.segments[2].digest, DIGEST);
	ck_assert_uint_eq(read.segments[2].last_seq, 39);
	ck_assert_int_eq(read.segments[2].last_time_ns, m.segments[2].last_time_ns);
	ck_assert_int_eq(read.segments[2].pushed_ns, m.segments[2].pushed_ns);
	ck_assert_uint_eq(read.losses[0].last, 6);
	manifest_release(&read);
	free(m.segments);
	free(m.losses);
	buf_release(&json);
}
END_TEST

START_TEST(manifest_parse__refuses_what_is_none)
{
	static const char *const texts[] = {"", "{}", "[]", "{\"manifest\": 1",
		"{\"manifest\": 1, \"segments\": [{}]}",
		"{\"manifest\": 1, \"segments\": [{\"segment\": 1, \"sha256\": \"../x\", \"digest\": \"" DIGEST
		"\"}]}"};
	struct manifest m;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		ck_assert_int_eq(manifest_parse(slice_of(texts[i]), &m, NULL), ERR_CORRUPT);
	ck_assert_int_eq(manifest_parse(slice_of("{\"manifest\": 2}"), &m, NULL), ERR_PROTOCOL);
}
END_TEST

START_TEST(s3_place_parse__cuts_bucket_and_key)
{
	struct s3_place p;

	ck_assert_int_eq(s3_place_parse("s3://bkt/a/c/", &p, NULL), 0);
	ck_assert_str_eq(p.bucket, "bkt");
	ck_assert_str_eq(p.key, "a/c");
	s3_place_release(&p);
	ck_assert_int_eq(s3_place_parse("s3://bkt", &p, NULL), 0);
	ck_assert_str_eq(p.key, "");
	s3_place_release(&p);
	ck_assert_int_eq(s3_place_parse("s3://", &p, NULL), ERR_USAGE);
	ck_assert_int_eq(s3_place_parse("/x", &p, NULL), ERR_USAGE);
}
END_TEST

START_TEST(patience_silence_s__is_no_longer_than_what_is_left_but_long_enough_to_think)
{
	int64_t now = clock_mono_ns(&clock_system);

	ck_assert_int_eq(patience_silence_s(now - NS_PER_S), 10);
	ck_assert_int_eq(patience_silence_s(now + 2 * NS_PER_S), 10);
	ck_assert_int_lt(patience_silence_s(now + 40 * NS_PER_S), 40);
	ck_assert_int_eq(patience_silence_s(now + 300 * NS_PER_S), 60);
}
END_TEST

START_TEST(web_server__leaves_out_what_may_be_secret)
{
	static const char *const cases[][2] = {{"https://chat.example/hooks/T0KEN", "https://chat.example"},
		{"http://user:p@ss@127.0.0.1:80?token=x", "http://127.0.0.1:80"},
		{"http://[::1]:9/@x", "http://[::1]:9"}};
	char server[WEB_SERVER_BYTES];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		web_server(cases[i][0], server);
		ck_assert_str_eq(server, cases[i][1]);
	}
}
END_TEST

UNIT_MAIN("push_parts", web_server__leaves_out_what_may_be_secret,
	xml_text__gives_the_first_such_element_with_its_entities_replaced,
	xml_cut__passes_by_what_is_not_closed, aws_profile_read__takes_the_section_of_its_name_alone,
	aws_profile_read__bears_any_text, manifest__is_read_as_it_was_written,
	manifest_parse__refuses_what_is_none, s3_place_parse__cuts_bucket_and_key,
	patience_silence_s__is_no_longer_than_what_is_left_but_long_enough_to_think)
