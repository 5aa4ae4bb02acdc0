/*
 * recorder_offers.c: see recorder_internal.h. What the server offers: a stream for each thing to follow, at
 * the start and as CRDs come; the documents for the tape; the end of what is not offered any more.
 */
#include "recorder/recorder_internal.h"
#include "recorder/selection.h"
#include "schema/base/log.h"
#include "schema/tape/redact.h"

#include <sys/prctl.h>
#include <unistd.h>

/* That a server is waited for is told that often. */
#define COMPLAIN_S 30
/* Discovery is asked again so often even if no CRD says so. */
#define DISCOVER_EVERY_S 300
/* ... and first after this time while something that was there answers 404. */
#define DISCOVER_MISSING_S 2
/* An API server makes the OpenAPI document of a new definition a second or two
 * after it offers its resource. */
#define DISCOVER_AGAIN_S 5

/* ---- the tape ---- */

int recorder_open_tape(struct recorder *r, struct err *err)
{
	int rc = tape_writer_open(r->o->tape_path, &r->tape_options, &r->tape, err);

	if (rc)
		return rc;
	r->resumed = !tape_writer_is_new(r->tape);
	flusher_set_tape(r->x.flusher, r->tape);
	pinner_resume(r->x.pinner);
	if (r->resumed)
		rc = restart_cluster(r->o->tape_path, r->cluster_uid, err);
	return rc;
}

/* ---- streams ---- */

/* The digest key is made only when there is something to keep out of the tape; and of a process that has it
 * in its memory no core dump is made. */
