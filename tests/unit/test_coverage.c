/* test_coverage.c: what a tape can know, and when. */
#include "schema/tape/coverage.h"
#include "schema/tape/position.h"
#include "tests/unit/small_tape.h"

static uint64_t gap(struct small_tape *s, uint32_t stream, double begin, double end, const char *reason,
	const char *how, uint64_t before, uint64_t begin_seq, uint64_t end_seq)
{
	struct tape_gap g = {.stream = stream,
		.begin_ns = small_ns(begin),
		.end_ns = small_ns(end),
		.begin_seq = begin_seq,
		.end_seq = end_seq,
		.duration_ns = -1,
		.reason = reason,
		.how_ended = how,
		.connection_before = before};

	ck_assert_ok(tape_writer_gap(s->writer, &g, &small_err), &small_err);
	return g.id;
}

static struct coverage *loaded(struct tape *t)
{
	struct coverage *c;

	ck_assert_ok(coverage_load(t, &c, &small_err), &small_err);
	return c;
}

static struct coverage_answer at_time(const struct coverage *c, uint32_t stream, double at)
{
	return coverage_at(c, stream, &(struct coverage_point){.time_ns = small_ns(at), .by_time = true});
}

static const char *state_at(const struct coverage *c, uint32_t stream, double at)
{
	return coverage_state_name(at_time(c, stream, at).state);
}

/* A recording: every stream listed, then watched; all end at once. */
static void record(struct small_tape *s, bool pods, bool nodes, double begin, double end)
{
	for (int i = 0; i < 2; i++) {
		uint32_t stream = i ? s->nodes : s->pods;

		if (!(i ? nodes : pods))
			continue;
		small_event(s, stream, begin, ORIGIN_LIST);
		small_mark(s, stream, begin, MARK_LIST, "100");
		small_watch(s, stream, begin, end - begin, "client_stop");
	}
}

struct seen_gap {
	uint64_t id, begin_seq;
	uint32_t stream;
	double begin, end; /* -1: open */
	char reason[32];
};

struct seen_gaps {
	struct seen_gap items[8];
	size_t count;
};

static int see_gap(void *context, const struct tape_gap *g)
{
	struct seen_gaps *seen = context;
	struct seen_gap *to = &seen->items[seen->count++];

	*to = (struct seen_gap){.id = g->id,
		.begin_seq = g->begin_seq,
		.stream = g->stream,
		.begin = (double)(g->begin_ns - SMALL_BEGIN_NS) / 1e9,
		.end = strcmp(g->how_ended, "open") == 0 ? -1 : (double)(g->end_ns - SMALL_BEGIN_NS) / 1e9};
	snprintf(to->reason, sizeof(to->reason), "%s", g->reason);
	return 0;
}

static struct seen_gaps gaps_of(const struct coverage *c, struct tape *t)
{
	struct seen_gaps seen = {.count = 0};

	ck_assert_ok(coverage_each_gap(c, t, see_gap, &seen, &small_err), &small_err);
	return seen;
}

START_TEST(coverage__knows_nothing_before_the_first_list)
{
	struct coverage *c;
	struct small_tape s;
	struct tape *t;

	small_open(&s);
	small_event(&s, s.pods, 0, ORIGIN_LIST);
	small_event(&s, s.pods, 1, ORIGIN_LIST);
	small_mark(&s, s.pods, 1.5, MARK_LIST, "100");
	small_event(&s, s.pods, 2, ORIGIN_WATCH);
	t = small_read(&s);
	c = loaded(t);
	ck_assert_str_eq(state_at(c, s.pods, 1.4), "unlisted");
	ck_assert_int_eq(at_time(c, s.pods, 1.4).until_ns, small_ns(1.5));
	ck_assert_str_eq(state_at(c, s.pods, 1.5), "watched");
	/* By events: the list is complete after its last. */
	ck_assert_int_eq(
		coverage_at(c, s.pods, &(struct coverage_point){.seq = 1, .time_ns = small_ns(0)}).state,
		COVERAGE_UNLISTED);
	ck_assert_int_eq(
		coverage_at(c, s.pods, &(struct coverage_point){.seq = 2, .time_ns = small_ns(1)}).state,
		COVERAGE_WATCHED);
	/* Of the other stream no list was ever complete. */
	ck_assert_str_eq(state_at(c, s.nodes, 3), "unlisted");
	ck_assert_int_eq(at_time(c, s.nodes, 3).until_ns, INT64_MAX);
	coverage_free(c);
	tape_close(t);
	small_release(&s);
}
END_TEST

