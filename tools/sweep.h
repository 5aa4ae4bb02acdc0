/*
 * sweep.h: the parts of `kubetape sweep`, which runs a command against one replay after the other, each with
 * a gap at another place, and compares what it came to.
 *
 *     cmd_sweep.c         options, and what is done in which order
 *     sweep_positions.c   where a gap is interesting
 *     sweep_changes.c     among them: changes of one object that nobody sees one by one
 *     sweep_rows.c        what the tape has, for both
 *     sweep_fault.c       the fault file of such a place
 *     sweep_jobs.c        replays as processes
 *     sweep_answer.c      what a run came to, read from its run file
 *     sweep_compare.c     how two of them differ
 *     sweep_report.c      for people and as JSON
 */
#ifndef TOOLS_SWEEP_H
#define TOOLS_SWEEP_H

#include "schema/base/buf.h"
#include "schema/sql/session.h"
#include "tools/options.h"

#include <stdio.h>
#include <sys/types.h>

/* ---- where ---- */

enum sweep_kind {
	SWEEP_DELETION,    /* a DELETED event is missed */
	SWEEP_RECREATION,  /* all from a deletion to the creation of another object of that name */
	SWEEP_TERMINATION, /* all from a first deletionTimestamp to the deletion */
	SWEEP_STRETCH,     /* what one resource does in a stretch of the tape */
	SWEEP_CHANGES,     /* two or three successive changes of one object */
	SWEEP_SELECTION,   /* an object leaves the selection of a watch; all until it is back */
	SWEEP_EVENT,       /* an event that the user's expression is true of */
	SWEEP_KINDS,
};
extern const char *const sweep_kind_names[SWEEP_KINDS];

struct sweep_position {
	enum sweep_kind kind;
	uint64_t seq, last_seq; /* the first and the last event that is missed */
	uint64_t hidden;    /* events of that resource from the one to the other; 0: its watches are late */
	int64_t for_ns;     /* how long the gap is by the tape's time; 0: until the hidden ones are over */
	uint64_t until_seq; /* of a stretch: its last event, of whatever resource */
	char *resource;     /* as fault files name it */
	char *object;       /* "shop/web-0"; NULL for a stretch */
	char *what;         /* "status.phase Running, then deleted"; NULL: the kind says it all */
	size_t alike;       /* places of this sort that the tape has */
	size_t turn;        /* of them, which this is, from 0 */
	bool reached;       /* the program was sent that event in the run without gaps */
};

struct sweep_positions {
	struct sweep_position *items;
	size_t count;
	uint64_t delivered; /* different events that the program was sent */
	int64_t every;      /* how many of them a stretch has */
};

/* Which to look for. */
struct sweep_search {
	bool kinds[SWEEP_KINDS];
	int64_t every; /* events of a stretch; 0: such that there are SWEEP_STRETCHES or fewer */
	const struct text_list *wanted; /* expressions */
};
#define SWEEP_STRETCHES 16

/* "deletions,recreations,every:50". ERR_USAGE. */
int sweep_search_parse(const char *text, struct sweep_search *ret, struct err *err) MUST_CHECK;

/* The most telling first. `s` has the run without gaps. The caller releases. */
int sweep_positions_find(struct sql_session *s, const struct sweep_search *what, struct sweep_positions *ret,
	struct err *err) MUST_CHECK;
/* Keeps at most that many of those that are reached, the most telling ones. Returns how many there were. */
size_t sweep_positions_thin(struct sweep_positions *p, size_t max);
void sweep_positions_release(struct sweep_positions *p);

/* "recreation of pods shop/web-0"; the caller frees. */
char *sweep_position_name(const struct sweep_position *p);

/* ---- the gap ---- */

/* Whether the words can be those of a gap: as in --gap, without time and length. */
int sweep_words_check(const char *words, struct err *err) MUST_CHECK;

int sweep_fault_write(
	const struct sweep_position *p, const char *words, const char *path, struct err *err) MUST_CHECK;

/* ---- running ---- */

struct sweep_job {
	pid_t pid; /* 0: none */
	int64_t deadline_ns;
	bool timed_out;
};

/* Starts this program as `replay` with these arguments, in a process group of its own. Its output goes to the
 * file. */
int sweep_job_start(struct sweep_job *job, char *const *arguments, const char *log, int64_t timeout_ns,
	struct err *err) MUST_CHECK;

/* From now on SIGINT and SIGTERM wait to be seen by sweep_jobs_wait, and children are waited for there. */
void sweep_jobs_prepare(void);

/* Waits until one has ended; it is then gone with all that it started. Returns its index, or -1 when the user
 * wants to stop: then all of them have been ended. At least one must be running. */
int sweep_jobs_wait(struct sweep_job *jobs, size_t count);

/* ---- what a run came to ---- */

enum sweep_end { SWEEP_BY_ITSELF, SWEEP_QUIET, SWEEP_TIMEOUT };

struct sweep_effect {
	char *key;      /* "configmaps shop/web-0" */
	char *resource; /* of the key */
	char *content;
};

struct sweep_answer {
	enum sweep_end end;
	int64_t exit_code;
	uint64_t watches;             /* opened before the clock ran */
	uint64_t hits;                /* watches that a fault ended */
	struct sweep_effect *effects; /* what is left of all that it wrote; sorted */
	size_t effect_count;
};

/* `run` may be of any replay. ERR_FAILED when it did not take place. The caller releases. */
int sweep_answer_read(const char *tape, const char *run, bool timed_out, struct sweep_answer *ret,
	struct err *err) MUST_CHECK;
void sweep_answer_release(struct sweep_answer *a);

/* What to look at. */
struct sweep_measure {
	bool exit_code, writes;
	char **unsteady; /* resources whose content differs from run to run by itself */
	size_t unsteady_count;
};

/* Appends a sentence for each difference; how many there are. `than` names the first: "without the gap". */
size_t sweep_compare(const struct sweep_measure *m, const struct sweep_answer *without,
	const struct sweep_answer *with, const char *than, struct buf *to);

/* Takes note of what differs in content only, between two runs that should be alike. */
void sweep_measure_learn(
	struct sweep_measure *m, const struct sweep_answer *one, const struct sweep_answer *other);
void sweep_measure_release(struct sweep_measure *m);

/* ---- the report ---- */

enum sweep_verdict {
	SWEEP_UNTRIED,
	SWEEP_FINE,
	SWEEP_WRONG,
	SWEEP_UNSURE, /* wrong once, and not again */
	SWEEP_NOT_REACHED,
};

/* One position with one gap. */
struct sweep_try {
	const struct sweep_position *position;
	const char *words;
	size_t number; /* from 1, in names of files */
	enum sweep_verdict verdict;
	char *faults;      /* the file */
	char *differences; /* a sentence a line */
};

struct sweep_report {
	const char *tape, *folder;
	char *again;   /* the command without --gaps and what follows */
	char *verdict; /* what makes it compare with the run without gaps, to stand before --gaps */
	char **child;
	const struct sweep_answer *without;
	const struct sweep_positions *positions;
	const struct sweep_measure *measure;
	size_t found; /* positions before some were left out */
	const struct sweep_try *tries;
	size_t count, jobs;
	bool alone, stopped; /* it cannot run side by side; the user stopped it */
};

/* As a shell reads it; the caller frees. */
char *sweep_word(const char *text);

void sweep_report_text(const struct sweep_report *r, FILE *to);
void sweep_report_json(const struct sweep_report *r, FILE *to);

#endif
