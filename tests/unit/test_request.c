/* test_request.c: what a request asks for: path, query, Accept, list options, continue tokens, errors. */
#include "replayer/request/accept.h"
#include "replayer/request/api_path.h"
#include "replayer/request/continue_token.h"
#include "replayer/request/duration.h"
#include "replayer/request/list_options.h"
#include "tests/unit/unit.h"

static struct err err;

static bool yaml;

START_TEST(path__means_what_the_api_server_takes_it_for)
{
	static const struct {
		const char *path;
		enum api_path_kind kind;
		const char *group, *version, *namespace, *resource, *name, *subresource;
		bool watch;
	} rows[] = {
		{"/", API_PATH_OTHER, "", "", "", "", "", "", false},
		{"/healthz", API_PATH_OTHER, "", "", "", "", "", "", false},
		{"/apix/v1", API_PATH_OTHER, "", "", "", "", "", "", false},
		{"/api", API_PATH_ROOT, "", "", "", "", "", "", false},
		{"/apis/", API_PATH_ROOT, "", "", "", "", "", "", false},
		{"/apis/apps", API_PATH_GROUP, "apps", "", "", "", "", "", false},
		{"/apis/apps/v1", API_PATH_VERSION, "apps", "v1", "", "", "", "", false},
		{"/api/v1", API_PATH_VERSION, "", "v1", "", "", "", "", false},
		{"/api/v1/pods", API_PATH_RESOURCE, "", "v1", "", "pods", "", "", false},
		{"/api/v1/pods/", API_PATH_RESOURCE, "", "v1", "", "pods", "", "", false},
		{"/api/v1//pods", API_PATH_BAD, "", "", "", "", "", "", false},
		{"/api/v1/namespaces", API_PATH_RESOURCE, "", "v1", "", "namespaces", "", "", false},
		{"/api/v1/namespaces/x", API_PATH_RESOURCE, "", "v1", "", "namespaces", "x", "", false},
		{"/api/v1/namespaces/x/status", API_PATH_RESOURCE, "", "v1", "", "namespaces", "x", "status",
			false},
		{"/api/v1/namespaces/x/pods", API_PATH_RESOURCE, "", "v1", "x", "pods", "", "", false},
		{"/api/v1/namespaces/x/pods/p/log", API_PATH_RESOURCE, "", "v1", "x", "pods", "p", "log",
			false},
		{"/apis/apps/v1/namespaces/x/deployments/d", API_PATH_RESOURCE, "apps", "v1", "x",
			"deployments", "d", "", false},
		{"/api/v1/watch/pods", API_PATH_RESOURCE, "", "v1", "", "pods", "", "", true},
		{"/api/v1/watch/namespaces/x/pods/p", API_PATH_RESOURCE, "", "v1", "x", "pods", "p", "",
			true},
		{"/apis/g.io/v1/watch", API_PATH_RESOURCE, "g.io", "v1", "", "watch", "", "", false},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct api_path p;

		api_path_parse(slice_of(rows[i].path), &p);
		ck_assert_msg(p.kind == rows[i].kind, "%s: kind %d", rows[i].path, p.kind);
		ck_assert_slice_eq(p.group, rows[i].group);
		ck_assert_slice_eq(p.version, rows[i].version);
		ck_assert_slice_eq(p.namespace, rows[i].namespace);
		ck_assert_slice_eq(p.resource, rows[i].resource);
		ck_assert_slice_eq(p.name, rows[i].name);
		ck_assert_slice_eq(p.subresource, rows[i].subresource);
		ck_assert(p.forced_watch == rows[i].watch);
	}
}
END_TEST

