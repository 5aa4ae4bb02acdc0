/* The parts of the recorder that need no network: delays, ends, frames, resume points, what follows. */
#include "recorder/backlog.h"
#include "recorder/backoff.h"
#include "recorder/end_reason.h"
#include "recorder/followup.h"
#include "recorder/frames.h"
#include "recorder/known.h"
#include "recorder/resume.h"
#include "recorder/trouble.h"
#include "schema/base/clock.h"
#include "tests/unit/unit.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>

START_TEST(backoff__doubles_from_800_ms_to_30_s)
{
	struct backoff b = {0};
	static const int64_t expected_ms[] = {800, 1600, 3200, 6400, 12800, 25600, 30000, 30000};

	for (size_t i = 0; i < COUNT_OF(expected_ms); i++)
		ck_assert_int_eq(backoff_next(&b, 0, 0.0, false, -1), expected_ms[i] * NS_PER_MS);
}
END_TEST

START_TEST(backoff__adds_up_to_the_delay_itself_by_chance)
{
	struct backoff b = {0};

	ck_assert_int_eq(backoff_next(&b, 0, 0.5, false, -1), 1200 * NS_PER_MS);
}
END_TEST

START_TEST(backoff__obeys_retry_after_and_bounds_it)
{
	struct backoff b = {0};

	ck_assert_int_eq(backoff_next(&b, 0, 0.9, false, 7), 7 * NS_PER_S);
	ck_assert_int_eq(backoff_next(&b, 0, 0.9, false, 100000), 300 * NS_PER_S);
	ck_assert_int_eq(backoff_next(&b, 0, 0.0, false, 0), 3200 * NS_PER_MS);
}
END_TEST

START_TEST(trouble__is_told_when_it_begins_changes_and_goes_on)
{
	struct trouble t = {0};
	char text[TROUBLE_TEXT_BYTES];

	ck_assert(trouble_note(&t, 5 * NS_PER_S, "http_429"));
	ck_assert_str_eq(trouble_text(&t, 5 * NS_PER_S, text), "");
	ck_assert(!trouble_note(&t, 300 * NS_PER_S, "http_429"));
	ck_assert(trouble_note(&t, 310 * NS_PER_S, "http_503"));
	ck_assert(!trouble_note(&t, 900 * NS_PER_S, "http_503"));
	ck_assert(trouble_note(&t, 911 * NS_PER_S, "http_503"));
	ck_assert_str_eq(trouble_text(&t, 911 * NS_PER_S, text), "5 attempts have failed in 15m06s");
	trouble_end(&t);
	ck_assert(trouble_note(&t, 912 * NS_PER_S, "http_503"));
	ck_assert_str_eq(trouble_text(&t, 912 * NS_PER_S, text), "");
}
END_TEST

START_TEST(backoff__is_forgotten_after_two_minutes_and_when_reset)
{
	struct backoff b = {0};

	(void)backoff_next(&b, 0, 0.0, false, -1);
	(void)backoff_next(&b, 0, 0.0, false, -1);
	ck_assert_int_eq(backoff_next(&b, 121 * NS_PER_S, 0.0, false, -1), 800 * NS_PER_MS);
	(void)backoff_next(&b, 121 * NS_PER_S, 0.0, false, -1);
	backoff_reset(&b);
	ck_assert_int_eq(backoff_next(&b, 121 * NS_PER_S, 0.0, false, -1), 800 * NS_PER_MS);
}
END_TEST

START_TEST(backoff__asks_slowly_about_refusals)
{
	struct backoff b = {0};

	ck_assert_int_eq(backoff_next(&b, 0, 0.0, true, -1), 4800 * NS_PER_MS);
}
END_TEST

