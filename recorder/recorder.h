/*
 * recorder.h: records a cluster into a tape until it is stopped.
 */
#ifndef RECORDER_RECORDER_H
#define RECORDER_RECORDER_H

#include "recorder/kubeconfig.h"
#include "recorder/pinner.h"
#include "recorder/push/pusher.h"
#include "schema/tape/writer.h"

struct recorder_options {
	struct kubeconfig_wishes cluster;
	const char *tape_path;
	const char **resources; /* names as kubectl takes them */
	size_t resource_count;
	bool all; /* everything that can be listed and watched */
	const char **namespaces;
	size_t namespace_count; /* 0: all namespaces */
	const char **excludes;
	size_t exclude_count;
	const char *label_selector, *field_selector; /* "" for none */
	int64_t duration_ns;                         /* 0: until a signal */
	bool lasts_from_ready;     /* ... counted from the last first list, not from the start */
	int64_t flush_interval_ns; /* how long an event may wait to become durable */
	int64_t rest_ns;           /* of the loop when much arrives, see moderation.h; 0: never */
	int64_t retry_delay_ns;    /* the first back-off; 0: as client-go's */
	bool wait;                 /* keep trying to reach the server at start */
	bool keep_secrets;
	bool core_dumps;     /* a crash may leave one although it holds values of Secrets */
	const char *metrics; /* where to serve them, see metrics_server.h; NULL: nowhere */
	struct pinner_options pins;
	unsigned log_lines;       /* to keep of containers that die, see last_words.h; 0: no logs */
	struct push_options push; /* url NULL: nowhere */
	int64_t push_limit_ns;    /* for how long to push the rest at the end */
	struct tape_writer_options tape;
	/* Every first list is on the tape. */
	void (*ready)(void *context, size_t stream_count);
	/* The tape is closed, and what is known of it will be pushed. May be NULL. */
	void (*closed)(void *context);
	void *context; /* of both */
};

struct recorder_summary {
	bool was_ready;                  /* every first list was on the tape */
	size_t streams, unlisted;        /* of them without a first list, nor a place to go on from */
	size_t unwatched;                /* of the others, that could not be watched at the end */
	uint64_t events, bytes, repeats; /* of this run */
	uint64_t gaps, hidden;           /* gaps that began in this run, differences that relists found */
	uint64_t reconnects, disk_bytes;
	int64_t duration_ns;
	bool stopped_by_signal;
	uint64_t ready_seq;             /* of the last event by then, when was_ready */
	int64_t ready_ns, ready_for_ns; /* wall clock; for how long after */
	bool unpushed;                  /* the store does not have all, for a reason that was logged */
	bool misplaced;                 /* the tape was removed or moved: it is not at its path */
};

/*
 * Runs until SIGINT, SIGTERM or the duration, then closes the tape; a second signal until then
 * kills, and one after it ends the last push. SIGHUP is one of them where there is a terminal to hang up; else it
 * begins a new segment, as SIGUSR1 does. Returns 0, or why
 * it gave up: at start everything that a person has to mend (ERR_USAGE, ERR_NOT_FOUND, ERR_NETWORK,
 * ERR_DENIED, ...); once it is recording only what makes the tape unusable. The summary is filled in either
 * case.
 */
int recorder_run(const struct recorder_options *options, struct recorder_summary *ret, struct err *err);

#endif
