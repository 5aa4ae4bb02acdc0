/*
 * recorder.c: see recorder.h. The loop: it makes the tape durable at each tick, looks once a second after
 * everything that may have fallen silent, and stops in order. What there is to follow is found out in
 * recorder_offers.c.
 *
 *   DISCOVERING --catalog--> STARTING --every first list--> RECORDING --signal, time--> STOPPED
 */
#include "recorder/descriptors.h"
#include "recorder/last_push.h"
#include "recorder/last_words.h"
#include "recorder/metrics_server.h"
#include "recorder/recorder_internal.h"
#include "schema/base/count_of.h"
#include "schema/base/limits.h"
#include "schema/base/log.h"
#include "schema/tape/reader.h"
#include "schema/tape/redact.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define CHECK_MS 1000

void recorder_stop(struct recorder *r, const struct err *err)
{
	if (r->state == RECORDER_STOPPED)
		return;
	if (err && err->code)
		r->err = *err;
	r->state = RECORDER_STOPPED;
	uv_stop(&r->loop);
}

/* ---- what streams tell ---- */

static void on_limit(uv_timer_t *timer)
{
	recorder_stop(timer->data, NULL);
}

static void note_ready(struct recorder *r)
{
	struct tape_writer_stats stats;

	tape_writer_stats(flusher_tape(r->x.flusher), &stats);
	r->ready_seq = stats.last_seq;
	r->ready_ns = clock_wall_ns(r->x.clock);
	r->ready_mono_ns = clock_mono_ns(r->x.clock);
	uv_update_time(&r->loop); /* it may have been busy: the time begins now */
	if (r->o->lasts_from_ready)
		uv_timer_start(&r->limit, on_limit, (uint64_t)(r->o->duration_ns / NS_PER_MS), 0);
}

static void doubt_logs(const struct recorder *r)
{
	for (size_t i = 0; i < r->stream_count; i++) {
		if (strcmp(stream_resource(r->streams[i]), "pods") == 0)
			return;
	}
	log_warn("no pods are recorded: '--logs' has nothing that tells of containers that die");
}

static void look_ready(struct recorder *r)
{
	if (r->state != RECORDER_STARTING || r->settled + r->refused < r->stream_count)
		return;
	/* What is said to be on the tape has to be there. */
	if (flusher_now(r->x.flusher) || r->state != RECORDER_STARTING)
		return;
	r->state = RECORDER_RECORDING;
	r->was_ready = true;
	note_ready(r);
	if (r->x.last_words)
		doubt_logs(r);
	if (r->o->ready)
		r->o->ready(r->o->context, r->settled);
	openapi_update(r->openapi, discovery_document(r->discovery, OPENAPI_INDEX));
}

static void on_settled(void *owner, struct stream *s)
{
	struct recorder *r = owner;

	r->settled++;
	if (r->state == RECORDER_RECORDING)
		notices_say(&r->notices, clock_mono_ns(r->x.clock), LOG_LEVEL_INFO, stream_name(s),
			"recording", "");
	look_ready(r);
}

/* A first list failed. At the start what only a person can mend ends the recording: wrong credentials, a
 * selector that makes no sense, no right to see anything at all. */
static void on_refused(void *owner, int status, const struct err *err)
{
	struct recorder *r = owner;
	bool may_change = status == 403 || status == 404;
	bool is_final = status == 400 || status == 401 || status == 405 || status == 406 || status == 422;

	if (r->state != RECORDER_STARTING || (!may_change && !is_final))
		return;
	if (is_final || r->refused + 1 >= r->stream_count) {
		recorder_stop(r, err);
		return;
	}
	log_warn("%s; trying again from time to time", err->text);
	r->refused++;
	look_ready(r);
}

static void on_fatal(void *owner, const struct err *err)
{
	recorder_stop(owner, err);
}

static void on_suspect(void *owner, const char *why)
{
	struct recorder *r = owner;

	log_warn("%s", why);
	if (tape_writer_epoch(flusher_tape(r->x.flusher), r->cluster_uid, why, &r->err))
		recorder_stop(r, &r->err);
	r->discover_soon = true;
}

/* ---- once a second ---- */

