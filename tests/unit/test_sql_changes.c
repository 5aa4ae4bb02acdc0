/* test_sql_changes.c: where documents differ, who wrote it, and the table changes. */
#include "schema/sql/event_changes.h"
#include "schema/sql/json_diff.h"
#include "schema/sql/managed_fields.h"
#include "tests/unit/sql_rows.h"
#include "tests/unit/tape_model.h"

/* "path field old new\n" of every difference; absent is "-". */
static char *diff_text(const char *old, const char *new, bool with_noise)
{
	struct json_diff *d = json_diff_new();
	struct err err;
	struct buf to;

	buf_init(&to, 1u << 20);
	ck_assert_ok(json_diff_make(d, slice_of(old), slice_of(new), with_noise, &err), &err);
	for (size_t i = 0; i < json_diff_count(d); i++) {
		struct json_change c = json_diff_at(d, i);

		ck_assert_int_eq(
			buf_printf(&to, NULL, "%.*s %.*s %.*s %.*s\n", (int)c.path.len, c.path.ptr,
				(int)c.field.len, c.field.ptr, c.old_value.len ? (int)c.old_value.len : 1,
				c.old_value.len ? c.old_value.ptr : "-",
				c.new_value.len ? (int)c.new_value.len : 1,
				c.new_value.len ? c.new_value.ptr : "-"),
			0);
	}
	ck_assert_int_eq(buf_append(&to, "", 1, NULL), 0);
	json_diff_free(d);
	return to.ptr;
}

static void check_diff(const char *old, const char *new, const char *want)
{
	char *have = diff_text(old, new, false);

	ck_assert_msg(strcmp(have, want) == 0, "%s to %s gave\n%sexpected\n%s", old, new, have, want);
	free(have);
}

START_TEST(json_diff__names_each_member_that_differs)
{
	check_diff("{\"a\":1,\"b\":{\"c\":2}}", "{\"a\":1,\"b\":{\"c\":3}}", "$.b.c b.c 2 3\n");
	check_diff("{\"a\":1}", "{\"b\":2}", "$.a a 1 -\n$.b b - 2\n");
	check_diff("{\"a\":1,\"b\":2}", "{\"b\":3,\"a\":1}", "$.b b 2 3\n");
	check_diff("{\"a\":{\"x\":1}}", "{\"a\":[1]}", "$.a a {\"x\":1} [1]\n");
	check_diff("{\"a\":null}", "{}", "$.a a null -\n");
	check_diff("{\"a\":1}", "{\"a\":1}", "");
	check_diff("{\"a\":1}", "{ \"a\" : 1 }", "");
	check_diff("{\"a\":1,\"a\":2}", "{\"b\":0,\"a\":2}", "$.b b - 0\n");
	check_diff("{\"l\":{\"app.k8s.io/name\":\"x\"}}", "{\"l\":{\"app.k8s.io/name\":\"y\"}}",
		"$.l.\"app.k8s.io/name\" l[app.k8s.io/name] \"x\" \"y\"\n");
}
END_TEST

START_TEST(json_diff__matches_items_by_what_names_them)
{
	check_diff("{\"c\":[{\"name\":\"a\",\"v\":1},{\"name\":\"b\",\"v\":2}]}",
		"{\"c\":[{\"name\":\"n\"},{\"name\":\"a\",\"v\":1},{\"name\":\"b\",\"v\":3}]}",
		"$.c[0] c[n] - {\"name\":\"n\"}\n$.c[2].v c[b].v 2 3\n");
	check_diff("{\"c\":[{\"type\":\"Ready\",\"s\":\"False\"}]}",
		"{\"c\":[{\"type\":\"Ready\",\"s\":\"True\"}]}", "$.c[0].s c[Ready].s \"False\" \"True\"\n");
	check_diff("{\"f\":[\"a\",\"b\"]}", "{\"f\":[\"b\"]}", "$.f[0] f[a] \"a\" -\n");
	check_diff("{\"f\":[\"a\",\"b\"]}", "{\"f\":[\"a\",\"c\"]}", "$.f[1] f[1] \"b\" \"c\"\n");
	check_diff("{\"f\":[{\"ip\":1},{\"ip\":2}]}", "{\"f\":[{\"ip\":2},{\"ip\":1}]}",
		"$.f f [{\"ip\":1},{\"ip\":2}] [{\"ip\":2},{\"ip\":1}]\n");
	check_diff("{\"f\":[1,1]}", "{\"f\":[1,2]}", "$.f[1] f[1] 1 2\n");
	check_diff("{\"f\":[{\"x\":1}]}", "{\"f\":[{\"x\":1},{\"x\":1}]}", "$.f[1] f[1] - {\"x\":1}\n");
	check_diff("{\"f\":[[1]]}", "{\"f\":[[2]]}", "$.f[0][0] f[0][0] 1 2\n");
	check_diff("{\"f\":[]}", "{\"f\":[\"x\"]}", "$.f[0] f[x] - \"x\"\n");
}
END_TEST