START_TEST(end_reason__names_every_way_a_request_ends)
{
	static const struct {
		struct end_facts facts;
		const char *word;
	} cases[] = {
		{{.is_watch = true,
			 .http_status = 200,
			 .duration_ns = 298 * NS_PER_S,
			 .timeout_seconds = 300},
			"server_timeout"},
		{{.is_watch = true,
			 .http_status = 200,
			 .duration_ns = 296 * NS_PER_S,
			 .timeout_seconds = 300},
			"server_close_early"},
		{{.is_watch = true, .http_status = 200, .tail_bytes = 9, .duration_ns = 300 * NS_PER_S},
			"cut_clean_midframe"},
		{{.http_status = 200}, "complete"},
		{{.is_watch = true, .http_status = 200, .curl_code = CURLE_PARTIAL_FILE}, "cut"},
		{{.is_watch = true,
			 .http_status = 200,
			 .curl_code = CURLE_RECV_ERROR,
			 .os_errno = ECONNRESET},
			"reset"},
		{{.is_watch = true, .http_status = 200, .curl_code = CURLE_RECV_ERROR}, "cut"},
		{{.curl_code = CURLE_COULDNT_CONNECT, .os_errno = ECONNREFUSED}, "refused"},
		{{.curl_code = CURLE_COULDNT_RESOLVE_HOST}, "dns"},
		{{.curl_code = CURLE_OPERATION_TIMEDOUT}, "connect_timeout"},
		{{.curl_code = CURLE_OPERATION_TIMEDOUT, .sent = true}, "no_response"},
		{{.curl_code = CURLE_PEER_FAILED_VERIFICATION}, "tls"},
		{{.curl_code = CURLE_GOT_NOTHING}, "no_response"},
		{{.curl_code = CURLE_RECV_ERROR, .os_errno = ECONNRESET}, "no_response"},
		{{.is_watch = true, .http_status = 200, .curl_code = CURLE_HTTP2_STREAM}, "h2_stream"},
		{{.is_watch = true, .http_status = 200, .curl_code = CURLE_HTTP2}, "h2_conn"},
		{{.is_watch = true, .http_status = 200, .curl_code = CURLE_HTTP2, .goaway = true}, "goaway"},
		{{.is_watch = true, .http_status = 200, .curl_code = CURLE_PARTIAL_FILE, .goaway = true},
			"goaway"},
		{{.is_watch = true, .http_status = 200, .goaway = true, .h2_error = 11}, "goaway"},
		{{.is_watch = true, .http_status = 200, .goaway = true, .timeout_seconds = 300},
			"server_close_early"},
		{{.is_watch = true, .http_status = 200, .stalled = true}, "stalled"},
		{{.is_watch = true, .http_status = 200, .bad_frame = true, .curl_code = CURLE_WRITE_ERROR},
			"bad_frame"},
		{{.is_watch = true, .http_status = 200, .error_code = 410, .error_reason = "Expired"},
			"error_event:410:Expired"},
		{{.http_status = 503}, "http_503"},
		{{.is_watch = true, .http_status = 200, .curl_code = CURLE_BAD_CONTENT_ENCODING},
			"bad_encoding"},
		{{.curl_code = CURLE_LOGIN_DENIED}, "credentials"},
		{{.own_stop = true, .http_status = 200, .curl_code = CURLE_WRITE_ERROR}, "client_stop"},
	};
	char to[END_REASON_BYTES];

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		ck_assert_str_eq(end_reason(to, &cases[i].facts), cases[i].word);
}
END_TEST

/* Joins the lines it is given with bars. */
static int join(void *context, struct slice line)
{
	char *to = context;
	size_t len = strlen(to);

	snprintf(to + len, 256 - len, "%.*s|", (int)line.len, line.ptr);
	return slice_is(line, "stop") ? 1 : 0;
}

START_TEST(frames_feed__gives_the_same_lines_however_they_are_cut)
{
	static const char text[] = "one\ntwo\n\nthree\nta";

	for (size_t step = 1; step < sizeof(text); step++) {
		struct frames f;
		struct err err;
		char seen[256] = "";

		frames_init(&f);
		for (size_t at = 0; at < sizeof(text) - 1; at += step) {
			size_t len = sizeof(text) - 1 - at < step ? sizeof(text) - 1 - at : step;

			ck_assert_ok(frames_feed(&f, (struct slice){text + at, len}, join, seen, &err), &err);
		}
		ck_assert_str_eq(seen, "one|two|three|");
		ck_assert_slice_eq(frames_tail(&f), "ta");
		frames_release(&f);
	}
}
END_TEST

