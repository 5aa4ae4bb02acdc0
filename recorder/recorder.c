/*
 * recorder.c: see recorder.h. The loop: it finds out what the server offers, starts a stream for each thing
 * to follow, makes the tape durable at each tick, looks once a second after everything that may have fallen
 * silent, and stops in order.
 *
 *   DISCOVERING --catalog--> STARTING --every first list--> RECORDING --signal, time--> STOPPED
 */
#include "recorder/recorder.h"

#include "recorder/context.h"
#include "recorder/discovery.h"
#include "recorder/flusher.h"
#include "schema/tape/redact.h"
#include "recorder/restart.h"
#include "recorder/selection.h"
#include "recorder/status.h"
#include "schema/base/log.h"
#include "schema/tape/reader.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* That a server is waited for is told that often. */
#define COMPLAIN_S 30
/* Discovery is asked again so often even if no CRD says so. */
#define DISCOVER_EVERY_S 300
#define CHECK_MS         1000

enum recorder_state { RECORDER_DISCOVERING, RECORDER_STARTING, RECORDER_RECORDING, RECORDER_STOPPED };

struct recorder {
	const struct recorder_options *o;
	struct recorder_context x;
	enum recorder_state state;
	uv_loop_t loop;
	uv_signal_t signals[2], rotate;
	uv_timer_t check, limit, retry;
	struct cluster_config *cluster;
	struct discovery *discovery;
	struct redactor *redactor;
	struct tape_writer *tape; /* while a flush runs it is not ours: see flusher_tape */
	struct stream **streams;
	size_t stream_count, settled, refused;
	struct status status;
	struct notices notices;
	struct moderation moderation;
	bool resumed, made_tape; /* the tape was there already, or was made by this run */
	bool new_cluster;        /* and is of another cluster */
	bool discover_soon;      /* a CRD or an APIService changed */

	uint64_t removed_segments; /* by retention, as told last */
	uint64_t offer_events;     /* of CRDs and APIServices, when last looked at */
	char cluster_uid[CLUSTER_UID_BYTES];
	int64_t begin_mono_ns, discovered_mono_ns, complained_mono_ns;
	bool by_signal, was_ready;
	struct err err; /* why it gave up */
};

static void stop(struct recorder *r, const struct err *err)
{
	if (r->state == RECORDER_STOPPED)
		return;
	if (err && err->code)
		r->err = *err;
	r->state = RECORDER_STOPPED;
	uv_stop(&r->loop);
}

/* ---- the tape ---- */

static int open_tape(struct recorder *r, struct err *err)
{
	int rc;

	r->resumed = access(r->o->tape_path, F_OK) == 0;
	r->made_tape = !r->resumed;
	rc = tape_writer_open(r->o->tape_path, &r->o->tape, &r->tape, err);
	if (rc)
		return rc;
	flusher_set_tape(r->x.flusher, r->tape);
	if (r->resumed)
		rc = restart_cluster(r->o->tape_path, r->cluster_uid, err);
	return rc;
}

/* ---- streams ---- */

static void look_ready(struct recorder *r)
{
	if (r->state != RECORDER_STARTING || r->settled + r->refused < r->stream_count)
		return;
	/* What is said to be on the tape has to be there. */
	if (flusher_now(r->x.flusher) || r->state != RECORDER_STARTING)
		return;
	r->state = RECORDER_RECORDING;
	r->was_ready = true;
	if (r->o->ready)
		r->o->ready(r->settled);
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
static void on_refused(void *owner, struct stream *s, int status, const struct err *err)
{
	struct recorder *r = owner;
	bool may_change = status == 403 || status == 404;
	bool is_final = status == 400 || status == 401 || status == 405 || status == 406 || status == 422;
	struct err told = *err;

	if (r->state != RECORDER_STARTING || (!may_change && !is_final))
		return;
	err_prefix(&told, "cannot list %s", stream_name(s));
	if (is_final || r->refused + 1 >= r->stream_count) {
		stop(r, &told);
		return;
	}
	log_warn("%s; trying again from time to time", told.text);
	r->refused++;
	look_ready(r);
}

static void on_fatal(void *owner, const struct err *err)
{
	stop(owner, err);
}

/* The digest key is made only when there is something to keep out of the tape. */
static int prepare_redaction(struct recorder *r, const struct catalog_resource *resource)
{
	if (r->o->keep_secrets || r->redactor || !redactor_concerns(resource->group, resource->resource))
		return 0;
	if (redactor_open(r->o->tape_path, &r->redactor, &r->err))
		return r->err.code;
	r->x.redactor = r->redactor;
	return 0;
}

static int add_stream(void *context, const struct stream_spec *spec)
{
	struct recorder *r = context;
	struct stream *s;

	if (prepare_redaction(r, spec->resource))
		return r->err.code;
	if (stream_new(&r->x, spec, &s, &r->err))
		return r->err.code;
	for (size_t i = 0; i < r->stream_count; i++) {
		if (stream_id(r->streams[i]) == stream_id(s)) {
			stream_free(s);
			return 0;
		}
	}
	r->streams = xrealloc(r->streams, (r->stream_count + 1) * sizeof(struct stream *));
	r->streams[r->stream_count++] = s;
	return 0;
}

static int add_streams(struct recorder *r, const struct catalog_choice *choice)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < choice->count; i++)
		rc = selection_streams(r->o, choice->items[i], add_stream, r);
	http_expect_watches(r->x.http, r->stream_count);
	return rc;
}