START_TEST(json_diff__compares_members_by_name_wherever_they_stand)
{
	check_diff("{\"a\":{\"x\":1,\"y\":{\"p\":1}},\"b\":2}",
		"{\"a\":{\"x\":1,\"n\":0,\"y\":{\"p\":2}},\"b\":3}",
		"$.a.n a.n - 0\n$.a.y.p a.y.p 1 2\n$.b b 2 3\n");
	check_diff("{\"a\":1,\"gone\":[1],\"b\":2}", "{\"a\":1,\"b\":2}", "$.gone gone [1] -\n");
	check_diff("{\"a\":{}}", "{\"a\":{\"b\":[]}}", "$.a.b a.b - []\n");
	check_diff("{\"a\":{\"b\":12}}", "{\"a\":{\"b\":1}}", "$.a.b a.b 12 1\n");
}
END_TEST

START_TEST(json_diff__compares_an_object_with_a_name_twice_as_a_whole)
{
	check_diff("{\"o\":{\"a\":1,\"b\":2}}", "{\"o\":{\"a\":3,\"c\":1,\"a\":4}}",
		"$.o o {\"a\":1,\"b\":2} {\"a\":3,\"c\":1,\"a\":4}\n");
	check_diff("{\"o\":{\"a\":1,\"a\":2}}", "{\"o\":{\"a\":2,\"a\":1,\"b\":1}}",
		"$.o o {\"a\":1,\"a\":2} {\"a\":2,\"a\":1,\"b\":1}\n");
}
END_TEST

/* Longer than what is looked at for equal bytes at a time. */
START_TEST(json_diff__finds_what_lies_after_a_long_equal_part)
{
	struct buf old, new;

	buf_init(&old, 1 << 20);
	buf_init(&new, 1 << 20);
	for (int i = 0; i < 2; i++) {
		struct buf *to = i ? &new : &old;

		ck_assert_int_eq(buf_printf(to, NULL, "{\"long\":[%*s1],\"o\":{\"deep\":[%*s1],\"v\":%d}}",
					 40000, "", 30000, "", i),
			0);
		ck_assert_int_eq(buf_append(to, "", 1, NULL), 0);
	}
	check_diff(old.ptr, new.ptr, "$.o.v o.v 0 1\n");
	buf_release(&old);
	buf_release(&new);
}
END_TEST

