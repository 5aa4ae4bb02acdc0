/* stream.c: see stream.h. The states, the delays and the life of a stream. */
#include "recorder/stream_internal.h"

#include "schema/base/count_of.h"
#include "schema/base/limits.h"
#include "schema/base/log.h"
#include "schema/tape/redact.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/random.h>

/* A resource with bookmarks gives a byte a minute; silence for this long means that nobody is there. */
#define STALL_NS (150 * NS_PER_S)
/* Without bookmarks only the time-out that was asked for tells. */
#define OVERDUE_NS (30 * NS_PER_S)
/* The server ends the stream after an ERROR; one that does not is left after this long. */
#define ERROR_LINGER_NS (5 * NS_PER_S)

double recorder_chance(void)
{
	uint32_t bits = 0;

	if (getrandom(&bits, sizeof(bits), 0) != sizeof(bits))
		return 0.5;
	return bits / 4294967296.0;
}

static const char *state_name(enum stream_state state)
{
	static const char *const names[] = {
		[STREAM_IDLE] = "idle",
		[STREAM_LISTING] = "listing",
		[STREAM_OPENING] = "opening",
		[STREAM_WATCHING] = "watching",
		[STREAM_PROBING] = "probing",
		[STREAM_WAITING] = "waiting",
		[STREAM_STOPPED] = "stopped",
	};

	return names[state];
}

void stream_enter(struct stream *s, enum stream_state state)
{
	if (s->state == state)
		return;
	log_debug("%s: %s -> %s", s->name, state_name(s->state), state_name(state));
	s->state = state;
}

void stream_fatal(struct stream *s, const struct err *err)
{
	s->x->fatal(s->x->owner, err);
}

void stream_tell_settled(struct stream *s)
{
	trouble_end(&s->trouble);
	s->refusal = 0;
	if (s->told_settled)
		return;
	s->told_settled = true;
	s->x->settled(s->x->owner, s);
}

void stream_tell_refused(struct stream *s, const struct http_answer *answer, const struct err *err)
{
	if (s->told_settled || s->told_refused || !answer->status)
		return;
	s->told_refused = stream_is_refused(s);
	s->x->refused(s->x->owner, answer->status, err);
}

bool stream_hold(struct stream *s)
{
	size_t bytes = s->watch.frames.partial.cap + s->listing.page.pending.cap;

	return share_set(&s->unfinished, &s->x->unfinished, bytes);
}

void stream_note_status(struct stream *s, const struct http_answer *answer)
{
	bool refused = answer->status == 401 || answer->status == 403 || answer->status == 404;

	s->refusal = refused ? answer->status : 0;
}

static void take_step(struct stream *s, enum followup_step step)
{
	if (step == FOLLOW_LIST)
		stream_begin_list(s);
	else
		stream_begin_watch(s);
}

/* A timer that comes while the tape is being flushed comes again that much later. */
#define BUSY_MS 5

static void on_timer(uv_timer_t *timer)
{
	struct stream *s = timer->data;

	if (flusher_is_busy(s->x->flusher)) { /* the loop has sockets to empty meanwhile */
		uv_timer_start(timer, on_timer, BUSY_MS, 0);
		return;
	}
	if (s->state == STREAM_WAITING)
		take_step(s, s->step);
	else if (s->state == STREAM_WATCHING)
		stream_settle(s);
}

void stream_set_timer(struct stream *s, uint64_t ms)
{
	uv_timer_start(&s->timer, on_timer, ms, 0);
}

int64_t stream_plan(struct stream *s, const struct followup *f, int retry_after_s)
{
	if (f->pace == PACE_NOW)
		return 0;
	return backoff_next(&s->backoff, clock_mono_ns(s->x->clock), recorder_chance(), f->pace == PACE_SLOW,
		retry_after_s);
}

void stream_go(struct stream *s, const struct followup *f, int64_t delay_ns)
{
	s->step = f->step;
	if (delay_ns <= 0) {
		take_step(s, f->step);
		return;
	}
	stream_enter(s, STREAM_WAITING);
	uv_update_time(s->x->loop); /* a timer counts from there, and a server's wish is no less than that */
	/* libuv's clock drops the part of a millisecond: one more, so as never to come too early. */
	stream_set_timer(s, (uint64_t)(delay_ns / NS_PER_MS) + 1);
}

static int add_parameter(struct buf *target, const char *name, const char *value, struct err *err)
{
	int rc;

	if (!*value)
		return 0;
	rc = buf_printf(target, err, "&%s=", name);
	return rc ? rc : http_escape(value, target, err);
}

int stream_add_selectors(struct stream *s, struct buf *target, struct err *err)
{
	int rc = add_parameter(target, "fieldSelector", s->field_selector, err);

	if (rc)
		return rc;
	return add_parameter(target, "labelSelector", s->label_selector, err);
}

/* ---- life ---- */