START_TEST(query__takes_the_first_of_repeated_and_drops_broken_pairs)
{
	struct query q;

	query_parse(slice_of("/a%20b?x=1&x=2&bad=%%%&y=a+b%2F&z&w=%4&semi=a;b&last=%41"), &q);
	ck_assert_slice_eq(q.path, "/a b");
	ck_assert_slice_eq(query_get(&q, "x"), "1");
	ck_assert(!query_has(&q, "bad"));
	ck_assert_slice_eq(query_get(&q, "y"), "a b/");
	ck_assert(query_has(&q, "z"));
	ck_assert(!query_has(&q, "w"));
	ck_assert(!query_has(&q, "semi"));
	ck_assert_slice_eq(query_get(&q, "last"), "A");
	query_release(&q);
}
END_TEST

START_TEST(query__reads_truth_as_the_api_server_does)
{
	struct query q;

	query_parse(slice_of("/?a=&b=1&c=True&d=0&e=FALSE&f=no"), &q);
	ck_assert(query_true(&q, "a"));
	ck_assert(query_true(&q, "b"));
	ck_assert(query_true(&q, "c"));
	ck_assert(!query_true(&q, "d"));
	ck_assert(!query_true(&q, "e"));
	ck_assert(query_true(&q, "f"));
	ck_assert(!query_true(&q, "absent"));
	query_release(&q);
}
END_TEST

START_TEST(accept__picks_the_best_form_that_exists)
{
#define TABLE "application/json;as=Table;v=v1;g=meta.k8s.io"
	static const struct {
		const char *header;
		enum accept_failure failure;
		enum answer_form form;
		bool beta;
	} rows[] = {
		{"", ACCEPT_OK, FORM_OBJECT, false},
		{"*/*", ACCEPT_OK, FORM_OBJECT, false},
		{"application/vnd.kubernetes.protobuf,application/json", ACCEPT_OK, FORM_OBJECT, false},
		{TABLE "," TABLE ",application/json", ACCEPT_OK, FORM_TABLE, false},
		{"application/json;as=Table;v=v1beta1;g=meta.k8s.io", ACCEPT_OK, FORM_TABLE, true},
		{"application/json;as=Table;v=v1alpha1;g=meta.k8s.io", ACCEPT_NO_CONVERSION, FORM_OBJECT,
			false},
		{"application/json;as=Table;v=v1alpha1;g=meta.k8s.io,*/*", ACCEPT_OK, FORM_OBJECT, false},
		{"application/json;q=0.5," TABLE ";q=0.9", ACCEPT_OK, FORM_TABLE, false},
		{TABLE ";q=0.5,application/json", ACCEPT_OK, FORM_OBJECT, false},
		{"application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
			ACCEPT_OK, FORM_PARTIAL_LIST, false},
		{"text/html", ACCEPT_NO_MEDIA_TYPE, FORM_OBJECT, false},
		{"application/*", ACCEPT_NO_MEDIA_TYPE, FORM_OBJECT, false},
		{"APPLICATION/JSON", ACCEPT_NO_MEDIA_TYPE, FORM_OBJECT, false},
		{",", ACCEPT_NO_MEDIA_TYPE, FORM_OBJECT, false},
		{"application/json;v=v1;g=meta.k8s.io", ACCEPT_NO_CONVERSION, FORM_OBJECT, false},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct accepted a;
		enum accept_failure failure = accept_resource(slice_of(rows[i].header), ACCEPT_BY_ROUTER, &a);

		ck_assert_msg(failure == rows[i].failure, "%s", rows[i].header);
		if (failure == ACCEPT_OK)
			ck_assert_msg(a.form == rows[i].form && a.beta == rows[i].beta, "%s", rows[i].header);
	}
	ck_assert(!accept_plain(slice_of(TABLE), &yaml));
	ck_assert(accept_plain(slice_of(TABLE ",application/json"), &yaml));
}
END_TEST