START_TEST(frames_feed__stops_when_the_caller_says_so)
{
	struct frames f;
	struct err err;
	char seen[256] = "";

	frames_init(&f);
	ck_assert_int_eq(frames_feed(&f, slice_of("a\nstop\nb\n"), join, seen, &err), 1);
	ck_assert_str_eq(seen, "a|stop|");
	frames_release(&f);
}
END_TEST

static void put(struct known *k, const char *name, const char *uid, const char *rv, uint64_t seq)
{
	const struct known_object o = {slice_of("ns"), slice_of(name), slice_of(uid), slice_of(rv), seq};
	struct err err;

	ck_assert_ok(known_put(k, &o, &err), &err);
}

START_TEST(known__keeps_the_last_version_of_thousands_of_objects)
{
	struct known *k = known_new();
	struct known_object found;
	char name[32], rv[32];

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 5000; i++) {
			snprintf(name, sizeof(name), "pod-%d", i);
			snprintf(rv, sizeof(rv), "%d", i * (round + 1) * 7);
			put(k, name, "uid", rv, (uint64_t)(round * 5000 + i));
		}
	}
	ck_assert_uint_eq(known_count(k), 5000);
	ck_assert(known_get(k, slice_of("ns"), slice_of("pod-4999"), &found));
	ck_assert_slice_eq(found.rv, "104979");
	ck_assert_uint_eq(found.seq, 14999);
	ck_assert(!known_get(k, slice_of("other"), slice_of("pod-4999"), &found));
	known_free(k);
}
END_TEST

START_TEST(known__forgets_what_is_removed_and_takes_it_again)
{
	struct known *k = known_new();
	struct known_object found;
	char name[32];

	for (int round = 0; round < 50; round++) {
		for (int i = 0; i < 100; i++) {
			snprintf(name, sizeof(name), "n%d-%d", round, i);
			put(k, name, "u", "1", 1);
			known_remove(k, slice_of("ns"), slice_of(name));
		}
	}
	ck_assert_uint_eq(known_count(k), 0);
	put(k, "n3-7", "u2", "2", 9);
	ck_assert(known_get(k, slice_of("ns"), slice_of("n3-7"), &found));
	ck_assert_slice_eq(found.uid, "u2");
	known_free(k);
}
END_TEST

START_TEST(known_unseen__gives_each_object_that_the_sweep_did_not_meet)
{
	struct known *k = known_new();
	struct known_object gone;
	unsigned count = 0;

	put(k, "a", "u", "1", 1);
	put(k, "b", "u", "1", 2);
	put(k, "c", "u", "1", 3);
	known_sweep_begin(k);
	put(k, "a", "u", "2", 4);
	known_saw(k, slice_of("ns"), slice_of("c"));
	while (known_unseen(k, &gone)) {
		ck_assert_slice_eq(gone.name, "b");
		known_remove(k, gone.namespace, gone.name);
		count++;
	}
	ck_assert_uint_eq(count, 1);
	known_free(k);
}
END_TEST

START_TEST(resume__goes_on_from_the_last_event_unless_it_was_a_deletion)
{
	struct resume r = {0};

	resume_set(&r, slice_of("10"));
	resume_event(&r, EVENT_ADDED, slice_of("u1"), slice_of("12"));
	ck_assert_str_eq(resume_point(&r), "12");
	resume_event(&r, EVENT_DELETED, slice_of("u1"), slice_of("15"));
	ck_assert_str_eq(resume_point(&r), "12");
	resume_set(&r, slice_of("15"));
	ck_assert_str_eq(resume_point(&r), "15");
	resume_release(&r);
}
END_TEST

START_TEST(resume__takes_versions_that_are_no_numbers_only_from_servers_that_have_no_others)
{
	struct resume r = {0};

	resume_set(&r, slice_of("10"));
	resume_event(&r, EVENT_ADDED, slice_of("u1"), slice_of("abc"));
	ck_assert_str_eq(resume_point(&r), "10");
	resume_set(&r, slice_of("a1"));
	resume_event(&r, EVENT_ADDED, slice_of("u1"), slice_of("b2"));
	ck_assert_str_eq(resume_point(&r), "b2");
	resume_event(&r, EVENT_DELETED, slice_of("u1"), slice_of("c3"));
	ck_assert_str_eq(resume_point(&r), "c3");
	resume_release(&r);
}
END_TEST