static char *make_path(const struct stream *s)
{
	bool is_core = *s->group == 0, everywhere = *s->namespace == 0;

	return xasprintf("%s%s/%s%s%s/%s", is_core ? "/api" : "/apis/", s->group, s->version,
		everywhere ? "" : "/namespaces/", s->namespace, s->resource);
}

static char *make_name(const struct stream *s)
{
	return xasprintf("%s%s%s%s%s", s->resource, *s->group ? "." : "", s->group,
		*s->namespace ? " in " : "", s->namespace);
}

static int register_stream(struct stream *s, const struct catalog_resource *r, struct err *err)
{
	struct tape_resource resource = {.apigroup = s->group,
		.version = s->version,
		.resource = s->resource,
		.kind = r->kind,
		.namespaced = r->namespaced};
	struct tape_stream stream = {.namespace = s->namespace,
		.label_selector = s->label_selector,
		.field_selector = s->field_selector};
	int rc = tape_writer_resource(flusher_tape(s->x->flusher), &resource, &s->resource_id, err);

	stream.resource = s->resource_id;
	return rc ? rc : tape_writer_stream(flusher_tape(s->x->flusher), &stream, &s->id, err);
}

static void free_strings(struct stream *s)
{
	char *strings[] = {s->group, s->version, s->resource, s->kind, s->namespace, s->label_selector,
		s->field_selector, s->api_version, s->path, s->name};

	for (size_t i = 0; i < COUNT_OF(strings); i++)
		free(strings[i]);
}

int stream_new(
	struct recorder_context *x, const struct stream_spec *spec, struct stream **ret, struct err *err)
{
	const struct catalog_resource *r = spec->resource;
	struct stream *s = xcalloc(1, sizeof(*s));
	int rc;

	s->x = x;
	s->group = xstrdup(r->group);
	s->version = xstrdup(r->version);
	s->resource = xstrdup(r->resource);
	s->kind = xstrdup(r->kind);
	s->api_version = xasprintf("%s%s%s", r->group, *r->group ? "/" : "", r->version);
	s->namespace = xstrdup(r->namespaced ? spec->namespace : "");
	s->label_selector = xstrdup(spec->label_selector);
	s->field_selector = xstrdup(spec->field_selector);
	s->path = make_path(s);
	s->name = make_name(s);
	rc = register_stream(s, r, err);
	if (rc) {
		free_strings(s);
		free(s);
		return rc;
	}
	s->backoff.base_ns = x->retry_delay_ns;
	ingest_init(&s->ingest, x, s->id,
		&(struct tape_resource){
			s->resource_id, s->group, s->version, s->resource, s->kind, r->namespaced},
		redactor_concerns(r->group, r->resource));
	frames_init(&s->watch.frames);
	listing_init(&s->listing, &s->ingest, &s->gap,
		&(struct listing_target){s->resource_id, s->kind, s->api_version});
	buf_init(&s->watch.bad, LIMIT_OBJECT_BYTES);
	buf_init(&s->watch.error, LIMIT_OBJECT_BYTES);
	buf_init(&s->body, LIMIT_ERROR_BODY_BYTES);
	uv_timer_init(x->loop, &s->timer);
	s->timer.data = s;
	*ret = s;
	return 0;
}

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void stream_free(struct stream *s)
{
	if (!s)
		return;
	assert(!s->request);
	share_set(&s->unfinished, &s->x->unfinished, 0);
	listing_release(&s->listing);
	connection_release(&s->connection);
	ingest_release(&s->ingest);
	resume_release(&s->resume);
	frames_release(&s->watch.frames);
	buf_release(&s->watch.bad);
	buf_release(&s->watch.error);
	buf_release(&s->body);
	free_strings(s);
	uv_close((uv_handle_t *)&s->timer, on_closed);
}

void stream_resumes(struct stream *s, const struct stream_pause *pause)
{
	s->listed = true;
	gap_begin(&s->gap, s->x, s->id, pause->reason, pause->from_rv, pause->connection_before);
	s->gap.begin_mono_ns = -1;
	s->gap.row.begin_ns = pause->begin_ns;
	s->gap.row.begin_seq = pause->begin_seq;
	s->gap.row.id = pause->open_gap;
}

void stream_start(struct stream *s)
{
	struct err err;

	assert(s->state == STREAM_IDLE);
	if (!s->listed || !*resume_point(&s->resume)) {
		stream_begin_list(s);
		return;
	}
	if (gap_write(&s->gap, s->x, &err)) {
		stream_fatal(s, &err);
		return;
	}
	stream_begin_watch(s);
}

/* Ends the row of the running request, as far as it has come. */
static void end_running(struct stream *s, const char *reason, struct err *err)
{
	struct http_answer answer = http_answer_so_far(s->request);
	struct connection_end end = {.reason = reason,
		.tail = stream_tail(s),
		.last_rv = s->resume.rv,
		.next_action = "stop",
		.next_delay_ns = -1};

	if (connection_end(&s->connection, s->x, &answer, &end, err))
		stream_fatal(s, err);
	http_cancel(s->request);
	s->request = NULL;
}

