#include "schema/tape/audit_keep.h"
#include "tests/unit/tape_model.h"

#include <sys/wait.h>
#include <unistd.h>

static int64_t fake_ns;

static int64_t read_fake(void *context)
{
	(void)context;
	return fake_ns;
}

static const struct clock fake_clock = {read_fake, read_fake, NULL};

static size_t count_segments(const struct model *m, uint64_t *ret_first, uint64_t *ret_bytes)
{
	struct tape_info info;
	struct tape *t;
	struct err err;

	ck_assert_ok(tape_open(m->path, &t, &err), &err);
	ck_assert_ok(tape_info(t, &info, &err), &err);
	tape_close(t);
	*ret_first = info.first_seq;
	*ret_bytes = info.disk_bytes;
	return info.segments;
}

START_TEST(retention__by_size_removes_the_oldest_and_leaves_a_whole_tape)
{
	struct tape_writer_options options = {
		.extent_bytes = 100000, .segment_events = 100, .retention = {.max_bytes = 600000}};
	struct tape_writer_stats stats;
	struct model m;
	struct tape_writer *w;
	struct tape *t;
	struct tape_state *state;
	struct err err;
	uint64_t first, bytes, live[MODEL_KEYS];

	model_init(&m, 1);
	w = model_open(&m, &options);
	model_steps(&m, w, 2000, 10);
	tape_writer_stats(w, &stats);
	ck_assert_uint_gt(stats.removed_segments, 3);
	ck_assert_uint_ge(count_segments(&m, &first, &bytes), 2);
	ck_assert_uint_gt(first, 300);
	ck_assert_uint_lt(bytes, 1200000);
	ck_assert_ok(tape_open(m.path, &t, &err), &err);
	ck_assert_ok(tape_state_at(t, m.count, 0, &state, &err), &err);
	model_state(&m, m.count, live);
	for (size_t i = 0; i < state->count; i++)
		ck_assert_uint_eq(state->live[i].seq, live[m.events[state->live[i].seq - 1].key]);
	tape_state_free(state);
	tape_close(t);
	tape_writer_abandon(w);
	model_release(&m);
}
END_TEST

START_TEST(retention__takes_no_tape_away_from_those_who_are_opening_it)
{
	struct tape_writer_options options = {
		.extent_bytes = 100000, .segment_events = 5, .retention = {.max_bytes = 100000}};
	struct tape_writer_stats stats;
	uint64_t first, bytes;
	struct model m;
	struct tape_writer *w;
	pid_t child;
	int status;

	model_init(&m, 5);
	w = model_open(&m, &options);
	model_steps(&m, w, 10, 5);
	tape_writer_abandon(w);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		w = model_open(&m, &options);
		model_steps(&m, w, 1500, 5);
		tape_writer_stats(w, &stats);
		_exit(stats.removed_segments < 100);
	}
	while (waitpid(child, &status, WNOHANG) == 0)
		count_segments(&m, &first, &bytes);
	ck_assert_int_eq(status, 0);
	model_release(&m);
}
END_TEST

START_TEST(retention__by_age_removes_what_was_sealed_too_long_ago)
{
	struct tape_writer_options options = {.extent_bytes = 100000,
		.segment_events = 100,
		.clock = &fake_clock,
		.retention = {.max_age_ns = 3600 * NS_PER_S}};
	struct model m;
	struct tape_writer *w;
	uint64_t first, bytes;

	fake_ns = clock_wall_ns(&clock_system);
	model_init(&m, 2);
	w = model_open(&m, &options);
	model_steps(&m, w, 350, 10);
	ck_assert_uint_ge(count_segments(&m, &first, &bytes), 3);
	ck_assert_uint_eq(first, 1);
	fake_ns += 7200 * NS_PER_S;
	model_steps(&m, w, 20, 10);
	ck_assert_uint_le(count_segments(&m, &first, &bytes), 2);
	ck_assert_uint_gt(first, 100);
	tape_writer_abandon(w);
	model_release(&m);
}
END_TEST

START_TEST(retention__never_removes_the_newest_sealed_segment)
{
	struct tape_writer_options options = {
		.extent_bytes = 100000, .retention = {.keep_free_bytes = UINT64_MAX}};
	struct model m;
	struct tape_writer *w;
	struct err err;
	uint64_t first, bytes;

	model_init(&m, 3);
	for (unsigned life = 0; life < 3; life++) {
		w = model_open(&m, &options);
		model_steps(&m, w, 50, 10);
		ck_assert_ok(tape_writer_close(w, &err), &err);
	}
	ck_assert_uint_ge(count_segments(&m, &first, &bytes), 1);
	ck_assert_uint_ge(first, 51);
	model_release(&m);
}
END_TEST

static bool up_to(void *context, uint32_t number)
{
	return number <= *(const uint32_t *)context;
}

