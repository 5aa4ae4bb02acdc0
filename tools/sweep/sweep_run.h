/* sweep_run.h: one run of a sweep: its files, its process, and its result. See sweep.h. */
#ifndef TOOLS_SWEEP_RUN_H
#define TOOLS_SWEEP_RUN_H

#include "schema/base/clock.h"
#include "tools/sweep/sweep_report.h"

#define SWEEP_JOBS_MAX 64

/* The options that all runs share. */
struct sweep_options {
	const struct command *replay; /* what a run is */
	const char *tape;
	char **child;
	const char *speed, *from, *until; /* as of `replay`; the last two may be NULL */
	struct text_list writes;
	struct sweep_recorded recorded; /* is left to the program in the runs that are laid over */
	int64_t settle_ns, timeout_ns;
	int64_t lockstep_ns; /* 0: none */
	struct text_list invariants;
	const struct compare_rules *ignored; /* of sweep_ignored.h; NULL: none */
	struct text_list made_up;            /* stems of sweep_made_up.h; owned */
	const char *probe;                   /* NULL: none */
	const char *in_cluster;              /* as of `replay`; NULL: the command has a KUBECONFIG */
	bool plain, kill, gc, rebase_time;
};

enum sweep_stage {
	SWEEP_FIRST,
	SWEEP_AGAIN,   /* what goes wrong once may have been unlucky */
	SWEEP_CONTROL, /* the same place, with a cut that nobody can mind */
	SWEEP_NARROW,  /* less of the same place */
	SWEEP_REPEAT,  /* what is reported, some more times */
	SWEEP_OVER,    /* nothing more is to run: no slot is in it */
};

/* A place where one can run. */
struct sweep_slot {
	struct sweep_try *of; /* NULL: without a gap */
	enum sweep_stage stage;
	size_t number;      /* of a run without a gap, and of SWEEP_REPEAT */
	const char *faults; /* for --gaps, instead of `of` and its file; NULL: those */
	bool laid_over;     /* with --write overlay */
	bool quick;         /* with a short --settle */
	bool paced;         /* in lock-step, so that each write is the answer to one event */
	int64_t begun_ns;   /* monotonic; 0: nobody asks */
	int64_t settle_ns;  /* of a run without a gap, in place of --settle; 0: --settle */
	struct sweep_alarm {
		char *line;       /* owned: the invariant that does not hold; NULL: all do */
		int64_t since_ns; /* monotonic */
		uint64_t seq;     /* where that was seen */
		bool is_told;     /* for long enough to end the run */
	} broken;
	int64_t changed_ns,
		looked_ns; /* of sweep_look.c: when its run file had changed, as of the last look, and as
					  of the last question */
};

struct sweep_runs {
	struct sweep_options options;
	int64_t quick_ns;       /* of a short --settle */
	int64_t start_ns;       /* the longest that the program took to start */
	int64_t longest_ns;     /* that a run lasted which was to be quiet for --settle at most */
	int64_t pace_ns;        /* of lock-step: for which the program has asked for nothing */
	char *folder, *watches; /* owned; for --wait-watchers */
	char *secrets_key;      /* owned: in the folder */
	struct sweep_job job[SWEEP_JOBS_MAX];
	struct sweep_slot slot[SWEEP_JOBS_MAX];
};

#define SWEEP_AWAITED_NAME "awaited.txt"
#define SWEEP_KEY_NAME                                                                                       \
	"secrets.key" /* for the values of Secrets in all runs, if the tape has none; goes into no store */

/* Whether a file of that name is one that sweeps write into their folder, and into a store. */
bool sweep_is_file(const char *name);

/* Makes the folder. NULL: one that is not there yet, named after the tape. One that is named must not hold an
 * earlier sweep: ERR_USAGE. */
int sweep_folder_prepare(struct sweep_runs *s, const char *folder, struct err *err) MUST_CHECK;

/* Makes the key in that folder, unless the tape has one: runs at the same time must not. */
int sweep_key_prepare(struct sweep_runs *s, struct err *err) MUST_CHECK;

/* FOLDER/NAME.suffix of what runs in that slot; the caller frees. */
char *sweep_run_file(const struct sweep_runs *s, const struct sweep_slot *slot, const char *suffix);
/* The fault file of what runs there; the caller frees. */
char *sweep_slot_faults(const struct sweep_runs *s, const struct sweep_slot *slot);
/* For how long it must be quiet at the end if it is tried again; NULL: without a gap. */
int64_t sweep_try_settle(const struct sweep_runs *s, const struct sweep_try *try);
/* For how long it must be quiet at the end. */
int64_t sweep_slot_settle(const struct sweep_runs *s, const struct sweep_slot *slot);
/* The time that each event has there; 0: it is not in lock-step, and they follow one another at once. */
int64_t sweep_slot_lockstep(const struct sweep_runs *s, const struct sweep_slot *slot);
/* Its run file and its output are not needed any more. */
void sweep_run_remove(const struct sweep_runs *s, const struct sweep_slot *slot);
/* Of a try that was run again: its files replace those of the first time. */
void sweep_run_take_place(const struct sweep_runs *s, const struct sweep_slot *slot);

/* Starts the run in that slot. */
int sweep_run_start(struct sweep_runs *s, size_t at, struct err *err) MUST_CHECK;
/* Its result, after its end; the caller releases. */
int sweep_run_read(struct sweep_runs *s, size_t at, struct sweep_answer *ret, struct err *err) MUST_CHECK;
/* Tape and run file of what has run in that slot, for SQL; the caller closes, also after a failure. */
int sweep_run_session(const struct sweep_runs *s, const struct sweep_slot *slot, struct sql_session **ret,
	struct err *err) MUST_CHECK;

/* How many of them go side by side, as the first one tells: it used time of processors, and others left some; `own` is how many
 * this process may use. At least that many. In sweep_pace.c. */
size_t sweep_jobs_fit(const struct sweep_job *first, size_t own);

#endif
