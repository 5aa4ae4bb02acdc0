/* test_protobuf.c: protobuf bodies made by hand, as clients send them and as nobody should. */
#include "replayer/protobuf/protobuf.h"
#include "replayer/protobuf/protobuf_table.h"
#include "tests/unit/protobuf_builder.h"

#include <stdio.h>

/* The body around an object; releases it. */
static struct message body_of(const char *api_version, const char *kind, struct message *object)
{
	struct message type = message(), body = message();

	put_text(&type, 1, api_version);
	put_text(&type, 2, kind);
	ck_assert_int_eq(buf_append(&body.bytes, "k8s", 4, &err), 0);
	put_message(&body, 1, &type);
	put_message(&body, 2, object);
	put_text(&body, 3, ""); /* Go's encoder writes these two empty */
	put_text(&body, 4, "");
	buf_release(&type.bytes);
	buf_release(&object->bytes);
	return body;
}

static void expect_json(
	const char *api_version, const char *kind, struct message *object, const char *expected)
{
	struct message body = body_of(api_version, kind, object);
	struct buf json;

	buf_init(&json, JSON_MAX);
	ck_assert_ok(protobuf_to_json(buf_slice(&body.bytes), &json, &err), &err);
	ck_assert_slice_eq(buf_slice(&json), expected);
	buf_release(&json);
	buf_release(&body.bytes);
}

static void expect_refused(
	const char *api_version, const char *kind, struct message *object, int code, const char *sentence)
{
	struct message body = body_of(api_version, kind, object);
	struct buf json;

	buf_init(&json, JSON_MAX);
	ck_assert_int_eq(protobuf_to_json(buf_slice(&body.bytes), &json, &err), code);
	ck_assert_str_eq(err.text, sentence);
	ck_assert_uint_eq(json.len, 0);
	buf_release(&json);
	buf_release(&body.bytes);
}

/* metadata with name and namespace, as field 1. */
static void put_metadata(struct message *object, const char *name)
{
	struct message metadata = message();

	put_text(&metadata, 1, name);
	put_text(&metadata, 3, "default");
	put_text(&metadata, 5, "");
	put_message(object, 1, &metadata);
	buf_release(&metadata.bytes);
}

static void put_time(struct message *to, unsigned number, int64_t seconds, int64_t nanos)
{
	struct message time = message();

	put_int(&time, 1, seconds);
	put_int(&time, 2, nanos);
	put_message(to, number, &time);
	buf_release(&time.bytes);
}

static struct message lease(void)
{
	struct message object = message(), spec = message();

	put_metadata(&object, "manager");
	put_text(&spec, 1, "host_1");
	put_int(&spec, 2, 15);
	put_time(&spec, 3, 1767322445, 678901000);
	put_time(&spec, 4, 1767322447, 5);
	put_int(&spec, 5, 0);
	put_message(&object, 2, &spec);
	buf_release(&spec.bytes);
	return object;
}

static const char lease_json[] =
	"{\"kind\":\"Lease\",\"apiVersion\":\"coordination.k8s.io/v1\",\"metadata\":{\"name\":\"manager\","
	"\"namespace\":\"default\"},\"spec\":{\"holderIdentity\":\"host_1\",\"leaseDurationSeconds\":15,"
	"\"acquireTime\":\"2026-01-02T02:54:05.678901Z\",\"renewTime\":\"2026-01-02T02:54:07.000000Z\","
	"\"leaseTransitions\":0}}";

START_TEST(lease__is_read_as_a_leader_election_writes_it)
{
	struct message object = lease();

	expect_json("coordination.k8s.io/v1", "Lease", &object, lease_json);
}
END_TEST

START_TEST(event__is_read_with_its_source_and_times)
{
	struct message object = message(), inner = message();

	put_metadata(&object, "web.17");
	put_text(&inner, 1, "Pod");
	put_text(&inner, 3, "web");
	put_message(&object, 2, &inner);
	put_text(&object, 3, "Pulled");
	put_text(&object, 4, "image \"a<b>\" is there & ready");
	put_text(&inner, 1, "kubelet");
	put_message(&object, 5, &inner);
	put_time(&object, 6, 0, 0);
	put_message(&object, 7, &inner); /* empty: no time */
	put_int(&object, 8, 3);
	put_text(&object, 9, "Normal");
	expect_json("v1", "Event", &object,
		"{\"kind\":\"Event\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"web.17\",\"namespace\":"
		"\"default\"},\"involvedObject\":{\"kind\":\"Pod\",\"name\":\"web\"},\"reason\":\"Pulled\","
		"\"message\":\"image \\\"a\\u003cb\\u003e\\\" is there \\u0026 "
		"ready\",\"source\":{\"component\":"
		"\"kubelet\"},\"firstTimestamp\":\"1970-01-01T00:00:00Z\",\"lastTimestamp\":null,\"count\":3,"
		"\"type\":\"Normal\",\"eventTime\":null,\"reportingComponent\":\"\",\"reportingInstance\":"
		"\"\"}");
	buf_release(&inner.bytes);
}
END_TEST

