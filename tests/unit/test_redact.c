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
		"{\"a\":\"b\"},\"labels\":{\"data\":\"y\"},\"ownerReferences\":[{\"uid\":\"u\"}],"
		"\"managedFields\":[{\"fieldsV1\":{\"f:data\":{\".\":{},\"f:p\":{}}}}]}, \"data\":{}, "
		"\"immutable\":true }";

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

#define LAST "{\"metadata\":{\"annotations\":{\"kubectl.kubernetes.io/last-applied-configuration\":"

START_TEST(redactor__lets_no_value_through_whatever_its_form)
{
	static const char *const objects[] = {
		"{\"data\":{\"p\":\"hunter2 is no base64!\"}}",
		"{\"data\":\"hunter2\"}",
		"{\"data\":{\"p\":{\"q\":\"hunter2\"}}}",
		"{\"data\":[\"hunter2\"]}",
		"{\"data\":{\"p\":\"cmVkYWN0ZWQ6MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDA=hunter2\"}}",
		"{\"stringData\":{\"p\":\"hunter2\\n\\u003c\"}}",
		"{\"stringD\\u0061ta\":{\"p\":\"hunter2\"}}",
		"{\"d\\u0061t\\u0061\":{\"p\":\"hunter2\"}}",
		"{\"Data\":{\"p\":\"hunter2\"}}",
		"{\"spec\":{\"data\":{\"p\":\"hunter2\"}}}",
		"{\"type\":{\"p\":\"hunter2\"}}",
		"{\"metadata\":\"hunter2\"}",
		"{\"metadata\":{\"name\":[\"hunter2\"],\"x\":\"hunter2\"}}",
		"{\"metadata\":{\"annotations\":[\"hunter2\"]}}",
		"{\"kind\":\"List\",\"items\":[{\"data\":{\"p\":\"hunter2\"}},\"hunter2\"]}",
		"{\"kind\":\"Table\",\"rows\":[{\"cells\":[\"hunter2\"],\"object\":{\"data\":{\"p\":\"hunter2\"}}}]}",
		LAST "\"hunter2\"}}}",
		LAST "\"{\\\"stringData\\\":{\\\"p\\\":\\\"hunter2\\\"}}\"}}}",
		LAST "\" {\\\"string\\\\u0044ata\\\":{\\\"p\\\":\\\"hunter2\\\"}}\\n\"}}}",
		LAST "\"{\\\"stringData\\\":{\\\"p\\\":\\\"hunter2\\\"\"}}}",
		LAST "{\"stringData\":{\"p\":\"hunter2\"}}}}}",
		"{\"metadata\":{\"annotations\":{\"kubectl.kubernetes.io\\/last-applied-configuration\":"
		"\"{\\\"stringData\\\":{\\\"p\\\":\\\"hunter2\\\"}}\"}}}",
		"{\"metadata\":{\"\\u0061nnotations\":{\"kubectl.kubernetes.io/last\\u002dapplied-configuration\":"
		"\"{\\\"stringData\\\":{\\\"p\\\":\\\"hunter2\\\"}}\"}}}",
	};

	for (size_t i = 0; i < COUNT_OF(objects); i++)
		ck_assert_msg(!strstr(redacted(objects[i]), "hunter2"), "%s", objects[i]);
}
END_TEST

/* Not one of them is known by its name. */
START_TEST(redactor__takes_out_annotations_that_may_hold_the_object)
{
	static const char *const texts[] = {
		"{\\\"data\\\":{\\\"p\\\":\\\"hunter2\\\"}}",
		" [{\\\"object\\\":{\\\"stringData\\\":{\\\"p\\\":\\\"hunter2\\\"}}}]",
		"{\\\"d\\\\u0061ta\\\":{\\\"p\\\":\\\"hunter2\\\"}}",
		"{\\\"x\\\":\\\"{\\\\\\\"data\\\\\\\":{\\\\\\\"p\\\\\\\":\\\\\\\"hunter2\\\\\\\"}}\\\"}",
		"{\\\"data\\\":{\\\"p\\\":\\\"hunter2",
		"{data: {p: hunter2}}",
		"[{\\\"op\\\":\\\"add\\\",\\\"path\\\":\\\"/data/p\\\",\\\"value\\\":\\\"hunter2\\\"}]",
		"kind: Secret\\ndata:\\n  p: hunter2\\n",
		"kind: Secret\\n\\\"stringData\\\" : {p: hunter2}",
		"H4sIAAAAhunter2",
		"eyJhbGciOiJSUzI1NiIsImtpZCI6IiJ9.hunter2.aaaaaaaaaaaaaaaaaaaaaaa",
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		char object[512];

		snprintf(object, sizeof(object), "{\"metadata\":{\"annotations\":{\"of.a/tool\":\"%s\"}}}",
			texts[i]);
		ck_assert_msg(!strstr(redacted(object), "hunter2"), "%s", object);
	}
}
END_TEST