static void tell_removed(struct recorder *r)
{
	struct tape_writer_stats stats;

	tape_writer_stats(flusher_tape(r->x.flusher), &stats);
	if (stats.removed_segments > r->removed_segments)
		log_info("removed the oldest segments, %ju so far, to keep the tape within its limits",
			(uintmax_t)stats.removed_segments);
	r->removed_segments = stats.removed_segments;
	if (stats.forced_segments > r->forced_segments)
		log_warn("removed %ju segments that the store does not have, because the disk is full",
			(uintmax_t)stats.forced_segments);
	r->forced_segments = stats.forced_segments;
}

/* A segment more than before is one more that is sealed. */
static void push_sealed(struct recorder *r)
{
	struct tape_writer_stats stats;

	tape_writer_stats(flusher_tape(r->x.flusher), &stats);
	if (stats.segments + stats.removed_segments == r->pushed_segments)
		return;
	r->pushed_segments = stats.segments + stats.removed_segments;
	pusher_wake(r->pusher);
}

static void count_failing(struct status_streams *to, const struct stream *s, int64_t now)
{
	const struct stream_figures f = stream_figures(s);
	int64_t failing_ns = now - f.failing_since_mono_ns;

	to->total += !f.gone;
	to->watched += f.watched;
	if (!f.failed_attempts || f.gone)
		return;
	to->failing++;
	if (!to->failure || failing_ns > to->failing_ns) {
		to->failing_ns = failing_ns;
		to->failure = f.failure;
	}
}

static void on_check(uv_timer_t *timer)
{
	struct recorder *r = timer->data;
	struct status_streams streams = {0};
	int64_t now = clock_mono_ns(r->x.clock);
	bool missing = false;

	if (r->state != RECORDER_STARTING && r->state != RECORDER_RECORDING)
		return;
	if (flusher_is_busy(r->x.flusher)) /* the loop has sockets to empty: next time */
		return;
	for (size_t i = 0; i < r->stream_count; i++) {
		stream_check(r->streams[i]);
		count_failing(&streams, r->streams[i], now);
		missing |= stream_is_missing(r->streams[i]);
	}
	notices_tick(&r->notices, now);
	if (tape_writer_check_place(flusher_tape(r->x.flusher), &r->err)) {
		recorder_stop(r, &r->err);
		return;
	}
	tell_removed(r);
	push_sealed(r);
	look_ready(r); /* a disk that was full when the last list came may have got room */
	recorder_look_for_offers(r, missing);
	status_draw(&r->status, &r->x, &streams, r->pusher);
}

/* ---- beginning and end ---- */

static void on_signal(uv_signal_t *handle, int number)
{
	struct recorder *r = handle->data;

	(void)number;
	r->by_signal = true;
	recorder_stop(r, NULL);
}

static void on_rotate(uv_signal_t *handle, int number)
{
	struct recorder *r = handle->data;
	struct tape_writer_stats stats;

	(void)number;
	if (r->state == RECORDER_STOPPED || !flusher_tape(r->x.flusher))
		return;
	tape_writer_stats(flusher_tape(r->x.flusher), &stats);
	if (stats.last_seq == r->rotated_seq) {
		log_info("no new segment: no event has come since the last one was asked for");
		return;
	}
	r->rotated_seq = stats.last_seq;
	log_info("beginning a new segment");
	tape_writer_rotate(flusher_tape(r->x.flusher));
	flusher_dirty(r->x.flusher);
}

static bool store_has(void *pusher, uint32_t number)
{
	return pusher_has(pusher, number);
}

static int set_up_push(struct recorder *r, struct err *err)
{
	int rc;

	r->tape_options = r->o->tape;
	if (!r->o->push.url)
		return 0;
	rc = pusher_new(&r->o->push, &r->pusher, err);
	if (rc)
		return rc;
	r->tape_options.retention.may_go = store_has;
	r->tape_options.retention.context = r->pusher;
	return 0;
}