START_TEST(access_review__is_read_as_kubectl_auth_can_i_sends_it)
{
	struct message object = message(), spec = message(), attributes = message();

	put_text(&attributes, 1, "default");
	put_text(&attributes, 2, "get");
	put_text(&attributes, 5, "pods");
	put_message(&spec, 1, &attributes);
	put_message(&object, 2, &spec);
	put_int(&attributes, 1, 0); /* allowed: false */
	put_message(&object, 3, &attributes);
	expect_json("authorization.k8s.io/v1", "SelfSubjectAccessReview", &object,
		"{\"kind\":\"SelfSubjectAccessReview\",\"apiVersion\":\"authorization.k8s.io/"
		"v1\",\"metadata\":{},"
		"\"spec\":{\"resourceAttributes\":{\"namespace\":\"default\",\"verb\":\"get\",\"resource\":"
		"\"pods\"}},\"status\":{\"allowed\":false}}");
	buf_release(&spec.bytes);
	buf_release(&attributes.bytes);
}
END_TEST

START_TEST(delete_options__are_read_under_any_group)
{
	static const char *const versions[] = {"v1", "apps/v1", "meta.k8s.io/v1", "example.com/v1alpha1"};

	for (size_t i = 0; i < COUNT_OF(versions); i++) {
		struct message object = message(), preconditions = message();
		char expected[300];

		put_int(&object, 1, 0);
		put_text(&preconditions, 1, "u-1");
		put_message(&object, 2, &preconditions);
		put_text(&object, 4, "Background");
		put_text(&object, 5, "All");
		snprintf(expected, sizeof(expected),
			"{\"kind\":\"DeleteOptions\",\"apiVersion\":\"%s\",\"gracePeriodSeconds\":0,"
			"\"preconditions\":{\"uid\":\"u-1\"},\"propagationPolicy\":\"Background\",\"dryRun\":"
			"[\"All\"]}",
			versions[i]);
		expect_json(versions[i], "DeleteOptions", &object, expected);
		buf_release(&preconditions.bytes);
	}
}
END_TEST

START_TEST(status__is_read_with_its_causes)
{
	struct message object = message(), details = message(), cause = message();

	put_message(&object, 1, &cause);
	put_text(&object, 2, "Failure");
	put_text(&object, 4, "Timeout");
	put_text(&cause, 1, "ResourceVersionTooLarge");
	put_message(&details, 4, &cause);
	put_int(&details, 5, 1);
	put_message(&object, 5, &details);
	put_int(&object, 6, 504);
	expect_json("v1", "Status", &object,
		"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
		"\"reason\":"
		"\"Timeout\",\"details\":{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\"}],"
		"\"retryAfterSeconds\":1},\"code\":504}");
	buf_release(&details.bytes);
	buf_release(&cause.bytes);
}
END_TEST

START_TEST(secret__has_its_bytes_as_base64_and_its_keys_sorted)
{
	struct message object = message(), entry = message();

	put_metadata(&object, "s");
	put_text(&entry, 1, "z");
	put_text(&entry, 2, "\xff\x01");
	put_message(&object, 2, &entry);
	put_text(&entry, 1, "a");
	put_message(&object, 2, &entry);
	put_text(&entry, 1, "z"); /* the last one counts */
	put_text(&entry, 2, "abc");
	put_message(&object, 2, &entry);
	put_text(&object, 3, "Opaque");
	expect_json("v1", "Secret", &object,
		"{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"s\",\"namespace\":"
		"\"default\"},\"data\":{\"a\":\"\",\"z\":\"YWJj\"},\"type\":\"Opaque\"}");
	buf_release(&entry.bytes);
}
END_TEST

