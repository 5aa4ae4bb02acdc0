/* sweep_course.h: a running sweep: its options and its progress. See sweep.h. */
#ifndef TOOLS_SWEEP_COURSE_H
#define TOOLS_SWEEP_COURSE_H

#include "tools/sweep/sweep_merge.h"
#include "tools/sweep/sweep_run.h"
#include "tools/sweep/tried_options.h"

#define SWEEP_INVARIANTS_MAX 64

/* The options of the command line. */
struct sweep_values {
	const char *again, *probe, *junit, *sarif, *html;
	const char *shard;
	struct text_list faults, invariants, merge;
	int64_t budget_ns;
	bool kill;
	struct tried_values tried;
	const char *patterns, *at, *out, *from, *until, *hold, *await;
	struct text_list gaps, events;
	int64_t jobs, max, lockstep_ns, wait_watchers;
	bool json, gc, rebase_time;
};

struct sweep {
	const struct sweep_values *v;
	struct sweep_runs runs;
	struct sweep_search search;
	unsigned patterns, left_out;   /* bits; left out: for want of an answer that is always the same */
	char *why_left_out;            /* owned */
	struct compare_rules *ignored; /* what --ignore says; owned, NULL: nothing */
	struct sweep_measure asked;    /* what --compare says, and --ignore */
	struct sweep_shard shard;
	struct sweep_ground plain, laid_over; /* laid_over: known when something is tried on it */
	bool all_laid_over;                   /* everything is */
	struct sweep_slot paced;              /* number 0: no run in lock-step */
	struct sweep_positions positions;
	struct sweep_try *tries;
	size_t try_count, found, jobs;
	uint64_t eventual; /* bits of invariants that are broken for a while without faults, too */
	size_t healed;     /* runs in which an invariant was broken, and held at the end */
	size_t ended;      /* runs with faults ... */
	int64_t ran_ns;    /* ... and how long these took together */
	int64_t opened_ns; /* monotonic: the sweep began */
	int64_t begun_ns;  /* ... and trying */
	bool quick;        /* a short time of quiet gives the same result without faults */
	bool alone, stopped, unsteady;
	/* Of sweep_patience.c; [laid_over]: the longest quiet that is known to bring nothing more without faults */
	int64_t patient_ns[2];
	bool is_patient;  /* a run without faults is looked at for that */
	bool keeps_all;   /* the command waits for what it writes */
	bool plain_fails; /* otherwise it comes to nothing that could be compared */
	bool begins_anew; /* the result without faults was another one */
};

/* ---- sweep_ground.c, sweep_without.c: without faults ---- */

/* Whether gaps are tried at what the program writes. */
static inline bool sweep_looks_at_writes(const struct sweep_search *s)
{
	return s->kinds[SWEEP_OWN] || s->kinds[SWEEP_OVERWRITE];
}

static inline struct sweep_ground *sweep_ground_of(struct sweep *s, bool laid_over)
{
	return laid_over ? &s->laid_over : &s->plain;
}

/* The user has stopped it: nothing runs any more. */
void sweep_stop(struct sweep *s);

/* The command's results, whether always the same, even side by side; the same with its writes overlaid, if a pattern needs
 * that. */
int sweep_find_answers(struct sweep *s, struct err *err) MUST_CHECK;
void sweep_forget_answers(struct sweep *s);
/* A run in lock-step, once it is known how long the tape is. */
int sweep_find_causes(struct sweep *s, struct err *err) MUST_CHECK;
/* As many as will run at once later; returns how many differ, with what in `differences`, or an error. */
int sweep_run_full(
	struct sweep *s, const struct sweep_slot *first, struct buf *differences, struct err *err) MUST_CHECK;

/* ---- sweep_first.c ---- */

/* Whether the first run came to an end, and its probe to an answer. ERR_FAILED, ERR_USAGE. */
int sweep_check_first(const struct sweep *s, struct err *err) MUST_CHECK;
/* A program that sleeps through the tape passes each gap. `session` has its run in lock-step. */
int sweep_tell_of_sleep(struct sql_session *session, struct err *err) MUST_CHECK;
/* The first run of its kind ended by the time limit: ERR_FAILED. */
int sweep_no_end(const struct sweep *s, bool laid_over, struct err *err);
/* Whether some writes were only answered, and not kept, without the user asking for that. */
bool sweep_absorbs(const struct sweep *s);
/* From now on all runs keep it; "as" why is told. What came to nothing may do better so. */
void sweep_keep_all(struct sweep *s, const char *why);
/* Whether it has shown that something stays in the program's way which a cluster's garbage collector removes. */
bool sweep_learn_to_collect(struct sweep *s, const struct sweep_answer *answer);
void sweep_say_unsteady(struct sweep *s, const struct buf *differences);
/* Neither with its writes nor without: ERR_FAILED if it comes to no end. */
int sweep_say_nothing_compares(struct sweep *s, const struct buf *differences, struct err *err) MUST_CHECK;
/* ": in its last 10 s, 312 times 'update pods shop/web-0'", of a run that came to no end; "" if it asked for
 * nothing. The caller frees. */
