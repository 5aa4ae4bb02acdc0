/*
 * stream.h: one resource followed, in one namespace or in all: listed by pages, then watched from the list's
 * resourceVersion, for ever, through every kind of end.
 *
 *            start (nothing on the tape)           start (continues a tape) 
 *                    |                                      |
 *                    v           list complete              v
 *       +------> LISTING --------------------------->   OPENING <---------+
 *       |          |  ^                                  |     \          |
 *       |   failed |  | next page                 header |      \ failed  |
 *       |          v  |                                  v       \        |
 *       |        WAITING <------- end, back off --- WATCHING      \       |
 *       |          |                                |   |  \       v      |
 *       +----------+------- 410, nonsense ----------+   |   +-> WAITING --+
 *                                                       |                 |
 *                          end without a single frame   v    it is alive  |
 *                                                    PROBING -------------+
 *   any state -> STOPPED (stream_stop)
 *
 * Every transition goes through stream_enter in stream.c.
 */
#ifndef RECORDER_STREAM_H
#define RECORDER_STREAM_H

#include "recorder/context.h"
#include "recorder/known.h"
#include "recorder/resume.h"
#include "schema/base/catalog.h"

struct stream_spec {
	const struct catalog_resource *resource;
	const char *namespace, *label_selector, *field_selector; /* "" for none */
};

/* Makes the stream known to the tape. Strings are copied. The context is borrowed. */
int stream_new(struct recorder_context *x, const struct stream_spec *spec, struct stream **ret,
	struct err *err) MUST_CHECK;

/* The stream must be stopped. The loop must run once more before it is closed. NULL is fine. */
void stream_free(struct stream *s);

/* When continuing a tape: fill both, then say since when nobody watched. */
struct known *stream_known(struct stream *s);
struct resume *stream_resume(struct stream *s);
struct stream_pause {
	int64_t begin_ns;   /* wall clock of the end of its own last watch */
	uint64_t begin_seq; /* the last event on the tape by then */
	uint64_t open_gap;  /* id of a gap that was open already, with its own beginning; 0 none */
	const char *reason, *from_rv;
	uint64_t connection_before;
};
void stream_resumes(struct stream *s, const struct stream_pause *pause);

void stream_start(struct stream *s);

/* Aborts what runs, with that end reason ("client_stop", "resource_gone"). */
void stream_stop(struct stream *s, const char *reason);

/* To be called about once a second: gives up connections that have been silent for too long. */
void stream_check(struct stream *s);

/* Retries now instead of after its delay: a refused resource may exist by now. */
void stream_kick(struct stream *s);

/* The server answered 404 and the tape still has live objects of it. When discovery says the same, call
 * stream_vanished: their deletion is recorded as inferred, in a gap that lasts until the resource is back. */
bool stream_is_missing(const struct stream *s);
int stream_vanished(struct stream *s, struct err *err) MUST_CHECK;

/* What discovery said last. A stream that answers 404 and is not offered any more is gone. */
void stream_note_offer(struct stream *s, bool is_offered);

/* This is another life of the cluster: forget where we were and list. */
void stream_new_epoch(struct stream *s);

/* For observers; strings are borrowed. */
struct stream_figures {
	const char *group, *resource, *namespace;
	uint64_t events, bytes, objects, gaps;
	bool listed,
		settled; /* its list is on the tape, of now or before; it has stood since this recorder began */
	bool watched;
	bool gone;                 /* the server does not have it any more */
	int64_t last_byte_mono_ns; /* while watched */
	/* In a row, and why; 0 if the last one was good. */
	uint64_t failed_attempts;
	int64_t failing_since_mono_ns;
	const char *failure;
};
struct stream_figures stream_figures(const struct stream *s);

uint32_t stream_id(const struct stream *s);
const char *stream_name(const struct stream *s); /* "pods", "deployments.apps", "pods in 'x'" */
const char *stream_group(const struct stream *s);
const char *stream_resource(const struct stream *s);
const char *stream_version(const struct stream *s);
uint64_t stream_watch_events(const struct stream *s); /* recorded from watches */
bool stream_is_refused(const struct stream *s);       /* the last attempt met 401, 403 or 404 */

#endif