START_TEST(pod__has_members_of_inlined_messages_among_its_own)
{
	struct message object = message(), spec = message(), volume = message(), source = message(),
		       claim = message();

	put_text(&claim, 1, "data");
	put_message(&source, 10, &claim);
	put_text(&volume, 1, "v");
	put_message(&volume, 2, &source);
	put_message(&spec, 1, &volume);
	put_message(&object, 2, &spec);
	expect_json("v1", "Pod", &object,
		"{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{},\"spec\":{\"volumes\":[{\"name\":"
		"\"v\","
		"\"persistentVolumeClaim\":{\"claimName\":\"data\"}}],\"containers\":null},\"status\":{}}");
	buf_release(&spec.bytes);
	buf_release(&volume.bytes);
	buf_release(&source.bytes);
	buf_release(&claim.bytes);
}
END_TEST

START_TEST(packed_numbers__are_read_like_single_ones)
{
	struct message object = message(), spec = message(), context = message(), groups = message();

	put_varint(&groups, 5);
	put_varint(&groups, 300);
	put_message(&context, 4, &groups);
	put_int(&context, 4, -1);
	put_message(&spec, 14, &context);
	put_message(&object, 2, &spec);
	expect_json("v1", "Pod", &object,
		"{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{},\"spec\":{\"containers\":null,"
		"\"securityContext\":{\"supplementalGroups\":[5,300,-1]}},\"status\":{}}");
	buf_release(&spec.bytes);
	buf_release(&context.bytes);
	buf_release(&groups.bytes);
}
END_TEST

/* The three cuts between the four fields of the envelope leave an envelope, the
 * first one without an object. */
START_TEST(body__is_refused_when_cut_inside_a_field)
{
	struct message object = lease(), body = body_of("coordination.k8s.io/v1", "Lease", &object);
	unsigned accepted = 0;
	struct buf json;

	buf_init(&json, JSON_MAX);
	for (size_t len = 0; len < body.bytes.len; len++) {
		char *exact = xmalloc(len); /* so that a sanitizer sees a byte read after the end */
		int rc;

		memcpy(exact, body.bytes.ptr, len);
		rc = protobuf_to_json((struct slice){exact, len}, &json, &err);
		ck_assert(rc == ERR_PROTOCOL || rc == 0);
		ck_assert_uint_eq(json.len > 0, rc == 0);
		if (rc == 0)
			ck_assert_slice_eq(buf_slice(&json),
				accepted++ ? lease_json
					   : "{\"kind\":\"Lease\",\"apiVersion\":\"coordination.k8s.io/v1\","
					     "\"metadata\":{},\"spec\":{}}");
		buf_clear(&json);
		free(exact);
	}
	ck_assert_uint_eq(accepted, 3);
	buf_release(&json);
	buf_release(&body.bytes);
}
END_TEST

START_TEST(fields_that_are_unknown__are_skipped_as_by_the_api_server)
{
	struct message object = message(), meta = message(), spec = message();

	put_text(&meta, 1, "web");
	put_text(&meta, 15, "cluster"); /* clusterName, which clients before 1.24 send */
	put_text(&meta, 3, "shop");
	put_message(&object, 1, &meta);
	put_int(&object, 250, 1);
	put_int(&spec, 99, 1);
	put_text(&spec, 1, "me");
	put_message(&object, 2, &spec);
	expect_json("coordination.k8s.io/v1", "Lease", &object,
		"{\"kind\":\"Lease\",\"apiVersion\":\"coordination.k8s.io/v1\",\"metadata\":{\"name\":\"web\","
		"\"namespace\":\"shop\"},\"spec\":{\"holderIdentity\":\"me\"}}");
	buf_release(&meta.bytes);
	buf_release(&spec.bytes);
	buf_release(&object.bytes);
}
END_TEST

START_TEST(unknown_kinds_and_misfit_fields__are_refused_with_their_place)
{
	struct message object = message(), spec = message();

	expect_refused("example.com/v1", "Widget", &object, ERR_PROTOCOL,
		"bad protobuf body: its kind 'Widget' in 'example.com/v1' is no built-in one");
	expect_refused("apps/v1", "Pod", &object, ERR_PROTOCOL,
		"bad protobuf body: its kind 'Pod' in 'apps/v1' is no built-in one");
	put_int(&spec, 1, 1);
	put_message(&object, 2, &spec);
	expect_refused("coordination.k8s.io/v1", "Lease", &object, ERR_PROTOCOL,
		"bad protobuf body: at 'spec.holderIdentity': field 1 has wire type 0, expected 2");
	put_int(&spec, 2, 15);
	put_int(&spec, 2, 16);
	put_message(&object, 2, &spec);
	expect_refused("coordination.k8s.io/v1", "Lease", &object, ERR_PROTOCOL,
		"bad protobuf body: at 'spec': field 2 ('leaseDurationSeconds') is there twice");
	put_int(&spec, 2, INT64_C(1) << 40);
	put_message(&object, 2, &spec);
	expect_refused("coordination.k8s.io/v1", "Lease", &object, ERR_PROTOCOL,
		"bad protobuf body: at 'spec.leaseDurationSeconds': number 1099511627776 has more than 32 "
		"bits");
	buf_release(&spec.bytes);
}
END_TEST

