/* test_fault.c: the decisions of the faults: what happens when, to whom, and what becomes of requests and
 * frames. */
#include "tests/unit/fault_play.h"

START_TEST(position__ends_watches_in_scope_and_answers_requests_for_a_while)
{
	struct play p =
		play("{'rules':[{'name':'g','when':{'at':'5'},'where':{'resource':'pods'},'what':'rst',"
		     "'for':'10s'}]}");
	struct fault_stream of_pods, of_nodes;
	struct fault_firing firing;
	int64_t tape_ns, mono_ns;

	watch(&p, &of_pods, &pods, "x");
	watch(&p, &of_nodes, &nodes, "x");
	faults_next(p.f, &tape_ns, &mono_ns);
	ck_assert_int_eq(tape_ns, 5 * NS_PER_S);
	ck_assert_int_eq(mono_ns, INT64_MAX);
	move_to(&p, 4.9);
	expect_nothing(&p);
	ck_assert_int_eq(ask_watch(&p, &pods, 100).kind, FAULT_PASS);
	move_to(&p, 5);
	firing = expect(&p, FAULT_BEGINS, "g");
	ck_assert_int_eq(firing.rule->what.act, FAULT_RST);
	ck_assert(fault_hits(p.f, &firing, &of_pods));
	ck_assert(!fault_hits(p.f, &firing, &of_nodes));
	ck_assert_int_eq(ask_watch(&p, &pods, 100).kind, FAULT_INSTEAD);
	ck_assert_int_eq(ask_watch(&p, &pods, 100).what->act, FAULT_HTTP);
	ck_assert_int_eq(ask_watch(&p, &pods, 100).what->code, 429);
	ck_assert_int_eq(ask_watch(&p, &nodes, 100).kind, FAULT_PASS);
	ck_assert(!faults_refuse(p.f, &p.now));
	faults_next(p.f, &tape_ns, &mono_ns);
	ck_assert_int_eq(tape_ns, 15 * NS_PER_S);
	move_to(&p, 15);
	expect(&p, FAULT_ENDS, "g");
	expect_nothing(&p);
	ck_assert_int_eq(ask_watch(&p, &pods, 100).kind, FAULT_PASS);
	faults_free(p.f);
}
END_TEST

START_TEST(outage_of_everything__refuses_connections)
{
	struct play p = play("{'rules':[{'when':{'at':'1'},'what':'fin','for':'2s'}]}");

	ck_assert(!faults_refuse(p.f, &p.now));
	move_to(&p, 1);
	ck_assert(faults_refuse(p.f, &p.now));
	ck_assert_int_eq(ask(&p, request(FAULT_OTHER, NULL, "x", 0)).what->act, FAULT_REFUSE);
	move_to(&p, 3);
	ck_assert(!faults_refuse(p.f, &p.now));
	faults_free(p.f);
}
END_TEST

START_TEST(compaction__expires_what_was_missed_and_never_a_request_without_version)
{
	struct play p =
		play("{'rules':[{'name':'g','when':{'event':'type=`DELETED`'},'where':{'resource':'pods'},"
		     "'what':'end','for':{'events':2},'compaction':true}]}");

	apply(&p, 1, &pods, EVENT_ADDED);
	apply(&p, 2, &nodes, EVENT_MODIFIED);
	expect_nothing(&p);
	apply(&p, 3, &pods, EVENT_DELETED);
	expect(&p, FAULT_BEGINS, "g");
	expect_nothing(&p);
	ck_assert_uint_eq(faults_floor(p.f, pods.id), 0);
	apply(&p, 4, &nodes, EVENT_MODIFIED); /* not in scope: does not count */
	expect_nothing(&p);
	apply(&p, 5, &pods, EVENT_ADDED);
	expect(&p, FAULT_ENDS, "g");
	ck_assert_uint_eq(faults_floor(p.f, pods.id), 105);
	ck_assert_uint_eq(faults_floor(p.f, nodes.id), 0);
	ck_assert_int_eq(ask_watch(&p, &pods, 101).kind, FAULT_EXPIRED);
	ck_assert_uint_eq(ask_watch(&p, &pods, 101).floor, 105);
	ck_assert_int_eq(ask_watch(&p, &pods, 105).kind, FAULT_PASS);
	ck_assert_int_eq(ask_watch(&p, &pods, 0).kind, FAULT_PASS);
	ck_assert_int_eq(ask_watch(&p, &nodes, 101).kind, FAULT_PASS);
	ck_assert_int_eq(ask(&p, request(FAULT_LIST, &pods, "x", 101)).kind, FAULT_PASS);
	faults_free(p.f);
}
END_TEST

