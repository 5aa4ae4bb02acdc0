/*
 * fault_rule.h: one fault, from a fault file, --gap or a recorded gap: *when* something happens, to *which*
 * streams and requests, *what* happens, for *how long*, and what is left afterwards. FAULTS.md explains each
 * part to users; fault_keys.c has the words.
 */
#ifndef REPLAYER_FAULT_RULE_H
#define REPLAYER_FAULT_RULE_H

#include "replayer/fault/fault_do.h"
#include "schema/base/moment.h"

#define FAULT_RULES_MAX     64 /* of one file: streams keep a bit for each */
#define FAULT_FOREVER       INT64_MAX
#define FAULT_SEED_DEFAULT  1
#define FAULT_UNSAID        (-1) /* as an act, before fault_rule_finish */
#define FAULT_LENGTH_UNSAID (-1)

enum fault_trigger {
	FAULT_AT_POSITION,   /* a point on the tape */
	FAULT_AT_EVENT,      /* an event that a predicate is true of */
	FAULT_AT_CONNECTION, /* the n-th watch that a client opens */
	FAULT_AT_WRITE,      /* a write of a kind */
	FAULT_TRIGGERS,
};

enum fault_moment { FAULT_BEFORE, FAULT_AFTER };
enum fault_clock { FAULT_TAPE, FAULT_WALL };

enum fault_request_kind {
	FAULT_LIST,
	FAULT_WATCH,
	FAULT_GET,
	FAULT_WRITE,
	FAULT_OTHER, /* discovery, health, version */
	FAULT_REQUEST_KINDS,
};

struct fault_texts {
	char **items;
	size_t count;
};

/* The meaning of a name in `where` or `write`. */
struct fault_resource {
	char *resource, *group;
	char *version; /* NULL: any */
	bool namespaced;
};

/* Which writes, as "create pods" and "update pods/status" say it. */
struct fault_kind_of_write {
	unsigned verbs;              /* bits by enum fault_verb */
	struct fault_texts resource; /* at most one name; none: all but leases and events */
	struct fault_resource *meant;
	size_t meant_count;
	char *subresource; /* "": the object itself; NULL: either */
};

struct fault_when {
	enum fault_trigger trigger;
	char *at;                           /* as tape_position_find takes it */
	char *place;                        /* where it was said, for messages */
	int64_t at_ns;                      /* both by fault_resolve: the time is reached ... */
	uint64_t at_seq;                    /* ... and this event has been applied */
	char *event;                        /* an expression for predicate_compile */
	int64_t nth;                        /* the first match that counts, from 1 */
	int64_t every;                      /* of those after it, every n-th */
	int moment;                         /* enum fault_moment */
	int64_t connection;                 /* n, from 1, counted for each client */
	int64_t events;                     /* delivered on it before it happens */
	int64_t after_ns;                   /* since it was opened */
	char *write;                        /* "create pods", as fault_write_parse takes it */
	struct fault_kind_of_write written; /* made of it */
	char *since;                        /* only writes after this position count; NULL: all */
	int64_t since_ns;                   /* both by fault_resolve, as at_ns and at_seq */
	uint64_t since_seq;
	int64_t await_ns; /* the clock waits at that position for the write, at most for this; 0: not */
};

struct fault_where {
	struct fault_texts
		resource; /* as kubectl takes them: "pods", "deploy", "deployments.apps"; empty: all */
	struct fault_resource *meant; /* made of them by fault_resolve */
	size_t meant_count;           /* 0: the names count as they are, plural and with any group */
	char *place;                  /* where it was said, for messages */
	char *namespace;              /* of the request's path; NULL: any; "" those of all namespaces */
	bool and_wider;               /* with a namespace: requests over all namespaces, too; not in files */
	bool and_streaming;           /* with lists: watches that begin with one, too; not in files */
	char *client;                 /* a pattern with * and ? over the User-Agent; NULL: any */
	char *credential;             /* a bearer token; NULL: any */
	struct fault_texts requests;  /* words of enum fault_request_kind; empty: all */
	unsigned request_mask;        /* made of them */
};

