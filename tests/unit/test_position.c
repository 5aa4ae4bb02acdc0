/* test_position.c: points on a tape as people write them. */
#include "schema/tape/position.h"
#include "tests/unit/small_tape.h"

/* Ten pods, a second apart, of versions 101 to 110, and a watch that goes on in silence until 15 s. */
static struct tape *open_ten_seconds(struct small_tape *s)
{
	small_open(s);
	for (int i = 0; i < 10; i++)
		small_event(s, s->pods, i, i ? ORIGIN_WATCH : ORIGIN_LIST);
	small_watch(s, s->pods, 0, 15, "client_stop");
	return small_read(s);
}

static struct tape_position found(struct tape *t, const char *text)
{
	struct tape_position p;
	struct err err;

	ck_assert_ok(tape_position_find(t, text, &p, &err), &err);
	return p;
}

START_TEST(position__is_a_seq_a_time_or_a_resource_version)
{
	static const struct {
		const char *text;
		uint64_t seq;
		double time;
		enum position_place place;
	} rows[] = {
		{"7", 7, 6, POSITION_ON_TAPE},
		{"seq:7", 7, 6, POSITION_ON_TAPE},
		{"10", 10, 9, POSITION_ON_TAPE},
		{"0", 0, 0, POSITION_ON_TAPE},
		{"11", 10, 9, POSITION_AFTER},
		{"start", 0, 0, POSITION_ON_TAPE},
		{"end", 10, 9, POSITION_ON_TAPE},
		{"2023-11-14T22:13:25.5Z", 6, 5.5, POSITION_ON_TAPE},
		{"2023-11-14 22:13:25", 6, 5, POSITION_ON_TAPE},
		{"22:13:25", 6, 5, POSITION_ON_TAPE},
		{"1700000005", 6, 5, POSITION_ON_TAPE},
		{"@1700000005", 6, 5, POSITION_ON_TAPE},
		{"-4s", 6, 5, POSITION_ON_TAPE},
		{"+5s", 6, 5, POSITION_ON_TAPE},
		/* The bounds: the first event, and what is known of the last watch. */
		{"22:13:20", 1, 0, POSITION_ON_TAPE},
		{"22:13:19.999", 0, -0.001, POSITION_BEFORE},
		{"22:13:34", 10, 14, POSITION_ON_TAPE},
		{"22:13:35", 10, 15, POSITION_ON_TAPE},
		{"22:13:36", 10, 16, POSITION_AFTER},
		{"9:00", 0, -13 * 3600 - 13 * 60 - 20, POSITION_BEFORE},
		{"-10s", 0, -1, POSITION_BEFORE},
		{"+1h", 10, 3600, POSITION_AFTER},
		{"rv:105", 5, 4, POSITION_ON_TAPE},
		{"pods@105", 5, 4, POSITION_ON_TAPE},
		{"pods@110", 10, 9, POSITION_ON_TAPE},
		{"pods@111", 10, 9, POSITION_AFTER},
		{"rv:100", 0, 0, POSITION_BEFORE},
		{"nodes@105", 0, 0, POSITION_BEFORE},
	};
	struct small_tape s;
	struct tape *t = open_ten_seconds(&s);

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct tape_position p = found(t, rows[i].text);

		ck_assert_msg(p.seq == rows[i].seq && p.place == rows[i].place, "%s: event %llu, place %d",
			rows[i].text, (unsigned long long)p.seq, (int)p.place);
		ck_assert_msg(p.time_ns == small_ns(rows[i].time), "%s: %lld", rows[i].text,
			(long long)(p.time_ns - SMALL_BEGIN_NS));
	}
	ck_assert_int_eq(found(t, "now").place, POSITION_AFTER);
	ck_assert_int_eq(found(t, "9999-12-31").place, POSITION_AFTER);
	ck_assert_int_eq(found(t, "0001-01-01").place, POSITION_BEFORE);
	tape_close(t);
	small_release(&s);
}
END_TEST

START_TEST(position__of_a_tape_that_is_being_recorded_has_no_end)
{
	struct small_tape s;
	struct tape *t;

	small_open(&s);
	small_event(&s, s.pods, 0, ORIGIN_LIST);
	ck_assert_ok(tape_writer_flush(s.writer, &small_err), &small_err);
	ck_assert_ok(tape_open(s.path, &t, &small_err), &small_err);
	ck_assert_int_eq(found(t, "now").place, POSITION_ON_TAPE);
	tape_writer_abandon(s.writer); /* killed */
	s.writer = NULL;
	ck_assert_int_eq(found(t, "now").place, POSITION_AFTER);
	tape_close(t);
	small_release(&s);
}
END_TEST

START_TEST(position__knows_a_version_that_only_a_bookmark_told)
{
	struct small_tape s;
	struct tape *t;

	small_open(&s);
	small_event(&s, s.pods, 0, ORIGIN_LIST);
	small_mark(&s, s.pods, 1, MARK_BOOKMARK, "500");
	t = small_read(&s);
	ck_assert_int_eq(found(t, "pods@500").place, POSITION_ON_TAPE);
	ck_assert_int_eq(found(t, "rv:500").place, POSITION_ON_TAPE);
	ck_assert_int_eq(found(t, "pods@501").place, POSITION_AFTER);
	tape_close(t);
	small_release(&s);
}
END_TEST