START_TEST(redactor__takes_out_annotations_of_known_tools)
{
	static const char *const names[] = {"kapp.k14s.io/original-diff", "kapp.k14s.io/original-diff-md5",
		"objectset.rio.cattle.io/applied", "banzaicloud.com/last-applied",
		"openshift.io/token-secret.value"};

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		char object[512];

		snprintf(object, sizeof(object), "{\"metadata\":{\"annotations\":{\"%s\":\"hunter2\"}}}",
			names[i]);
		ck_assert_msg(!strstr(redacted(object), "hunter2"), "%s", object);
	}
	ck_assert(
		strstr(redacted("{\"metadata\":{\"annotations\":{\"kapp.k14s.io/original\":"
				"\"{\\\"kind\\\":\\\"Secret\\\",\\\"data\\\":{\\\"p\\\":\\\"aA==\\\"}}\"}}}"),
			"{\\\"kind\\\":\\\"Secret\\\",\\\"data\\\":{\\\"p\\\":\\\"cmVkYWN0ZWQ6"));
}
END_TEST

START_TEST(redactor__leaves_annotations_that_say_nothing_of_the_values)
{
	static const char object[] =
		"{\"metadata\":{\"annotations\":{\"meta.helm.sh/release-name\":"
		"\"a-release-name-of-many-words-that-goes-on-and-on\","
		"\"kubernetes.io/service-account.uid\":\"6f1f2d06-5a0c-4d3f-8a3a-6f3c1f1d7a10\","
		"\"cert-manager.io/alt-names\":\"A1.example.com,b.example.com,c.example.com,d.example.com\","
		"\"x/checksum\":\"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\","
		"\"x/origin\":\"{\\\"namespace\\\":\\\"a\\\",\\\"metadata\\\":{\\\"name\\\":\\\"b\\\"}}\","
		"\"x/text\":\"metadata: of it, and the database: postgres\"}}}";

	ck_assert_str_eq(redacted(object), object);
}
END_TEST

START_TEST(redactor__changes_nothing_that_was_redacted_before)
{
	static const char object[] =
		"{\"data\":{\"p\":\"aHVudGVyMg==\"},\"stringData\":{\"q\":\"x\"},\"x\":1}";
	char *once = xstrdup(redacted(object));

	ck_assert_str_eq(redacted(once), once);
	free(once);
}
END_TEST

/* ---- what a server says beside objects ---- */

static const char *answer(const char *body)
{
	struct err err;

	redacted("{}");
	buf_clear(&out);
	ck_assert_ok(redactor_answer(redactor, slice_of(body), &out, &err), &err);
	ck_assert_int_eq(buf_append(&out, "", 1, NULL), 0);
	return out.ptr;
}

#define EXPIRED                                                                                                       \
	"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"too old "    \
	"resource version: 1 (2)\",\"reason\":\"Expired\",\"details\":{\"name\":\"s\",\"causes\":[{\"reason\":\"r\"," \
	"\"message\":\"m\",\"field\":\"f\"}],\"retryAfterSeconds\":1},\"code\":410}"

START_TEST(redactor__keeps_a_status_and_nothing_else_that_a_server_answers)
{
	static const char *const others[] = {"hunter2", "",
		"{\"kind\":\"Secret\",\"data\":{\"p\":\"hunter2\"}}",
		"{\"kind\":\"Status\",\"data\":{\"p\":\"hunter2\"}}",
		"{\"kind\":\"Status\",\"message\":{\"p\":\"hunter2\"}}",
		"{\"kind\":\"Status\",\"metadata\":{\"annotations\":{\"p\":\"hunter2\"}}}",
		"{\"kind\":\"Status\",\"kind\":\"Secret\",\"message\":\"hunter2\"}",
		"{\"kind\":\"Status\",\"message\":\"hunter2"};

	ck_assert_str_eq(answer(EXPIRED), EXPIRED);
	ck_assert_str_eq(answer(EXPIRED "\n"), EXPIRED "\n");
	for (size_t i = 0; i < COUNT_OF(others); i++) {
		char begin[64];

		snprintf(begin, sizeof(begin), "redacted: %zu bytes, digest ", strlen(others[i]));
		ck_assert_msg(strncmp(answer(others[i]), begin, strlen(begin)) == 0, "%s", others[i]);
		ck_assert_uint_eq(strlen(out.ptr), strlen(begin) + 32);
	}
}
END_TEST

