/*
 * replayer.h: a replay from beginning to end: opens the tape, serves it, moves the clock, runs a child, and
 * ends on a signal, with the child, or with the tape.
 */
#ifndef REPLAYER_REPLAYER_H
#define REPLAYER_REPLAYER_H

#include "replayer/serve/ahead_policy.h"
#include "schema/base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct access_options;
struct await_rules;
struct viewer_golden;
struct write_rules;

struct replay_options {
	const char *tape;
	const char *listen;                  /* ADDR:PORT; NULL 127.0.0.1:0 */
	bool plain;                          /* no TLS */
	const struct access_options *access; /* whom to serve; its host is ignored */
	const char *kubeconfig;              /* NULL: a temporary file, removed at the end */
	double speed;                        /* SPEED_MAX or above 0 */
	const char *from;        /* NULL: where the first lists are complete; see schema/tape/position.h */
	const char *until;       /* NULL: the tape's end */
	int64_t wait_watchers;   /* the clock starts with this many watches; 0 at once */
	bool exit_at_end;        /* end with the tape; a child is asked to, unless settle_ns says when */
	int64_t settle_ns;       /* see settle.h; the child is ended when it is quiet at the end; 0: not */
	int64_t settle_limit_ns; /* for how long quiet is waited for; 0: for ever */
	int64_t step_ns;         /* of lock-step; 0: none */
	enum ahead_policy ahead; /* of versions ahead of the position */
	bool rebase_time;        /* times in objects are moved to now; see world/rebase.h */
	bool loop;               /* start again at the end */
	int64_t max_idle_ns;     /* longer silences are cut to this; 0: they stay */
	const char *seen_client; /* the client that gets again what it saw, see seen/seen.h; NULL: none */
	const char *seen_run;    /* the live run that it is in */
	const char *gaps;        /* "recorded", "none", or a fault file; NULL: recorded */
	const char **gap_specs;  /* further faults in the short form; see fault/gap_spec.h */
	size_t gap_spec_count;
	int64_t seed;                    /* of chance in faults; 0: as the file says */
	bool lenient;                    /* faults that strike nobody, and bounds outside the tape, are not
				failures */
	const char *run;                 /* the run file to make; NULL: none */
	const char *secrets_key;         /* a file with the key for Secrets in the run; NULL: see run.h */
	const char *report;              /* a file for the report as JSON; NULL: none */
	int64_t max_lateness_ns;         /* a later event makes the exit code 3; 0: no limit */
	const struct write_rules *rules; /* what becomes of writes */
	bool gc;                         /* dependents go with their owners; see write/collector.h */
	/* That the tape does not take away; see write/finalizer_hold.h. */
	const char *const *held_finalizers;
	size_t held_finalizer_count;
	/* That the tape takes away also where programs wrote them; see write/follow_tape.h. */
	const char *const *released_finalizers;
	size_t released_finalizer_count;
	const struct await_rules *awaited; /* what programs are to make; see write/awaited.h */
	size_t max_written;                /* bytes of memory for objects that they write; 0: any number */
	const char *probe;      /* a command for sh, when the child is quiet at the end; NULL: none */
	bool kill;              /* the child is ended by SIGKILL, when it is asked to */
	char **child;           /* terminated by NULL; NULL: none */
	const char *in_cluster; /* the namespace of the pod that the child is in; NULL: it has a KUBECONFIG */
	bool keys;              /* they work beside a child, which has no input then */

	/* Called once, when it accepts connections and the kubeconfig is complete; its failure ends the
	 * replay. */
	int (*serving)(void *context, const char *url, const char *control_url, const char *kubeconfig,
		struct err *err);
	bool view; /* also serve the page of view/viewer.h; `viewing` gets its address, before `serving` is
		called */
	const struct viewer_golden *golden; /* to show beside the run; NULL: none */
	int (*viewing)(void *context, const char *url, struct err *err);
	/* Called at the end with the report for people; NULL: nobody wants it. */
	void (*over)(void *context, const char *report);
	void *context;
};

/* Returns when the replay is over, with the exit code to give: the child's, or 0; 3 instead of 0 if an
 * event was later than allowed, a fault struck nobody, or clients were never quiet at the end. */
int replayer_run(const struct replay_options *options, int *ret_exit_code, struct err *err) MUST_CHECK;

#endif