START_TEST(http_410__is_for_requests_with_a_version_only)
{
	struct play p = play("{'rules':[{'when':{'at':'0'},'what':{'do':'http','code':410},'for':'5s'}]}");

	move_to(&p, 1);
	ck_assert_int_eq(ask_watch(&p, &pods, 7).kind, FAULT_INSTEAD);
	ck_assert_int_eq(ask_watch(&p, &pods, 0).kind, FAULT_PASS);
	ck_assert_int_eq(ask(&p, request(FAULT_LIST, &pods, "x", 0)).kind, FAULT_PASS);
	faults_free(p.f);
}
END_TEST

START_TEST(event__counts_matches_from_the_nth_and_every_so_many)
{
	struct play p = play(
		"{'rules':[{'name':'e','when':{'event':'resource=`pods`','nth':2,'every':3},'what':'end',"
		"'times':2}]}");
	uint64_t begun[8];
	size_t count = 0;

	for (uint64_t seq = 1; seq <= 12; seq++) {
		struct fault_firing firing;

		apply(&p, seq, &pods, EVENT_MODIFIED);
		while (faults_take(p.f, &firing)) {
			if (firing.step == FAULT_BEGINS)
				begun[count++] = seq;
		}
	}
	ck_assert_uint_eq(count, 2);
	ck_assert_uint_eq(begun[0], 2);
	ck_assert_uint_eq(begun[1], 5);
	faults_free(p.f);
}
END_TEST

START_TEST(moment__decides_whether_the_event_is_missed)
{
	struct play p = play("{'rules':[{'name':'b','when':{'event':'seq=2'},'what':'end'},"
			     "{'name':'a','when':{'event':'seq=2','moment':'after'},'what':'end'}]}");
	struct event e = event_of(2, &pods, EVENT_ADDED);

	before(&p, &e, &pods);
	expect(&p, FAULT_BEGINS, "b");
	expect(&p, FAULT_ENDS, "b");
	expect_nothing(&p);
	after(&p, &e, &pods);
	expect(&p, FAULT_BEGINS, "a");
	expect(&p, FAULT_ENDS, "a");
	expect_nothing(&p);
	faults_free(p.f);
}
END_TEST

START_TEST(connection__is_counted_for_each_client_and_hit_alone)
{
	struct play p =
		play("{'rules':[{'name':'c','when':{'connection':2,'events':3},'where':{'client':'mgr/*'},"
		     "'what':'end','for':'5s','times':0}]}");
	struct fault_stream first, second, other, third, stranger;
	struct fault_firing firing;

	watch(&p, &first, &pods, "mgr/1");
	watch(&p, &second, &pods, "mgr/1");
	watch(&p, &other, &pods, "mgr/2");
	watch(&p, &third, &pods, "mgr/1");
	watch(&p, &stranger, &pods, "kubectl");
	for (int i = 0; i < 2; i++)
		fault_stream_sent(p.f, &p.now, &second);
	for (int i = 0; i < 9; i++) {
		fault_stream_sent(p.f, &p.now, &first);
		fault_stream_sent(p.f, &p.now, &third);
		fault_stream_sent(p.f, &p.now, &stranger);
	}
	expect_nothing(&p);
	fault_stream_sent(p.f, &p.now, &second);
	firing = expect(&p, FAULT_BEGINS, "c");
	ck_assert(fault_hits(p.f, &firing, &second));
	ck_assert(!fault_hits(p.f, &firing, &first));
	ck_assert(!fault_hits(p.f, &firing, &other));
	ck_assert_int_eq(ask(&p, request(FAULT_WATCH, &pods, "mgr/1", 1)).kind, FAULT_INSTEAD);
	ck_assert_int_eq(ask(&p, request(FAULT_WATCH, &pods, "mgr/2", 1)).kind, FAULT_PASS);
	fault_stream_close(p.f, &second);
	faults_free(p.f);
}
END_TEST