START_TEST(resume__tells_repetitions_within_the_last_version)
{
	struct resume r = {0};

	resume_set(&r, slice_of("10"));
	resume_event(&r, EVENT_DELETED, slice_of("u1"), slice_of("15"));
	resume_event(&r, EVENT_DELETED, slice_of("u2"), slice_of("15"));
	ck_assert_int_eq(resume_judge(&r, EVENT_DELETED, slice_of("u1"), slice_of("15")), RESUME_REPEAT);
	ck_assert_int_eq(resume_judge(&r, EVENT_DELETED, slice_of("u3"), slice_of("15")), RESUME_NEW);
	ck_assert_int_eq(resume_judge(&r, EVENT_ADDED, slice_of("u1"), slice_of("15")), RESUME_NEW);
	ck_assert_int_eq(resume_judge(&r, EVENT_ADDED, slice_of("u1"), slice_of("9")), RESUME_BACKWARD);
	ck_assert_int_eq(resume_judge(&r, EVENT_ADDED, slice_of("u1"), slice_of("100")), RESUME_NEW);
	ck_assert_int_eq(resume_judge(&r, EVENT_ADDED, slice_of("u1"), slice_of("opaque")), RESUME_NEW);
	resume_release(&r);
}
END_TEST

START_TEST(resume_expired__tries_the_later_version_once)
{
	struct resume r = {0};

	resume_set(&r, slice_of("10"));
	resume_event(&r, EVENT_DELETED, slice_of("u1"), slice_of("15"));
	ck_assert(resume_expired(&r));
	ck_assert_str_eq(resume_point(&r), "15");
	ck_assert(!resume_expired(&r));
	ck_assert_int_eq(resume_judge(&r, EVENT_DELETED, slice_of("u1"), slice_of("15")), RESUME_REPEAT);
	resume_release(&r);
}
END_TEST

START_TEST(followup__watches_again_after_every_end_but_a_lost_history)
{
	static const struct {
		struct watch_outcome o;
		enum followup_step step;
		enum followup_pace pace;
	} cases[] = {
		{{.settled = true, .http_status = 200}, FOLLOW_WATCH, PACE_NOW},
		{{.settled = false, .http_status = 200}, FOLLOW_WATCH, PACE_BACKOFF},
		{{.http_status = 0}, FOLLOW_WATCH, PACE_BACKOFF},
		{{.overtaken = true}, FOLLOW_WATCH, PACE_NOW},
		{{.http_status = 503}, FOLLOW_WATCH, PACE_BACKOFF},
		{{.http_status = 403}, FOLLOW_WATCH, PACE_SLOW},
		{{.http_status = 410}, FOLLOW_LIST, PACE_NOW},
		{{.http_status = 200, .error_code = 410}, FOLLOW_LIST, PACE_NOW},
		{{.http_status = 200, .error_code = 410, .just_listed = true}, FOLLOW_LIST, PACE_BACKOFF},
		{{.http_status = 200, .error_code = 500, .errors = 1}, FOLLOW_WATCH, PACE_BACKOFF},
		{{.http_status = 200, .error_code = 500, .errors = 3}, FOLLOW_LIST, PACE_BACKOFF},
		{{.http_status = 200, .error_code = 504, .rv_too_large = true}, FOLLOW_LIST, PACE_BACKOFF},
		{{.settled = true, .http_status = 200, .bad_frame = true}, FOLLOW_LIST, PACE_BACKOFF},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct followup f = followup_watch(&cases[i].o);

		ck_assert_int_eq(f.step, cases[i].step);
		ck_assert_int_eq(f.pace, cases[i].pace);
	}
}
END_TEST

START_TEST(followup__begins_a_list_anew_when_a_later_page_has_expired)
{
	const struct list_outcome o = {.on_later_page = true, .http_status = 410};
	struct followup f = followup_list(&o);

	ck_assert_int_eq(f.step, FOLLOW_LIST);
	ck_assert_int_eq(f.pace, PACE_NOW);
	ck_assert(f.history_lost);
}
END_TEST

#define BACKLOG_PIECE 5000 /* hundreds make a block */