START_TEST(accept__tells_yaml_from_json_and_has_no_stream_of_it)
{
	struct accepted a;

	ck_assert(accept_resource(slice_of("application/yaml"), ACCEPT_BY_ROUTER, &a) == ACCEPT_OK && a.yaml);
	ck_assert(accept_resource(slice_of("application/yaml;q=0.1,*/*"), ACCEPT_BY_ROUTER, &a) == ACCEPT_OK);
	ck_assert(!a.yaml);
	ck_assert(accept_stream(slice_of("application/yaml"), ACCEPT_BY_ROUTER, &a) == ACCEPT_NO_CONVERSION);
	ck_assert(accept_stream(slice_of("application/yaml,*/*"), ACCEPT_BY_ROUTER, &a) == ACCEPT_OK &&
		  !a.yaml);
	ck_assert(accept_plain(slice_of("application/yaml"), &yaml) && yaml);
	ck_assert(accept_plain(slice_of("application/yaml;as=Table,application/json"), &yaml) && !yaml);
}
END_TEST

START_TEST(accept__takes_a_star_behind_the_slash_where_no_router_asks)
{
	struct accepted a;

	ck_assert(accept_resource(slice_of("application/*"), ACCEPT_BY_HANDLER, &a) == ACCEPT_OK);
	ck_assert(accept_plain(slice_of("application/*"), &yaml));
	ck_assert(!accept_plain(slice_of(","), &yaml));
}
END_TEST

START_TEST(duration__is_read_and_complained_of_as_go_does)
{
	static const char *const rows[][2] = {
		{"32s", NULL},
		{"1h5m0.5s", NULL},
		{"-3ms", NULL},
		{"0", NULL},
		{".5s", NULL},
		{"", "time: invalid duration \"\""},
		{"abc", "time: invalid duration \"abc\""},
		{"s", "time: invalid duration \"s\""},
		{"5", "time: missing unit in duration \"5\""},
		{"1d", "time: unknown unit \"d\" in duration \"1d\""},
		{"1h 5m", "time: unknown unit \"h \" in duration \"1h 5m\""},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int64_t ns;
		char *problem = go_duration_parse(slice_of(rows[i][0]), &ns);

		ck_assert_msg(!problem == !rows[i][1], "%s", rows[i][0]);
		if (problem)
			ck_assert_str_eq(problem, rows[i][1]);
		free(problem);
	}
}
END_TEST

START_TEST(duration__is_as_long_as_its_parts)
{
	static const struct {
		const char *text;
		int64_t ns;
	} rows[] = {{"32s", 32000000000}, {"1h5m0.5s", 3900500000000}, {"-3ms", -3000000}, {"+5us", 5000},
		{"0", 0}, {"99999999h", 9000000000000000000}};
	int64_t ns;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		ck_assert_ptr_null(go_duration_parse(slice_of(rows[i].text), &ns));
		ck_assert_int_eq(ns, rows[i].ns);
	}
}
END_TEST

START_TEST(accept__tells_the_two_forms_of_discovery_apart)
{
#define AGGREGATED(v) "application/json;g=apidiscovery.k8s.io;v=" v ";as=APIGroupDiscoveryList"
	ck_assert_int_eq(accept_aggregated_discovery(slice_of(AGGREGATED("v2") ",application/json")), 1);
	ck_assert_int_eq(accept_aggregated_discovery(slice_of(AGGREGATED("v2beta1") ",application/json")), 0);
	ck_assert_int_eq(accept_aggregated_discovery(slice_of(AGGREGATED("v2beta1"))), -1);
	ck_assert_int_eq(accept_aggregated_discovery(slice_of("application/json")), 0);
	ck_assert_int_eq(accept_aggregated_discovery(slice_of("")), 0);
}
END_TEST

static const struct selectable_kind pods = {{"", 0}, {"v1", 2}, {"pods", 4}, true, false, {NULL, 0}};

static int parse(const char *text, struct list_options *ret, struct status *st)
{
	struct query q;
	char *target = xasprintf("/api/v1/pods?%s", text);
	int rc;

	query_parse(slice_of(target), &q);
	*st = (struct status){0};
	rc = list_options_parse(&q, false, &pods, ret, st);
	query_release(&q);
	free(target);
	return rc;
}

