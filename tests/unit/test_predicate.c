/* test_predicate.c: picking out events by an SQL expression. */
#include "schema/base/clock.h"
#include "schema/sql/predicate.h"
#include "tests/unit/unit.h"

static struct err err;

static const struct tape_resource pods = {1, "", "v1", "pods", "Pod", true};

static const char object[] =
	"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"web-0\",\"labels\":{\"app\":\"web\"}},"
	"\"spec\":{\"replicas\":3,\"list\":[\"a\",\"b\"]}}";

static struct event event(void)
{
	/* 2026-01-02T03:04:05.000000006Z */
	return (struct event){.seq = 42,
		.time_ns = INT64_C(1767323045000000006),
		.type = EVENT_DELETED,
		.origin = ORIGIN_WATCH,
		.stream = 1,
		.resource = 1,
		.namespace = slice_of("default"),
		.name = slice_of("web-0"),
		.uid = slice_of("u-1"),
		.rv = slice_of("1009"),
		.bytes = sizeof(object) - 1};
}

static int answer_with(const char *expression, const struct event *e, struct slice bytes, int64_t limit_ns)
{
	struct predicate *p;
	int rc;

	err.code = 0;
	ck_assert_ok(predicate_compile(slice_of(expression), NULL, &p, &err), &err);
	if (limit_ns)
		predicate_limit(p, limit_ns);
	rc = predicate_test(p, &pods, e, bytes, &err);
	ck_assert_int_eq(predicate_test(p, &pods, e, bytes, &err), rc); /* it can be asked again */
	predicate_free(p);
	return rc;
}

static int answer(const char *expression)
{
	struct event e = event();

	return answer_with(expression, &e, slice_of(object), 0);
}

START_TEST(predicate__knows_every_column_of_events)
{
	static const char *const true_ones[] = {"seq = 42", "seq = '42'", "time_ns = 1767323045000000006",
		"time = '2026-01-02T03:04:05.000000006Z'", "time > '2026-01-02' AND time < '2026-01-03'",
		"time > '2026-01-02T04:04:04+01:00'", "origin = 'watch'", "type = 'DELETED'", "apigroup = ''",
		"version = 'v1'", "resource = 'pods'", "namespace = 'default'", "name LIKE 'web-%'",
		"uid = 'u-1'", "rv = '1009'", "rv_cmp(rv, '999') > 0", "bytes > 100",
		"jget(object, '$.metadata.labels.app') = 'web'", "jget(object,'$.spec.replicas') = 3",
		"json_extract(object, '$.spec.replicas') BETWEEN 2 AND 4",
		"EXISTS (SELECT 1 FROM json_each(object, '$.spec.list') WHERE value = 'b')",
		"resource='pods' AND type='DELETED' AND jget(object,'$.metadata.labels.app')='web'",
		"1 -- a comment", "type IN ('ADDED', 'DELETED')", "name GLOB 'web-[0-9]'"};
	static const char *const false_ones[] = {"0", "NULL", "''", "'words'", "seq < 42", "type = 'ADDED'",
		"jget(object, '$.metadata.labels.none') = 'web'", "jget(object, '$.nothing') IS NOT NULL"};

	for (size_t i = 0; i < COUNT_OF(true_ones); i++)
		ck_assert_msg(answer(true_ones[i]) == 1, "%s: %s", true_ones[i], err.text);
	for (size_t i = 0; i < COUNT_OF(false_ones); i++)
		ck_assert_msg(answer(false_ones[i]) == 0, "%s: %s", false_ones[i], err.text);
}
END_TEST

START_TEST(predicate__is_asked_of_one_event_after_the_other)
{
	struct predicate *p;
	struct event e = event();

	ck_assert_ok(predicate_compile(slice_of("seq % 3 = 0 AND resource = 'pods'"), NULL, &p, &err), &err);
	for (e.seq = 1; e.seq <= 100; e.seq++)
		ck_assert_int_eq(predicate_test(p, &pods, &e, slice_of(object), &err), e.seq % 3 == 0);
	e.seq = 3;
	ck_assert_int_eq(predicate_test(p, NULL, &e, slice_of(object), &err), 0);
	predicate_free(p);
}
END_TEST

START_TEST(predicate__refuses_what_is_no_expression_over_an_event)
{
	static const struct {
		const char *expression, *part;
	} rows[] = {{"", "syntax error"}, {"name =", "syntax error"}, {"nmae = 'x'", "no such column: nmae"},
		{"1; DROP TABLE x", "syntax error"}, {"1) --", "syntax error"}, {"name = ?", "parameters"},
		{"name = :n", "parameters such as ':n'"}, {"nofun(1)", "no such function: nofun"},
		{"count(*) > 1", "misuse of aggregate"}, {"random() > 0", "not authorized"},
		{"load_extension('x')", "not authorized"}, {"kubetape_open('x')", "not authorized"},
		{"current_timestamp > '2026'", "not authorized"},
		{"EXISTS (SELECT 1 FROM events)", "no such table: events"}};
	struct predicate *p;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		ck_assert_msg(predicate_compile(slice_of(rows[i].expression), NULL, &p, &err) == ERR_USAGE,
			"%s", rows[i].expression);
		ck_assert_msg(strstr(err.text, rows[i].part), "%s: %s", rows[i].expression, err.text);
	}
}
END_TEST