static int prepare_redaction(struct recorder *r, const struct catalog_resource *resource)
{
	if (r->o->keep_secrets || r->redactor || !redactor_concerns(resource->group, resource->resource))
		return 0;
	if (!r->o->core_dumps)
		prctl(PR_SET_DUMPABLE, 0);
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
	int rc;

	if (!flusher_tape(r->x.flusher) && (rc = recorder_open_tape(r, err)))
		return rc;
	if ((rc = note_cluster(r, result->cluster_uid, err)) ||
		(rc = discovery_save(r->discovery, flusher_tape(r->x.flusher), err)) < 0 ||
		(rc = discovery_account(r->discovery, flusher_tape(r->x.flusher), err)))
		return rc;
	if (r->resumed && (rc = openapi_resume(r->openapi, err)))
		return rc;
	rc = add_streams(r, choice);
	if (rc)
		return rc;
	if (r->resumed && r->o->all &&
		(rc = restart_vanished(r->o->tape_path, result->catalog, add_stream, r, err)))
		return rc;
	if (r->resumed && (rc = restart_load(&r->x, r->streams, r->stream_count, err)))
		return rc;
	/* A disk that takes nothing at all is told now, while a person is looking. */
	rc = tape_writer_commit(flusher_tape(r->x.flusher), err);
	if (rc)
		return rc;
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
static int recorder_offers_begin(struct recorder *r, const struct discovery_result *result)
{
	struct catalog_choice choice = {0};
	int rc;

	selection_doubt_excludes(r->o, result->catalog);
	rc = selection_resources(r->o, result->catalog, &choice, &r->err);
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
		recorder_stop(r, err);
	else if (recorder_offers_begin(r, result))
		recorder_stop(r, &r->err);
	r->discovered_mono_ns = clock_mono_ns(r->x.clock);
}

void recorder_discover_first(uv_timer_t *timer)
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

/* Of what was asked for by name something may be gone. */
static int add_new_streams(struct recorder *r, const struct catalog *catalog)
{
	struct catalog_choice choice = {0};
	struct err why = {0};
	int rc = selection_resources(r->o, catalog, &choice, &why);

	if (rc == 0)
		rc = add_streams(r, &choice);
	else if (rc == ERR_NOT_FOUND)
		rc = 0;
	else
		err_copy(&r->err, &why);
	catalog_choice_release(&choice);
	return rc;
}

/* In its version. */
static bool is_offered(const struct catalog *catalog, const struct stream *s)
{
	return catalog_find_version(catalog, stream_group(s), stream_version(s), stream_resource(s));
}

/* What answers 404 and is not offered any more in its version is gone, and its objects with it: if there is another version,
 * its stream has them. */
static int end_vanished(struct recorder *r, const struct catalog *catalog)
{
	for (size_t i = 0; i < r->stream_count; i++) {
		struct stream *s = r->streams[i];

		stream_note_offer(s, is_offered(catalog, s));
		if (stream_is_missing(s) && !is_offered(catalog, s) && stream_vanished(s, &r->err))
			return r->err.code;
	}
	return 0;
}

/* Of a resource that is followed the cluster has another version now. */
static bool has_other_version(const struct recorder *r, const struct catalog *catalog)
{
	for (size_t i = 0; i < r->stream_count; i++) {
		const struct stream *s = r->streams[i];

		if (!is_offered(catalog, s) && catalog_has(catalog, stream_group(s), stream_resource(s)))
			return true;
	}
	return false;
}

static void on_discovery(void *context, const struct discovery_result *result, const struct err *err)
{
	struct recorder *r = context;
	size_t known = r->stream_count;
	int changed;

	if (r->state == RECORDER_STOPPED)
		return;
	if (err->code) {
		if (discovery_account(r->discovery, flusher_tape(r->x.flusher), &r->err))
			recorder_stop(r, &r->err);
		return;
	}
	r->new_cluster = false;
	if (note_cluster(r, result->cluster_uid, &r->err)) {
		recorder_stop(r, &r->err);
		return;
	}
	changed = discovery_save(r->discovery, flusher_tape(r->x.flusher), &r->err);
	if (changed < 0 || discovery_account(r->discovery, flusher_tape(r->x.flusher), &r->err) ||
		end_vanished(r, result->catalog)) {
		recorder_stop(r, &r->err);
		return;
	}
	openapi_update(r->openapi, discovery_document(r->discovery, OPENAPI_INDEX));
	restart_streams_of_new_cluster(r);
	if (changed == 0)
		return;
	flusher_dirty(r->x.flusher);
	if ((r->o->all || has_other_version(r, result->catalog)) && add_new_streams(r, result->catalog)) {
		recorder_stop(r, &r->err);
		return;
	}
	for (size_t i = 0; i < r->stream_count; i++) {
		if (i >= known)
			stream_start(r->streams[i]);
		else if (stream_is_refused(r->streams[i]))
			stream_kick(r->streams[i]);
	}
}

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

/* Long enough to ask again: twice as long each time, as there are servers that offer what they do not have. */
static bool is_missing_for_long(struct recorder *r, bool missing, int64_t age)
{
	if (!missing)
		r->missing_ns = DISCOVER_MISSING_S * NS_PER_S;
	if (!missing || age <= r->missing_ns)
		return false;
	r->missing_ns = 2 * r->missing_ns < DISCOVER_EVERY_S * NS_PER_S ? 2 * r->missing_ns
									: DISCOVER_EVERY_S * NS_PER_S;
	return true;
}

void recorder_look_for_offers(struct recorder *r, bool missing)
{
	int64_t now = clock_mono_ns(r->x.clock), age = now - r->discovered_mono_ns;

	if (offers_changed(r)) {
		r->discover_soon = r->discover_again = true;
	} else if (r->discover_again && age > DISCOVER_AGAIN_S * NS_PER_S) {
		r->discover_soon = true;
		r->discover_again = false;
	}
	if (is_missing_for_long(r, missing || discovery_lacks_groups(r->discovery), age))
		r->discover_soon = true;
	if (!r->discover_soon && age <= DISCOVER_EVERY_S * NS_PER_S)
		return;
	r->discover_soon = !discovery_run(r->discovery, on_discovery, r);
	r->discovered_mono_ns = now;
}