START_TEST(wrong_values__are_refused_where_they_stand)
{
	struct message object = message(), inner = message(), value = message();

	put_text(&value, 1, "1.2.3");
	put_text(&inner, 1, "cpu");
	put_message(&inner, 2, &value);
	put_message(&value, 1, &inner);
	put_message(&object, 2, &value);
	expect_refused("v1", "ResourceQuota", &object, ERR_PROTOCOL,
		"bad protobuf body: at 'spec.hard['cpu']': bad quantity '1.2.3'");
	put_text(&value, 1, "{\"a\":}");
	put_message(&object, 2, &value);
	expect_refused("apps/v1", "ControllerRevision", &object, ERR_PROTOCOL,
		"bad protobuf body: at 'data': bad JSON at byte 5: expected a value");
	put_int(&value, 1, INT64_C(300000000000));
	put_message(&inner, 8, &value);
	put_message(&object, 1, &inner);
	expect_refused("v1", "ConfigMap", &object, ERR_PROTOCOL,
		"bad protobuf body: at 'metadata.creationTimestamp': a time of 300000000000 s is outside the "
		"years 0 "
		"to 9999");
	buf_release(&inner.bytes);
	buf_release(&value.bytes);
}
END_TEST

START_TEST(envelope__is_refused_without_kind_or_with_an_encoding)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *sentence;
	} rows[] = {
		{"", 0, "the body does not begin with 'k8s' and a zero byte"},
		{"{\"kind\":1}", 10, "the body does not begin with 'k8s' and a zero byte"},
		{"k8s", 4, "the envelope names no kind"},
		{"k8s\0\x0a\x04\x0a\x02v1", 10, "the envelope names no kind"},
		{"k8s\0\x0a\x05\x12\x03Pod", 11, "the envelope names no version"},
		{"k8s\0\x1a\x04gzip", 10, "the object is encoded as 'gzip', expected no encoding"},
		{"k8s\0\x22\x10"
		 "application/json",
			22, "the object is 'application/json', expected protobuf"},
		{"k8s\0\x0a\xff\xff\xff\xff\x0f", 10,
			"the envelope: cut short: 4294967295 bytes announced, 0 left"},
		{"k8s\0\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 15,
			"the envelope: a number has more than 64 bits"},
		{"k8s\0\x0b", 5, "the envelope: field 1 has wire type 3, which is unknown"},
		{"k8s\0\x02", 5, "the envelope: bad field number 0"},
		{"k8s\0\x2a\x01x", 7, "the envelope has unknown field 5 of wire type 2"},
	};
	struct protobuf_envelope envelope;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct slice body = {rows[i].bytes, rows[i].len};

		ck_assert_int_eq(protobuf_read_envelope(body, &envelope, &err), ERR_PROTOCOL);
		ck_assert_str_eq(err.text, rows[i].sentence);
	}
}
END_TEST

/* A schema whose `not` (field 28) holds a schema, and so on. */
static struct message nested_schema(unsigned levels)
{
	struct message a = message(), b = message(), *inner = &a, *outer = &b, *swap;

	for (unsigned i = 0; i < levels; i++) {
		put_message(outer, 28, inner);
		swap = inner;
		inner = outer;
		outer = swap;
	}
	buf_release(&outer->bytes);
	return *inner;
}

/* Of the only version of a definition; `schema` is used up. */
static int print_schema(struct message schema, struct buf *json)
{
	struct message validation = message(), version = message(), spec = message(), object = message(),
		       body;
	int rc;

	put_message(&validation, 1, &schema);
	put_message(&version, 4, &validation);
	put_message(&spec, 7, &version);
	put_message(&object, 2, &spec);
	body = body_of("apiextensions.k8s.io/v1", "CustomResourceDefinition", &object);
	rc = protobuf_to_json(buf_slice(&body.bytes), json, &err);
	buf_release(&schema.bytes);
	buf_release(&validation.bytes);
	buf_release(&version.bytes);
	buf_release(&spec.bytes);
	buf_release(&body.bytes);
	return rc;
}