START_TEST(redactor__tells_length_and_digest_once)
{
	char *once = xstrdup(answer("hunter2"));

	ck_assert_str_eq(answer(once), once);
	ck_assert_str_ne(answer("hunter3"), once);
	free(once);
}
END_TEST

START_TEST(redactor__makes_a_status_of_an_error_that_is_none)
{
	struct err err;

	redacted("{}");
	buf_clear(&out);
	ck_assert_ok(redactor_error(redactor, slice_of("{\"kind\":\"Secret\",\"data\":\"hunter2\"}"), 410,
			     &out, &err),
		&err);
	ck_assert(slice_begins(buf_slice(&out),
		"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
		"\"status\":\"Failure\",\"message\":\"redacted: 34 bytes, digest "));
	ck_assert(memmem(out.ptr, out.len, "\",\"code\":410}", 13));
	buf_clear(&out);
	ck_assert_ok(redactor_error(redactor, slice_of(EXPIRED), 410, &out, &err), &err);
	ck_assert_slice_eq(buf_slice(&out), EXPIRED);
}
END_TEST

/* ---- what clients send ---- */

/* target: "group/resource" or "group/resource/subresource". */
static const char *body(const char *target, const char *text)
{
	struct slice rest = slice_of(target);
	struct redact_target to = {.secret = false};
	struct err err;

	to.group = slice_cut(&rest, '/');
	to.resource = slice_cut(&rest, '/');
	to.subresource = rest;
	redacted("{}");
	buf_clear(&out);
	ck_assert_ok(redactor_body(redactor, &to, slice_of(text), &out, &err), &err);
	ck_assert_int_eq(buf_append(&out, "", 1, NULL), 0);
	return out.ptr;
}

START_TEST(redactor__finds_the_values_in_whatever_a_client_sends)
{
	static const char *const bodies[][2] = {
		{"/secrets", "{\"data\":{\"p\":\"hunter2\"}}"},
		{"/secrets", "\n {\"data\":{\"p\":\"hunter2\"}}"},
		{"/secrets", "{\"kind\":\"SecretList\",\"items\":[{\"data\":{\"p\":\"hunter2\"}}]}"},
		{"/secrets", "[{\"op\":\"add\",\"path\":\"/data/p\",\"value\":\"hunter2\"}]"},
		{"/secrets",
			"[{\"value\":{\"p\":\"hunter2\"},\"op\":\"replace\",\"path\":\"\\/stringData\"}]"},
		{"/secrets", "[{\"op\":\"test\",\"path\":\"\",\"value\":{\"data\":{\"p\":\"hunter2\"}}}]"},
		{"/secrets", "[{\"op\":\"add\",\"path\":\"/metadata/annotations/x\",\"value\":\"hunter2\"}]"},
		{"/secrets",
			"[{\"op\":\"add\",\"path\":\"/metadata/annotations\",\"value\":{\"x\":\"data: hunter2\"}}]"},
		{"/secrets", "[{\"op\":\"add\",\"v\\u0061lue\":\"hunter2\",\"path\":\"/data/p\"}]"},
		{"/secrets", "[\"hunter2\"]"},
		{"/secrets", "\"hunter2\""},
		{"/secrets", "data: {p: hunter2}"},
		{"/secrets", "{\"data\":{\"p\":\"hunter2"},
		{"/configmaps", "{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"data\":{\"p\":\"hunter2\"}}"},
		{"/configmaps",
			"{\"kind\":\"S\\u0065cret\",\"apiVersion\":\"v1\",\"data\":{\"p\":\"hunter2\"}}"},
		{"/configmaps",
			"{\"kind\":\"List\",\"items\":[{\"kind\":\"Secret\",\"data\":{\"p\":\"hunter2\"}}]}"},
		{"/configmaps", "kind: Secret\ndata: {p: hunter2}"},
		{"authentication.k8s.io/tokenreviews", "{\"spec\":{\"token\":\"hunter2\"}}"},
		{"/serviceaccounts/token", "{\"kind\":\"TokenRequest\",\"status\":{\"token\":\"hunter2\"}}"},
	};

	for (size_t i = 0; i < COUNT_OF(bodies); i++)
		ck_assert_msg(!strstr(body(bodies[i][0], bodies[i][1]), "hunter2"), "%s", bodies[i][1]);
}
END_TEST