START_TEST(json_diff__takes_strings_for_what_they_mean_and_numbers_as_they_are_written)
{
	check_diff("{\"a\":\"\\u00e9\\/\"}", "{\"a\":\"\xc3\xa9/\"}", "");
	check_diff("{\"\\u0061\":1}", "{\"a\":1}", "");
	check_diff("{\"\\u0061\":1,\"b\":2}", "{\"b\":2,\"a\":3}", "$.a a 1 3\n");
	check_diff("{\"\\u00e9\":1}", "{\"\xc3\xa9\":2}", "$.\xc3\xa9 \xc3\xa9 1 2\n");
	check_diff("{\"x\\u002ey\":1}", "{}", "$.\"x.y\" [x.y] 1 -\n");
	check_diff("{\"l\":[\"\\u0061\",\"b\"]}", "{\"l\":[\"a\",\"b\"]}", "");
	check_diff("{\"l\":[\"\\u0061\",\"b\"]}", "{\"l\":[\"a\"]}", "$.l[1] l[b] \"b\" -\n");
	check_diff("{\"l\":[{\"name\":\"\\u0061\",\"v\":1}]}", "{\"l\":[{\"name\":\"a\",\"v\":2}]}",
		"$.l[0].v l[a].v 1 2\n");
	check_diff("{\"l\":[1,  2]}", "{\"l\":[1,2]}", "");
	check_diff("{\"l\":[\"1\"]}", "{\"l\":[1,\"1\"]}", "$.l[0] l[1] - 1\n");
	check_diff("{\"a\":1}", "{\"a\":1.0}", "$.a a 1 1.0\n");
	check_diff("{\"a\":\"1\"}", "{\"a\":1}", "$.a a \"1\" 1\n");
	check_diff("{\"a\":\"\\x\"}", "{\"a\":\"\\y\"}", "$.a a \"\\x\" \"\\y\"\n");
}
END_TEST

START_TEST(json_diff__leaves_out_what_every_write_changes_unless_asked)
{
	const char *old = "{\"metadata\":{\"resourceVersion\":\"1\",\"managedFields\":[]},"
			  "\"spec\":{\"metadata\":{\"resourceVersion\":\"1\"}}}";
	const char *new = "{\"metadata\":{\"resourceVersion\":\"2\",\"managedFields\":[{}]},"
			  "\"spec\":{\"metadata\":{\"resourceVersion\":\"2\"}}}";
	char *all = diff_text(old, new, true);

	check_diff(old, new, "$.spec.metadata.resourceVersion spec.metadata.resourceVersion \"1\" \"2\"\n");
	ck_assert_str_eq(all, "$.metadata.resourceVersion metadata.resourceVersion \"1\" \"2\"\n"
			      "$.metadata.managedFields[0] metadata.managedFields[0] - {}\n"
			      "$.spec.metadata.resourceVersion spec.metadata.resourceVersion \"1\" \"2\"\n");
	free(all);
}
END_TEST

START_TEST(json_diff__survives_every_cut_of_a_document)
{
	static const char doc[] =
		"{\"a\":[{\"name\":\"x\",\"v\":[1,{\"k\":null}]},\"s\\u0041\"],\"b\":{\"c\":-1.5}}";
	static const char other[] = "{\"a\":[{\"name\":\"x\",\"v\":[2,{\"k\":true}]},\"s\"],\"b\":{\"d\":0}}";
	struct json_diff *d = json_diff_new();

	for (size_t len = 0; len < sizeof(doc) - 1; len++) {
		char *cut = slice_dup((struct slice){doc, len});
		struct err err = {0};
		int code = json_diff_make(d, slice_of(cut), slice_of(other), false, &err);

		ck_assert_msg(code == 0 || err.text[0], "no sentence for '%s'", cut);
		code = json_diff_make(d, slice_of(other), slice_of(cut), false, &err);
		ck_assert_msg(code == 0 || err.text[0], "no sentence for '%s'", cut);
		free(cut);
	}
	json_diff_free(d);
}
END_TEST

static void check_manager(const char *old, const char *new, const char *path, const char *want)
{
	struct slice manager = {NULL, 0};
	struct err err;
	int found = managed_fields_manager(slice_of(old), slice_of(new), slice_of(path), &manager, &err);

	ck_assert_ok(found, &err);
	ck_assert_int_eq(found, want != NULL);
	if (want)
		ck_assert_slice_eq(manager, want);
}

#define ENTRY(manager, time, fields)                                                                         \
	"{\"manager\":\"" manager "\",\"time\":\"" time "\",\"fieldsV1\":" fields "}"
#define SPEC_ENTRY "{\"f:spec\":{\"f:replicas\":{}}}"
#define STATUS_ENTRY                                                                                         \
	"{\"f:status\":{\"f:conditions\":{\"k:{\\\"type\\\":\\\"Ready\\\"}\":{\".\":{},\"f:s\":{}}}}}"
