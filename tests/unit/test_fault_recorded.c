/* test_fault_recorded.c: the gaps of a recording become faults: ends, answers meanwhile, compaction. */
#include "replayer/fault/fault_recorded.h"
#include "schema/tape/reader.h"
#include "schema/tape/writer.h"
#include "tests/unit/fault_play.h"

#include <stdio.h>

#define START INT64_C(1700000000000000000)

struct maker {
	char dir[64], path[80];
	struct tape_writer *w;
	uint32_t pods, nodes; /* streams */
};

static uint32_t stream_of(struct maker *m, const struct tape_resource *resource, char *namespace)
{
	struct tape_stream stream = {.namespace = namespace, .label_selector = "", .field_selector = ""};
	uint32_t id;

	ck_assert_ok(tape_writer_resource(m->w, resource, &stream.resource, &err), &err);
	ck_assert_ok(tape_writer_stream(m->w, &stream, &id, &err), &err);
	return id;
}

static struct maker maker(void)
{
	struct maker m = {.dir = "/tmp/kubetape-test-XXXXXX"};

	ck_assert_ptr_nonnull(mkdtemp(m.dir));
	snprintf(m.path, sizeof(m.path), "%s/x.tape", m.dir);
	ck_assert_ok(tape_writer_open(m.path, NULL, &m.w, &err), &err);
	m.pods = stream_of(&m, &pods, "");
	m.nodes = stream_of(&m, &nodes, "");
	return m;
}

static uint64_t connection(struct maker *m, uint32_t stream, double begin_s, const char *reason, int status)
{
	struct tape_connection c = {.stream = stream,
		.purpose = "watch",
		.target = "/",
		.timeout_seconds = -1,
		.begin_ns = START + (int64_t)(begin_s * 1e9),
		.duration_ns = NS_PER_S / 10,
		.first_byte_after_ns = -1,
		.end_reason = reason,
		.http_status = status,
		.retry_after_s = status == 503 ? 2 : -1,
		.next_delay_ns = -1};

	if (strncmp(reason, "error_event", 11) == 0)
		c.error_status = "{\"kind\":\"Status\",\"code\":500}";
	ck_assert_ok(tape_writer_begin_connection(m->w, &c, &err), &err);
	ck_assert_ok(tape_writer_end_connection(m->w, &c, &err), &err);
	return c.id;
}

static void gap(struct maker *m, uint32_t stream, uint64_t before, const char *reason, double begin_s,
	double end_s, const char *how, const char *to_rv)
{
	struct tape_gap g = {.stream = stream,
		.begin_ns = START + (int64_t)(begin_s * 1e9),
		.end_ns = START + (int64_t)(end_s * 1e9),
		.duration_ns = (int64_t)((end_s - begin_s) * 1e9),
		.from_rv = "100",
		.to_rv = to_rv,
		.reason = reason,
		.how_ended = how,
		.connection_before = before};

	ck_assert_ok(tape_writer_gap(m->w, &g, &err), &err);
}

/* Closes the tape and makes its gaps the faults of a replay, whose clock begins at START. */
static struct play play_of(struct maker *m)
{
	struct fault_file file = {.recorded = true};
	struct play p = {.now = {.mono_ns = NS_PER_S, .tape_ns = START}};
	struct tape *t;
	char command[120];

	ck_assert_ok(tape_writer_close(m->w, &err), &err);
	ck_assert_ok(tape_open(m->path, &t, &err), &err);
	ck_assert_ok(fault_recorded_add(t, &file, &err), &err);
	ck_assert_ok(faults_new(&file, &p.f, &err), &err);
	tape_close(t);
	snprintf(command, sizeof(command), "rm -rf '%s'", m->dir);
	ck_assert_int_eq(system(command), 0);
	return p;
}

static void go_to(struct play *p, double s)
{
	p->now.tape_ns = START + (int64_t)(s * 1e9);
	faults_tick(p->f, &p->now);
}

static const struct fault_what *instead(struct play *p, const struct tape_resource *resource)
{
	struct fault_answer a = ask_watch(p, resource, 100);

	return a.kind == FAULT_INSTEAD ? a.what : NULL;
}