/* ---- discovery ---- */

static int note_cluster(struct recorder *r, const char *uid, struct err *err)
{
	bool is_other = *r->cluster_uid && *uid && strcmp(uid, r->cluster_uid) != 0;
	int rc = 0;

	if (is_other) {
		log_warn("this is another cluster than before: namespace kube-system has UID %s, had %s", uid,
			r->cluster_uid);
		rc = tape_writer_epoch(
			flusher_tape(r->x.flusher), uid, "another cluster answers at this address", err);
		r->new_cluster = true;
	} else if (!*r->cluster_uid && *uid) {
		rc = tape_writer_epoch(flusher_tape(r->x.flusher), uid, "start", err);
	}
	if (*uid)
		snprintf(r->cluster_uid, sizeof(r->cluster_uid), "%s", uid);
	return rc;
}

static int begin_with(
	struct recorder *r, const struct discovery_result *result, const struct catalog_choice *choice)
{
	struct err *err = &r->err;

	if (!flusher_tape(r->x.flusher) && open_tape(r, err))
		return err->code;
	if (note_cluster(r, result->cluster_uid, err) ||
		discovery_save(r->discovery, flusher_tape(r->x.flusher), err) < 0)
		return err->code;
	if (add_streams(r, choice))
		return err->code;
	if (r->resumed && restart_load(&r->x, r->streams, r->stream_count, err))
		return err->code;
	/* A disk that takes nothing at all is told now, while a person is looking. */
	if (tape_writer_flush(flusher_tape(r->x.flusher), err))
		return err->code;
	r->state = RECORDER_STARTING;
	for (size_t i = 0; i < r->stream_count && r->state == RECORDER_STARTING; i++) {
		if (r->new_cluster)
			stream_new_epoch(r->streams[i]);
		stream_start(r->streams[i]);
	}
	flusher_dirty(r->x.flusher);
	return 0;
}

/* Names that mean nothing are told before there is a tape. */
static int begin(struct recorder *r, const struct discovery_result *result)
{
	struct catalog_choice choice = {0};
	int rc = selection_resources(r->o, result->catalog, &choice, &r->err);

	if (rc == 0)
		rc = begin_with(r, result, &choice);
	catalog_choice_release(&choice);
	return rc;
}

static void on_first_discovery(void *context, const struct discovery_result *result, const struct err *err)
{
	struct recorder *r = context;

	if (r->state != RECORDER_DISCOVERING)
		return;
	if (err->code == ERR_NETWORK && r->o->wait) {
		int64_t now = clock_mono_ns(r->x.clock);

		if (!r->complained_mono_ns || now - r->complained_mono_ns > COMPLAIN_S * NS_PER_S) {
			log_warn("%s; waiting for it", err->text);
			r->complained_mono_ns = now;
		}
		uv_timer_start(&r->retry, r->retry.timer_cb, 1000, 0);
		return;
	}
	if (err->code)
		stop(r, err);
	else if (begin(r, result))
		stop(r, &r->err);
	r->discovered_mono_ns = clock_mono_ns(r->x.clock);
}

static void discover_first(uv_timer_t *timer)
{
	struct recorder *r = timer->data;

	discovery_run(r->discovery, on_first_discovery, r);
}