#define OBJECT(entries)                                                                                      \
	"{\"metadata\":{\"managedFields\":[" entries "]},\"spec\":{\"replicas\":2},"                         \
	"\"status\":{\"conditions\":[{\"type\":\"Other\",\"s\":0},{\"type\":\"Ready\",\"s\":1}]}}"

START_TEST(managed_fields__tells_who_wrote_the_path)
{
	const char *old = OBJECT(ENTRY("helm", "1", SPEC_ENTRY) "," ENTRY("kubelet", "1", STATUS_ENTRY));
	const char *scaled =
		OBJECT(ENTRY("kubectl", "2", SPEC_ENTRY) "," ENTRY("kubelet", "1", STATUS_ENTRY));
	const char *both = OBJECT(ENTRY("kubectl", "2", SPEC_ENTRY) "," ENTRY("kubelet", "2", STATUS_ENTRY));

	check_manager(old, scaled, "$.spec.replicas", "kubectl");
	check_manager(old, scaled, "$.spec.other", "kubectl");
	check_manager(old, both, "$.spec.replicas", "kubectl");
	check_manager(old, both, "$.status.conditions[1].s", "kubelet");
	check_manager(old, both, "$.status.conditions[0].s", NULL);
	check_manager(old, old, "$.spec.replicas", "helm");
	check_manager(old, old, "$.spec.other", NULL);
	check_manager("", scaled, "$.spec.replicas", "kubectl");
	check_manager(old, "{}", "$.spec.replicas", NULL);
	check_manager("",
		"{\"metadata\":{\"managedFields\":[" ENTRY(
			"helm", "1", "{\"f:\\u0073pec\":{}}") "]},\"spe\\u0063\":1}",
		"$.spec", "helm");
}
END_TEST

static void check_writer(const char *old, const char *new, const char *want)
{
	struct slice manager = {NULL, 0};
	struct managed_entries entries;
	struct err err;
	int found;

	ck_assert_ok(managed_fields_entries(slice_of(old), slice_of(new), &entries, &err), &err);
	found = managed_fields_writer(&entries, &manager, &err);
	ck_assert_ok(found, &err);
	ck_assert_int_eq(found, want != NULL);
	if (want)
		ck_assert_slice_eq(manager, want);
}

/* What `kubectl scale --replicas=0` leaves. */
START_TEST(managed_fields__name_nobody_for_replicas_that_an_entry_only_lost)
{
	const char *old = OBJECT(ENTRY("helm", "1", "{\"f:spec\":{\"f:paused\":{},\"f:replicas\":{}}}"));
	const char *lost = OBJECT(ENTRY("helm", "1", "{\"f:spec\":{\"f:paused\":{}}}"));
	const char *written = OBJECT(ENTRY("helm", "2", "{\"f:spec\":{\"f:paused\":{}}}"));

	check_manager(old, lost, "$.spec.replicas", NULL);
	check_writer(old, lost, NULL);
	check_manager(old, written, "$.spec.replicas", "helm");
	check_writer(old, written, "helm");
}
END_TEST

START_TEST(managed_fields__tell_of_one_writer_only_where_all_new_entries_are_its_own)
{
	const char *old = OBJECT(ENTRY("helm", "1", SPEC_ENTRY) "," ENTRY("kubelet", "1", STATUS_ENTRY));
	const char *scaled =
		OBJECT(ENTRY("kubectl", "2", SPEC_ENTRY) "," ENTRY("kubelet", "1", STATUS_ENTRY));
	const char *both = OBJECT(ENTRY("kubectl", "2", SPEC_ENTRY) "," ENTRY("kubelet", "2", STATUS_ENTRY));
	const char *twice = OBJECT(ENTRY("kubelet", "2", SPEC_ENTRY) "," ENTRY("kubelet", "2", STATUS_ENTRY));

	check_writer(old, scaled, "kubectl");
	check_writer(old, twice, "kubelet");
	check_writer(old, both, NULL);
	check_writer(old, old, NULL);
	check_writer("", twice, "kubelet");
	check_writer("", both, NULL);
	check_writer(old, "{}", NULL);
}
END_TEST

/* ---- the table ---- */