START_TEST(gap__ends_watches_as_the_recorders_ended)
{
	static const struct {
		const char *reason;
		enum fault_do act;
	} rows[] = {{"server_timeout", FAULT_END}, {"server_close_early", FAULT_END}, {"reset", FAULT_RST},
		{"cut", FAULT_FIN}, {"goaway", FAULT_GOAWAY}, {"h2_stream", FAULT_RST_STREAM},
		{"error_event:500:InternalError", FAULT_ERROR}, {"stalled", FAULT_FIN}};
	struct maker m = maker();
	struct fault_stream of_pods, of_nodes;
	struct fault_firing firing;
	struct play p;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint64_t id = connection(&m, m.pods, (double)i, rows[i].reason, 200);

		gap(&m, m.pods, id, rows[i].reason, (double)i + 0.5, (double)i + 0.6, "rewatch", "");
	}
	p = play_of(&m);
	watch(&p, &of_pods, &pods, "x");
	watch(&p, &of_nodes, &nodes, "x");
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char name[64];

		snprintf(name, sizeof(name), "recorded gap %zu: %s", i + 1, rows[i].reason);
		go_to(&p, (double)i + 0.55);
		firing = expect(&p, FAULT_BEGINS, name);
		ck_assert_int_eq(firing.rule->what.act, rows[i].act);
		ck_assert(fault_hits(p.f, &firing, &of_pods));
		ck_assert(!fault_hits(p.f, &firing, &of_nodes));
		go_to(&p, (double)i + 0.7);
		expect(&p, FAULT_ENDS, name);
		expect_nothing(&p);
		ck_assert_int_eq(ask_watch(&p, &pods, 1).kind, FAULT_PASS);
	}
	faults_free(p.f);
}
END_TEST

START_TEST(gap__of_a_namespace_breaks_what_spans_all_unless_that_was_recorded_as_well)
{
	struct maker m = maker();
	uint32_t in_default = stream_of(&m, &deployments, "default");
	struct fault_request asked = request(FAULT_WATCH, &deployments, "x", 1);
	struct play p;

	gap(&m, in_default, 0, "cut", 10, 20, "rewatch", "");
	connection(&m, in_default, 11, "refused", 0);
	in_default = stream_of(&m, &pods, "default");
	gap(&m, in_default, 0, "cut", 10, 20, "rewatch", "");
	connection(&m, in_default, 11, "refused", 0);
	p = play_of(&m);
	go_to(&p, 15);
	ck_assert_int_eq(ask(&p, asked).kind, FAULT_INSTEAD);
	asked.namespace = slice_of("default");
	ck_assert_int_eq(ask(&p, asked).kind, FAULT_INSTEAD);
	asked.namespace = slice_of("other");
	ck_assert_int_eq(ask(&p, asked).kind, FAULT_PASS);
	asked.resource = &pods;
	asked.namespace = slice_of("default");
	ck_assert_int_eq(ask(&p, asked).kind, FAULT_INSTEAD);
	asked.namespace = slice_of("");
	ck_assert_int_eq(ask(&p, asked).kind, FAULT_PASS);
	faults_free(p.f);
}
END_TEST

START_TEST(attempts__are_answered_as_they_were_one_after_the_other)
{
	struct maker m = maker();
	uint64_t id = connection(&m, m.pods, 1, "reset", 200);
	struct play p;

	connection(&m, m.pods, 11, "refused", 0);
	connection(&m, m.pods, 12, "refused", 0);
	connection(&m, m.pods, 14, "http_503", 503);
	connection(&m, m.pods, 17, "error_event:410:Expired", 200);
	gap(&m, m.pods, id, "reset", 10, 20, "relist", "300");
	p = play_of(&m);
	go_to(&p, 9);
	ck_assert_ptr_null(instead(&p, &pods));
	go_to(&p, 10);
	ck_assert_int_eq(instead(&p, &pods)->code, 429);
	ck_assert_ptr_null(instead(&p, &nodes));
	ck_assert(!faults_refuse(p.f, &p.now));
	go_to(&p, 13.9);
	ck_assert_int_eq(instead(&p, &pods)->code, 429);
	go_to(&p, 14);
	ck_assert_int_eq(instead(&p, &pods)->code, 503);
	ck_assert_int_eq(instead(&p, &pods)->retry_after_ns, 2 * NS_PER_S);
	go_to(&p, 17);
	ck_assert_ptr_null(instead(&p, &pods));
	faults_free(p.f);
}
END_TEST