static void restart_streams_of_new_cluster(struct recorder *r)
{
	if (!r->new_cluster)
		return;
	r->new_cluster = false;
	for (size_t i = 0; i < r->stream_count; i++)
		stream_new_epoch(r->streams[i]);
}

static int add_new_streams(struct recorder *r, const struct catalog *catalog)
{
	struct catalog_choice choice = {0};
	int rc = selection_resources(r->o, catalog, &choice, &r->err);

	if (rc == 0)
		rc = add_streams(r, &choice);
	catalog_choice_release(&choice);
	return rc;
}

static void on_discovery(void *context, const struct discovery_result *result, const struct err *err)
{
	struct recorder *r = context;
	size_t known = r->stream_count;
	int changed;

	if (r->state == RECORDER_STOPPED || err->code)
		return;
	r->new_cluster = false;
	if (note_cluster(r, result->cluster_uid, &r->err)) {
		stop(r, &r->err);
		return;
	}
	changed = discovery_save(r->discovery, flusher_tape(r->x.flusher), &r->err);
	if (changed < 0) {
		stop(r, &r->err);
		return;
	}
	restart_streams_of_new_cluster(r);
	if (changed == 0)
		return;
	flusher_dirty(r->x.flusher);
	if (r->o->all && add_new_streams(r, result->catalog)) {
		stop(r, &r->err);
		return;
	}
	for (size_t i = 0; i < r->stream_count; i++) {
		if (i >= known)
			stream_start(r->streams[i]);
		else if (stream_is_refused(r->streams[i]))
			stream_kick(r->streams[i]);
	}
}

static void on_suspect(void *owner, const char *why)
{
	struct recorder *r = owner;

	log_warn("%s", why);
	if (tape_writer_epoch(flusher_tape(r->x.flusher), r->cluster_uid, why, &r->err))
		stop(r, &r->err);
	r->discover_soon = true;
}

/* ---- once a second ---- */

/* The streams of CRDs and of APIServices say when the server offers something else than before. */
static bool offers_changed(struct recorder *r)
{
	uint64_t events = 0;
	bool changed;

	for (size_t i = 0; i < r->stream_count; i++) {
		const char *resource = stream_resource(r->streams[i]);

		if (strcmp(resource, "customresourcedefinitions") == 0 ||
			strcmp(resource, "apiservices") == 0)
			events += stream_watch_events(r->streams[i]);
	}
	changed = events != r->offer_events;
	r->offer_events = events;
	return changed;
}

static void tell_removed(struct recorder *r)
{
	struct tape_writer_stats stats;

	tape_writer_stats(flusher_tape(r->x.flusher), &stats);
	if (stats.removed_segments > r->removed_segments)
		log_info("removed the oldest segments, %ju so far, to keep the tape within its limits",
			(uintmax_t)stats.removed_segments);
	r->removed_segments = stats.removed_segments;
}

static void on_check(uv_timer_t *timer)
{
	struct recorder *r = timer->data;
	int64_t now = clock_mono_ns(r->x.clock);
	size_t watched = 0;

	if (r->state != RECORDER_STARTING && r->state != RECORDER_RECORDING)
		return;
	for (size_t i = 0; i < r->stream_count; i++) {
		stream_check(r->streams[i]);
		watched += stream_is_watched(r->streams[i]);
	}
	notices_tick(&r->notices, now);
	tell_removed(r);
	look_ready(r); /* a disk that was full when the last list came may have got room */
	r->discover_soon |= offers_changed(r);
	if (r->discover_soon || now - r->discovered_mono_ns > DISCOVER_EVERY_S * NS_PER_S) {
		r->discover_soon = !discovery_run(r->discovery, on_discovery, r);
		r->discovered_mono_ns = now;
	}
	status_draw(&r->status, &r->x, r->stream_count, watched);
}

/* ---- beginning and end ---- */

static void on_signal(uv_signal_t *handle, int number)
{
	struct recorder *r = handle->data;

	(void)number;
	r->by_signal = true;
	stop(r, NULL);
}

static void on_rotate(uv_signal_t *handle, int number)
{
	struct recorder *r = handle->data;

	(void)number;
	if (!flusher_tape(r->x.flusher))
		return;
	log_info("beginning a new segment");
	tape_writer_rotate(flusher_tape(r->x.flusher));
	flusher_dirty(r->x.flusher);
}

static void on_limit(uv_timer_t *timer)
{
	stop(timer->data, NULL);
}

