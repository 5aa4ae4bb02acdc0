/* fault_keys.c: see fault_keys.h. The texts go into the JSON Schema, where editors show them. */
#include "replayer/fault/fault_keys.h"
#include "schema/base/count_of.h"

static const struct fault_key file_keys[] = {
	{"$schema", KEY_IGNORED, 0, NULL, 0, 0, false, "where this schema is, for editors"},
	{"seed", KEY_INTEGER, offsetof(struct fault_file, seed), NULL, 0, INT64_MAX, false,
		"what random choices are made from: the same file with the same seed gives the same run"},
	{"recorded", KEY_BOOL, offsetof(struct fault_file, recorded), NULL, 0, 0, false,
		"whether the gaps of the recording happen as well; false when absent"},
	{"rules", KEY_RULES, 0, NULL, 0, 0, true, "the faults, at most 64"},
};

static const struct fault_key rule_keys[] = {
	{"name", KEY_TEXT, offsetof(struct fault_rule, name), NULL, 0, 0, false,
		"what the run calls it; 'rule N' when absent"},
	{"when", KEY_WHEN, offsetof(struct fault_rule, when), NULL, 0, 0, true, "when it happens"},
	{"where", KEY_WHERE, offsetof(struct fault_rule, where), NULL, 0, 0, false,
		"to which watches and requests; to all when absent"},
	{"what", KEY_WHAT, offsetof(struct fault_rule, what), NULL, 0, 0, true, "what happens"},
	{"for", KEY_LENGTH, offsetof(struct fault_rule, for_ns), NULL, 0, 0, false,
		"how long: a duration, or the number of events in scope that pass meanwhile"},
	{"clock", KEY_CHOICE, offsetof(struct fault_rule, clock), "tape wall", 0, 0, false,
		"whose seconds: the tape's (the default; they pass faster at a higher speed) or the wall's"},
	{"during", KEY_WHAT, offsetof(struct fault_rule, during), NULL, 0, 0, false,
		"what requests in scope get while it lasts"},
	{"compaction", KEY_BOOL, offsetof(struct fault_rule, compaction), NULL, 0, 0, false,
		"afterwards a client that resumes from before its end gets 410 and must list again"},
	{"stale", KEY_DURATION, offsetof(struct fault_rule, stale_ns), NULL, 0, 0, false,
		"afterwards the first list of each client shows the state that long before the fault began"},
	{"hold", KEY_DURATION, offsetof(struct fault_rule, hold_ns), NULL, 0, 0, false,
		"afterwards the replay waits, at most this long by the wall clock, until the ended watches are back"},
	{"times", KEY_INTEGER, offsetof(struct fault_rule, times), NULL, 0, INT64_MAX, false,
		"how often it may happen; 0: whenever it applies; 1 when absent"},
	{"probability", KEY_SHARE, offsetof(struct fault_rule, probability), NULL, 0, 0, false,
		"the chance of happening each time, above 0, at most 1"},
	{"optional", KEY_BOOL, offsetof(struct fault_rule, optional), NULL, 0, 0, false,
		"whether it may strike nobody; else the replay ends with exit code 3 when it has"},
};

static const struct fault_key when_keys[] = {
	{"at", KEY_TEXT, offsetof(struct fault_when, at), NULL, 0, 0, false,
		"a position on the tape: '+30s', a time, 'seq:5321', 'rv:5321' or 'pods@5321'"},
	{"event", KEY_EXPRESSION, offsetof(struct fault_when, event), NULL, 0, 0, false,
		"an SQL expression over the columns of the table events, as resource='pods' AND type='DELETED'"},
	{"nth", KEY_INTEGER, offsetof(struct fault_when, nth), NULL, 1, INT64_MAX, false,
		"the first match that counts; 1 when absent"},
	{"every", KEY_INTEGER, offsetof(struct fault_when, every), NULL, 1, INT64_MAX, false,
		"of the matches after the first, every n-th; 1 if absent"},
	{"moment", KEY_CHOICE, offsetof(struct fault_when, moment), "before after", 0, 0, false,
		"before (the default) or after the event is delivered"},
	{"connection", KEY_INTEGER, offsetof(struct fault_when, connection), NULL, 1, INT64_MAX, false,
		"the n-th watch in scope that a client opens, counted for each client"},
	{"events", KEY_INTEGER, offsetof(struct fault_when, events), NULL, 0, INT64_MAX, false,
		"after this number of events on that watch"},
	{"after", KEY_DURATION, offsetof(struct fault_when, after_ns), NULL, 0, 0, false,
		"once that watch has been open for this duration"},
	{"write", KEY_WRITE, offsetof(struct fault_when, write), NULL, 0, 0, false,
		"a kind of write: a verb or 'write' for any, and a resource: 'create pods', 'update pods/status'"},
	{"since", KEY_TEXT, offsetof(struct fault_when, since), NULL, 0, 0, false,
		"only writes after this position count"},
	{"await", KEY_DURATION, offsetof(struct fault_when, await_ns), NULL, 0, 0, false,
		"the clock waits at 'since' for the write to come, at most for this duration by the wall"},
};