/* Piece i is of length i % BACKLOG_PIECE and made of one letter. */
static void add_pieces(struct backlog *b, unsigned begin, unsigned end, int *owners)
{
	static char bytes[BACKLOG_PIECE];

	for (unsigned i = begin; i < end; i++) {
		memset(bytes, 'a' + i % 26, sizeof(bytes));
		ck_assert(backlog_add(b, &owners[i % 2], (struct slice){bytes, i % BACKLOG_PIECE}, i));
	}
}

static void take_pieces(struct backlog *b, unsigned begin, unsigned end, int *owners)
{
	for (unsigned i = begin; i < end; i++) {
		const struct backlog_item *item = backlog_take(b);

		ck_assert_ptr_nonnull(item);
		ck_assert_int_eq(item->time_ns, i);
		ck_assert_ptr_eq(item->owner, i % 2 ? NULL : &owners[0]);
		ck_assert_uint_eq(item->len, i % BACKLOG_PIECE);
		if (item->len)
			ck_assert_int_eq(item->bytes[item->len - 1], 'a' + i % 26);
	}
}

START_TEST(backlog__gives_pieces_in_order_but_not_to_owners_that_are_gone)
{
	struct backlog b = {.max_bytes = 64u << 20};
	int owners[2];

	for (unsigned round = 0; round < 3; round++) {
		add_pieces(&b, 0, 2000, owners);
		backlog_forget(&b, &owners[1]);
		take_pieces(&b, 0, 1000, owners);
		add_pieces(&b, 2000, 4000, owners);
		backlog_forget(&b, &owners[1]);
		take_pieces(&b, 1000, 4000, owners);
		ck_assert_ptr_null(backlog_take(&b));
		ck_assert_uint_eq(b.bytes, 0);
	}
	add_pieces(&b, 0, 3, owners);
	backlog_release(&b);
}
END_TEST

START_TEST(backlog__takes_no_more_than_its_maximum)
{
	struct backlog b = {.max_bytes = 3u << 20};
	static char large[2u << 20]; /* larger than a block */

	ck_assert(backlog_add(&b, &b, (struct slice){large, sizeof(large)}, 1));
	ck_assert(!backlog_add(&b, &b, (struct slice){large, sizeof(large)}, 2));
	ck_assert(backlog_add(&b, &b, (struct slice){large, sizeof(large) / 2}, 3));
	ck_assert(!backlog_add(&b, &b, (struct slice){large, 1}, 4));
	ck_assert_int_eq(backlog_take(&b)->time_ns, 1);
	ck_assert(backlog_add(&b, &b, (struct slice){large, 1}, 5));
	ck_assert_int_eq(backlog_take(&b)->time_ns, 3);
	ck_assert_int_eq(backlog_take(&b)->time_ns, 5);
	ck_assert_ptr_null(backlog_take(&b));
	backlog_release(&b);
}
END_TEST

UNIT_MAIN("recorder_parts", backlog__gives_pieces_in_order_but_not_to_owners_that_are_gone,
	backlog__takes_no_more_than_its_maximum, backoff__doubles_from_800_ms_to_30_s,
	backoff__adds_up_to_the_delay_itself_by_chance, backoff__obeys_retry_after_and_bounds_it,
	trouble__is_told_when_it_begins_changes_and_goes_on,
	backoff__is_forgotten_after_two_minutes_and_when_reset, backoff__asks_slowly_about_refusals,
	end_reason__names_every_way_a_request_ends, frames_feed__gives_the_same_lines_however_they_are_cut,
	frames_feed__stops_when_the_caller_says_so, known__keeps_the_last_version_of_thousands_of_objects,
	known__forgets_what_is_removed_and_takes_it_again,
	known_unseen__gives_each_object_that_the_sweep_did_not_meet,
	resume__goes_on_from_the_last_event_unless_it_was_a_deletion,
	resume__takes_versions_that_are_no_numbers_only_from_servers_that_have_no_others,
	resume__tells_repetitions_within_the_last_version, resume_expired__tries_the_later_version_once,
	followup__watches_again_after_every_end_but_a_lost_history,
	followup__begins_a_list_anew_when_a_later_page_has_expired)