struct fault_what {
	int act;       /* enum fault_do */
	int64_t bytes; /* of FAULT_CUT */
	int64_t code;  /* of FAULT_ERROR and FAULT_HTTP a status code, of FAULT_RST_STREAM HTTP/2's */
	char *reason, *message; /* of both; NULL: the API server's words for that code */
	char *status;           /* of both: a whole Status instead, JSON */
	int64_t retry_after_ns; /* of FAULT_HTTP; whole seconds; 0 none */
	int64_t by_ns;     /* of FAULT_DELAY, FAULT_STALE_LIST, FAULT_SLOW, FAULT_ECHO and FAULT_WRITE_LATE */
	int64_t jitter_ns; /* of FAULT_DELAY: up to this much more */
	int64_t count;     /* of FAULT_DUPLICATE: more copies; of FAULT_REORDER: events to let pass; of
				   FAULT_ECHO without by_ns the same */
	char *as_of; /* of FAULT_STALE_LIST and FAULT_STALE_VIEW: a position; NULL: by by_ns, or as it begins
		      */
	uint64_t as_of_seq; /* made of it by fault_resolve */
	bool until_quiet;   /* of FAULT_PAUSE: until clients have been quiet for that time */
	int64_t before_write; /* with as_of: of the versions that programs wrote after that event and before the next, the first
				 that is not shown, from 1; 0: all are shown */
};

struct fault_rule {
	char *name;
	struct fault_when when;
	struct fault_where where;
	struct fault_what what;
	int64_t for_ns;           /* FAULT_FOREVER when nothing was said and the act lasts */
	int64_t for_events;       /* instead: until this many events in scope were applied; 0 none */
	int clock;                /* enum fault_clock: of for, by, jitter and after */
	struct fault_what during; /* what requests in scope get meanwhile; act as in `what` */
	bool compaction;          /* afterwards a resume from before its end gets 410 */
	int64_t stale_ns;         /* afterwards the first list of each client is this much older; 0: not */
	int64_t hold_ns;          /* afterwards the clock waits this long for the streams to come back; 0:
				not */
	int64_t times;            /* how often it may happen; 0: always */
	double probability;       /* of happening, each time */
	bool optional;            /* it may strike nobody */
	bool short_form;          /* from --gap, where every unknown word is a resource */
	/* Of recorded gaps only. */
	uint64_t until_seq; /* not over before this event has been applied; 0 none */
	uint64_t floor_rv;  /* the floor after compaction; 0: what was applied by then */
};

struct fault_file {
	int64_t seed;
	bool recorded;            /* recorded gaps happen as well */
	struct fault_rule *rules; /* those of the file, then those of the recording */
	size_t count;
	size_t recorded_count;     /* of the recording; in the order in which they happen */
	struct moment_frame frame; /* what times in expressions count from; set by fault_resolve */
};

/* All zero is an empty file. */
void fault_file_release(struct fault_file *f);
void fault_rule_release(struct fault_rule *r);
/* Moves the rule to the end of the file; ERR_TOO_LARGE (and the rule stays the caller's) when it is full. */
int fault_file_add(struct fault_file *f, struct fault_rule *r, struct err *err) MUST_CHECK;

/* Like it, for a gap of the recording; there may be any number of these. */
void fault_file_add_recorded(struct fault_file *f, struct fault_rule *r);

/* Appends a copy. */
void fault_resources_add(struct fault_resource **items, size_t *count, const struct fault_resource *r);

/* Verbs in the order of FAULT_VERB_WORDS. */
enum fault_verb {
	FAULT_CREATE,
	FAULT_UPDATE,
	FAULT_PATCH,
	FAULT_DELETE,
	FAULT_DELETE_COLLECTION,
	FAULT_VERBS,
};

/* "VERB[ RESOURCE[/SUBRESOURCE]]"; VERB may be `write`, which is any. ERR_USAGE. */
int fault_write_parse(const char *text, struct fault_kind_of_write *ret, struct err *err) MUST_CHECK;
void fault_kind_of_write_release(struct fault_kind_of_write *w);

/* Fills in defaults and refuses contradictions; for all code that makes rules. `number` counts from 1 and
 * names a rule without a name. ERR_USAGE. */
int fault_rule_finish(struct fault_rule *r, size_t number, struct err *err) MUST_CHECK;

/* Takes the text over. */
void fault_texts_add(struct fault_texts *to, char *text);

/* Whether it leaves nothing out. */
bool fault_where_is_all(const struct fault_where *w);

/* A rule before anything was said of it. */
struct fault_rule fault_rule_default(void);

#endif