START_TEST(coverage__knows_in_which_gap_a_position_lies)
{
	struct coverage *c;
	struct small_tape s;
	struct tape *t;
	uint64_t id;

	small_open(&s);
	record(&s, true, true, 0, 20); /* events 1 and 2 */
	small_event(&s, s.nodes, 5, ORIGIN_WATCH);
	small_event(&s, s.pods, 9.9, ORIGIN_RELIST);
	id = gap(&s, s.pods, 4, 10, "reset", "relist", 0, 2, 4);
	gap(&s, s.pods, 18, 18, "refused", "open", 0, 4, 0);
	t = small_read(&s);
	c = loaded(t);
	ck_assert_str_eq(state_at(c, s.pods, 3.9), "watched");
	ck_assert_str_eq(state_at(c, s.pods, 4), "gap");
	ck_assert_uint_eq(at_time(c, s.pods, 9.95).gap, id);
	ck_assert_int_eq(at_time(c, s.pods, 4).since_ns, small_ns(4));
	ck_assert_int_eq(at_time(c, s.pods, 4).until_ns, small_ns(10));
	ck_assert_str_eq(at_time(c, s.pods, 4).reason, "reset");
	ck_assert_str_eq(state_at(c, s.pods, 10), "watched");
	ck_assert_str_eq(state_at(c, s.nodes, 5), "watched");
	ck_assert_int_eq(at_time(c, s.pods, 19).until_ns, INT64_MAX);
	/* After the event that closed it the state is whole again, though it came before the end. */
	ck_assert_int_eq(
		coverage_at(c, s.pods, &(struct coverage_point){.seq = 3, .time_ns = small_ns(5)}).state,
		COVERAGE_GAP);
	ck_assert_int_eq(
		coverage_at(c, s.pods, &(struct coverage_point){.seq = 4, .time_ns = small_ns(9.9)}).state,
		COVERAGE_WATCHED);
	coverage_free(c);
	tape_close(t);
	small_release(&s);
}
END_TEST

START_TEST(coverage__of_a_whole_recording_has_no_gap_and_ends_with_its_watches)
{
	struct coverage *c;
	struct small_tape s;
	struct tape *t;

	small_open(&s);
	record(&s, true, true, 0, 20);
	t = small_read(&s);
	c = loaded(t);
	ck_assert_uint_eq(gaps_of(c, t).count, 0);
	ck_assert_str_eq(state_at(c, s.pods, 20), "watched");
	ck_assert_int_eq(coverage_span(c).begin_ns, small_ns(0));
	ck_assert_int_eq(coverage_span(c).end_ns, small_ns(20));
	coverage_free(c);
	tape_close(t);
	small_release(&s);
}
END_TEST

START_TEST(coverage__concludes_a_gap_of_what_a_later_recording_left_out)
{
	struct seen_gaps seen;
	struct coverage *c;
	struct small_tape s;
	struct tape *t;

	small_open(&s);
	record(&s, true, true, 0, 10);
	record(&s, false, true, 12, 30);
	t = small_read(&s);
	c = loaded(t);
	seen = gaps_of(c, t);
	ck_assert_uint_eq(seen.count, 1);
	ck_assert_uint_eq(seen.items[0].id, 0);
	ck_assert_uint_eq(seen.items[0].stream, s.pods);
	ck_assert_double_eq(seen.items[0].begin, 10);
	ck_assert_double_eq(seen.items[0].end, -1);
	ck_assert_uint_eq(seen.items[0].begin_seq, 2);
	ck_assert_str_eq(seen.items[0].reason, "client_stop");
	ck_assert_uint_eq(coverage_left_count(c), 1);
	ck_assert_str_eq(state_at(c, s.pods, 9), "watched");
	ck_assert_str_eq(state_at(c, s.pods, 11), "left");
	ck_assert_str_eq(state_at(c, s.pods, 29), "left");
	ck_assert_str_eq(state_at(c, s.nodes, 29), "watched");
	coverage_free(c);
	tape_close(t);
	small_release(&s);
}
END_TEST

/* Pods are watched from 1 to 100 s after the beginning, nodes too but anew at 50 s, when the wall clock has just
 * stepped; afterwards it may step back. All of it is one recording. */
static size_t left_after_a_step(int64_t step_s, bool is_back)
{
	struct small_clock clock = {0};
	const struct clock source = small_clock_source(&clock);
	const struct tape_writer_options options = {.clock = &source};
	struct coverage *c;
	struct small_tape s;
	struct tape *t;
	size_t left;

	small_open_with(&s, &options);
	small_event(&s, s.pods, 1, ORIGIN_LIST);
	small_watch(&s, s.pods, 1, 99, "client_stop");
	small_watch(&s, s.nodes, 1, 49, "server_close_early");
	ck_assert_ok(tape_writer_flush(s.writer, &small_err), &small_err);
	clock.mono_s = 50;
	clock.wall_s = 50 + step_s;
	small_event(&s, s.pods, 50 + (double)step_s, ORIGIN_WATCH);
	small_watch(&s, s.nodes, 50 + (double)step_s, 50, "client_stop");
	ck_assert_ok(tape_writer_flush(s.writer, &small_err), &small_err);
	clock.mono_s = 90;
	clock.wall_s = is_back ? 90 : 90 + step_s;
	small_event(&s, s.pods, (double)clock.wall_s, ORIGIN_WATCH);
	ck_assert_ok(tape_writer_flush(s.writer, &small_err), &small_err);
	t = small_read(&s);
	c = loaded(t);
	left = coverage_left_count(c);
	coverage_free(c);
	tape_close(t);
	small_release(&s);
	return left;
}

