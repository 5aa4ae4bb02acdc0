/* test_selectors.c: label and field selectors: what they select and what the server says of bad ones. */
#include "replayer/request/field_selector.h"
#include "replayer/request/label_selector.h"
#include "tests/unit/unit.h"

static struct err err;

static bool labels_match(const char *selector, const char *labels)
{
	struct label_selector *s = NULL;
	bool matches;

	ck_assert_ok(label_selector_parse(slice_of(selector), &s, &err), &err);
	matches = label_selector_matches(s, slice_of(labels));
	label_selector_free(s);
	return matches;
}

START_TEST(label_selector__follows_the_grammar)
{
	static const struct {
		const char *selector;
		bool web, none, nine;
	} rows[] = {
		/*                    {app: web, tier: ""}, no labels, {n: "9"} */
		{"", true, true, true},
		{"app", true, false, false},
		{"!app", false, true, true},
		{"! app", false, true, true},
		{"app=web", true, false, false},
		{"app==web", true, false, false},
		{"app = web", true, false, false},
		{"app!=web", false, true, true},
		{"app in (db, web)", true, false, false},
		{"app notin (db)", true, true, true},
		{"app notin (web,)", false, true, true},
		{"tier=", true, false, false},
		{"tier in ()", true, false, false},
		{"tier in (,x)", true, false, false},
		{"n>8", false, false, true},
		{"n>9", false, false, false},
		{"n<10", false, false, true},
		{"app>1", false, false, false},
		{"app=web,tier", true, false, false},
		{"app=web,!tier", false, false, false},
		{"in", false, false, false},
		{"in=x", false, false, false},
		{"app in (in,notin)", false, false, false},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const char *s = rows[i].selector;

		ck_assert_msg(
			labels_match(s, "{\"app\":\"web\",\"tier\":\"\"}") == rows[i].web, "web: %s", s);
		ck_assert_msg(labels_match(s, "") == rows[i].none, "none: %s", s);
		ck_assert_msg(labels_match(s, "{\"n\":\"9\"}") == rows[i].nine, "nine: %s", s);
	}
}
END_TEST

START_TEST(label_selector__says_what_is_wrong_in_the_servers_words)
{
	static const struct {
		const char *selector, *message;
	} rows[] = {
		{"a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"},
		{"a=b,", "found '', expected: identifier after ','"},
		{"a=b c", "found 'c', expected: ',' or 'end of string'"},
		{",a", "found ',', expected: !, identifier, or 'end of string'"},
		{"!", "unable to parse requirement: found '', expected: identifier"},
		{"a in b", "unable to parse requirement: found 'b' expected: '('"},
		{"a in (b", "unable to parse requirement: found '', expected: ',' or ')'"},
		{"a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"},
		{"a==!b", "unable to parse requirement: found '!', expected: identifier"},
		{"a<x", "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' "
			"operators, "
			"the value must be an integer"},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct label_selector *s = NULL;

		ck_assert_int_eq(label_selector_parse(slice_of(rows[i].selector), &s, &err), ERR_PROTOCOL);
		ck_assert_str_eq(err.text, rows[i].message);
	}
}
END_TEST

START_TEST(label_selector__checks_keys_and_values)
{
	static const char *const bad[] = {"-a", "a/b/c", "/a", "A.b/", "Upper.com/a", "a=b@", "a=-b",
		"a=1234567890123456789012345678901234567890123456789012345678901234"};
	static const char *const good[] = {"a.b-c_D", "x-y.example.com/a", "a=b.c-d_E"};
	struct label_selector *s = NULL;

	for (size_t i = 0; i < COUNT_OF(bad); i++)
		ck_assert_msg(label_selector_parse(slice_of(bad[i]), &s, &err) == ERR_PROTOCOL, "%s", bad[i]);
	for (size_t i = 0; i < COUNT_OF(good); i++) {
		ck_assert_ok(label_selector_parse(slice_of(good[i]), &s, &err), &err);
		label_selector_free(s);
	}
}
END_TEST

static const struct selectable_kind pods = {{"", 0}, {"v1", 2}, {"pods", 4}, true, false, {NULL, 0}};

static int parse_fields(const char *text, const struct selectable_kind *kind, struct field_selector **ret)
{
	int rc = field_selector_parse(slice_of(text), ret, &err);

	if (rc == 0)
		rc = field_selector_resolve(*ret, kind, &err);
	if (rc) {
		field_selector_free(*ret);
		*ret = NULL;
	}
	return rc;
}

static bool fields_match(const char *selector, const struct selectable_kind *kind, const char *object)
{
	struct field_selector *s = NULL;
	bool matches;

	ck_assert_ok(parse_fields(selector, kind, &s), &err);
	matches = field_selector_matches(s, slice_of("ns"), slice_of("web"), slice_of(object));
	field_selector_free(s);
	return matches;
}