START_TEST(retention__keeps_what_may_not_go_unless_the_disk_is_short)
{
	uint32_t through = 2;
	struct tape_writer_options options = {.extent_bytes = 100000,
		.segment_events = 100,
		.retention = {.max_bytes = 1, .may_go = up_to, .context = &through}};
	struct retention_removed removed;
	struct tape_writer_stats stats;
	struct model m;
	struct tape_writer *w;
	struct err err;
	uint64_t first, bytes;

	model_init(&m, 4);
	w = model_open(&m, &options);
	model_steps(&m, w, 1000, 10);
	ck_assert_uint_ge(count_segments(&m, &first, &bytes), 6);
	tape_writer_stats(w, &stats);
	ck_assert_uint_eq(stats.removed_segments, 2);
	ck_assert_uint_eq(stats.forced_segments, 0);
	options.retention.keep_free_bytes = UINT64_MAX;
	ck_assert_ok(retention_apply(m.path, &options.retention, 0, &removed, &err), &err);
	ck_assert_uint_ge(removed.segments, 4);
	ck_assert_uint_eq(removed.forced, removed.segments);
	tape_writer_abandon(w);
	model_release(&m);
}
END_TEST

static void put_claim(const struct model *m, const char *uid, const char *rv, int64_t end_ns)
{
	const struct audit_claim claim = {.uid = slice_of(uid),
		.rv = slice_of(rv),
		.audit_id = slice_of("1"),
		.how = AUDIT_BY_VERSION,
		.user = slice_of("alice"),
		.end_ns = end_ns};
	struct audit_book *b;
	struct err err;

	ck_assert_ok(audit_book_create(m->path, &b, &err), &err);
	ck_assert_int_eq(audit_book_put(b, &claim, &err), 1);
	ck_assert_ok(audit_book_flush(b, &err), &err);
	audit_book_close(b);
}

static bool has_claim(const struct model *m, const char *uid, const char *rv)
{
	const struct event e = {.type = EVENT_MODIFIED, .uid = slice_of(uid), .rv = slice_of(rv)};
	struct audit_claim claim;
	struct audit_book *b;
	struct err err;
	int found;

	ck_assert_ok(audit_book_open(m->path, &b, &err), &err);
	found = audit_book_find(b, &e, &claim, &err);
	audit_book_close(b);
	ck_assert_int_ge(found, 0);
	return found;
}

START_TEST(retention__takes_along_what_the_audit_book_says_of_what_is_gone)
{
	struct tape_writer_options options = {
		.extent_bytes = 100000, .segment_events = 100, .retention = {.max_bytes = 600000}};
	struct tape_state *state;
	struct model m;
	struct tape_writer *w;
	struct tape *t;
	struct err err;
	uint64_t first, bytes;

	model_init(&m, 5);
	w = model_open(&m, &options);
	model_steps(&m, w, 100, 10);
	put_claim(&m, "gone", "1", 1);
	put_claim(&m, "new", "2", INT64_MAX);
	model_steps(&m, w, 1900, 10);
	ck_assert(!has_claim(&m, "gone", "1"));
	ck_assert(has_claim(&m, "new", "2"));
	count_segments(&m, &first, &bytes);
	ck_assert_ok(tape_open(m.path, &t, &err), &err);
	ck_assert_ok(tape_state_at(t, first - 1, 0, &state, &err), &err);
	ck_assert_uint_gt(state->count, 0);
	{
		char *uid = slice_dup(state->live[0].uid), *rv = slice_dup(state->live[0].rv);

		put_claim(&m, uid, rv, 1);
		put_claim(&m, uid, "older", 1);
		ck_assert_int_eq(audit_book_prune(m.path, &err), 1);
		ck_assert(has_claim(&m, uid, rv));
		ck_assert(!has_claim(&m, uid, "older"));
		free(uid);
		free(rv);
	}
	tape_state_free(state);
	tape_close(t);
	tape_writer_abandon(w);
	model_release(&m);
}
END_TEST

static uint64_t write_gap(struct model *m, struct tape_writer *w)
{
	struct tape_gap gap = {.stream = m->streams[0], .reason = "reset", .how_ended = "open"};
	struct err err;

	ck_assert_ok(tape_writer_gap(w, &gap, &err), &err);
	return gap.id;
}

START_TEST(retention__lets_no_later_row_have_the_id_of_one_that_it_removed)
{
	struct tape_writer_options options = {
		.extent_bytes = 100000, .segment_events = 100, .retention = {.max_bytes = 1}};
	struct model m;
	struct tape_writer *w;
	struct err err;
	uint64_t first, bytes, id;

	model_init(&m, 6);
	w = model_open(&m, &options);
	model_steps(&m, w, 50, 10);
	id = write_gap(&m, w);
	model_steps(&m, w, 500, 10);
	count_segments(&m, &first, &bytes);
	ck_assert_uint_gt(first, 100);
	ck_assert_ok(tape_writer_close(w, &err), &err);
	w = model_open(&m, &options);
	ck_assert_uint_eq(write_gap(&m, w), id + 1);
	tape_writer_abandon(w);
	model_release(&m);
}
END_TEST

UNIT_MAIN("retention", retention__by_size_removes_the_oldest_and_leaves_a_whole_tape,
	retention__takes_no_tape_away_from_those_who_are_opening_it,
	retention__by_age_removes_what_was_sealed_too_long_ago,
	retention__never_removes_the_newest_sealed_segment,
	retention__keeps_what_may_not_go_unless_the_disk_is_short,
	retention__takes_along_what_the_audit_book_says_of_what_is_gone,
	retention__lets_no_later_row_have_the_id_of_one_that_it_removed)
