/* stream_watch.c: see stream.h. One watch: its frames, its end, and what follows. */
#include "recorder/stream_internal.h"

#include "recorder/discovery.h"
#include "recorder/placement.h"
#include "schema/base/limits.h"
#include "schema/base/log.h"
#include "schema/base/rv.h"

/* As client-go's reflectors draw it. */
#define MIN_TIMEOUT_S 300
/* A watch that stood for this long without an ERROR is one. */
#define SETTLE_NS (1 * NS_PER_S)
/* A 410 so soon after a list is not answered by the next list at once. */
#define JUST_LISTED_NS (5 * NS_PER_S)
/* Watches that end sooner, and how many of them in a row are asked for again at once. */
#define SHORT_NS  (1 * NS_PER_S)
#define SHORT_MAX 3
/* Servers whose versions go back that often do not order them at all. */
#define MAX_BACKWARDS 3

/* So long a watch tells how busy the resource is. */
#define MEASURED_NS (20 * NS_PER_S)

/* What take_frame returns to end the stream. */
#define END_STREAM (-1)

/* ---- frames ---- */

static int bad_frame(struct stream *s, struct slice line, const char *why)
{
	struct watch *w = &s->watch;

	w->bad_frame = true;
	snprintf(w->tail_reason, sizeof(w->tail_reason), "%s", why);
	stream_keep_bad(s, line);
	return END_STREAM;
}

static int put_mark(struct stream *s, enum mark_kind kind, struct slice rv, struct slice object,
	int64_t time_ns, struct err *err)
{
	struct tape_mark mark = {.time_ns = time_ns,
		.kind = kind,
		.stream = s->id,
		.connection = s->connection.row.id,
		.rv = rv,
		.object = object};

	return stream_put_mark(s, &mark, err);
}

static int went_backwards(struct stream *s, const struct watch_frame *frame)
{
	char why[256];

	snprintf(why, sizeof(why), "resourceVersion of %s went back from %s to %.*s", s->name, s->resume.rv,
		(int)frame->meta.rv.len, frame->meta.rv.ptr);
	if (++s->backwards_count > MAX_BACKWARDS) {
		s->unordered = true;
		return 0;
	}
	s->watch.backwards = s->new_epoch = true;
	s->x->suspect(s->x->owner, why);
	return END_STREAM;
}

static int take_bookmark(struct stream *s, const struct watch_frame *frame, int64_t time_ns, struct err *err)
{
	struct slice last = slice_of(s->resume.rv);
	int rc;

	s->saw_bookmark = true;
	s->connection.row.bookmarks++;
	rc = put_mark(s, MARK_BOOKMARK, frame->meta.rv, frame->object, time_ns, err);
	if (rc)
		return rc;
	if (!frame->meta.rv.len)
		return 0;
	if (rv_valid(frame->meta.rv) && rv_valid(last) && rv_compare(frame->meta.rv, last) < 0 &&
		!s->unordered)
		return went_backwards(s, frame);
	resume_set(&s->resume, frame->meta.rv);
	return 0;
}

static int take_error(struct stream *s, const struct watch_frame *frame, int64_t time_ns, struct err *err)
{
	int rc = stream_take_error(s, frame->object, err);

	if (rc)
		return rc;
	s->error_count++;
	return put_mark(s, MARK_ERROR, frame->meta.rv, buf_slice(&s->watch.error), time_ns, err);
}

/* The state that we know already, delivered again (another server of the cluster, a watch without RV). */
static bool is_known(const struct stream *s, enum event_type type, const struct object_meta *m)
{
	struct known_object known;

	return type != EVENT_DELETED && known_get(s->ingest.known, m->namespace, m->name, &known) &&
	       slice_equal(known.uid, m->uid) && slice_equal(known.rv, m->rv);
}

