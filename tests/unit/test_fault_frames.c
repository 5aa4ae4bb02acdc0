/* test_fault_frames.c: what becomes of single frames on their way to a watch, and chance. */
#include "replayer/fault/fault_tally.h"
#include "tests/unit/fault_play.h"

static struct fault_frame frame_of(struct play *p, struct fault_stream *s, uint64_t seq,
	const struct tape_resource *resource, enum event_type type)
{
	struct event e = event_of(seq, resource, type);
	struct fault_frame frame;

	before(p, &e, resource);
	faults_frame(p->f, &p->now, s, &e, &frame);
	after(p, &e, resource);
	return frame;
}

START_TEST(frames__are_dropped_doubled_and_delayed_as_chosen)
{
	struct play p =
		play("{'rules':[{'when':{'event':'type=`DELETED`'},'where':{'resource':'pods'},'what':'drop',"
		     "'times':0},{'when':{'event':'seq=4'},'what':{'do':'duplicate','count':2}},"
		     "{'when':{'event':'seq=5'},'what':{'do':'delay','by':'2s'}}]}");
	struct fault_stream s, n;
	struct event e;
	struct fault_frame frame;

	watch(&p, &s, &pods, "x");
	watch(&p, &n, &nodes, "x");
	ck_assert_int_eq(frame_of(&p, &s, 1, &pods, EVENT_ADDED).act, FRAME_SEND);
	ck_assert_int_eq(frame_of(&p, &s, 2, &pods, EVENT_DELETED).act, FRAME_DROP);
	ck_assert_int_eq(frame_of(&p, &n, 3, &nodes, EVENT_DELETED).act, FRAME_SEND);
	ck_assert_uint_eq(frame_of(&p, &s, 4, &pods, EVENT_ADDED).copies, 3);
	frame = frame_of(&p, &s, 5, &pods, EVENT_ADDED);
	ck_assert_int_eq(frame.act, FRAME_WAIT);
	ck_assert_int_eq(frame.tape_ns, 7 * NS_PER_S);
	e = event_of(5, &pods, EVENT_ADDED);
	move_to(&p, 7);
	faults_frame(p.f, &p.now, &s, &e, &frame);
	ck_assert_int_eq(frame.act, FRAME_SEND);
	ck_assert_uint_eq(frame.copies, 1);
	/* A watch that comes later and reads the history gets the same. */
	e = event_of(2, &pods, EVENT_DELETED);
	faults_frame(p.f, &p.now, &s, &e, &frame);
	ck_assert_int_eq(frame.act, FRAME_DROP);
	faults_free(p.f);
}
END_TEST

START_TEST(reordered_frame__waits_for_events_of_other_resources)
{
	struct play p = play("{'rules':[{'when':{'event':'resource=`pods`'},'where':{'resource':'pods'},"
			     "'what':{'do':'reorder','count':2}}]}");
	struct fault_stream s;
	struct event e = event_of(1, &pods, EVENT_ADDED);
	struct fault_frame frame;

	watch(&p, &s, &pods, "x");
	frame = frame_of(&p, &s, 1, &pods, EVENT_ADDED);
	ck_assert_int_eq(frame.act, FRAME_WAIT);
	ck_assert_int_eq(frame.tape_ns, INT64_MAX);
	apply(&p, 2, &pods, EVENT_MODIFIED);
	apply(&p, 3, &nodes, EVENT_MODIFIED);
	faults_frame(p.f, &p.now, &s, &e, &frame);
	ck_assert_int_eq(frame.act, FRAME_WAIT);
	apply(&p, 4, &nodes, EVENT_MODIFIED);
	faults_frame(p.f, &p.now, &s, &e, &frame);
	ck_assert_int_eq(frame.act, FRAME_SEND);
	ck_assert_uint_eq(faults_tally(p.f, 0)->frames, 1); /* however often it was asked for */
	faults_free(p.f);
}
END_TEST

START_TEST(reordered_frame__is_sent_when_nothing_follows)
{
	struct play p = play("{'rules':[{'when':{'event':'1'},'what':'reorder'}]}");
	struct fault_stream s;
	struct event e = event_of(1, &pods, EVENT_ADDED);
	struct fault_frame frame;

	watch(&p, &s, &pods, "x");
	frame = frame_of(&p, &s, 1, &pods, EVENT_ADDED);
	ck_assert_int_eq(frame.act, FRAME_WAIT);
	p.now.ended = true;
	faults_frame(p.f, &p.now, &s, &e, &frame);
	ck_assert_int_eq(frame.act, FRAME_SEND);
	faults_free(p.f);
}
END_TEST

/* Which of 400 frames are dropped, asked in one order of clients or in the other. */
static void drops(int seed, bool backwards, char ret[2][400])
{
	char text[200];
	struct play p;
	struct fault_stream s[2];

	snprintf(text, sizeof(text),
		"{'seed':%d,'rules':[{'when':{'at':'0'},'what':'drop','probability':0.25,'clock':'wall'}]}",
		seed);
	p = play(text);
	move_to(&p, 0);
	watch(&p, &s[backwards], &pods, backwards ? "b" : "a");
	watch(&p, &s[!backwards], &pods, backwards ? "a" : "b");
	for (uint64_t seq = 1; seq <= 400; seq++) {
		struct event e = event_of(seq, &pods, EVENT_ADDED);
		struct fault_frame frame;

		for (int k = 0; k < 2; k++) {
			faults_frame(p.f, &p.now, &s[backwards ? !k : k], &e, &frame);
			ret[backwards ? !k : k][seq - 1] = frame.act == FRAME_DROP;
		}
	}
	faults_free(p.f);
}

START_TEST(chance__depends_on_the_seed_and_not_on_the_order_of_clients)
{
	char first[2][400], again[2][400], other[2][400];
	int dropped = 0;

	drops(7, false, first);
	drops(7, true, again);
	drops(8, false, other);
	ck_assert_mem_eq(first, again, sizeof(first));
	ck_assert_mem_ne(first, other, sizeof(first));
	ck_assert_mem_ne(first[0], first[1], sizeof(first[0]));
	for (int i = 0; i < 400; i++)
		dropped += first[0][i];
	ck_assert_int_gt(dropped, 60);
	ck_assert_int_lt(dropped, 140);
}
END_TEST

START_TEST(jitter__is_between_none_and_all)
{
	struct play p = play("{'rules':[{'when':{'at':'0'},'what':{'do':'delay','by':'1s','jitter':'1s'}}]}");
	struct fault_stream s;
	int64_t least = INT64_MAX, most = 0;

	watch(&p, &s, &pods, "x");
	for (uint64_t seq = 1; seq <= 60; seq++) {
		int64_t by_ns = frame_of(&p, &s, seq, &pods, EVENT_ADDED).tape_ns - (int64_t)seq * NS_PER_S;

		least = by_ns < least ? by_ns : least;
		most = by_ns > most ? by_ns : most;
	}
	ck_assert_int_ge(least, NS_PER_S);
	ck_assert_int_lt(least, NS_PER_S * 5 / 4);
	ck_assert_int_gt(most, NS_PER_S * 7 / 4);
	ck_assert_int_le(most, 2 * NS_PER_S);
	faults_free(p.f);
}
END_TEST

UNIT_MAIN("fault_frames", frames__are_dropped_doubled_and_delayed_as_chosen,
	reordered_frame__waits_for_events_of_other_resources, reordered_frame__is_sent_when_nothing_follows,
	chance__depends_on_the_seed_and_not_on_the_order_of_clients, jitter__is_between_none_and_all)
