/* recorder_internal.h: what recorder.c, recorder_offers.c and recorder_metrics.c share. */
#ifndef RECORDER_RECORDER_INTERNAL_H
#define RECORDER_RECORDER_INTERNAL_H

#include "recorder/context.h"
#include "recorder/discovery.h"
#include "recorder/openapi.h"
#include "recorder/recorder.h"
#include "recorder/restart.h"
#include "recorder/status.h"

enum recorder_state { RECORDER_DISCOVERING, RECORDER_STARTING, RECORDER_RECORDING, RECORDER_STOPPED };

struct recorder {
	const struct recorder_options *o;
	struct recorder_context x;
	enum recorder_state state;
	uv_loop_t loop;
	uv_signal_t signals[2], rotate, hangup;
	uv_timer_t check, limit, retry;
	struct cluster_config *cluster;
	struct discovery *discovery;
	struct openapi *openapi;
	struct redactor *redactor;
	struct tape_writer *tape; /* while a flush runs it is not ours: see flusher_tape */
	struct stream **streams;
	size_t stream_count, settled, refused;
	struct metrics_server *metrics; /* NULL if not asked for */
	struct pusher *pusher;          /* the same */
	struct tape_writer_options tape_options;
	uint64_t pushed_segments; /* of the tape, when the pusher was woken last */
	struct status status;
	struct notices notices;
	struct moderation moderation;
	bool resumed;        /* the tape was there already */
	bool misplaced;      /* the tape is no longer where it was */
	bool new_cluster;    /* and is of another cluster */
	bool discover_soon;  /* a CRD or an APIService changed */
	bool discover_again; /* and its documents may follow later */
	int64_t missing_ns;  /* age of the last discovery at which the next one looks for what answers 404 */

	uint64_t rotated_seq; /* the tape's last event when a signal last asked for a new segment */
	uint64_t removed_segments, forced_segments; /* by retention, as reported last */
	uint64_t offer_events;                      /* of CRDs and APIServices, when last looked at */
	char cluster_uid[CLUSTER_UID_BYTES];
	uint64_t ready_seq;
	int64_t ready_ns, ready_mono_ns;
	int64_t begin_mono_ns, discovered_mono_ns, complained_mono_ns;
	bool by_signal, was_ready;
	struct err err; /* why it gave up */
};

/* Ends the loop, with the reason why it gives up, or NULL. */
void recorder_stop(struct recorder *r, const struct err *err);

/* recorder_offers.c */
int recorder_open_tape(struct recorder *r, struct err *err) MUST_CHECK;

/* Finds out what the server offers; then the streams start. For the timer `retry`. */
void recorder_discover_first(uv_timer_t *timer);

/* Once a second: asks again when it is time, or when something hints at a change. missing: a stream that had
 * objects is answered 404. */
void recorder_look_for_offers(struct recorder *r, bool missing);

/* recorder_metrics.c: listens where the options say, if they do. */
int recorder_serve_metrics(struct recorder *r, struct err *err) MUST_CHECK;

#endif
