/* Secrets before they reach the tape. */
#include "schema/base/base64.h"
#include "schema/tape/redact.h"
#include "tests/unit/unit.h"

#include <stdio.h>

static struct redactor *redactor;
static struct buf out;

static const char *redacted(const char *object)
{
	static const unsigned char key[32] = {1, 2, 3};
	struct err err;

	if (!redactor) {
		redactor = redactor_with_key(key);
		buf_init(&out, 1 << 20);
	}
	buf_clear(&out);
	ck_assert_ok(redactor_object(redactor, slice_of(object), &out, &err), &err);
	ck_assert_int_eq(buf_append(&out, "", 1, NULL), 0);
	return out.ptr;
}

START_TEST(redactor__leaves_everything_else_byte_for_byte)
{
	static const char object[] =
		"{ \"kind\":\"Secret\",\n \"type\" : \"x\", \"metadata\":{\"annotations\":"
		"{\"a\":\"b\"},\"data\":{\"not\":\"secret\"}}, \"data\":{}, \"data2\":\"y\" }";

	ck_assert_str_eq(redacted(object), object);
	ck_assert_str_eq(redacted("{\"data\":null}"), "{\"data\":null}");
	ck_assert_str_eq(redacted("{}"), "{}");
}
END_TEST

START_TEST(redactor__gives_the_same_digest_for_the_same_value_in_every_form)
{
	const char *text = redacted("{\"stringData\":{\"p\":\"hunter2\"}}");
	char first[80];
	struct buf decoded;
	const char *data;

	ck_assert(strncmp(text, "{\"stringData\":{\"p\":\"redacted:", 28) == 0);
	snprintf(first, sizeof(first), "%.41s", text + 20);
	data = redacted("{\"data\":{\"p\":\"aHVudGVyMg==\"}}");
	buf_init(&decoded, 1000);
	ck_assert_int_eq(
		base64_decode((struct slice){data + 14, strcspn(data + 14, "\"")}, &decoded, NULL), 0);
	ck_assert_slice_eq(buf_slice(&decoded), first);
	ck_assert(strncmp(redacted("{\"stringData\":{\"p\":\"hunter3\"}}") + 20, first, 41) != 0);
	buf_release(&decoded);
}
END_TEST

START_TEST(redactor__lets_no_value_through_whatever_its_form)
{
	static const char *const objects[] = {
		"{\"data\":{\"p\":\"hunter2 is no base64!\"}}",
		"{\"data\":\"hunter2\"}",
		"{\"data\":{\"p\":{\"q\":\"hunter2\"}}}",
		"{\"data\":[\"hunter2\"]}",
		"{\"stringData\":{\"p\":\"hunter2\\n\\u003c\"}}",
		"{\"metadata\":{\"annotations\":{\"kubectl.kubernetes.io/last-applied-configuration\":\"hunter2\"}}}",
		"{\"metadata\":{\"annotations\":{\"kubectl.kubernetes.io/last-applied-configuration\":"
		"\"{\\\"stringData\\\":{\\\"p\\\":\\\"hunter2\\\"}}\"}}}",
		"{\"metadata\":{\"annotations\":{\"kubectl.kubernetes.io/last-applied-configuration\":"
		"\"{\\\"stringData\\\":{\\\"p\\\":\\\"hunter2\\\"\"}}}",
	};

	for (size_t i = 0; i < COUNT_OF(objects); i++)
		ck_assert_msg(!strstr(redacted(objects[i]), "hunter2"), "%s", objects[i]);
}
END_TEST

START_TEST(redactor__concerns_core_secrets_only)
{
	ck_assert(redactor_concerns("", "secrets"));
	ck_assert(!redactor_concerns("", "configmaps"));
	ck_assert(!redactor_concerns("example.com", "secrets"));
}
END_TEST

START_TEST(base64__goes_there_and_back)
{
	static const char *const pairs[][2] = {
		{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foobar", "Zm9vYmFy"}};

	for (size_t i = 0; i < COUNT_OF(pairs); i++) {
		struct buf b;
		struct err err;

		buf_init(&b, 100);
		ck_assert_ok(base64_encode(slice_of(pairs[i][0]), &b, &err), &err);
		ck_assert_slice_eq(buf_slice(&b), pairs[i][1]);
		buf_clear(&b);
		ck_assert_ok(base64_decode(slice_of(pairs[i][1]), &b, &err), &err);
		ck_assert_slice_eq(buf_slice(&b), pairs[i][0]);
		ck_assert_int_eq(base64_decode(slice_of("a$b"), &b, &err), ERR_PROTOCOL);
		buf_release(&b);
	}
}
END_TEST

UNIT_MAIN("redact", redactor__leaves_everything_else_byte_for_byte,
	redactor__gives_the_same_digest_for_the_same_value_in_every_form,
	redactor__lets_no_value_through_whatever_its_form, redactor__concerns_core_secrets_only,
	base64__goes_there_and_back)
