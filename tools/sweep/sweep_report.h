/* sweep_report.h: the findings of a sweep, in each form of report. See sweep.h. */
#ifndef TOOLS_SWEEP_REPORT_H
#define TOOLS_SWEEP_REPORT_H

#include "tools/sweep/sweep.h"

#include <stdio.h>

enum sweep_verdict {
	SWEEP_UNTRIED,
	SWEEP_FINE,
	SWEEP_WRONG,
	SWEEP_UNSURE,     /* wrong once, and not again */
	SWEEP_CUT,        /* a harmless cut makes it go wrong as well */
	SWEEP_UNSEEN,     /* only what nobody could have known is missing */
	SWEEP_MADE_AGAIN, /* what it deleted for want of its owner in an older view it made again */
	SWEEP_EXCHANGED,  /* the same values were given out, to others */
	SWEEP_NOT_REACHED,
};

/* One position with one gap. */
struct sweep_try {
	const struct sweep_position *position;
	struct sweep_position
		*narrowed; /* owned, its texts are not: the position, once it is a smaller one */
	const struct sweep_position *narrowed_from; /* its earlier result; NULL: unchanged */
	const char *words;
	size_t number; /* from 1, in names of files */
	enum sweep_verdict verdict;
	char *faults;       /* the file */
	char *differences;  /* a sentence a line */
	int64_t settle_ns;  /* for how long it is to be quiet when it is tried again; 0: as all others */
	char *repeat;       /* the line that does it again, if another sweep found it; else NULL */
	bool only_here;     /* what differs is nothing that `replay --golden` compares */
	bool strays;        /* it went wrong in one way, and then in another, or not: once more it is tried */
	bool has_panicked;  /* in one of its runs */
	bool strays_at_cut; /* a harmless cut has to have more time */
	bool has_begun;
	bool is_put_back; /* until more is known without faults */
	unsigned further_runs,
		further_wrong; /* of sweep_repeat.c: how many, and in how many it went wrong so */
};

struct sweep_report {
	const char *tape, *tape_id, *folder;
	const struct text_list *asked, *command; /* see sweep_asked_list */
	char *again;                             /* the command without --settle, --gaps and what follows */
	int64_t settle_ns;                       /* of --settle; 0: `again` has it */
	char *anew;                              /* the same of a sweep, without --faults and what follows */
	char *paced;   /* the option of lock-step for findings that need it; "": `again` has it */
	char *verdict; /* the options to compare with the run without gaps, before --gaps */
	char *verdict_laid_over,
		*anew_laid_over; /* the same for faults that are tried with --write overlay */
	char **child;
	const struct sweep_answer *without;
	const struct sweep_positions *positions;
	const struct sweep_measure *measure;
	const struct text_list *ignored; /* rules of --ignore */
	size_t found;                    /* positions before some were left out */
	unsigned left_out;               /* patterns, as bits, of which nothing could be tried ... */
	const char *why_left_out;        /* ... and for what reason; NULL: all were */
	bool gc;                         /* dependents are collected */
	const struct sweep_try *tries;
	size_t count, jobs;
	const char *shard;   /* "2/8": the others' faults are untried here; NULL: all are its own */
	bool merged;         /* made of the reports of shards */
	bool alone, stopped; /* it cannot run side by side; the user stopped it */
};

/* Whether a program's own writes are late there by events of the tape, which come in lock-step for that. */
bool sweep_is_late_by_events(const struct sweep_position *p);
/* The line that does a finding again, with its verdict; the caller frees. */
char *sweep_repeat_of(const struct sweep_report *r, const struct sweep_try *t);
size_t sweep_report_count(const struct sweep_report *r, enum sweep_verdict verdict);
/* Whether of some sort of place none was tried. */
bool sweep_report_lacks_sorts(const struct sweep_report *r);
/* Whether nothing shows what faults do to the program, but for its health. */
bool sweep_report_compares_nothing(const struct sweep_report *r);
const char *sweep_verdict_name(enum sweep_verdict verdict);
/* The one of that name; -1: none. `word` may be NULL. */
int sweep_verdict_find(const char *word);
/* Neither a finding nor something that looks like one. */
bool sweep_verdict_is_harmless(enum sweep_verdict verdict);

/* Findings that differ from the right answer in the same way, in whatever objects. */
struct sweep_cause {
	char *key;                       /* "configmaps is missing" */
	const struct sweep_try *example; /* the simplest */
	size_t places;
	size_t by_pattern[SWEEP_PATTERNS];
};
struct sweep_causes {
	struct sweep_cause *items;
	size_t count;
};
/* Of the tries with that verdict, most places first; the caller releases. */
void sweep_causes_find(const struct sweep_report *r, enum sweep_verdict of, struct sweep_causes *ret);
void sweep_causes_release(struct sweep_causes *c);
/* Whether a finding has the cause of that key. */
bool sweep_is_cause(const struct sweep_try *t, const char *key);
/* Whether two runs went wrong in at least one same way; a sentence a line. */
bool sweep_share_cause(const char *differences, const char *others);
/* Whether one of the findings has gone wrong so. Once the budget is spent, nothing more of that cause is confirmed. */
bool sweep_knows_cause(const struct sweep_try *tries, size_t count, const char *differences);

/* As a shell reads it; the caller frees. */
char *sweep_word(const char *text);

/* The command without --gaps and what follows; `settle_ns` 0: as long as all are to be quiet. The caller frees. */
char *sweep_again_of(const struct sweep_report *r, int64_t settle_ns);
/* Where fault files are given, nobody looks for places, and counts. */
bool sweep_report_knows_delivered(const struct sweep_report *r);

void sweep_report_text(const struct sweep_report *r, FILE *to);
void sweep_report_json(const struct sweep_report *r, FILE *to);
/* For machines that read tests, and for people in a browser: one page that needs nothing else. */
void sweep_report_junit(const struct sweep_report *r, FILE *to);
void sweep_report_sarif(const struct sweep_report *r, FILE *to);
void sweep_report_html(const struct sweep_report *r, FILE *to);

#endif