START_TEST(depth__has_a_limit)
{
	struct buf json;

	buf_init(&json, JSON_MAX);
	ck_assert_ok(print_schema(nested_schema(200), &json), &err);
	buf_clear(&json);
	ck_assert_int_eq(print_schema(nested_schema(5000), &json), ERR_TOO_LARGE);
	ck_assert_ptr_nonnull(strstr(err.text, "messages nest deeper than 250"));
	ck_assert_uint_eq(json.len, 0);
	buf_release(&json);
}
END_TEST

/* A schema whose `items` (field 24) are a schema, field 1, beside which a list, field 2, is all that counts.
 */
static struct message schema_of_items(struct message *one)
{
	struct message schema = message(), items = message(), empty = message();

	put_message(&items, 1, one);
	put_message(&items, 2, &empty);
	put_message(&schema, 24, &items);
	buf_release(&items.bytes);
	return schema;
}

START_TEST(what_is_outweighed__is_read_all_the_same)
{
	struct message good = message(), bad = message();
	struct buf json;

	buf_init(&json, JSON_MAX);
	put_text(&good, 5, "string");
	ck_assert_ok(print_schema(schema_of_items(&good), &json), &err);
	ck_assert_ptr_nonnull(memmem(json.ptr, json.len, "\"items\":[{}]", 12));
	buf_clear(&json);
	put_int(&bad, 5, 1);
	ck_assert_int_eq(print_schema(schema_of_items(&bad), &json), ERR_PROTOCOL);
	ck_assert_ptr_nonnull(strstr(err.text, "items.type': field 5 has wire type 0"));
	ck_assert_uint_eq(json.len, 0);
	buf_release(&json);
	buf_release(&good.bytes);
	buf_release(&bad.bytes);
}
END_TEST

START_TEST(json__is_bounded_by_its_buffer)
{
	struct message object = message(), empty = message(), body;
	struct buf json;

	for (int i = 0; i < 100000; i++)
		put_message(&object, 2, &empty);
	body = body_of("v1", "PodList", &object);
	buf_init(&json, 1 << 20);
	ck_assert_int_eq(buf_append(&json, "kept", 4, &err), 0);
	ck_assert_int_eq(protobuf_to_json(buf_slice(&body.bytes), &json, &err), ERR_TOO_LARGE);
	ck_assert_slice_eq(buf_slice(&json), "kept");
	buf_release(&json);
	buf_release(&body.bytes);
}
END_TEST

START_TEST(body__is_bounded)
{
	char *body = xcalloc(1, PROTOBUF_BODY_BYTES_MAX + 1);
	struct buf json;

	buf_init(&json, JSON_MAX);
	ck_assert_int_eq(protobuf_to_json((struct slice){body, PROTOBUF_BODY_BYTES_MAX + 1}, &json, &err),
		ERR_TOO_LARGE);
	free(body);
}
END_TEST

START_TEST(table__is_sorted_out)
{
	unsigned messages = 0;

	for (unsigned i = 0; i < protobuf_kind_count; i++) {
		if (protobuf_kinds[i].message > messages)
			messages = protobuf_kinds[i].message;
	}
	ck_assert_uint_gt(protobuf_kind_count, 300);
	for (unsigned m = 0; m <= messages; m++) {
		ck_assert_uint_le(protobuf_starts[m], protobuf_starts[m + 1]);
		ck_assert_uint_le(protobuf_starts[m + 1] - protobuf_starts[m], PROTOBUF_ROWS_MAX);
	}
}
END_TEST

UNIT_MAIN("protobuf", lease__is_read_as_a_leader_election_writes_it, event__is_read_with_its_source_and_times,
	access_review__is_read_as_kubectl_auth_can_i_sends_it, delete_options__are_read_under_any_group,
	status__is_read_with_its_causes, secret__has_its_bytes_as_base64_and_its_keys_sorted,
	pod__has_members_of_inlined_messages_among_its_own, packed_numbers__are_read_like_single_ones,
	body__is_refused_when_cut_inside_a_field,
	unknown_kinds_and_misfit_fields__are_refused_with_their_place,
	fields_that_are_unknown__are_skipped_as_by_the_api_server, wrong_values__are_refused_where_they_stand,
	envelope__is_refused_without_kind_or_with_an_encoding, depth__has_a_limit,
	what_is_outweighed__is_read_all_the_same, json__is_bounded_by_its_buffer, body__is_bounded,
	table__is_sorted_out)
