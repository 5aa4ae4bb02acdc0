/*
 * sweep.h: the parts of `kubetape sweep`, which runs a command against one replay after the other, each with
 * a gap at a different place, and compares the results.
 *
 *     cmd_sweep.c         options, and the order of steps
 *     sweep_ground.c      the result without faults, if it is always the same; sweep_without.c: those runs
 *     sweep_first.c       whether the first of these runs is any use
 *     sweep_choice.c      which faults are tried; sweep_tries.c: the result of each
 *     sweep_positions.c   where a gap is interesting
 *     sweep_changes.c     among them: changes of one object that nobody sees one by one
 *     sweep_rows.c        the tape's events, for both; sweep_order.c: which places come first
 *     sweep_patterns.c    where else a program goes blind: at its own writes; sweep_stale.c: in what it lists
 *     sweep_fault.c       the fault file of such a place
 *     sweep_run.c         one replay: its files
 *     sweep_jobs.c        replays as processes
 *     sweep_answer.c      the result of a run, read from its run file
 *     sweep_compare.c     how two of them differ
 *     sweep_content.c     ... in what is left of an object, field by field
 *     sweep_made_up.c     names that differ in every run
 *     sweep_unseen.c      what a program could not see; sweep_numbered.c: nor number; sweep_kin.c: what follows
 *     sweep_absent.c      what it deleted because an older view lacked it, and made again
 *     sweep_exchange.c    what it gave out in another order
 *     sweep_causes.c      findings of one cause
 *     sweep_merge.c       one sweep over many machines: parts of it, and one report of them
 *     sweep_place.c       results in an object store
 *     sweep_again.c       what failed in an earlier sweep comes first
 *     sweep_oracle.c      panics and invariants
 *     sweep_health.c      hangs, growth, what is served on the way
 *     sweep_look.c        invariants of a running run
 *     sweep_recheck.c     whether findings are what differs by itself
 *     sweep_narrow.c      the smallest fault of a finding; sweep_repeat.c: how often it goes wrong
 *     sweep_report.c      for people; sweep_json.c, sweep_junit.c, sweep_sarif.c, sweep_html.c
 */
#ifndef TOOLS_SWEEP_H
#define TOOLS_SWEEP_H

#include "schema/base/buf.h"
#include "schema/base/clock.h"
#include "schema/sql/session.h"
#include "tools/cli/options.h"
#include "tools/sweep/sweep_answer.h"

#include <stdio.h>
#include <sys/types.h>

/* ---- how a program goes blind ---- */

enum sweep_pattern {
	SWEEP_UNOBSERVED, /* changes pass while a watch is away */
	SWEEP_RESTART,    /* it dies within a write, or before an object comes, and starts again */
	SWEEP_STALE,      /* it restarts, and one resource is older than what it had seen */
	SWEEP_WRITES,     /* a write is refused, or done but answered with an error */
	SWEEP_COALESCED,  /* changes come all at once, without a list */
	SWEEP_ECHO,       /* its own writes reach its watches late */
	SWEEP_SLOW,       /* one resource is listed long after the others */
	SWEEP_PATTERNS,
};
extern const char *const sweep_pattern_names[SWEEP_PATTERNS];

#define SWEEP_ECHO_WORDS  "echo=4s"
#define SWEEP_ECHO_NS     (4 * NS_PER_S)
#define SWEEP_LATE_WORDS  "write_late=1s" /* while one more event of the tape comes */
#define SWEEP_END_WORDS   "end"           /* an ordinary end of a watch */
#define SWEEP_BREAK_WORDS "fin"           /* the connection of a watch closes without the end of its answer */

/* "restart,stale" into bits; NULL: all. ERR_USAGE. */
int sweep_patterns_parse(const char *text, unsigned *ret, struct err *err) MUST_CHECK;

/* ---- where ---- */

enum sweep_kind {
	SWEEP_DELETION,    /* a DELETED event is missed */
	SWEEP_RECREATION,  /* all from a deletion to the creation of another object of that name */
	SWEEP_REPLACEMENT, /* from its first deletionTimestamp to the first steps of another of that name */
	SWEEP_TERMINATION, /* all from a first deletionTimestamp to the deletion */
	SWEEP_STRETCH,     /* all events of one resource in a part of the tape */
	SWEEP_CHANGES,     /* two or three successive changes of one object */
	SWEEP_SELECTION,   /* an object leaves the selection of a watch; all until it is back */
	SWEEP_DOWNTIME,    /* an event comes while the program is down */
	SWEEP_EVENT,       /* an event that the user's expression is true of */
	SWEEP_WRITE,       /* a write of the program */
	SWEEP_OWN,         /* a write while its watches are away: it deletes, or others do then */
	SWEEP_REFERENCE,   /* from an object's event to that of another resource's object which names it */
	SWEEP_OVERWRITE,   /* from a change of an object to a write to it, in answer to another resource */
	SWEEP_ENDING,      /* the last event of what it asks for has come */
	SWEEP_ALWAYS,      /* the whole of the tape */
	SWEEP_GIVEN,       /* a fault file of the user's */
	SWEEP_KINDS,
};
extern const char *const sweep_kind_names[SWEEP_KINDS];