static int take_event(struct stream *s, enum event_type type, const struct watch_frame *frame,
	int64_t time_ns, struct err *err)
{
	const struct object_meta *m = &frame->meta;
	const struct ingest_object o = {
		.type = type, .origin = ORIGIN_WATCH, .time_ns = time_ns, .meta = m, .bytes = frame->object};
	enum resume_verdict verdict = resume_judge(&s->resume, type, m->uid, m->rv);
	int rc;

	if (verdict == RESUME_REPEAT || is_known(s, type, m)) {
		s->x->counters.repeats++;
		return 0;
	}
	if (verdict == RESUME_BACKWARD && !s->unordered && went_backwards(s, frame))
		return END_STREAM;
	rc = ingest_put(&s->ingest, &o, &s->connection, err);
	if (rc)
		return rc;
	s->watch_events++;
	resume_event(&s->resume, type, m->uid, m->rv);
	return 0;
}

/* A line that begins inside an object may have anything for its type. */
static int unknown_type(const struct stream *s, struct slice type, struct err *err)
{
	if (stream_conceals(s))
		return err_set(err, ERR_PROTOCOL, "unknown event type");
	return err_set(
		err, ERR_PROTOCOL, "unknown event type '%.*s'", type.len < 40 ? (int)type.len : 40, type.ptr);
}

static int dispatch(struct stream *s, const struct watch_frame *frame, int64_t time_ns, struct err *err)
{
	enum event_type type;

	if (slice_is(frame->type, "BOOKMARK"))
		return take_bookmark(s, frame, time_ns, err);
	if (slice_is(frame->type, "ERROR"))
		return take_error(s, frame, time_ns, err);
	if (!event_type_parse(frame->type, &type))
		return unknown_type(s, frame->type, err);
	return take_event(s, type, frame, time_ns, err);
}

struct arrival {
	struct stream *stream;
	int64_t time_ns;
};

static int take_frame(void *context, struct slice line)
{
	const struct arrival *arrival = context;
	struct stream *s = arrival->stream;
	struct watch_frame frame;
	struct err err = {0};
	int rc;

	if (s->watch.error.len) /* nothing that follows an ERROR counts */
		return 0;
	rc = json_scan_frame(line, &frame, &err);
	if (rc == 0 && (!frame.type.len || !frame.object.len))
		rc = err_set(&err, ERR_PROTOCOL, "frame has no type or no object");
	if (rc == 0)
		rc = dispatch(s, &frame, arrival->time_ns, &err);
	if (rc == 0) {
		s->watch.frame_count++;
		if (!s->watch.settled && !s->watch.error.len)
			stream_settle(s);
		return 0;
	}
	if (s->watch.backwards)
		return END_STREAM;
	if (err.code == ERR_PROTOCOL || err.code == ERR_TOO_LARGE)
		return bad_frame(s, line, err.text);
	stream_fatal(s, &err);
	return END_STREAM;
}

/* ---- the request ---- */

static void on_header(void *context, const struct http_answer *answer)
{
	struct stream *s = context;

	if (answer->status != 200)
		return;
	stream_enter(s, STREAM_WATCHING);
	s->watch.open_mono_ns = s->watch.last_byte_mono_ns = clock_mono_ns(s->x->clock);
	stream_set_timer(s, SETTLE_NS / NS_PER_MS);
}

/* One that is not whole, and will not be. */
static int drop_frame(struct stream *s, const char *why)
{
	int rc = bad_frame(s, frames_tail(&s->watch.frames), why);

	frames_release(&s->watch.frames);
	stream_hold(s);
	return rc;
}

static int on_body(void *context, struct slice bytes, int64_t time_ns)
{
	struct stream *s = context;
	struct arrival arrival = {s, time_ns};
	struct err err = {0};
	int rc;

	moderation_count(s->x->moderation);
	if (s->state != STREAM_WATCHING) /* the body of an error */
		return buf_append(&s->body, bytes.ptr, bytes.len, NULL);
	s->watch.last_byte_mono_ns = clock_mono_ns(s->x->clock);
	rc = frames_feed(&s->watch.frames, bytes, take_frame, &arrival, &err);
	if (rc == ERR_TOO_LARGE && !s->watch.bad_frame) {
		err_set(&err, rc, "event is larger than %u bytes", LIMIT_OBJECT_BYTES);
		return drop_frame(s, err.text);
	}
	if (!stream_hold(s) && rc == 0) {
		err_set(&err, ERR_TOO_LARGE, "unfinished events of all resources are larger than %u bytes",
			LIMIT_UNFINISHED_BYTES);
		return drop_frame(s, err.text);
	}
	return rc;
}