START_TEST(connection__may_be_hit_when_it_is_old_enough)
{
	struct play p =
		play("{'rules':[{'name':'c','when':{'connection':1,'after':'30s'},'what':'stall','for':'45s',"
		     "'clock':'wall'}]}");
	struct fault_stream s;
	struct fault_firing firing;
	int64_t tape_ns, mono_ns;

	watch(&p, &s, &pods, "x");
	faults_next(p.f, &tape_ns, &mono_ns);
	ck_assert_int_eq(mono_ns, s.opened.mono_ns + 30 * NS_PER_S);
	p.now.mono_ns += 30 * NS_PER_S;
	faults_tick(p.f, &p.now);
	firing = expect(&p, FAULT_BEGINS, "c");
	ck_assert(fault_hits(p.f, &firing, &s));
	ck_assert_int_eq(ask_watch(&p, &pods, 1).what->act, FAULT_STALL);
	p.now.tape_ns = INT64_MAX; /* the tape's clock does not count here */
	faults_tick(p.f, &p.now);
	expect_nothing(&p);
	p.now.mono_ns += 45 * NS_PER_S;
	faults_tick(p.f, &p.now);
	expect(&p, FAULT_ENDS, "c");
	fault_stream_close(p.f, &s);
	faults_free(p.f);
}
END_TEST

START_TEST(closed_watch__is_not_hit_by_what_was_decided_for_it)
{
	struct play p = play("{'rules':[{'name':'c','when':{'connection':1},'what':'rst'}]}");
	struct fault_stream s;
	struct fault_firing firing;

	watch(&p, &s, &pods, "x");
	fault_stream_close(p.f, &s);
	firing = expect(&p, FAULT_BEGINS, "c");
	ck_assert(!fault_hits(p.f, &firing, &s));
	faults_free(p.f);
}
END_TEST

START_TEST(cut__is_for_the_next_frame)
{
	struct play p =
		play("{'rules':[{'name':'c','when':{'event':'seq=3'},'what':{'do':'cut','bytes':17}}]}");
	struct fault_stream s;
	struct event e = event_of(3, &pods, EVENT_ADDED);
	struct fault_firing firing;
	struct fault_frame frame;

	watch(&p, &s, &pods, "x");
	before(&p, &e, &pods);
	firing = expect(&p, FAULT_BEGINS, "c");
	ck_assert(fault_hits(p.f, &firing, &s));
	faults_frame(p.f, &p.now, &s, &e, &frame);
	ck_assert_int_eq(frame.act, FRAME_CUT);
	ck_assert_uint_eq(frame.bytes, 17);
	faults_free(p.f);
}
END_TEST

START_TEST(stale__shows_an_older_state_to_each_client_once)
{
	struct play p = play(
		"{'rules':[{'when':{'at':'60'},'where':{'resource':'pods'},'what':'end','stale':'20s'}]}");

	move_to(&p, 61);
	ck_assert_int_eq(ask_watch(&p, &pods, 1).kind, FAULT_PASS);
	ck_assert_int_eq(ask(&p, request(FAULT_LIST, &nodes, "x", 0)).kind, FAULT_PASS);
	ck_assert_int_eq(ask(&p, request(FAULT_LIST, &pods, "x", 0)).state.time_ns, 41 * NS_PER_S);
	ck_assert_int_eq(ask(&p, request(FAULT_LIST, &pods, "x", 0)).kind, FAULT_PASS);
	ck_assert_int_eq(ask(&p, request(FAULT_LIST, &pods, "y", 0)).kind, FAULT_OLDER);
	faults_free(p.f);
}
END_TEST