START_TEST(options__are_filled_in_for_a_watch_without_version)
{
	struct list_options o;
	struct status st;

	ck_assert_int_eq(parse("watch=1&allowWatchBookmarks=1", &o, &st), 0);
	ck_assert_int_eq(o.send_initial, YES);
	ck_assert_int_eq(o.match, MATCH_NOT_OLDER);
	list_options_release(&o);
	ck_assert_int_eq(parse("watch=1&resourceVersion=5", &o, &st), 0);
	ck_assert_int_eq(o.send_initial, UNSET);
	list_options_release(&o);
	ck_assert_int_eq(parse("limit=-3&timeoutSeconds=7&resourceVersion=&continue=", &o, &st), 0);
	ck_assert_int_eq(o.limit, 0);
	ck_assert_int_eq(o.timeout_seconds, 7);
	ck_assert_str_eq(o.rv, "");
	list_options_release(&o);
}
END_TEST

START_TEST(options__that_contradict_each_other_are_refused_in_the_servers_words)
{
	static const struct {
		const char *query;
		int code;
		const char *message;
	} rows[] = {
		{"limit=", 400, "strconv.ParseInt: parsing \"\": invalid syntax"},
		{"timeoutSeconds=x", 400, "strconv.ParseInt: parsing \"x\": invalid syntax"},
		{"limit=99999999999999999999", 400,
			"strconv.ParseInt: parsing \"99999999999999999999\": value out of range"},
		{"labelSelector=a+b", 400,
			"unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"},
		{"fieldSelector=x%3Dy", 400, "field label not supported: x"},
		{"resourceVersionMatch=Exact", 422,
			"ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: "
			"resourceVersionMatch is forbidden unless resourceVersion is provided"},
		{"resourceVersionMatch=Exact&resourceVersion=0", 422,
			"ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: "
			"resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""},
		{"resourceVersionMatch=Foo&resourceVersion=1", 422,
			"ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Unsupported value: "
			"\"Foo\": "
			"supported values: \"Exact\", \"NotOlderThan\", \"\""},
		{"sendInitialEvents=0", 422,
			"ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: "
			"sendInitialEvents is "
			"forbidden for list"},
		{"watch=1&sendInitialEvents=1", 422,
			"ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: "
			"sendInitialEvents "
			"requires setting resourceVersionMatch to NotOlderThan"},
		{"watch=1&resourceVersionMatch=Exact", 422,
			"ListOptions.meta.k8s.io \"\" is invalid: [resourceVersionMatch: Forbidden: "
			"resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided, "
			"resourceVersionMatch: Unsupported value: \"Exact\": supported values: "
			"\"NotOlderThan\"]"},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct list_options o;
		struct status st;

		ck_assert_int_eq(parse(rows[i].query, &o, &st), ERR_FAILED);
		ck_assert_str_eq(st.message, rows[i].message);
		ck_assert_int_eq(st.code, rows[i].code);
		list_options_release(&o);
		status_release(&st);
	}
}
END_TEST

START_TEST(version__is_read_as_the_server_reads_it)
{
	uint64_t n;
	char *problem;

	ck_assert(rv_parse("007", &n, &problem) && n == 7);
	ck_assert(rv_parse("18446744073709551615", &n, &problem) && n == UINT64_MAX);
	ck_assert(!rv_parse("18446744073709551616", &n, &problem));
	free(problem);
	ck_assert(!rv_parse("-1", &n, &problem));
	ck_assert_str_eq(problem, "strconv.ParseUint: parsing \"-1\": invalid syntax");
	free(problem);
}
END_TEST

START_TEST(continue_token__survives_a_round_trip)
{
	struct continue_token t;
	char *text = continue_token_make(4711, slice_of("ns/web"), true), *uncached;

	ck_assert_str_eq(text, "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NDcxMSwic3RhcnQiOiIvbnMvd2ViXHUwMDAwIn0");
	ck_assert_ok(continue_token_parse(slice_of(text), &t, &err), &err);
	ck_assert_int_eq(t.rv, 4711);
	ck_assert_uint_eq(t.key_len, 7);
	ck_assert_int_eq(memcmp(t.key, "ns/web", 7), 0);
	continue_token_release(&t);
	free(text);

	uncached = continue_token_make(4711, slice_of("ns/web"), false);
	ck_assert_str_eq(
		uncached, "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NDcxMSwic3RhcnQiOiJucy93ZWJcdTAwMDAifQ");
	free(uncached);
}
END_TEST

/* The texts of the tokens, encoded: bad version, version 0, empty key, a key that climbs, no JSON. */
START_TEST(continue_token__refuses_what_it_did_not_make)
{
	static const char *const bad[] = {
		"eyJ2IjoieCIsInJ2IjoxLCJzdGFydCI6ImEifQ",
		"eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MCwic3RhcnQiOiJhIn0",
		"eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIifQ",
		"eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhLy4uL2IifQ",
		"AAAA",
		"****",
		"a",
	};

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct continue_token t;

		ck_assert_msg(continue_token_parse(slice_of(bad[i]), &t, &err) == ERR_PROTOCOL, "%s", bad[i]);
		ck_assert_msg(strncmp(err.text, "continue key is not valid", 25) == 0, "%s", err.text);
		continue_token_release(&t);
	}
}
END_TEST