static void on_done(void *context, const struct http_answer *answer)
{
	stream_watch_ended(context, answer);
}

static int make_target(struct stream *s, struct buf *target, struct err *err)
{
	int rc = buf_printf(target, err, "%s?allowWatchBookmarks=true", s->path);

	if (rc == 0)
		rc = stream_add_selectors(s, target, err);
	if (rc == 0)
		rc = buf_printf(target, err, "&resourceVersion=");
	if (rc == 0)
		rc = http_escape(resume_point(&s->resume), target, err);
	return rc ? rc
		  : buf_printf(target, err, "&timeoutSeconds=%jd&watch=true%c",
			    (intmax_t)s->watch.timeout_seconds, 0);
}

/* What a huge frame took is given back. */
static void reset_watch(struct watch *w)
{
	buf_release(&w->frames.partial);
	buf_release(&w->bad);
	buf_release(&w->error);
	w->frame_count = 0;
	w->suspicious = w->settled = w->bad_frame = w->backwards = w->stalled = false;
	w->timeout_seconds = MIN_TIMEOUT_S + (int64_t)(recorder_chance() * MIN_TIMEOUT_S);
}

static double expected_rate(const struct stream *s)
{
	return s->rate_known ? s->rate : placement_guess(s->group, s->resource, known_count(s->ingest.known));
}

static int begin_row(struct stream *s, const char *target, struct err *err)
{
	const struct connection_start start = {.stream = s->id,
		.purpose = "watch",
		.target = target,
		.start_rv = resume_point(&s->resume),
		.timeout_seconds = s->watch.timeout_seconds};

	return connection_begin(&s->connection, s->x, &start, err);
}

void stream_begin_watch(struct stream *s)
{
	const struct http_handler handler = {on_header, on_body, on_done, s};
	struct buf target;
	struct err err;
	int rc;

	reset_watch(&s->watch);
	stream_hold(s);
	buf_clear(&s->body);
	buf_init(&target, LIMIT_REQUEST_HEAD_BYTES);
	rc = make_target(s, &target, &err);
	if (rc == 0)
		rc = begin_row(s, target.ptr, &err);
	if (rc == 0) {
		stream_enter(s, STREAM_OPENING);
		s->request = http_watch(s->x->http, target.ptr, expected_rate(s), &handler);
	} else {
		stream_fatal(s, &err);
	}
	buf_release(&target);
}

void stream_settle(struct stream *s)
{
	bool had_trouble = s->trouble.attempts > 0;
	struct err err;

	if (s->watch.settled || s->watch.error.len)
		return;
	s->watch.settled = true;
	s->overtaken = false;
	backoff_reset(&s->backoff);
	s->error_count = 0;
	if (had_trouble)
		notices_say(s->x->notices, clock_mono_ns(s->x->clock), LOG_LEVEL_INFO, s->name,
			s->gap.row.id ? "watching again, nothing was missed" : "watching again", "");
	if (gap_end(&s->gap, s->x, "rewatch", s->connection.row.start_rv, s->connection.row.id, &err)) {
		stream_fatal(s, &err);
		return;
	}
	stream_tell_settled(s);
}

/* ---- the end ---- */

/* A last line without line feed is an event all the same when it is a whole one. */
static void take_tail(struct stream *s, const struct http_answer *answer)
{
	struct slice tail = frames_tail(&s->watch.frames);
	struct arrival arrival = {s, clock_wall_ns(s->x->clock)};
	struct watch_frame frame;

	if (!tail.len || s->watch.bad_frame || answer->curl_code || json_scan_frame(tail, &frame, NULL))
		return;
	if (take_frame(&arrival, tail) == 0)
		buf_clear(&s->watch.frames.partial);
}

static bool says_too_large(struct slice status)
{
	static const char word[] = "ResourceVersionTooLarge";

	return status.len && memmem(status.ptr, status.len, word, sizeof(word) - 1);
}