START_TEST(field_selector__reads_the_fields_of_pods)
{
	const char *pod = "{\"metadata\":{\"name\":\"web\"},\"spec\":{\"nodeName\":\"n=1\"},"
			  "\"status\":{\"phase\":\"Running\",\"podIPs\":[{\"ip\":\"10.0.0.1\"}]}}";

	ck_assert(fields_match("", &pods, pod));
	ck_assert(fields_match("metadata.name=web,,metadata.namespace==ns", &pods, pod));
	ck_assert(!fields_match("metadata.name=we", &pods, pod));
	ck_assert(!fields_match("metadata.name= web", &pods, pod));
	ck_assert(fields_match("spec.nodeName=n\\=1", &pods, pod));
	ck_assert(fields_match("spec.host=n\\=1", &pods, pod));
	ck_assert(fields_match("status.phase!=Failed", &pods, pod));
	ck_assert(fields_match("spec.schedulerName!=x", &pods, pod));
	ck_assert(fields_match("spec.schedulerName=", &pods, pod));
	ck_assert(fields_match("spec.hostNetwork=false", &pods, pod));
	ck_assert(fields_match("status.podIP=10.0.0.1", &pods, pod));
	ck_assert(!fields_match("status.podIPs=10.0.0.1", &pods, pod));
}
END_TEST

START_TEST(field_selector__takes_several_terms_of_a_field_and_all_must_hold)
{
	static const char pod[] = "{\"spec\":{\"nodeName\":\"b\"},\"status\":{\"phase\":\"Running\"}}";

	ck_assert(fields_match("spec.nodeName=b,spec.nodeName==b", &pods, pod));
	ck_assert(!fields_match("spec.nodeName=a,spec.nodeName=b", &pods, pod));
	ck_assert(!fields_match("spec.nodeName=b,spec.nodeName=c", &pods, pod));
	ck_assert(!fields_match("spec.nodeName=b,spec.nodeName!=b", &pods, pod));
	ck_assert(fields_match(
		"spec.nodeName!=c,spec.nodeName=b,spec.nodeName!=a,spec.nodeName!=d", &pods, pod));
	ck_assert(!fields_match(
		"spec.nodeName!=c,spec.nodeName!=b,spec.nodeName!=a,spec.nodeName!=d", &pods, pod));
	ck_assert(fields_match("status.phase=Running,spec.nodeName!=c,status.phase!=Failed", &pods, pod));
	ck_assert(!fields_match("status.phase=Failed,spec.nodeName!=c,status.phase=Running", &pods, pod));
	ck_assert(!fields_match("spec.nodeName!=c,spec.nodeName!=,status.phase=", &pods, pod));
}
END_TEST

START_TEST(field_selector__knows_each_kinds_fields_and_words)
{
	static const struct selectable_kind deployments = {
		{"apps", 4}, {"v1", 2}, {"deployments", 11}, true, false, {NULL, 0}};
	static const struct selectable_kind jobs = {
		{"batch", 5}, {"v1", 2}, {"jobs", 4}, true, false, {NULL, 0}};
	static const struct selectable_kind widgets = {{"x.io", 4}, {"v1", 2}, {"widgets", 7}, false, true,
		{"[{\"jsonPath\":\".spec.color\"}]", 28}};
	struct field_selector *s = NULL;

	ck_assert(parse_fields("spec.x=1", &pods, &s));
	ck_assert_str_eq(err.text, "field label not supported: spec.x");
	ck_assert(parse_fields("status.replicas=1", &deployments, &s));
	ck_assert_str_eq(err.text,
		"\"status.replicas\" is not a known field selector: only \"metadata.name\", "
		"\"metadata.namespace\"");
	ck_assert(parse_fields("status.phase=1", &jobs, &s));
	ck_assert_str_eq(err.text, "field label \"status.phase\" not supported for Job");
	ck_assert(parse_fields("metadata.namespace=a", &widgets, &s));
	ck_assert_str_eq(err.text, "field label not supported: metadata.namespace");
	ck_assert(fields_match("spec.color=blue", &widgets, "{\"spec\":{\"color\":\"blue\"}}"));
	ck_assert(fields_match("status.successful=0", &jobs, "{}"));
}
END_TEST

START_TEST(field_selector__says_what_is_wrong_in_the_servers_words)
{
	struct field_selector *s = NULL;

	ck_assert(parse_fields("foo", &pods, &s));
	ck_assert_str_eq(err.text, "invalid selector: 'foo'; can't understand 'foo'");
	ck_assert(parse_fields("metadata.name=a=b", &pods, &s));
	ck_assert_str_eq(err.text, "invalid field selector: unescaped character in value: 61");
	ck_assert(parse_fields("metadata.name=a\\b", &pods, &s));
	ck_assert_str_eq(err.text, "invalid field selector: invalid escape sequence: \\b");
}
END_TEST

START_TEST(field_selector__tells_what_it_narrows_to)
{
	struct field_selector *s = NULL;
	struct slice value;

	ck_assert_ok(parse_fields("metadata.name=a,metadata.namespace!=b", &pods, &s), &err);
	ck_assert(field_selector_name(s, &value));
	ck_assert_slice_eq(value, "a");
	ck_assert(!field_selector_reads_object(s));
	field_selector_free(s);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		label_selector__follows_the_grammar,
		label_selector__says_what_is_wrong_in_the_servers_words,
		label_selector__checks_keys_and_values,
		field_selector__reads_the_fields_of_pods,
		field_selector__takes_several_terms_of_a_field_and_all_must_hold,
		field_selector__knows_each_kinds_fields_and_words,
		field_selector__says_what_is_wrong_in_the_servers_words,
		field_selector__tells_what_it_narrows_to,
	};

	return unit_main("selectors", tests, COUNT_OF(tests));
}