char *sweep_tell_busy(const struct sweep *s, const struct sweep_slot *slot);
/* Why no run is laid over the tape; the caller frees. */
char *sweep_tell_why_not(const struct sweep *s, const struct buf *differences);

/* ---- sweep_pace.c ---- */

/* Unless the user says how many: only as many side by side as the processors bear, by the first run. */
void sweep_fit_jobs(struct sweep *s);

/* Whether several may run side by side, and with less time of quiet. What goes wrong is tried again with all
 * of it. */
int sweep_find_pace(struct sweep *s, bool laid_over, struct buf *differences, struct err *err) MUST_CHECK;
/* That shorter time. A pause may be a wait for the processor, too. */
int64_t sweep_choose_quick(const struct sweep *s);
/* What differs by itself in runs of one kind may do so in those of the other. */
void sweep_share_lessons(struct sweep *s);
/* How long each event waits in lock-step. A program that limits its own rate, as it has shown in the first run, where all
 * events came at once, has longer. */
void sweep_choose_pace(struct sweep *s);
/* Whether some of what differs by itself at full speed is the same each time in lock-step: 1 or 0, or an error. */
int sweep_is_steadier_paced(struct sweep *s, bool laid_over, struct err *err) MUST_CHECK;

/* Up to ten more runs, or a few more; four once the budget is spent. *ret: they have shown something more that differs by itself. */
int sweep_learn_more(struct sweep *s, bool laid_over, bool *ret, struct err *err) MUST_CHECK;

/* ---- sweep_choice.c, sweep_tries.c: with faults ---- */

int sweep_find_positions(struct sweep *s, struct err *err) MUST_CHECK;
void sweep_make_tries(struct sweep *s);
int sweep_run_tries(struct sweep *s, struct err *err) MUST_CHECK;
void sweep_tries_release(struct sweep *s);

/* What has run in that slot, with a fault; the caller releases. */
int sweep_try_read(struct sweep *s, size_t at, struct sweep_answer *ret, struct err *err) MUST_CHECK;

/* How a run differs from the right answer, a sentence a line; NULL: it does not. The caller frees. */
char *sweep_differences(struct sweep *s, const struct sweep_slot *slot, const struct sweep_answer *answer);

/* ---- sweep_progress.c ---- */

size_t sweep_count_verdicts(const struct sweep *s, enum sweep_verdict verdict);
/* Whether what takes so much longer ends within --budget. */
bool sweep_budget_allows(const struct sweep *s, int64_t more_ns);
/* Whether a run that takes as long as those so far would, with what is then made of the findings. The first is made in any case. */
bool sweep_has_time(const struct sweep *s);
/* A line for a terminal. */
void sweep_show_progress(const struct sweep *s, bool shown);

/* ---- sweep_patience.c ---- */

/* Whether what went wrong has had time to heal; and what the next run of the try is given. `news`: how it differs, NULL if
 * the cause is known. */
bool sweep_was_quiet_enough(const struct sweep *s, const struct sweep_ground *ground,
	const struct sweep_slot *slot, const struct sweep_answer *answer);
void sweep_choose_settle(const struct sweep *s, const struct sweep_ground *ground, struct sweep_try *try,
	const struct sweep_answer *answer, const char *news);
/* Whether it is to be quiet for longer at the end than the command has been without faults. */
bool sweep_must_wait(const struct sweep *s, const struct sweep_try *try);
/* A longer run without faults, for that try. If it comes to something else, all begins anew with a longer --settle, or with all
 * writes overlaid: once nothing runs. */
int sweep_patience_begin(struct sweep *s, size_t at, const struct sweep_try *try, struct err *err) MUST_CHECK;
int sweep_patience_judge(struct sweep *s, size_t at, struct err *err) MUST_CHECK;
void sweep_begin_anew(struct sweep *s);

/* ---- sweep_recheck.c ---- */

/* Takes back findings of what differs from run to run by itself. */
int sweep_recheck(struct sweep *s, struct err *err) MUST_CHECK;

/* ---- sweep_narrow.c ---- */

/* Makes the fault of each cause's example smaller, as long as it goes wrong in the same way. */
int sweep_narrow(struct sweep *s, struct err *err) MUST_CHECK;

/* ---- sweep_repeat.c ---- */

/* Runs the example of each cause some more times. What never goes wrong again is no finding. */
int sweep_repeat(struct sweep *s, struct err *err) MUST_CHECK;

/* ---- sweep_look.c: as it goes ---- */

#define SWEEP_LOOK_NS (200 * NS_PER_MS)

/* Asks the invariants about the run in that slot, if it has become quiet since they were asked: nothing was
 * added to its run file between two looks. Stores in the slot one that is broken and holds without faults.
 * True if it is still broken after the time of --settle: it does not heal. From a run without faults it
 * learns which are broken on the way, and need only hold at the end. The context is the sweep. */
bool sweep_look(void *sweep, size_t at);
void sweep_alarm_release(struct sweep_alarm *a);

/* ---- sweep_again.c ---- */

/* Puts first what went wrong in the sweep of that folder. */
int sweep_order_again(struct sweep *s, struct err *err) MUST_CHECK;

#endif