static const struct fault_key where_keys[] = {
	{"resource", KEY_TEXTS, offsetof(struct fault_where, resource), NULL, 0, 0, false,
		"'pods', 'po', 'deployments.apps', 'crontabs.v1.stable.example.com', or several"},
	{"namespace", KEY_TEXT, offsetof(struct fault_where, namespace), NULL, 0, 0, false,
		"the namespace in the request's path; an empty one: requests that name none"},
	{"client", KEY_TEXT, offsetof(struct fault_where, client), NULL, 0, 0, false,
		"a pattern with * and ? that the whole User-Agent matches"},
	{"credential", KEY_TEXT, offsetof(struct fault_where, credential), NULL, 0, 0, false,
		"the bearer token"},
	{"requests", KEY_TEXTS, offsetof(struct fault_where, requests), FAULT_REQUEST_WORDS, 0, 0, false,
		"only requests of these kinds"},
};

static const struct fault_key what_keys[] = {
	{"bytes", KEY_INTEGER, offsetof(struct fault_what, bytes), NULL, 0, 1 << 30, false,
		"how many bytes of the frame are sent first"},
	{"code", KEY_INTEGER, offsetof(struct fault_what, code), NULL, 0, 599, false,
		"a status code, 400 to 599; of rst_stream HTTP/2's error code, 0 to 13"},
	{"reason", KEY_TEXT, offsetof(struct fault_what, reason), NULL, 0, 0, false,
		"of the Status; the one that belongs to the code when absent"},
	{"message", KEY_TEXT, offsetof(struct fault_what, message), NULL, 0, 0, false, "of the Status"},
	{"status", KEY_JSON, offsetof(struct fault_what, status), NULL, 0, 0, false,
		"a whole Status instead, sent as it is"},
	{"retry_after", KEY_DURATION, offsetof(struct fault_what, retry_after_ns), NULL, 0, 0, false,
		"whole seconds for a Retry-After header"},
	{"by", KEY_DURATION, offsetof(struct fault_what, by_ns), NULL, 0, 0, false,
		"how much later, or how old"},
	{"as_of", KEY_TEXT, offsetof(struct fault_what, as_of), NULL, 0, 0, false,
		"the position on the tape whose state is shown"},
	{"before_write", KEY_INTEGER, offsetof(struct fault_what, before_write), NULL, 1, INT64_MAX, false,
		"the state just before the n-th write that followed 'as_of'; after all of them when absent"},
	{"until_quiet", KEY_BOOL, offsetof(struct fault_what, until_quiet), NULL, 0, 0, false,
		"whether it lasts until clients have sent no request for that duration, for 10 s at most"},
	{"jitter", KEY_DURATION, offsetof(struct fault_what, jitter_ns), NULL, 0, 0, false,
		"up to so much later still, by chance"},
	{"count", KEY_INTEGER, offsetof(struct fault_what, count), NULL, 1, 1 << 20, false,
		"how many further copies, or how many events to let pass; 1 when absent"},
};

const struct fault_keys fault_file_keys = {"fault file", file_keys, COUNT_OF(file_keys)};
const struct fault_keys fault_rule_keys = {"rule", rule_keys, COUNT_OF(rule_keys)};
const struct fault_keys fault_when_keys = {"when", when_keys, COUNT_OF(when_keys)};
const struct fault_keys fault_where_keys = {"where", where_keys, COUNT_OF(where_keys)};
const struct fault_keys fault_what_keys = {"what", what_keys, COUNT_OF(what_keys)};

const struct fault_shape fault_when_shapes[FAULT_TRIGGERS] = {
	[FAULT_AT_POSITION] = {"at", "", "", false, "at a point of the tape", FAULT_AT_NOTHING},
	[FAULT_AT_EVENT] = {"event", "nth every moment", "", false, "at an event", FAULT_AT_NOTHING},
	[FAULT_AT_CONNECTION] = {"connection", "events after", "", false, "at a watch that a client opens",
		FAULT_AT_NOTHING},
	[FAULT_AT_WRITE] = {"write", "nth every moment since await", "", false, "at a write",
		FAULT_AT_NOTHING},
};