START_TEST(predicate__counts_times_from_the_tape)
{
	/* From 03:04:00 to 03:05:00; the event is of 03:04:05. */
	static const struct moment_frame frame = {
		.first_ns = INT64_C(1767323040000000000), .last_ns = INT64_C(1767323100000000000)};
	static const char *const true_ones[] = {"time > '3:04:04'", "time < '03:04:06'",
		"time = '03:04:05.000000006Z'", "time BETWEEN '4:04:05+01:00' AND '+6s'", "time < '-54s'",
		"time > 'start' AND time < 'end'", "time > '2026-01-02 03:04'",
		"time IN ('9:51', '@1767323045.000000006')"};
	struct event e = event();

	for (size_t i = 0; i < COUNT_OF(true_ones); i++) {
		struct predicate *p;

		ck_assert_ok(predicate_compile(slice_of(true_ones[i]), &frame, &p, &err), &err);
		ck_assert_msg(predicate_test(p, &pods, &e, slice_of(object), &err) == 1, "%s", true_ones[i]);
		predicate_free(p);
	}
}
END_TEST

START_TEST(predicate__refuses_a_text_beside_the_time_that_is_none)
{
	struct event e = event();
	struct predicate *p;

	ck_assert_int_eq(predicate_compile(slice_of("time > 'noon'"), NULL, &p, &err), ERR_USAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "bad time 'noon': expected " MOMENT_FORMS));
	/* Where it is not to be seen beforehand, the first event that needs it shows it. */
	ck_assert_ok(predicate_compile(slice_of("seq = 1 OR time > 'no' || 'on'"), NULL, &p, &err), &err);
	ck_assert_int_eq(predicate_test(p, &pods, &e, slice_of(object), &err), ERR_USAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "bad time 'noon'"));
	e.seq = 1;
	ck_assert_int_eq(predicate_test(p, &pods, &e, slice_of(object), &err), 1);
	predicate_free(p);
}
END_TEST

START_TEST(predicate__bounds_its_text)
{
	struct predicate *p;
	size_t len = PREDICATE_BYTES_MAX + 1;
	char *text = xmalloc(len);

	memset(text, '1', len);
	ck_assert_int_eq(predicate_compile((struct slice){text, len}, NULL, &p, &err), ERR_USAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "at most 65536"));
	ck_assert_int_eq(predicate_compile((struct slice){"1\0 0", 4}, NULL, &p, &err), ERR_USAGE);
	ck_assert_str_eq(err.text, "the expression has a NUL byte in it");
	free(text);
}
END_TEST

START_TEST(predicate__tells_which_word_in_double_quotes_is_no_column)
{
	static const struct {
		const char *expression, *word;
	} rows[] = {{"\"typo\" = 'DELETED'", "typo"}, {"type = \"DELETED\"", "DELETED"},
		{"\"type\" = 'DELETED'", NULL}, {"type = 'DELETED'", NULL}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct predicate *p;
		char *doubt, *expected;

		ck_assert_ok(predicate_compile(slice_of(rows[i].expression), NULL, &p, &err), &err);
		doubt = predicate_doubt(p);
		expected =
			rows[i].word
				? xasprintf("%s names no column of an event and is taken for a text; write "
					    "texts as 'text'",
					  rows[i].word)
				: NULL;
		ck_assert_pstr_eq(doubt, expected);
		free(expected);
		free(doubt);
		predicate_free(p);
	}
	ck_assert_int_eq(answer("type = \"ADDED\" OR type = \"MODIFIED\" OR type = \"DELETED\""), 1);
}
END_TEST

START_TEST(predicate__fails_where_it_cannot_be_computed)
{
	struct event e = event();

	ck_assert_int_eq(answer_with("jget(object,'$.a') = 1", &e, slice_of("{\"a\":"), 0), ERR_FAILED);
	ck_assert_ptr_nonnull(strstr(err.text, "the expression cannot be computed for event 42: "));
	END_TEST
}

START_TEST(predicate__is_stopped_when_it_takes_too_long)
{
	struct event e = event();
	int64_t begin_ns = clock_mono_ns(&clock_system);

	ck_assert_int_eq(answer_with("(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
				     "SELECT max(i) FROM n) > 0",
				 &e, slice_of(object), 20 * NS_PER_MS),
		ERR_STOPPED);
	ck_assert_str_eq(err.text, "the expression took longer than 20ms for event 42");
	ck_assert_int_lt(clock_mono_ns(&clock_system) - begin_ns, 60 * NS_PER_S);
}
END_TEST

UNIT_MAIN("predicate", predicate__knows_every_column_of_events,
	predicate__is_asked_of_one_event_after_the_other,
	predicate__refuses_what_is_no_expression_over_an_event, predicate__counts_times_from_the_tape,
	predicate__refuses_a_text_beside_the_time_that_is_none, predicate__bounds_its_text,
	predicate__tells_which_word_in_double_quotes_is_no_column,
	predicate__fails_where_it_cannot_be_computed, predicate__is_stopped_when_it_takes_too_long)