START_TEST(position__refuses_everything_else_with_one_sentence)
{
	static const char *const texts[] = {
		"soon", "", "seq:", "seq:x", "seq:-1", "12:3", "9999999999999999999"};
	struct small_tape s;
	struct tape *t = open_ten_seconds(&s);
	struct tape_position p;
	struct err err;

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		ck_assert_msg(tape_position_find(t, texts[i], &p, &err) == ERR_USAGE, "%s", texts[i]);
		ck_assert_ptr_nonnull(
			strstr(err.text, "expected a time (" MOMENT_FORMS "), a seq, rv:N or RESOURCE@RV"));
	}
	ck_assert_int_eq(tape_position_find(t, "pods@x", &p, &err), ERR_USAGE);
	ck_assert_int_eq(tape_position_find(t, "cats@5", &p, &err), ERR_USAGE);
	tape_close(t);
	small_release(&s);
}
END_TEST

START_TEST(position__says_what_was_guessed)
{
	static const struct {
		const char *text, *remark;
	} rows[] = {
		{"22:13",
			"'22:13' is 2023-11-14T22:13:00.000000000Z, 20.0s before the beginning of the tape, which goes from "
			"2023-11-14T22:13:20.000000000Z (event 1) to 2023-11-14T22:13:35.000000000Z (event 10)"},
		{"+1h", "'+1h' is 2023-11-14T23:13:20.000000000Z, 59m45s after the end of the tape, which goes from "
			"2023-11-14T22:13:20.000000000Z (event 1) to 2023-11-14T22:13:35.000000000Z (event 10)"},
		{"pods@999",
			"'pods@999' lies after the end of the tape, which goes from 2023-11-14T22:13:20.000000000Z "
			"(event 1) to 2023-11-14T22:13:35.000000000Z (event 10)"},
		{"22:13:25", NULL},
		{"start", NULL},
		{"end", NULL},
	};
	char remark[POSITION_REMARK_BYTES];
	struct small_tape s;
	struct tape *t = open_ten_seconds(&s);

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct tape_position p = found(t, rows[i].text);

		ck_assert_int_eq(tape_position_remark(&p, rows[i].text, remark), rows[i].remark != NULL);
		if (rows[i].remark)
			ck_assert_str_eq(remark, rows[i].remark);
	}
	tape_close(t);
	small_release(&s);
}
END_TEST

START_TEST(position__takes_the_first_of_several_days_and_says_so)
{
	char remark[POSITION_REMARK_BYTES];
	struct tape_position p;
	struct small_tape s;
	struct tape *t;

	small_open(&s);
	for (int i = 0; i < 4; i++)
		small_event(&s, s.pods, i * 86400, ORIGIN_WATCH);
	t = small_read(&s);
	p = found(t, "22:14");
	ck_assert_uint_eq(p.seq, 1);
	ck_assert_uint_eq(p.days, 3);
	ck_assert(tape_position_remark(&p, "22:14", remark));
	ck_assert_str_eq(remark,
		"'22:14' is on 3 days of the tape: the first was taken, 2023-11-14T22:14:00.000000000Z");
	tape_close(t);
	small_release(&s);
}
END_TEST

START_TEST(position__says_that_a_clock_that_was_set_back_showed_that_time_twice)
{
	struct small_clock clock = {0};
	const struct clock source = small_clock_source(&clock);
	const struct tape_writer_options options = {.clock = &source};
	char remark[POSITION_REMARK_BYTES];
	struct tape_position once, twice;
	struct small_tape s;
	struct tape *t;

	small_open_with(&s, &options);
	small_event(&s, s.pods, 0, ORIGIN_WATCH);
	clock.mono_s = clock.wall_s = 600;
	small_event(&s, s.pods, 600, ORIGIN_WATCH);
	ck_assert_ok(tape_writer_flush(s.writer, &small_err), &small_err);
	clock.mono_s = 610;
	clock.wall_s = 310;
	small_event(&s, s.pods, 310, ORIGIN_WATCH);
	ck_assert_ok(tape_writer_flush(s.writer, &small_err), &small_err);
	t = small_read(&s);
	once = found(t, "@1700000300");
	ck_assert(!tape_position_remark(&once, "+300s", remark));
	twice = found(t, "@1700000400");
	ck_assert(tape_position_remark(&twice, "+400s", remark));
	ck_assert_str_eq(remark,
		"'+400s' was twice, as the recorder's clock was set back by 5m00s: the state after event 1 was taken");
	tape_close(t);
	small_release(&s);
}
END_TEST

UNIT_MAIN("position", position__is_a_seq_a_time_or_a_resource_version,
	position__of_a_tape_that_is_being_recorded_has_no_end,
	position__knows_a_version_that_only_a_bookmark_told,
	position__refuses_everything_else_with_one_sentence, position__says_what_was_guessed,
	position__takes_the_first_of_several_days_and_says_so,
	position__says_that_a_clock_that_was_set_back_showed_that_time_twice)