const struct fault_shape fault_what_shapes[FAULT_DO_COUNT] = {
	[FAULT_END] = {"end", "", "", false, "watches end cleanly", FAULT_AT_WATCHES},
	[FAULT_CUT] = {"cut", "bytes", "bytes", false,
		"some bytes of the next frame are sent, then the connection is closed", FAULT_AT_WATCHES},
	[FAULT_FIN] = {"fin", "", "", true, "the connection is closed without the end of the body",
		FAULT_AT_WATCHES},
	[FAULT_RST] = {"rst", "", "", true, "the connection is reset", FAULT_AT_WATCHES},
	[FAULT_GOAWAY] = {"goaway", "", "", false, "HTTP/2: GOAWAY and close; HTTP/1.1: as fin",
		FAULT_AT_WATCHES},
	[FAULT_RST_STREAM] = {"rst_stream", "code", "", false, "HTTP/2: RST_STREAM; HTTP/1.1: as rst",
		FAULT_AT_WATCHES},
	[FAULT_STALL] = {"stall", "", "", true, "the connection stays open and nothing moves on it",
		FAULT_AT_WATCHES},
	[FAULT_ERROR] = {"error", "code reason message status", "", false, "an ERROR event, then a clean end",
		FAULT_AT_WATCHES},
	[FAULT_REFUSE] = {"refuse", "", "", true, "nobody listens: connections are refused",
		FAULT_AT_REQUESTS},
	[FAULT_HTTP] = {"http", "code reason message status retry_after", "code", true, "an HTTP error",
		FAULT_AT_REQUESTS},
	[FAULT_STALE_LIST] = {"stale_list", "by as_of before_write", "", false, "lists show an older state",
		FAULT_AT_REQUESTS},
	[FAULT_STALE_VIEW] = {"stale_view", "as_of before_write", "", false,
		"lists that may be old show an older state, and watches opened meanwhile stand still there",
		FAULT_AT_REQUESTS},
	[FAULT_SLOW] = {"slow", "by", "by", false, "the first list of each client is answered later",
		FAULT_AT_REQUESTS},
	[FAULT_WAIT] = {"wait", "", "", true, "requests wait until the fault is over, and are then answered",
		FAULT_AT_REQUESTS},
	[FAULT_DELAY] = {"delay", "by jitter", "by", false, "frames come later, in their order",
		FAULT_AT_FRAMES},
	[FAULT_DUPLICATE] = {"duplicate", "count", "", false, "frames come twice", FAULT_AT_FRAMES},
	[FAULT_REORDER] = {"reorder", "count", "", false, "frames come behind events of other resources",
		FAULT_AT_FRAMES},
	[FAULT_DROP] = {"drop", "", "", false, "frames never come", FAULT_AT_FRAMES},
	[FAULT_BURST] = {"burst", "", "", false, "frames are kept back while it lasts, then come all at once",
		FAULT_AT_FRAMES},
	[FAULT_ECHO] = {"echo", "by count", "", false, "what programs wrote comes later to watches",
		FAULT_AT_FRAMES},
	[FAULT_WRITE_ERROR] = {"write_error", "code reason message status retry_after", "code", false,
		"the write gets an HTTP error, before or after it was done", FAULT_AT_WRITES},
	[FAULT_WRITE_RESET] = {"write_reset", "", "", false,
		"the write gets no answer: its connection is reset, before or after it was done",
		FAULT_AT_WRITES},
	[FAULT_WRITE_LATE] = {"write_late", "by", "by", false,
		"the write is done, and its answer comes later; the tape continues meanwhile",
		FAULT_AT_WRITES},
	[FAULT_RESTART] = {"restart", "", "", false,
		"the command is killed, and started again when it is over", FAULT_AT_COMMAND},
	[FAULT_PAUSE] = {"pause", "until_quiet", "", false, "the tape's clock stands still",
		FAULT_AT_NOTHING},
	[FAULT_NOTHING] = {"nothing", "", "", true, "nothing by itself", FAULT_AT_NOTHING},
};

int fault_word_index(const char *words, struct slice word)
{
	int index = 0;

	for (const char *at = words; *at; index++) {
		size_t len = strcspn(at, " ");

		if (slice_equal((struct slice){at, len}, word))
			return index;
		at += len + (at[len] == ' ');
	}
	return -1;
}

static bool is_at(int act, enum fault_target target)
{
	return act >= 0 && act < FAULT_DO_COUNT && fault_what_shapes[act].target == target;
}

bool fault_ends_streams(int act)
{
	return is_at(act, FAULT_AT_WATCHES);
}

bool fault_answers_requests(int act)
{
	return is_at(act, FAULT_AT_REQUESTS) && fault_what_shapes[act].during;
}

bool fault_touches_frames(int act)
{
	return is_at(act, FAULT_AT_FRAMES);
}

bool fault_lasts(int act)
{
	return is_at(act, FAULT_AT_REQUESTS) || fault_touches_frames(act);
}

bool fault_strikes_writes(int act)
{
	return is_at(act, FAULT_AT_WRITES);
}

const char *fault_do_word(int act)
{
	return fault_what_shapes[act].word;
}
