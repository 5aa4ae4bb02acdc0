/* sweep_answer.h: the result of a run of a sweep, and how two of them differ. See sweep.h. */
#ifndef TOOLS_SWEEP_ANSWER_H
#define TOOLS_SWEEP_ANSWER_H

#include "schema/base/buf.h"
#include "schema/run/compare_rules.h"
#include "tools/cli/options.h"
#include "tools/sweep/sweep_counts.h"
#include "tools/sweep/sweep_health.h"
#include "tools/sweep/sweep_recorded.h"

enum sweep_end { SWEEP_BY_ITSELF, SWEEP_QUIET, SWEEP_TIMEOUT };

struct sweep_effect {
	char *key;      /* "configmaps shop/web-0" */
	char *own_key;  /* of sweep_adopted.h: its own, where `key` is what it stands for; NULL: the same */
	char *resource; /* of the key */
	char *content;
	char *tape; /* what the tape had of it when the program wrote; NULL: nothing, it is the program's */
	uint64_t
		made_seq; /* the event before the write that made it; 0: it answers to the state at the start */
};

struct sweep_answer {
	enum sweep_end end;
	int64_t exit_code;
	uint64_t watches; /* opened before the clock ran */
	int64_t start_ns; /* how long it took until it had asked for each resource that it lists first */
	int64_t pause_ns; /* the longest between two of its requests, leases and Events aside */
	int64_t rest_ns;  /* after which one that limits its own rate asks for no more; 0: it has no limit */
	uint64_t delivered; /* different events that watches were sent */
	uint64_t at_seq;    /* the tape's event at its last request ... */
	uint64_t last_seq;  /* ... and the tape's last event */
	uint64_t absorbed;  /* writes that were not kept */
	bool reads_back; /* it asks for objects of a resource of which it has created or changed some, or written a status twice */
	int64_t changed;              /* different objects that it changed, */
	int64_t changes, early;       /* how often, and how often before the last event that it was sent */
	uint64_t hits;                /* what the first fault has struck */
	int64_t trouble_ns;           /* from its first strike to the end of the run; 0: it struck nobody */
	struct sweep_effect *effects; /* the remains of all that it wrote; sorted */
	size_t effect_count;
	/* How many objects it made that outlive their owners of the tape, and one of them: "pods shop/web-0"; only without
	 * faults. */
	uint64_t orphans;
	char *orphan;
	struct sweep_counts counts;
	char *probe;                 /* what the probe printed, and its exit code; NULL: it was not asked */
	int64_t probe_code;          /* that code alone */
	char *alarms;                /* lines of sweep_oracle_read; NULL: not asked for */
	struct sweep_health health;  /* not asked for either, then */
	struct text_list unseen;     /* of sweep_unseen.h: keys of the ground's, and of sweep_numbered.h */
	struct text_list made_again; /* of sweep_absent.h: keys of counts */
	struct text_list exchanged;  /* of sweep_exchange.h: keys of effects */
	struct sweep_recorded recorded; /* asked for without a fault only */
};

/* Further facts about a run. */
struct sweep_asked {
	const struct text_list *invariants; /* NULL: neither they nor the log count */
	const char *log;
	int64_t settle_ns; /* for which it was quiet at the end */
	bool timed_out;
	bool without; /* a fault: the program's own work on the tape is looked for */
	const struct compare_rules
		*ignored; /* objects, which are in no answer; of sweep_ignored.h, NULL: none */
};

/* `run` may be of any replay. ERR_NOT_FOUND if it did not take place. The caller releases. */
int sweep_answer_read(const char *tape, const char *run, const struct sweep_asked *asked,
	struct sweep_answer *ret, struct err *err) MUST_CHECK;
void sweep_answer_release(struct sweep_answer *a);

/* Sorts effects by key, and then by content. */
void sweep_answer_sort(struct sweep_answer *a);
void sweep_effects_sort(struct sweep_effect *items, size_t count);
void sweep_effects_free(struct sweep_effect *items, size_t count);

/* The first of that key among sorted ones; NULL: there is none. */
const struct sweep_effect *sweep_effect_find(const struct sweep_effect *items, size_t count, const char *key);