static bool has_terminal(void)
{
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* A terminal that is closed ends what ran in it. To a daemon SIGHUP says what SIGUSR1 says, and to a process under nohup
 * nothing. */
static void set_up_hangup(struct recorder *r)
{
	uv_signal_init(&r->loop, &r->hangup);
	r->hangup.data = r;
	if (signal(SIGHUP, SIG_IGN) == SIG_IGN)
		return;
	if (has_terminal())
		uv_signal_start_oneshot(&r->hangup, on_signal, SIGHUP);
	else
		uv_signal_start(&r->hangup, on_rotate, SIGHUP);
}

static void set_up(struct recorder *r)
{
	uv_timer_t *timers[] = {&r->check, &r->limit, &r->retry};
	static const int numbers[] = {SIGINT, SIGTERM};
	const struct flusher_options flushing = {
		.interval_ns = r->o->flush_interval_ns, .fatal = on_fatal, .owner = r};

	signal(SIGPIPE, SIG_IGN);
	uv_loop_init(&r->loop);
	for (size_t i = 0; i < COUNT_OF(timers); i++) {
		uv_timer_init(&r->loop, timers[i]);
		timers[i]->data = r;
	}
	for (size_t i = 0; i < 2; i++) {
		uv_signal_init(&r->loop, &r->signals[i]);
		r->signals[i].data = r;
		/* One signal asks; when it is not heard, the next one ends the process. */
		uv_signal_start_oneshot(&r->signals[i], on_signal, numbers[i]);
	}
	uv_signal_init(&r->loop, &r->rotate);
	r->rotate.data = r;
	uv_signal_start(&r->rotate, on_rotate, SIGUSR1);
	set_up_hangup(r);
	r->x = (struct recorder_context){
		.loop = &r->loop,
		.tape_path = r->o->tape_path,
		.clock = r->o->tape.clock ? r->o->tape.clock : &clock_system,
		.retry_delay_ns = r->o->retry_delay_ns,
		.unfinished = {.max_bytes = LIMIT_UNFINISHED_BYTES},
		.notices = &r->notices,
		.moderation = &r->moderation,
		.owner = r,

		.settled = on_settled,
		.refused = on_refused,
		.suspect = on_suspect,
		.fatal = on_fatal,
	};
	r->begin_mono_ns = clock_mono_ns(r->x.clock);
	moderation_init(&r->moderation, &r->loop, r->x.clock, r->o->rest_ns);
	r->x.http = http_new(&r->loop, r->x.clock, r->cluster);
	r->x.flusher = flusher_new(&r->loop, r->x.clock, r->x.http, &flushing);
	r->discovery = discovery_new(r->x.http);
	r->openapi = openapi_new(&r->x);
	r->x.last_words = r->o->log_lines ? last_words_new(&r->x, r->o->log_lines) : NULL;
	status_init(&r->status);
}

static void run_loop(struct recorder *r)
{
	uv_timer_start(&r->retry, recorder_discover_first, 0, 0);
	uv_timer_start(&r->check, on_check, CHECK_MS, CHECK_MS);
	if (r->o->duration_ns && !r->o->lasts_from_ready)
		uv_timer_start(&r->limit, on_limit, (uint64_t)(r->o->duration_ns / NS_PER_MS), 0);
	uv_run(&r->loop, UV_RUN_DEFAULT);
}

/* More than a connection that ended and is made again. */
static bool is_unwatched(const struct stream_figures *f)
{
	return f->listed && !f->gone && (f->failed_attempts > 1 || !f->settled);
}

static void count_unknown(const struct recorder *r, struct recorder_summary *to)
{
	for (size_t i = 0; i < r->stream_count; i++) {
		const struct stream_figures f = stream_figures(r->streams[i]);

		to->unlisted += !f.listed;
		to->unwatched += is_unwatched(&f);
	}
}

static void sum_up(struct recorder *r, struct recorder_summary *ret)
{
	const struct recorder_counters *c = &r->x.counters;
	struct tape_writer_stats stats = {0};

	if (flusher_tape(r->x.flusher))
		tape_writer_stats(flusher_tape(r->x.flusher), &stats);
	*ret = (struct recorder_summary){
		.was_ready = r->was_ready,
		.ready_seq = r->ready_seq,
		.ready_ns = r->ready_ns,
		.ready_for_ns = clock_mono_ns(r->x.clock) - r->ready_mono_ns,
		.streams = r->stream_count,
		.events = c->events,
		.bytes = c->bytes,
		.repeats = c->repeats,
		.gaps = c->gaps,
		.hidden = c->hidden,
		.reconnects = c->reconnects,
		.disk_bytes = stats.disk_bytes,
		.duration_ns = clock_mono_ns(r->x.clock) - r->begin_mono_ns,
		.stopped_by_signal = r->by_signal,
	};
	count_unknown(r, ret);
}

static void close_handle(uv_handle_t *handle, void *context)
{
	(void)context;
	if (!uv_is_closing(handle))
		uv_close(handle, NULL);
}

/* A recording that failed before anything was on the tape. */
static bool never_began(const struct recorder *r)
{
	return r->err.code && !r->resumed && !r->misplaced && !r->was_ready && r->x.counters.events == 0;
}

static int end_tape(struct recorder *r, struct err *err)
{
	struct tape_writer *tape = flusher_tape(r->x.flusher);

	r->misplaced = tape_writer_check_place(tape, NULL) != 0;
	if (!never_began(r))
		return tape_writer_close(tape, err);
	redactor_discard(r->redactor);
	tape_writer_discard(tape);
	return 0;
}

/* Streams are stopped and the tape closed before anything that may take its time. */
static int shut_down(struct recorder *r, struct err *err)
{
	int rc = 0;

	r->state = RECORDER_STOPPED;
	notices_tick(&r->notices, INT64_MAX);
	log_clear_status();
	for (size_t i = 0; i < r->stream_count; i++)
		stream_stop(r->streams[i], "client_stop");
	last_words_end(r->x.last_words);
	if (flusher_tape(r->x.flusher))
		rc = end_tape(r, err);
	for (size_t i = 0; i < r->stream_count; i++)
		stream_free(r->streams[i]);
	free(r->streams);
	last_words_free(r->x.last_words);
	metrics_server_close(r->metrics);
	flusher_free(r->x.flusher);
	discovery_free(r->discovery);
	openapi_free(r->openapi);
	http_free(r->x.http);
	pinner_finish(r->x.pinner, !r->misplaced);
	uv_walk(&r->loop, close_handle, NULL);
	uv_run(&r->loop, UV_RUN_DEFAULT);
	uv_loop_close(&r->loop);
	pinner_free(r->x.pinner);
	redactor_close(r->redactor);
	cluster_config_free(r->cluster);
	return rc;
}

/* The tape is closed, and so its last segment sealed. */
static void end_push(struct recorder *r, struct recorder_summary *ret)
{
	if (!r->pusher)
		return;
	if (r->tape && !r->misplaced && !never_began(r))
		pusher_wake(r->pusher);
	ret->unpushed = !last_push(r->pusher, r->misplaced ? 0 : r->o->push_limit_ns);
}

/* What the tape takes once it is sealed; sealing makes it smaller. */
static uint64_t stored_bytes(const char *tape_path, uint64_t fallback)
{
	struct tape_info info;
	struct tape *t;
	int rc;

	if (tape_open(tape_path, &t, NULL))
		return fallback;
	rc = tape_info(t, &info, NULL);
	tape_close(t);
	return rc ? fallback : info.disk_bytes;
}

int recorder_run(const struct recorder_options *options, struct recorder_summary *ret, struct err *err)
{
	struct recorder r = {.o = options};
	int rc;

	*ret = (struct recorder_summary){0};
	rc = descriptors_prepare(err);
	if (rc == 0)
		rc = set_up_push(&r, err);
	if (rc == 0)
		rc = kubeconfig_load(&options->cluster, &r.cluster, err);
	if (rc) {
		(void)!pusher_finish(r.pusher, NULL, NULL);
		return rc;
	}
	set_up(&r);
	/* A tape that cannot be gone on with is told before the cluster is asked anything. */
	if (pinner_new(&r.x, &options->pins, &r.x.pinner, &r.err) == 0 &&
		recorder_serve_metrics(&r, &r.err) == 0 &&
		(access(options->tape_path, F_OK) != 0 || recorder_open_tape(&r, &r.err) == 0))
		run_loop(&r);
	sum_up(&r, ret);
	rc = shut_down(&r, err);
	ret->misplaced = r.misplaced;
	if (options->closed)
		options->closed(options->context);
	end_push(&r, ret);
	if (!r.misplaced)
		ret->disk_bytes = stored_bytes(options->tape_path, ret->disk_bytes);
	return r.err.code ? err_copy(err, &r.err) : rc;
}