START_TEST(coverage__takes_no_step_of_the_clock_for_a_later_recording)
{
	ck_assert_uint_eq(left_after_a_step(3600, false), 0);
	ck_assert_uint_eq(left_after_a_step(3600, true), 0);
	ck_assert_uint_eq(left_after_a_step(-3600, false), 0);
	ck_assert_uint_eq(left_after_a_step(-3600, true), 0);
}
END_TEST

START_TEST(coverage__does_not_take_for_left_out_what_was_listed_again_and_is_not_watched_yet)
{
	struct coverage *c;
	struct small_tape s;
	struct tape *t;

	small_open(&s);
	record(&s, true, true, 0, 10);
	record(&s, false, true, 12, 30);
	small_mark(&s, s.pods, 13, MARK_LIST, "200");
	t = small_read(&s);
	c = loaded(t);
	ck_assert_uint_eq(gaps_of(c, t).count, 0);
	ck_assert_uint_eq(coverage_left_count(c), 0);
	coverage_free(c);
	tape_close(t);
	small_release(&s);
}
END_TEST

START_TEST(coverage__takes_the_last_sign_of_life_of_a_watch_whose_recorder_died)
{
	struct seen_gaps seen;
	struct coverage *c;
	struct small_tape s;
	struct tape *t;

	small_open(&s);
	small_event(&s, s.pods, 0, ORIGIN_LIST);
	small_mark(&s, s.pods, 0, MARK_LIST, "100");
	small_watch(&s, s.pods, 0, -1, "recorder_died");
	small_mark(&s, s.pods, 7, MARK_BOOKMARK, "103");
	record(&s, false, true, 12, 30);
	t = small_read(&s);
	c = loaded(t);
	seen = gaps_of(c, t);
	ck_assert_uint_eq(seen.count, 1);
	ck_assert_uint_eq(seen.items[0].stream, s.pods);
	ck_assert_double_eq(seen.items[0].begin, 7);
	coverage_free(c);
	tape_close(t);
	small_release(&s);
}
END_TEST

/* As recorders did that took the last thing on the tape for the end of every watch. */
START_TEST(coverage__lets_a_gap_begin_where_its_own_watch_ended)
{
	struct seen_gaps seen;
	struct coverage *c;
	struct small_tape s;
	struct tape *t;
	uint64_t watch;

	small_open(&s);
	small_event(&s, s.pods, 0, ORIGIN_LIST);
	small_mark(&s, s.pods, 0, MARK_LIST, "100");
	watch = small_watch(&s, s.pods, 0, 10, "client_stop");
	record(&s, false, true, 12, 30);
	small_event(&s, s.nodes, 29, ORIGIN_WATCH);
	gap(&s, s.pods, 29, 40, "client_stop", "rewatch", watch, 3, 3);
	small_watch(&s, s.pods, 40, 10, "client_stop");
	small_watch(&s, s.nodes, 40, 10, "client_stop");
	t = small_read(&s);
	c = loaded(t);
	seen = gaps_of(c, t);
	ck_assert_uint_eq(seen.count, 1);
	ck_assert_double_eq(seen.items[0].begin, 10);
	ck_assert_double_eq(seen.items[0].end, 40);
	ck_assert_uint_eq(seen.items[0].begin_seq, 1);
	ck_assert_str_eq(state_at(c, s.pods, 11), "gap");
	ck_assert_str_eq(state_at(c, s.pods, 41), "watched");
	coverage_free(c);
	tape_close(t);
	small_release(&s);
}
END_TEST

START_TEST(coverage__says_so_where_nothing_tells_when_a_stream_was_watched)
{
	struct tape_connection import = {
		.purpose = "import", .begin_ns = SMALL_BEGIN_NS, .end_reason = "complete"};
	struct coverage *c;
	struct small_tape s;
	struct tape *t;

	small_open(&s);
	small_event(&s, s.pods, 0, ORIGIN_WATCH);
	ck_assert_ok(tape_writer_begin_connection(s.writer, &import, &small_err), &small_err);
	small_watch(&s, s.nodes, 0, 10, "client_stop");
	t = small_read(&s);
	c = loaded(t);
	ck_assert_str_eq(state_at(c, s.pods, 5), "untold");
	ck_assert_str_eq(state_at(c, s.nodes, 5), "watched");
	ck_assert_str_eq(state_at(c, 77, 5), "untold");
	ck_assert_uint_eq(coverage_untold_count(c), 1);
	coverage_free(c);
	tape_close(t);
	small_release(&s);
}
END_TEST

UNIT_MAIN("coverage", coverage__knows_nothing_before_the_first_list,
	coverage__knows_in_which_gap_a_position_lies,
	coverage__of_a_whole_recording_has_no_gap_and_ends_with_its_watches,
	coverage__concludes_a_gap_of_what_a_later_recording_left_out,
	coverage__takes_no_step_of_the_clock_for_a_later_recording,
	coverage__does_not_take_for_left_out_what_was_listed_again_and_is_not_watched_yet,
	coverage__takes_the_last_sign_of_life_of_a_watch_whose_recorder_died,
	coverage__lets_a_gap_begin_where_its_own_watch_ended,
	coverage__says_so_where_nothing_tells_when_a_stream_was_watched)