static void check_status(struct status *st, const char *expected)
{
	struct buf json;

	buf_init(&json, 10000);
	ck_assert_ok(status_write(st, &json, &err), &err);
	ck_assert_slice_eq(buf_slice(&json), expected);
	buf_release(&json);
	status_release(st);
}

START_TEST(status__has_the_shapes_that_clients_know)
{
	struct status st = {0};

	status_expired(&st, "too old resource version: %d (%d)", 7, 99);
	check_status(&st,
		"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
		"\"message\":\"too old resource version: 7 (99)\",\"reason\":\"Expired\",\"code\":410}");
	status_not_found(&st, slice_of("apps"), slice_of("deployments"), slice_of("web"));
	check_status(&st,
		"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
		"\"message\":\"deployments.apps \\\"web\\\" not found\",\"reason\":\"NotFound\","
		"\"details\":{\"name\":\"web\",\"group\":\"apps\",\"kind\":\"deployments\"},\"code\":404}");
	status_no_resource(&st);
	check_status(&st, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
			  "\"message\":\"the server could not find the requested resource\","
			  "\"reason\":\"NotFound\",\"details\":{},\"code\":404}");
	status_too_large_version(&st, 900, 850, 1);
	check_status(&st,
		"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
		"\"message\":\"Timeout: Too large resource version: 900, current: 850\","
		"\"reason\":\"Timeout\",\"details\":{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\","
		"\"message\":\"Too large resource version\"}],\"retryAfterSeconds\":1},\"code\":504}");
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		path__means_what_the_api_server_takes_it_for,
		query__takes_the_first_of_repeated_and_drops_broken_pairs,
		query__reads_truth_as_the_api_server_does,
		accept__picks_the_best_form_that_exists,
		accept__tells_yaml_from_json_and_has_no_stream_of_it,
		accept__takes_a_star_behind_the_slash_where_no_router_asks,
		duration__is_read_and_complained_of_as_go_does,
		duration__is_as_long_as_its_parts,
		accept__tells_the_two_forms_of_discovery_apart,
		options__are_filled_in_for_a_watch_without_version,
		options__that_contradict_each_other_are_refused_in_the_servers_words,
		version__is_read_as_the_server_reads_it,
		continue_token__survives_a_round_trip,
		continue_token__refuses_what_it_did_not_make,
		status__has_the_shapes_that_clients_know,
	};

	return unit_main("request", tests, COUNT_OF(tests));
}