struct sweep_position {
	enum sweep_pattern pattern;
	enum sweep_kind kind;
	bool laid_over;     /* what programs write lies over the tape: `--write overlay` */
	char *write;        /* its kind, of SWEEP_WRITE and SWEEP_OWN: "create pods", the first after seq */
	uint64_t nth;       /* ... not that, but the second or a later one; 0: the first */
	uint64_t as_of_seq; /* of SWEEP_STALE: the state shown ... */
	bool before_answer; /* ... before anything that programs wrote after that event */
	char *others;       /* shown older as well, as "pods,nodes", and as of what; NULL: none */
	uint64_t others_as_of_seq;
	uint64_t seq, last_seq; /* the first and the last event that is missed */
	uint64_t hidden;      /* events of that resource from the one to the other; 0: its watches are late */
	uint64_t late_writes; /* of SWEEP_ECHO, without faults; 0: they are late by events */
	bool is_farewell;     /* at a write to an object that is being deleted */
	bool is_empty;        /* of SWEEP_SLOW: neither the tape nor the program has an object there */
	int64_t for_ns;       /* how long the gap is by the tape's time; 0: until the hidden ones are over */
	uint64_t until_seq; /* the last event of a stretch, an overwrite, an own write; after a late answer */
	char *resource;     /* as fault files name it */
	char *object;       /* "shop/web-0"; NULL for a stretch */
	char *what; /* "status.phase Running, then deleted", "answered late"; NULL: the kind says it all */
	size_t alike, turn; /* places of this sort that the tape has; of them, which this is, from 0 */
	bool is_healed;     /* what goes wrong may be mended: the object changes, comes back or goes later */
	bool is_part; /* of SWEEP_RESTART: a write of another kind answers the same event after this one */
	bool reached, leads; /* the program was sent that event without gaps; the first of its pattern */
};

/* A place in what the program does, and not an event that it misses. */
bool sweep_is_of_run(const struct sweep_position *p);
bool sweep_is_late_answer(const struct sweep_position *p);
/* A watch that ends, and is resumed, or is open late after a list: nothing is missed. */
bool sweep_is_resumption(const struct sweep_position *p);

struct sweep_positions {
	struct sweep_position *items;
	size_t count;
	uint64_t delivered; /* different events that the program was sent */
	int64_t every;      /* how many of them a stretch has */
};

/* Which to look for. */
struct sweep_search {
	bool kinds[SWEEP_KINDS];
	bool creations_while_down;
	int64_t every; /* events of a stretch; 0: such that there are SWEEP_STRETCHES or fewer */
	const struct text_list *wanted; /* expressions */
};
#define SWEEP_STRETCHES 16

/* "deletions,recreations,every:50". ERR_USAGE. */
int sweep_search_parse(const char *text, struct sweep_search *ret, struct err *err) MUST_CHECK;

/* Those of the pattern unobserved, and objects that come while the program is down, the most telling first. `s` has the
 * run without gaps. The caller releases. */
int sweep_positions_find(struct sql_session *s, const struct sweep_search *what, struct sweep_positions *ret,
	struct err *err) MUST_CHECK;
/* Keeps at most that many of those that are reached, the most telling ones. Returns how many there were. */
size_t sweep_positions_thin(struct sweep_positions *p, size_t max);
void sweep_positions_release(struct sweep_positions *p);

/* Adds places of the other patterns (bits), with `own` those of SWEEP_OWN; those of SWEEP_COALESCED are made from the
 * existing ones. `s` has a run without faults, in which writes were overlaid if `laid_over` says so. */
int sweep_patterns_find(struct sql_session *s, unsigned patterns, bool own, bool laid_over,
	struct sweep_positions *to, struct err *err) MUST_CHECK;
void sweep_positions_order(struct sweep_positions *p);
void sweep_positions_leave_out(struct sweep_positions *p, enum sweep_pattern pattern);

/* "recreation of pods shop/web-0"; the caller frees. */
char *sweep_position_name(const struct sweep_position *p);

/* ---- the gap ---- */

/* Whether the words can be those of a gap: as in --gap, without time and length. */
int sweep_words_check(const char *words, struct err *err) MUST_CHECK;

int sweep_fault_write(
	const struct sweep_position *p, const char *words, const char *path, struct err *err) MUST_CHECK;
/* A cut at the same place after which every client resumes. False: there is no such place. */
bool sweep_has_control(const struct sweep_position *p);
int sweep_control_write(const struct sweep_position *p, const char *path, struct err *err) MUST_CHECK;

/* ---- running ---- */

struct sweep_job {
	pid_t pid; /* 0: none */
	int64_t begun_ns, deadline_ns;
	int64_t lasted_ns, used_ns, idle_ns; /* once it has ended; of processors, by it and by nobody */
	bool timed_out;
};

/* Forks a process that runs `replay` with these arguments (the first is its name, NULL after the last), in a process
 * group of its own. Its output goes to the file. */
int sweep_job_start(struct sweep_job *job, const struct command *replay, char **arguments, const char *log,
	int64_t timeout_ns, struct err *err) MUST_CHECK;

/* From now on SIGINT and SIGTERM wait to be seen by sweep_jobs_wait, and children are waited for there. */
void sweep_jobs_prepare(void);

/* A callback that examines running jobs at intervals. */
struct sweep_looker {
	int64_t every_ns;
	bool (*look)(void *context, size_t at); /* true: it has seen enough, the job is asked to end */
	void *context;
};

/* Waits until one has ended; it is then gone with all that it started. Returns its index, or -1 if the user
 * wants to stop: then all of them have been ended. At least one must be running. `looker` may be NULL. */
int sweep_jobs_wait(struct sweep_job *jobs, size_t count, const struct sweep_looker *looker);

#endif