START_TEST(lists__wait_from_a_410_until_the_recorder_listed)
{
	const struct fault_request list = {.kind = FAULT_LIST, .resource = &pods};
	struct maker m = maker();
	uint64_t id = connection(&m, m.pods, 1, "reset", 200);
	struct play p;

	connection(&m, m.pods, 12, "error_event:410:Expired", 200);
	gap(&m, m.pods, id, "reset", 10, 20, "relist", "300");
	p = play_of(&m);
	go_to(&p, 12);
	ck_assert_int_eq(ask(&p, list).kind, FAULT_INSTEAD);
	ck_assert_int_eq(ask(&p, list).what->code, 429);
	ck_assert_ptr_null(instead(&p, &pods));
	go_to(&p, 20);
	ck_assert_int_eq(ask(&p, list).kind, FAULT_PASS);
	faults_free(p.f);
}
END_TEST

START_TEST(relist__expires_everything_before_it)
{
	struct maker m = maker();
	uint64_t id = connection(&m, m.pods, 1, "cut", 200);
	struct play p;

	gap(&m, m.pods, id, "cut", 10, 20, "relist", "300");
	p = play_of(&m);
	apply(&p, 1, &pods, EVENT_ADDED);
	apply(&p, 2, &nodes, EVENT_ADDED);
	go_to(&p, 15);
	ck_assert_int_eq(ask_watch(&p, &pods, 100).kind, FAULT_PASS);
	go_to(&p, 20);
	ck_assert_uint_eq(faults_floor(p.f, pods.id), 300);
	ck_assert_int_eq(ask_watch(&p, &pods, 299).kind, FAULT_EXPIRED);
	ck_assert_int_eq(ask_watch(&p, &pods, 300).kind, FAULT_PASS);
	ck_assert_int_eq(ask_watch(&p, &nodes, 100).kind, FAULT_PASS);
	faults_free(p.f);
}
END_TEST

START_TEST(connections__are_refused_while_no_stream_found_anybody)
{
	struct maker m = maker();
	struct play p;
	uint64_t id = connection(&m, m.pods, 1, "reset", 200);

	gap(&m, m.pods, id, "reset", 10, 20, "rewatch", "");
	connection(&m, m.pods, 10.5, "refused", 0);
	id = connection(&m, m.nodes, 1, "reset", 200);
	gap(&m, m.nodes, id, "reset", 12, 18, "rewatch", "");
	connection(&m, m.nodes, 13, "refused", 0);
	p = play_of(&m);
	go_to(&p, 11);
	ck_assert(!faults_refuse(p.f, &p.now));
	go_to(&p, 12);
	ck_assert(faults_refuse(p.f, &p.now));
	go_to(&p, 17.9);
	ck_assert(faults_refuse(p.f, &p.now));
	go_to(&p, 18);
	ck_assert(!faults_refuse(p.f, &p.now));
	faults_free(p.f);
}
END_TEST

START_TEST(gap__of_the_recorders_own_making_is_no_fault)
{
	struct maker m = maker();
	struct play p;
	int64_t tape_ns, mono_ns;

	gap(&m, m.pods, 0, "client_stop", 10, 20, "restart", "300");
	gap(&m, m.pods, 0, "recorder_died", 30, 40, "restart", "400");
	p = play_of(&m);
	faults_next(p.f, &tape_ns, &mono_ns);
	ck_assert_int_eq(tape_ns, INT64_MAX);
	faults_free(p.f);
}
END_TEST

START_TEST(gap__that_never_ended_lasts)
{
	struct maker m = maker();
	struct play p;
	uint64_t id = connection(&m, m.pods, 1, "server_close_early", 200);

	connection(&m, m.pods, 11, "http_403", 403);
	gap(&m, m.pods, id, "server_close_early", 10, 10, "open", "");
	p = play_of(&m);
	go_to(&p, 1000000);
	ck_assert_int_eq(instead(&p, &pods)->code, 403);
	faults_free(p.f);
}
END_TEST

UNIT_MAIN("fault_recorded", gap__ends_watches_as_the_recorders_ended,
	gap__of_a_namespace_breaks_what_spans_all_unless_that_was_recorded_as_well,
	attempts__are_answered_as_they_were_one_after_the_other,
	lists__wait_from_a_410_until_the_recorder_listed, relist__expires_everything_before_it,
	connections__are_refused_while_no_stream_found_anybody, gap__of_the_recorders_own_making_is_no_fault,
	gap__that_never_ended_lasts)