/* Of the ERROR event, -1 when it has none; 0 when there was no such event. */
static int error_code(struct stream *s)
{
	long code = s->watch.error.len ? status_body_number(buf_slice(&s->watch.error), "$.code") : 0;

	return s->watch.error.len && code == 0 ? -1 : (int)code;
}

/* A server closes a connection that nobody has used for a while, and our request was on its way. It is as
 * good as not asked, and there is nothing to wait for; but twice in a row is no chance. */
static bool note_overtaken(struct stream *s, const struct http_answer *answer)
{
	bool before = s->overtaken;

	s->overtaken = !answer->status && answer->goaway && !answer->h2_error;
	return s->overtaken && !before;
}

/* Whether it is one of several in a row that stood, and not for long. */
static bool note_short(struct stream *s, const struct http_answer *answer)
{
	if (s->watch.settled)
		s->short_count = answer->duration_ns < SHORT_NS ? s->short_count + 1 : 0;
	return s->short_count > SHORT_MAX;
}

static struct followup stream_watch_judge(
	struct stream *s, const struct http_answer *answer, const char *error_reason)
{
	struct slice error = buf_slice(&s->watch.error);
	const struct watch_outcome outcome = {
		.settled = s->watch.settled,
		.short_again = note_short(s, answer),
		.bad_frame = s->watch.bad_frame,
		.backwards = s->watch.backwards,
		.overtaken = note_overtaken(s, answer),
		.http_status = answer->status,
		.error_code = error_code(s),
		.error_reason = error.len ? error_reason : NULL,
		.rv_too_large = says_too_large(error),
		.errors = s->error_count,
		.just_listed = clock_mono_ns(s->x->clock) - s->listed_mono_ns < JUST_LISTED_NS,
	};
	struct followup next = followup_watch(&outcome);

	if (next.history_lost && resume_expired(&s->resume))
		next = (struct followup){FOLLOW_WATCH, PACE_NOW, false};
	return next;
}

static const char *reason_of(struct stream *s, const struct http_answer *answer, const char *error_reason,
	char to[END_REASON_BYTES])
{
	const struct end_facts facts = {
		.is_watch = true,
		.stalled = s->watch.stalled,
		.bad_frame = s->watch.bad_frame,
		.own_stop = s->watch.backwards,
		.error_code = error_code(s),
		.error_reason = error_reason,
		.http_status = answer->status,
		.sent = answer->sent,
		.curl_code = answer->curl_code,
		.os_errno = answer->os_errno,
		.goaway = answer->goaway,
		.h2_error = answer->h2_error,
		.tail_bytes = frames_tail(&s->watch.frames).len,
		.duration_ns = answer->duration_ns,
		.timeout_seconds = s->watch.timeout_seconds,
	};

	if (answer->status == 404 && s->listed)
		return "resource_gone";
	return end_reason(to, &facts);
}

/* Retry-After of the header, or of the Status in the stream. */
static int wanted_delay(const struct stream *s, const struct http_answer *answer)
{
	if (answer->retry_after_s > 0 || !s->watch.error.len)
		return answer->retry_after_s;
	return (int)status_body_number(buf_slice(&s->watch.error), "$.details.retryAfterSeconds");
}

/* Why the watch ended, in the words of who ended it. */
static void explain_end(
	const struct stream *s, const struct http_answer *answer, char to[STATUS_MESSAGE_BYTES])
{
	struct slice status = s->watch.error.len ? buf_slice(&s->watch.error) : buf_slice(&s->body);

	*to = 0;
	if (status.len)
		status_body_message(status, answer->status, to);
	else if (!s->watch.backwards)
		snprintf(to, STATUS_MESSAGE_BYTES, "%.*s", STATUS_MESSAGE_BYTES - 1,
			s->watch.bad_frame ? s->watch.tail_reason : answer->error);
}