void stream_stop(struct stream *s, const char *reason)
{
	uint64_t connection = s->connection.row.id;
	struct err err;

	uv_timer_stop(&s->timer);
	if (s->state == STREAM_WATCHING)
		gap_begin(&s->gap, s->x, s->id, reason, s->resume.rv, connection);
	if (s->request)
		end_running(s, reason, &err);
	listing_stop(&s->listing);
	stream_enter(s, STREAM_STOPPED);
}

static bool is_stalled(const struct stream *s, int64_t now)
{
	const struct watch *w = &s->watch;

	if (w->error.len)
		return now - w->last_byte_mono_ns > ERROR_LINGER_NS;
	if (s->saw_bookmark && now - w->last_byte_mono_ns > STALL_NS)
		return true;
	return now - w->open_mono_ns > w->timeout_seconds * NS_PER_S + OVERDUE_NS;
}

void stream_check(struct stream *s)
{
	struct http_request *running = s->request;
	bool was_suspicious = s->watch.suspicious;
	struct http_answer answer;

	s->watch.suspicious = s->state == STREAM_WATCHING && is_stalled(s, clock_mono_ns(s->x->clock));
	/* After a stop of the process, or of the machine, what came meanwhile is still in the socket: a
	 * second look, when the loop has read it, decides. */
	if (!s->watch.suspicious || !was_suspicious)
		return;
	answer = http_answer_so_far(running);
	s->watch.stalled = s->watch.error.len == 0;
	stream_watch_ended(s, &answer);
	http_cancel(running);
}

void stream_kick(struct stream *s)
{
	if (s->state == STREAM_WAITING)
		stream_set_timer(s, 0);
}

void stream_new_epoch(struct stream *s)
{
	const struct followup list = {FOLLOW_LIST, PACE_NOW, true};
	struct err err;

	if (s->state == STREAM_STOPPED)
		return;
	s->new_epoch = true;
	uv_timer_stop(&s->timer);
	if (s->request) {
		gap_begin(&s->gap, s->x, s->id, "epoch", s->resume.rv, s->connection.row.id);
		end_running(s, "client_stop", &err);
	}
	resume_forget(&s->resume);
	listing_stop(&s->listing);
	if (s->state == STREAM_IDLE)
		return;
	stream_go(s, &list, 0);
}

struct known *stream_known(struct stream *s)
{
	return s->ingest.known;
}

struct resume *stream_resume(struct stream *s)
{
	return &s->resume;
}

struct stream_figures stream_figures(const struct stream *s)
{
	return (struct stream_figures){
		.group = s->group,
		.resource = s->resource,
		.namespace = s->namespace,
		.events = s->ingest.events,
		.bytes = s->ingest.bytes,
		.objects = known_count(s->ingest.known),
		.gaps = s->gap.count,
		.listed = s->listed,
		.settled = s->told_settled,
		.watched = s->state == STREAM_WATCHING,
		.gone = s->is_withdrawn && s->refusal == 404,
		.last_byte_mono_ns = s->watch.last_byte_mono_ns,
		.failed_attempts = s->trouble.attempts,
		.failing_since_mono_ns = s->trouble.since_mono_ns,
		.failure = s->trouble.reason,
	};
}

uint32_t stream_id(const struct stream *s)
{
	return s->id;
}

const char *stream_name(const struct stream *s)
{
	return s->name;
}

const char *stream_group(const struct stream *s)
{
	return s->group;
}

const char *stream_resource(const struct stream *s)
{
	return s->resource;
}

uint64_t stream_watch_events(const struct stream *s)
{
	return s->watch_events;
}

const char *stream_version(const struct stream *s)
{
	return s->version;
}

void stream_note_offer(struct stream *s, bool is_offered)
{
	s->is_withdrawn = !is_offered;
}

bool stream_is_missing(const struct stream *s)
{
	return s->refusal == 404 && s->state == STREAM_WAITING && known_count(s->ingest.known) > 0;
}

int stream_vanished(struct stream *s, struct err *err)
{
	int rc;

	if (!stream_is_missing(s))
		return 0;
	gap_begin(&s->gap, s->x, s->id, "resource_gone", s->resume.rv, 0);
	rc = gap_write(&s->gap, s->x, err);
	if (rc)
		return rc;
	listing_begin(&s->listing, false);
	log_warn("%s: the server does not have it any more; %zu objects that the tape has are gone unseen",
		s->name, known_count(s->ingest.known));
	rc = listing_nothing(&s->listing, s->resume.rv, clock_wall_ns(s->x->clock), err);
	listing_stop(&s->listing);
	resume_forget(&s->resume);
	s->step = FOLLOW_LIST;
	flusher_dirty(s->x->flusher);
	return rc;
}

bool stream_is_refused(const struct stream *s)
{
	return s->refusal != 0;
}
