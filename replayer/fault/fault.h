/*
 * fault.h: the faults of a replay while it runs: which of them happen now, what a request gets, and how a
 * frame for a watch is changed. It only decides: it has no sockets, and callers give it the time.
 *
 *     the clock moves            faults_tick        \
 *     an event is about to be    faults_before       > faults_take: what happens to whom, one by one
 *       applied / was applied    faults_after       /
 *     a watch was opened, sent   fault_stream_open, fault_stream_sent
 *     a connection, a request    faults_refuse, faults_request
 *     a frame                    faults_frame
 *     a write                    faults_write_begins, faults_write_version, faults_write_ends
 *
 * A rule that happens is an *episode*: it begins (running watches in scope are ended), lasts (requests in
 * scope are answered otherwise, or frames are touched), and ends (resourceVersions below the floor expire).
 *
 * Chance is a function of the seed, the rule, the event and the client, not of how often it was asked, so
 * that two runs in which clients come in another order are the same run.
 */
#ifndef REPLAYER_FAULT_H
#define REPLAYER_FAULT_H

#include "replayer/fault/fault_rule.h"
#include "schema/tape/event.h"

struct faults;

struct tape;

/* Now, by both clocks. At speed max tape_ns is the time of the event at hand, and INT64_MAX if there is
 * none left. */
struct fault_now {
	int64_t tape_ns, mono_ns;
	uint64_t seq; /* the last event that was applied */
	bool ended;   /* no event will follow */
};

/* Takes the rules over (the file is empty then), resolved as fault_resolve does. */
int faults_new(struct fault_file *file, struct faults **ret, struct err *err) MUST_CHECK;
void faults_free(struct faults *f);
const struct fault_rule *faults_rule(const struct faults *f, size_t index); /* NULL past the end */
size_t faults_rule_count(const struct faults *f); /* without those of recorded gaps, which come last */

/* The replay begins at that position, or has jumped there. Recorded gaps that are over by then and have not
 * begun do not happen; only their expired history remains. Returns the number of these rules. Call before the
 * next tick. */
size_t faults_settle_past(struct faults *f, const struct tape *t, uint64_t seq, int64_t tape_ns);

/* ---- what happens ---- */

enum fault_step {
	FAULT_BEGINS, /* do rule->what to the watches for which fault_hits is true */
	FAULT_ENDS,   /* stalled connections move again, listening begins again */
};

struct fault_firing {
	enum fault_step step;
	size_t rule_index;
	const struct fault_rule *rule;
	uint64_t episode;                  /* counted from 1 */
	uint64_t client;                   /* only streams of this client; 0: of all */
	const struct fault_stream *stream; /* only this one, if not NULL */
	struct fault_now at;
};

/* Applies what is due by `now`: faults at positions, and the ends of those that go by a clock. */
void faults_tick(struct faults *f, const struct fault_now *now);
/* ERR_FAILED or ERR_STOPPED if a predicate cannot be computed. */
int faults_before(struct faults *f, const struct fault_now *now, const struct tape_resource *resource,
	const struct event *e, struct slice object, struct err *err) MUST_CHECK;
/* After watchers were handed the event. `rv` is the resource's version then: the event's own, unless a program's write hides
 * the event. */
void faults_after(struct faults *f, const struct fault_now *now, const struct tape_resource *resource,
	const struct event *e, uint64_t rv);

/* The next thing that happens, until it returns false; to be asked after each call that may make something
 * happen. */
bool faults_take(struct faults *f, struct fault_firing *ret);

/* The earliest time at which faults_tick has something to do, by each clock; INT64_MAX: none. */
void faults_next(const struct faults *f, int64_t *ret_tape_ns, int64_t *ret_mono_ns);

/* Ends faults that are over by `now`, and nothing else. */
void faults_settle(struct faults *f, const struct fault_now *now);
/* The tape waits for a program: what keeps events from watches until the tape has gone on is over. */
void faults_yield(struct faults *f, const struct fault_now *now);
/* The program that was started again has long opened no further watch: nobody waits for the others that it had before. */
void faults_stop_awaiting(struct faults *f, const struct fault_now *now);
/* Clients are at work: pauses until they are quiet last longer, up to 10 s. The least that counts as quiet; 0: no such pause. */
void faults_prolong(struct faults *f, int64_t mono_ns);
int64_t faults_quiet_ns(const struct faults *f);
/* Whether programs' own writes are kept from watches now, until the tape has gone on. */
bool faults_are_late(const struct faults *f);
/* Whether the replay's clock has to wait for watches to come back. */
bool faults_is_holding(const struct faults *f, const struct fault_now *now);