static void set_up(struct recorder *r)
{
	uv_timer_t *timers[] = {&r->check, &r->limit, &r->retry};
	static const int numbers[] = {SIGINT, SIGTERM};
	const struct flusher_options flushing = {
		.interval_ns = r->o->flush_interval_ns, .fatal = on_fatal, .owner = r};

	signal(SIGPIPE, SIG_IGN);
	uv_loop_init(&r->loop);
	for (size_t i = 0; i < sizeof(timers) / sizeof(timers[0]); i++) {
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
	r->x = (struct recorder_context){
		.loop = &r->loop,
		.tape_path = r->o->tape_path,
		.clock = r->o->tape.clock ? r->o->tape.clock : &clock_system,
		.retry_delay_ns = r->o->retry_delay_ns,
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
	status_init(&r->status);
}

static void run_loop(struct recorder *r)
{
	uv_timer_start(&r->retry, discover_first, 0, 0);
	uv_timer_start(&r->check, on_check, CHECK_MS, CHECK_MS);
	if (r->o->duration_ns)
		uv_timer_start(&r->limit, on_limit, (uint64_t)(r->o->duration_ns / NS_PER_MS), 0);
	uv_run(&r->loop, UV_RUN_DEFAULT);
}

static void sum_up(struct recorder *r, struct recorder_summary *ret)
{
	const struct recorder_counters *c = &r->x.counters;
	struct tape_writer_stats stats = {0};

	if (flusher_tape(r->x.flusher))
		tape_writer_stats(flusher_tape(r->x.flusher), &stats);
	*ret = (struct recorder_summary){
		.was_ready = r->was_ready,
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
	return r->err.code && r->made_tape && !r->was_ready && r->x.counters.events == 0;
}

/* Nothing but what this run made. */
static void remove_tape(const struct recorder *r)
{
	DIR *folder = opendir(r->o->tape_path);
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		if (entry->d_type != DT_DIR)
			unlinkat(dirfd(folder), entry->d_name, 0);
	}
	if (folder)
		closedir(folder);
	rmdir(r->o->tape_path);
}

/* Streams are stopped and the tape closed before anything that may take its time. */
static int shut_down(struct recorder *r, struct err *err)
{
	int rc = 0;

	r->state = RECORDER_STOPPED;
	notices_tick(&r->notices, INT64_MAX);
	status_clear();
	for (size_t i = 0; i < r->stream_count; i++)
		stream_stop(r->streams[i], "client_stop");
	if (flusher_tape(r->x.flusher))
		rc = tape_writer_close(flusher_tape(r->x.flusher), err);
	for (size_t i = 0; i < r->stream_count; i++)
		stream_free(r->streams[i]);
	free(r->streams);
	flusher_free(r->x.flusher);
	discovery_free(r->discovery);
	http_free(r->x.http);
	uv_walk(&r->loop, close_handle, NULL);
	uv_run(&r->loop, UV_RUN_DEFAULT);
	uv_loop_close(&r->loop);
	if (never_began(r)) {
		remove_tape(r);
		redactor_discard(r->redactor);
	}
	redactor_close(r->redactor);
	cluster_config_free(r->cluster);
	return rc;
}

/* What the tape takes once it is sealed; sealing makes it smaller. */
static uint64_t stored_bytes(const char *tape_path, uint64_t fallback)
{
	struct tape_info info;
	struct tape *t;
	int failed;

	if (tape_open(tape_path, &t, NULL))
		return fallback;
	failed = tape_info(t, &info, NULL);
	tape_close(t);
	return failed ? fallback : info.disk_bytes;
}

int recorder_run(const struct recorder_options *options, struct recorder_summary *ret, struct err *err)
{
	struct recorder r = {.o = options};
	int rc;

	*ret = (struct recorder_summary){0};
	rc = kubeconfig_load(&options->cluster, &r.cluster, err);
	if (rc)
		return rc;
	set_up(&r);
	/* A tape that cannot be gone on with is told before the cluster is asked anything. */
	if (access(options->tape_path, F_OK) != 0 || open_tape(&r, &r.err) == 0)
		run_loop(&r);
	sum_up(&r, ret);
	rc = shut_down(&r, err);
	ret->disk_bytes = stored_bytes(options->tape_path, ret->disk_bytes);
	if (r.err.code) {
		*err = r.err;
		return r.err.code;
	}
	return rc;
}