struct fixture {
	struct model model;
	struct tape_writer *writer;
	uint32_t stream;
	struct sql_session *session;
};

static void setup(struct fixture *f)
{
	struct err err;

	model_init(&f->model, 1);
	f->writer = model_open(&f->model, &(struct tape_writer_options){.extent_bytes = 1000});
	f->stream = f->model.streams[0];
	(void)err;
}

static void append(
	struct fixture *f, enum event_type type, const char *name, const char *uid, const char *rest)
{
	struct event e = {
		.time_ns = f->model.now_ns, .type = type, .origin = ORIGIN_WATCH, .stream = f->stream};
	char *object = xasprintf(
		"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"uid\":\"%s\","
		"\"resourceVersion\":\"%llu\"},%s}",
		name, uid, (unsigned long long)++f->model.rv, rest);
	struct err err;

	f->model.now_ns += 1000000000;
	ck_assert_ok(tape_writer_append(f->writer, &e, slice_of(object), NULL, &err), &err);
	ck_assert_ok(tape_writer_flush(f->writer, &err), &err);
	free(object);
}

static void open_session(struct fixture *f)
{
	struct err err;

	ck_assert_ok(tape_writer_close(f->writer, &err), &err);
	ck_assert_ok(sql_session_open(f->model.path, &f->session, &err), &err);
}

static void teardown(struct fixture *f)
{
	sql_session_close(f->session);
	model_release(&f->model);
}

START_TEST(changes__compares_versions_of_one_uid_only)
{
	struct fixture f;

	setup(&f);
	append(&f, EVENT_ADDED, "a", "u1", "\"spec\":{\"n\":1}");
	append(&f, EVENT_ADDED, "b", "u2", "\"spec\":{\"n\":1}");
	append(&f, EVENT_MODIFIED, "a", "u1", "\"spec\":{\"n\":2}");
	append(&f, EVENT_DELETED, "a", "u1", "\"spec\":{\"n\":3}");
	append(&f, EVENT_ADDED, "a", "u3", "\"spec\":{\"n\":3}");
	append(&f, EVENT_MODIFIED, "b", "u2", "\"spec\":{\"n\":1}");
	append(&f, EVENT_MODIFIED, "b", "u2", "\"spec\":{\"n\":\"x\"}");
	append(&f, EVENT_MODIFIED, "b", "u2", "\"spec\":{\"n\":\"x\",\"\\u00e9.x\":1}");
	open_session(&f);
	ck_assert_sql(f.session,
		"SELECT seq, name, op, path, field, coalesce(length(old) > 9, old), typeof(new) FROM changes "
		"ORDER BY seq",
		"1|a|add|$||-|text\n2|b|add|$||-|text\n3|a|replace|$.spec.n|spec.n|0|integer\n"
		"4|a|replace|$.spec.n|spec.n|0|integer\n4|a|remove|$||1|null\n5|a|add|$||-|text\n"
		"7|b|replace|$.spec.n|spec.n|0|text\n8|b|add|$.spec.\"\xc3\xa9.x\"|spec[\xc3\xa9.x]|-|integer\n");
	ck_assert_sql(f.session, "SELECT old, new FROM changes WHERE uid = 'u1' AND path = '$.spec.n'",
		"1|2\n2|3\n");
	ck_assert_sql(f.session, "SELECT seq FROM changes ORDER BY seq DESC LIMIT 3", "8\n7\n5\n");
	ck_assert_sql(f.session, "SELECT path, field FROM changes WHERE seq = 8 AND op = 'add'",
		"$.spec.\"\xc3\xa9.x\"|spec[\xc3\xa9.x]\n");
	ck_assert_sql(f.session,
		"SELECT count(*) FROM changes WHERE all_fields = 1 AND field = 'metadata.resourceVersion'",
		"5\n");
	teardown(&f);
}
END_TEST