/* What to compare. */
struct sweep_measure {
	bool exit_code, writes;
	bool counts_vary;          /* they differ from run to run by themselves */
	struct text_list unsteady; /* of sweep_content.h: what differs from run to run by itself; owned */
	struct text_list taught;   /* the files of the runs that showed it; owned */
	const struct compare_rules *ignored; /* fields; of sweep_ignored.h, borrowed, NULL: none */
};

/* The program's results without faults. */
struct sweep_ground {
	struct sweep_answer answer;
	struct sweep_measure measure;
	int64_t pause_ns; /* the longest that it makes once the clock runs */
	bool known;
	bool is_exact; /* its effects tell the very event that each answers to, as a run in lock-step does */
};

/* Appends a sentence for each difference; how many there are. `than` names the first: "without the gap". Effects in
 * with->unseen and with->exchanged are not compared. */
size_t sweep_compare(const struct sweep_measure *m, const struct sweep_answer *without,
	const struct sweep_answer *with, const char *than, struct buf *to);

/* The same without the ends of the runs. */
size_t sweep_compare_left(const struct sweep_measure *m, const struct sweep_answer *without,
	const struct sweep_answer *with, const char *than, struct buf *to);

/* Whether both left something of the same objects. */
bool sweep_has_same_effects(const struct sweep_answer *one, const struct sweep_answer *other);

/* The same as sweep_compare for panics and invariants that without faults nobody broke. */
size_t sweep_compare_alarms(
	const struct sweep_answer *without, const struct sweep_answer *with, struct buf *to);

/* The same for what the probe printed. */
size_t sweep_compare_probes(
	const struct sweep_answer *without, const struct sweep_answer *with, struct buf *to);

/* The same for counts, unless they vary by themselves; what is in made_again is no difference. */
size_t sweep_compare_counts(const struct sweep_ground *g, const struct sweep_answer *with, const char *than,
	bool earlier, struct buf *to);

/* The same for a run in lock-step: a program then changes also what at full speed is gone, or past changing, before it looks; and
 * step by step what at full speed it does at once, when no fault means anything any more. One that at full speed changes nothing
 * may be one that only the tape's deletions wait for: it is looked at as it is. */
size_t sweep_compare_changes(
	const struct sweep_answer *one, const struct sweep_answer *paced, struct buf *to);

/* SQL: whether a text names an object of that alias by its name, which is no part of a longer word, nor a member that many objects
 * have. Shorter names may stand in any text. */
#define SWEEP_NAMES(text, of)                                                                                \
	"(length(" of ".name) >= 3 AND instr(" text ", " of ".name) AND ' ' || " text                        \
	" || ' ' GLOB '*[^A-Za-z0-9]' || " of ".name || iif(" of                                             \
	".name IN ('app', 'data', 'image', 'items', 'key', 'kind', 'labels',"                                \
	" 'metadata', 'name', 'namespace', 'port', 'ports', 'spec', 'status', 'type', 'uid', 'value'), '\"[^:]*', '[^A-Za-z0-9]*'))"

#define SWEEP_ENDS_BY_ITSELF "ends by itself"
#define SWEEP_OTHER_CONTENT  " is left with other content"
#define SWEEP_NOT_WRITTEN    " is not written"
#define SWEEP_DELETED        " is deleted"
#define SWEEP_NOT_DELETED    " is not deleted"
#define SWEEP_DELETION_OF    "deletion of " /* before the key of an object that was deleted */

/* In contents, in the place of a resourceVersion that a write of that run took, and no event of the tape has. */
#define SWEEP_VERSION "(resourceVersion)"

/* Takes note of what differs in content only, between two runs that should be alike; and whether their counts do. */
void sweep_measure_learn(
	struct sweep_measure *m, const struct sweep_answer *one, const struct sweep_answer *other);
void sweep_measure_learn_counts(
	struct sweep_measure *m, const struct sweep_answer *one, const struct sweep_answer *other);
/* What differs in runs of another kind may do so in these as well: chance does not always show. */
void sweep_measure_add(struct sweep_measure *m, const struct sweep_measure *other);
void sweep_measure_release(struct sweep_measure *m);

#endif