START_TEST(stale_list__shows_the_older_state_for_as_long_as_it_is_said)
{
	struct play p =
		play("{'rules':[{'when':{'at':'60'},'what':{'do':'stale_list','by':'20s'},'for':'10s'}]}");

	for (int s = 60; s < 70; s += 3) {
		move_to(&p, s);
		ck_assert_int_eq(
			ask(&p, request(FAULT_LIST, &pods, "x", 0)).state.time_ns, (s - 20) * NS_PER_S);
		ck_assert_int_eq(ask_watch(&p, &pods, 1).kind, FAULT_PASS);
	}
	move_to(&p, 70);
	ck_assert_int_eq(ask(&p, request(FAULT_LIST, &pods, "x", 0)).kind, FAULT_PASS);
	faults_free(p.f);
}
END_TEST

static bool is_holding(struct play *p)
{
	faults_settle(p->f, &p->now);
	return faults_is_holding(p->f, &p->now);
}

START_TEST(hold__waits_for_the_watches_that_were_ended)
{
	struct play p = play("{'rules':[{'when':{'at':'5'},'what':'end','hold':'30s'}]}");
	struct fault_stream a, b, other;
	struct fault_firing firing;

	watch(&p, &a, &pods, "x");
	watch(&p, &b, &nodes, "x");
	ck_assert(!is_holding(&p));
	move_to(&p, 5);
	firing = expect(&p, FAULT_BEGINS, "rule 1");
	ck_assert(fault_hits(p.f, &firing, &a));
	ck_assert(fault_hits(p.f, &firing, &b));
	ck_assert(is_holding(&p));
	watch(&p, &a, &pods, "x");
	watch(&p, &other, &nodes, "somebody else");
	ck_assert(is_holding(&p));
	watch(&p, &b, &nodes, "x");
	ck_assert(!is_holding(&p));
	faults_free(p.f);
}
END_TEST

START_TEST(hold__of_a_cut_begins_when_the_frame_was_cut)
{
	struct play p = play("{'rules':[{'when':{'at':'5'},'what':{'do':'cut','bytes':9},'hold':'30s'}]}");
	struct fault_stream a, leaves;
	struct fault_firing firing;

	watch(&p, &a, &pods, "x");
	watch(&p, &leaves, &pods, "y");
	move_to(&p, 5);
	firing = expect(&p, FAULT_BEGINS, "rule 1");
	ck_assert(fault_hits(p.f, &firing, &a));
	ck_assert(fault_hits(p.f, &firing, &leaves));
	ck_assert(!is_holding(&p));
	fault_stream_close(p.f, &leaves);
	move_to(&p, 500);
	ck_assert(!is_holding(&p));
	a.was_cut = true;
	fault_stream_close(p.f, &a);
	ck_assert(is_holding(&p));
	watch(&p, &a, &pods, "x");
	ck_assert(!is_holding(&p));
	faults_free(p.f);
}
END_TEST

START_TEST(hold__has_an_end)
{
	struct play p = play("{'rules':[{'when':{'at':'5'},'what':'end','hold':'30s'}]}");
	struct fault_stream a;
	struct fault_firing firing;
	int64_t tape_ns, mono_ns;

	watch(&p, &a, &pods, "x");
	move_to(&p, 5);
	firing = expect(&p, FAULT_BEGINS, "rule 1");
	ck_assert(fault_hits(p.f, &firing, &a));
	faults_next(p.f, &tape_ns, &mono_ns);
	ck_assert_int_eq(mono_ns, p.now.mono_ns + 30 * NS_PER_S);
	p.now.mono_ns = mono_ns;
	ck_assert(!is_holding(&p));
	faults_free(p.f);
}
END_TEST