/* As in what was imported of two clusters. */
START_TEST(changes__tells_objects_apart_that_have_one_name_at_a_time)
{
	struct fixture f;

	setup(&f);
	append(&f, EVENT_ADDED, "a", "u1", "\"spec\":{\"n\":1}");
	append(&f, EVENT_ADDED, "a", "u2", "\"spec\":{\"n\":10}");
	append(&f, EVENT_MODIFIED, "a", "u1", "\"spec\":{\"n\":2}");
	append(&f, EVENT_MODIFIED, "a", "u2", "\"spec\":{\"n\":20}");
	append(&f, EVENT_DELETED, "a", "u1", "\"spec\":{\"n\":3}");
	append(&f, EVENT_MODIFIED, "a", "u2", "\"spec\":{\"n\":30}");
	append(&f, EVENT_MODIFIED, "a", "u1", "\"spec\":{\"n\":4}");
	open_session(&f);
	ck_assert_sql(f.session,
		"SELECT seq, path, old, iif(path = '$', '', new) FROM changes WHERE op = 'replace' ORDER BY seq",
		"3|$.spec.n|1|2\n4|$.spec.n|10|20\n5|$.spec.n|2|3\n6|$.spec.n|20|30\n7|$|-|\n");
	teardown(&f);
}
END_TEST

START_TEST(changes__is_the_same_in_every_order_of_walking)
{
	struct sql_session *s;
	struct model m;
	struct tape_writer *w;
	struct err err;

	model_init(&m, 3);
	w = model_open(&m, &(struct tape_writer_options){.extent_bytes = 100u << 10});
	model_steps(&m, w, 300, 10);
	ck_assert_ok(tape_writer_flush(w, &err), &err);
	tape_writer_abandon(w);
	ck_assert_ok(sql_session_open(m.path, &s, &err), &err);
	ck_assert_sql(s,
		"WITH f AS MATERIALIZED (SELECT seq, path, old, new FROM changes ORDER BY seq), "
		"b AS MATERIALIZED (SELECT seq, path, old, new FROM changes ORDER BY seq DESC), "
		"s AS MATERIALIZED (SELECT seq, path, old, new FROM changes) "
		"SELECT (SELECT count(*) FROM (SELECT * FROM f EXCEPT SELECT * FROM s)), "
		"(SELECT count(*) FROM (SELECT * FROM s EXCEPT SELECT * FROM b)), "
		"(SELECT count(*) FROM f) = (SELECT count(*) FROM s), (SELECT count(*) FROM f) = "
		"(SELECT count(*) FROM b), (SELECT count(DISTINCT seq) FROM f)",
		"0|0|1|1|300\n");
	sql_session_close(s);
	model_release(&m);
}
END_TEST

/* Walks the events after the one and up to the other; puts "SEQ FIELD OLD NEW\n" of each change. */
static void walk_changes(
	struct tape *t, struct event_changes *c, uint64_t after_seq, uint64_t last_seq, struct buf *to)
{
	struct tape_filter filter = {.seq_min = after_seq + 1, .seq_max = last_seq};
	struct tape_cursor *cursor = NULL;
	struct event e;
	struct err err;

	event_changes_walk(c, after_seq, last_seq);
	ck_assert_ok(tape_cursor_open(t, &filter, TAPE_STORED, &cursor, &err), &err);
	while (tape_cursor_next(cursor, &e, &err) > 0) {
		int count = event_changes_make(c, t, cursor, &e, false, &err);

		ck_assert_ok(count, &err);
		for (size_t i = 0; i < (size_t)count; i++) {
			struct json_change change = event_changes_at(c, i).change;

			ck_assert_int_eq(
				buf_printf(to, NULL, "%d %.*s %.*s %.*s\n", (int)e.seq, (int)change.field.len,
					change.field.ptr, (int)change.old_value.len, change.old_value.ptr,
					(int)change.new_value.len, change.new_value.ptr),
				0);
		}
	}
	tape_cursor_close(cursor);
}

/* Two objects in turns. */
static void append_number(struct fixture *f, int n)
{
	char *spec = xasprintf("\"spec\":{\"n\":%d}", n);

	append(f, n < 3 ? EVENT_ADDED : EVENT_MODIFIED, n % 2 ? "a" : "b", n % 2 ? "u1" : "u2", spec);
	free(spec);
}