START_TEST(redactor__leaves_of_what_a_client_sends_all_but_the_values)
{
	static const char *const same[][2] = {
		{"/configmaps",
			"{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"data\":{\"p\":\"hunter2\"}}"},
		{"/configmaps", "kind: ConfigMap\ndata: {p: hunter2}"},
		{"/configmaps", "[{\"op\":\"add\",\"path\":\"/data/p\",\"value\":\"hunter2\"}]"},
		{"apps/deployments",
			"{\"kind\":\"List\",\"items\":[{\"kind\":\"ConfigMap\",\"data\":{\"p\":\"h\"}}]}"},
		{"/secrets",
			"{\"kind\":\"DeleteOptions\",\"gracePeriodSeconds\":0,\"propagationPolicy\":\"Background\","
			"\"preconditions\":{\"uid\":\"u\"}}"},
		{"/secrets", "{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"data\":{\"gone\":null}}"},
		{"/secrets",
			"[{\"op\":\"add\",\"path\":\"/metadata/labels/a\",\"value\":\"b\"},"
			"{\"op\":\"remove\",\"path\":\"/data/p\"},{\"op\":\"add\",\"path\":\"/type\",\"value\":\"t\"}]"},
		{"/secrets", EXPIRED},
		{"authentication.k8s.io/tokenreviews",
			"{\"status\":{\"authenticated\":true,\"user\":{\"username\":\"u\"}}}"},
		{"/serviceaccounts/token", "{\"spec\":{\"audiences\":[\"a\"],\"expirationSeconds\":600}}"},
		{"/serviceaccounts", "{\"kind\":\"ServiceAccount\",\"secrets\":[{\"name\":\"s\"}]}"},
	};

	for (size_t i = 0; i < COUNT_OF(same); i++)
		ck_assert_str_eq(body(same[i][0], same[i][1]), same[i][1]);
}
END_TEST

START_TEST(redactor__gives_a_patched_value_the_digest_of_the_object_s)
{
	char *data = xstrdup(redacted("{\"data\":{\"p\":\"aHVudGVyMg==\"}}")),
	     *value = strrchr(data, ':') + 1;

	value[strcspn(value, "}")] = 0;
	ck_assert(
		strstr(body("/secrets", "[{\"op\":\"add\",\"path\":\"/data/p\",\"value\":\"aHVudGVyMg==\"}]"),
			value));
	free(data);
}
END_TEST

#define REFUSED(code)                                                                                           \
	"{\"kind\":\"Status\",\"message\":\"cannot read (hunter2)\",\"reason\":\"R\",\"details\":{\"causes\":[" \
	"{\"reason\":\"C\",\"message\":\"not hunter2\",\"field\":\"data.p\"}]},\"code\":" code "}"

START_TEST(redactor__takes_out_messages_that_quote_what_was_refused)
{
	const struct redact_target misplaced = {slice_of(""), slice_of("configmaps"), slice_of(""), true};
	static const char *const kept[] = {"\"reason\":\"R\"", "\"reason\":\"C\"", "\"field\":\"data.p\""};
	struct err err;

	ck_assert_str_eq(body("/secrets", REFUSED("409")), REFUSED("409"));
	ck_assert_str_eq(body("/configmaps", REFUSED("400")), REFUSED("400"));
	body("/secrets", REFUSED("422"));
	ck_assert(!strstr(out.ptr, "hunter2"));
	for (size_t i = 0; i < COUNT_OF(kept); i++)
		ck_assert_msg(strstr(out.ptr, kept[i]) != NULL, "%s in %s", kept[i], out.ptr);
	buf_clear(&out);
	ck_assert_int_eq(redactor_body(redactor, &misplaced, slice_of(REFUSED("400")), &out, &err), 1);
	ck_assert(!memmem(out.ptr, out.len, "hunter2", 7));
}
END_TEST

START_TEST(redactor__concerns_core_secrets_only)
{
	ck_assert(redactor_concerns("", "secrets"));
	ck_assert(!redactor_concerns("", "configmaps"));
	ck_assert(!redactor_concerns("example.com", "secrets"));
	ck_assert(redactor_concerns_kind(slice_of("v1"), slice_of("Secret")));
	ck_assert(!redactor_concerns_kind(slice_of("example.com/v1"), slice_of("Secret")));
	ck_assert(!redactor_concerns_kind(slice_of("v1"), slice_of("ConfigMap")));
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
	redactor__lets_no_value_through_whatever_its_form,
	redactor__takes_out_annotations_that_may_hold_the_object,
	redactor__takes_out_annotations_of_known_tools,
	redactor__leaves_annotations_that_say_nothing_of_the_values,
	redactor__changes_nothing_that_was_redacted_before,
	redactor__keeps_a_status_and_nothing_else_that_a_server_answers,
	redactor__tells_length_and_digest_once, redactor__makes_a_status_of_an_error_that_is_none,
	redactor__finds_the_values_in_whatever_a_client_sends,
	redactor__leaves_of_what_a_client_sends_all_but_the_values,
	redactor__gives_a_patched_value_the_digest_of_the_object_s,
	redactor__takes_out_messages_that_quote_what_was_refused, redactor__concerns_core_secrets_only,
	base64__goes_there_and_back)