/* ---- requests ---- */

struct fault_request {
	enum fault_request_kind kind;
	const struct tape_resource *resource; /* NULL: none */
	struct slice namespace;               /* of the path, empty: none */
	struct slice user_agent, credential;
	uint64_t rv;    /* asked for; 0: none */
	bool rv_exact;  /* a watch, or a list of just that version: fails when it has expired */
	bool any_state; /* it may be shown an older state: a server's cache may answer it */
};

enum fault_answer_kind {
	FAULT_PASS,    /* as ever */
	FAULT_INSTEAD, /* rule->during, or rule->what if that is no stream's end: refuse, http, rst, fin,
			  stall */
	FAULT_EXPIRED, /* 410: rv is below floor */
	FAULT_OLDER,   /* a list: from an older state */
	FAULT_LATER,   /* a list: as ever, when later_ns have passed */
};

/* An older state: of a time, or of an event and the last version that had been written by then. */
struct fault_state {
	bool by_seq;
	int64_t time_ns;
	uint64_t seq, version;
};

struct fault_answer {
	enum fault_answer_kind kind;
	const struct fault_what *what; /* of FAULT_INSTEAD */
	size_t rule_index;             /* of all but FAULT_PASS */
	uint64_t episode;              /* of FAULT_INSTEAD */
	uint64_t floor;
	struct fault_state state; /* of FAULT_OLDER */
	int64_t later_ns;         /* of FAULT_LATER */
};

/* Whether connections are to be refused now. */
bool faults_refuse(const struct faults *f, const struct fault_now *now);

/* A request without a resourceVersion never gets a 410, whatever a rule says: clients would ask again at
 * once, for ever. */
void faults_request(struct faults *f, const struct fault_now *now, const struct fault_request *r,
	struct fault_answer *ret);

/* The oldest version that a watch of that resource may start from; 0: any. */
uint64_t faults_floor(const struct faults *f, uint32_t resource);

/* ---- watches ---- */

/* The faults' knowledge about a running watch; embedded in it. It owns nothing: the data of the request that
 * opened the watch must live as long. */
struct fault_stream {
	struct fault_request request;
	uint64_t rules;  /* bit for each rule of the file whose `where` it is in */
	uint64_t armed;  /* of those, the ones that wait for this connection to get on */
	uint64_t client; /* a hash of User-Agent and credential, never 0 */
	uint64_t sent;   /* events */
	uint32_t resource;
	struct fault_now opened;
	struct fault_stream *next, *previous; /* of the armed ones */
	bool cut;                             /* by FAULT_CUT: the next frame is its last */
	size_t cut_bytes;
	uint64_t cut_episode; /* that waits for it to come back when it was cut; 0: none */
	bool was_cut;         /* set by the code that cuts it, before it is closed */
	size_t cut_rule;      /* that does so ... */
	uint64_t cut_by;      /* ... in this episode */
	uint64_t touched;     /* bit for each rule that makes the frame wait that is next */
	/* The event whose frame waits, since when, and how many of other resources there were by then. */
	uint64_t waiting_seq, waiting_others;
	int64_t waiting_mono_ns;
};

/* Opened: something may happen at once. */
void fault_stream_open(
	struct faults *f, const struct fault_now *now, const struct fault_request *r, struct fault_stream *s);
/* One event was handed to it. */
void fault_stream_sent(struct faults *f, const struct fault_now *now, struct fault_stream *s);
void fault_stream_close(struct faults *f, struct fault_stream *s);

/* Whether that happens to this watch. FAULT_CUT is then noted in it, for its next frame. */
bool fault_hits(struct faults *f, const struct fault_firing *firing, struct fault_stream *s);

enum fault_frame_do {
	FRAME_SEND,
	FRAME_DROP,
	FRAME_WAIT, /* ask again, for this frame, when the clocks say so or when an event was applied */
	FRAME_CUT,  /* send `bytes` of it (at most), then close as FAULT_FIN */
};

struct fault_frame {
	enum fault_frame_do act;
	size_t copies;  /* of FRAME_SEND: 1 and more */
	size_t bytes;   /* of FRAME_CUT */
	uint64_t rules; /* bit for each rule of the file that changes its course, the first time only */
	int64_t tape_ns, mono_ns; /* of FRAME_WAIT: which comes first; INT64_MAX: with an event */
	bool goes_on;             /* of FRAME_WAIT: the tape's clock does not wait for it */
};

/* For the frame of that event on this watch. The same frame may be asked for again and again. */
void faults_frame(struct faults *f, const struct fault_now *now, struct fault_stream *s,
	const struct event *e, struct fault_frame *ret);

#endif