/* Walks one part of the tape after the other, or leaves the second one to somebody else. */
static void check_walks(bool skips, const char *want)
{
	struct event_changes *c = event_changes_new();
	struct fixture f;
	struct tape *t;
	struct buf to;
	struct err err;

	setup(&f);
	for (int n = 1; n <= 6; n++)
		append_number(&f, n);
	ck_assert_ok(tape_writer_close(f.writer, &err), &err);
	ck_assert_ok(tape_open(f.model.path, &t, &err), &err);
	buf_init(&to, 1u << 20);
	walk_changes(t, c, 0, 2, &to);
	buf_clear(&to);
	if (!skips)
		walk_changes(t, c, 2, 4, &to);
	walk_changes(t, c, 4, 6, &to);
	ck_assert_slice_eq(buf_slice(&to), want);
	buf_release(&to);
	event_changes_free(c);
	tape_close(t);
	model_release(&f.model);
}

START_TEST(event_changes__compares_with_the_version_before_also_across_walks)
{
	check_walks(false, "3 spec.n 1 3\n4 spec.n 2 4\n5 spec.n 3 5\n6 spec.n 4 6\n");
	check_walks(true, "5 spec.n 3 5\n6 spec.n 4 6\n");
}
END_TEST

START_TEST(jdiff__gives_the_differences_as_json)
{
	struct fixture f;

	setup(&f);
	open_session(&f);
	ck_assert_sql(f.session,
		"SELECT jdiff('{\"a\":1,\"b.c\":\"x\",\"d\":[]}', '{\"b.c\":\"y<\",\"d\":[null],\"\\u00e9\":{}}')",
		"[{\"path\":\"$.a\",\"field\":\"a\",\"op\":\"remove\",\"old\":1},"
		"{\"path\":\"$.\\\"b.c\\\"\",\"field\":\"[b.c]\",\"op\":\"replace\",\"old\":\"x\",\"new\":\"y<\"},"
		"{\"path\":\"$.d[0]\",\"field\":\"d[null]\",\"op\":\"add\",\"new\":null},"
		"{\"path\":\"$.\xc3\xa9\",\"field\":\"\xc3\xa9\",\"op\":\"add\",\"new\":{}}]\n");
	ck_assert_sql(f.session, "SELECT jdiff('{}', '{}'), jdiff(NULL, '{}')", "[]|-\n");
	ck_assert_sql(f.session,
		"SELECT jget(jdiff('{\"a\":1,\"metadata\":{}}', '{\"a\":2,\"metadata\":{\"managedFields\":[{\"manager\":"
		"\"m\\\"\",\"fieldsV1\":{\"f:a\":{}}}]}}', 0, 1), '$[0].manager')",
		"m\"\n");
	ck_assert_sql(f.session,
		"SELECT value ->> '$.new' FROM json_each(jdiff('{\"a\":{\"b\":1}}', '{\"a\":{\"b\":2}}'))",
		"2\n");
	ck_assert_sql_fails(f.session, "SELECT jdiff('{', '{}')", "JSON");
	teardown(&f);
}
END_TEST

UNIT_MAIN("sql_changes", jdiff__gives_the_differences_as_json, json_diff__names_each_member_that_differs,
	json_diff__matches_items_by_what_names_them, json_diff__compares_members_by_name_wherever_they_stand,
	json_diff__compares_an_object_with_a_name_twice_as_a_whole,
	json_diff__finds_what_lies_after_a_long_equal_part,
	json_diff__takes_strings_for_what_they_mean_and_numbers_as_they_are_written,
	json_diff__leaves_out_what_every_write_changes_unless_asked,
	json_diff__survives_every_cut_of_a_document,
	managed_fields__name_nobody_for_replicas_that_an_entry_only_lost,
	json_diff__survives_every_cut_of_a_document, managed_fields__tells_who_wrote_the_path,
	managed_fields__tell_of_one_writer_only_where_all_new_entries_are_its_own,
	event_changes__compares_with_the_version_before_also_across_walks,
	changes__compares_versions_of_one_uid_only, changes__tells_objects_apart_that_have_one_name_at_a_time,
	changes__is_the_same_in_every_order_of_walking)