static void tell_trouble(
	struct stream *s, const struct http_answer *answer, const char *reason, int64_t delay)
{
	char message[STATUS_MESSAGE_BYTES], wait[TIME_TEXT_BYTES], what[NOTICE_KIND_BYTES];
	char detail[STATUS_MESSAGE_BYTES + 64 + TROUBLE_TEXT_BYTES], text[TROUBLE_TEXT_BYTES];
	int64_t now = clock_mono_ns(s->x->clock);
	const char *since;

	if (!trouble_note(&s->trouble, now, reason))
		return;
	explain_end(s, answer, message);
	since = trouble_text(&s->trouble, now, text);
	snprintf(what, sizeof(what), "watch ended: %s", reason);
	snprintf(detail, sizeof(detail), "%s%strying again in %s%s%s", message, *message ? "; " : "",
		duration_format(wait, delay), *since ? "; " : "", since);
	notices_say(s->x->notices, now, LOG_LEVEL_WARN, s->name, what, detail);
}

/* For a stream that goes on with a tape the first watch is what the first list is for others. */
static void tell_refused(struct stream *s, const struct http_answer *answer)
{
	struct err err;

	(void)discovery_explain(s->x->http, answer, buf_slice(&s->body), &err);
	err_prefix(&err, err.code, "cannot watch %s", s->name);
	stream_tell_refused(s, answer, &err);
}

static int note_gap(struct stream *s, const char *reason, const struct followup *next, struct err *err)
{
	gap_begin(&s->gap, s->x, s->id, reason, s->resume.rv, s->connection.row.id);
	/* The first attempt after a watch is no news; one that fails is. */
	return s->watch.settled || next->pace == PACE_NOW ? 0 : gap_write(&s->gap, s->x, err);
}

/* What it brought a second is what is expected of the next one. */
static void measure_rate(struct stream *s, const struct http_answer *answer)
{
	if (!s->watch.settled || answer->duration_ns < MEASURED_NS)
		return;
	s->rate = (double)s->watch.frame_count * NS_PER_S / (double)answer->duration_ns;
	s->rate_known = true;
}

static void count_reconnect(struct stream *s)
{
	if (s->watch.settled)
		s->x->counters.reconnects++;
}

/* A watch from a resourceVersion that the server has not reached yet says nothing at all: one that ended
 * without a frame, and not by an accident, is followed by a probe. */
static bool was_silent(const struct stream *s, const struct http_answer *answer, const struct followup *next)
{
	const struct watch *w = &s->watch;

	return w->settled && w->frame_count == 0 && next->step == FOLLOW_WATCH && answer->status == 200 &&
	       (answer->curl_code == 0 || w->stalled);
}

void stream_watch_ended(struct stream *s, const struct http_answer *answer)
{
	struct watch *w = &s->watch;
	char reason_text[END_REASON_BYTES], error_reason[STATUS_REASON_BYTES] = "";
	struct connection_end end = {.last_rv = s->resume.rv};
	struct followup next;
	bool is_silent;
	struct err err;

	uv_timer_stop(&s->timer);
	s->request = NULL;
	take_tail(s, answer);
	stream_conceal_answer(s);
	status_body_reason(buf_slice(&w->error), error_reason);
	end.reason = reason_of(s, answer, error_reason, reason_text);
	stream_note_status(s, answer);
	next = stream_watch_judge(s, answer, error_reason);
	is_silent = was_silent(s, answer, &next);
	end.next_delay_ns = stream_plan(s, &next, wanted_delay(s, answer));
	end.next_action = is_silent ? "probe" : followup_word(&next, false);
	end.tail = stream_tail(s);
	end.error_status = w->error.len ? buf_slice(&w->error) : buf_slice(&s->body);
	if (end.next_delay_ns > 0)
		tell_trouble(s, answer, end.reason, end.next_delay_ns);
	if (stream_is_refused(s))
		tell_refused(s, answer);
	count_reconnect(s);
	measure_rate(s, answer);
	if (note_gap(s, end.reason, &next, &err) ||
		connection_end(&s->connection, s->x, answer, &end, &err)) {
		stream_fatal(s, &err);
		return;
	}
	if (is_silent)
		stream_begin_probe(s);
	else
		stream_go(s, &next, end.next_delay_ns);
}