START_TEST(where__takes_resources_as_kubectl_does_and_patterns)
{
	static const struct {
		const char *where;
		bool pods, deployments, of_other_client;
	} rows[] = {{"{}", true, true, true}, {"{'resource':'pods'}", true, false, true},
		{"{'resource':'deployments'}", false, true, true},
		{"{'resource':'deployments.apps'}", false, true, true},
		{"{'resource':'deployments.v1.apps'}", false, true, true},
		{"{'resource':'deployments.v2.apps'}", false, false, false},
		{"{'resource':'deployments.batch'}", false, false, false},
		{"{'resource':['pods','deployments.apps']}", true, true, true},
		{"{'resource':'pod'}", false, false, false}, {"{'client':'mgr'}", true, true, false},
		{"{'client':'m*r'}", true, true, false}, {"{'client':'?gr'}", true, true, false},
		{"{'client':'*'}", true, true, true}, {"{'client':'mg'}", false, false, false},
		{"{'requests':'list'}", false, false, false},
		{"{'requests':['list','watch']}", true, true, true}, {"{'namespace':''}", true, true, true},
		{"{'namespace':'x'}", false, false, false}, {"{'credential':'t'}", false, false, false}};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char text[200];
		struct play p;
		bool other;

		snprintf(text, sizeof(text),
			"{'rules':[{'when':{'at':'0'},'where':%s,'what':{'do':'http','code':500}}]}",
			rows[i].where);
		p = play(text);
		move_to(&p, 0);
		other = ask(&p, request(FAULT_WATCH, &pods, "other", 1)).kind == FAULT_INSTEAD ||
			ask(&p, request(FAULT_WATCH, &deployments, "other", 1)).kind == FAULT_INSTEAD;
		ck_assert_msg((ask(&p, request(FAULT_WATCH, &pods, "mgr", 1)).kind == FAULT_INSTEAD) ==
				      rows[i].pods,
			"%s", rows[i].where);
		ck_assert_msg((ask(&p, request(FAULT_WATCH, &deployments, "mgr", 1)).kind == FAULT_INSTEAD) ==
				      rows[i].deployments,
			"%s", rows[i].where);
		ck_assert_msg(other == rows[i].of_other_client, "%s", rows[i].where);
		faults_free(p.f);
	}
}
END_TEST

START_TEST(predicate_that_fails__says_whose_it_is)
{
	struct play p =
		play("{'rules':[{'name':'bad','when':{'event':'jget(object,`$.a`)=1'},'what':'end'}]}");
	struct event e = event_of(1, &pods, EVENT_ADDED);

	ck_assert_int_eq(faults_before(p.f, &p.now, &pods, &e, slice_of("{\"a\""), &err), ERR_FAILED);
	ck_assert_ptr_nonnull(strstr(err.text, "bad: the expression cannot be computed for event 1"));
	faults_free(p.f);
}
END_TEST

UNIT_MAIN("fault", position__ends_watches_in_scope_and_answers_requests_for_a_while,
	outage_of_everything__refuses_connections,
	compaction__expires_what_was_missed_and_never_a_request_without_version,
	http_410__is_for_requests_with_a_version_only, event__counts_matches_from_the_nth_and_every_so_many,
	moment__decides_whether_the_event_is_missed, connection__is_counted_for_each_client_and_hit_alone,
	connection__may_be_hit_when_it_is_old_enough, closed_watch__is_not_hit_by_what_was_decided_for_it,
	cut__is_for_the_next_frame, stale__shows_an_older_state_to_each_client_once,
	stale_list__shows_the_older_state_for_as_long_as_it_is_said,
	hold__waits_for_the_watches_that_were_ended, hold__of_a_cut_begins_when_the_frame_was_cut,
	hold__has_an_end, where__takes_resources_as_kubectl_does_and_patterns,
	predicate_that_fails__says_whose_it_is)
