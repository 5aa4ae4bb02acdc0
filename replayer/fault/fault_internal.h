/*
 * fault_internal.h: the state of the faults, shared by fault.c (what happens when), fault_stream.c (requests
 * and watches), fault_frames.c (frames), fault_writes.c (writes, and faults at them), fault_match.c (scopes),
 * fault_pause.c (pauses) and fault_tally.c (who was struck).
 *
 * An episode is a rule that has happened:
 *
 *     ACTIVE --its length is over--> AFTER --everybody is back, nobody is owed an old list--> gone
 */
#ifndef REPLAYER_FAULT_INTERNAL_H
#define REPLAYER_FAULT_INTERNAL_H

#include "replayer/fault/fault_tally.h"
#include "schema/sql/predicate.h"

#define CLIENTS_MAX 4096 /* that a rule or an episode remembers; more are taken for new ones */

struct client_count {
	uint64_t client, count;
	uint32_t resource; /* of awaited watches */
};

/* A small set, searched from front to back. */
struct client_set {
	struct client_count *items;
	size_t count;
};

struct rule_state {
	struct predicate *predicate; /* NULL unless FAULT_AT_EVENT */
	uint64_t seed;
	uint64_t matches, fired;
	bool pending;           /* matched the event or write at hand, happens after it */
	bool per_write;         /* the frames of the write at hand are touched */
	int64_t await_until_ns; /* monotonic: the clock waits for a write; 0: not begun to wait */
	bool settled;           /* of the recording, and over before the replay began: it does not happen */
	uint64_t *seqs;         /* events whose frames are touched, ascending */
	size_t seq_count, seq_cap;
	struct client_set clients; /* how many watches each has opened */
};

enum episode_state { EPISODE_ACTIVE, EPISODE_AFTER };

struct episode {
	uint64_t id;
	size_t rule;
	enum episode_state state;
	uint64_t client; /* 0: any */
	struct fault_now begin;
	uint64_t begin_version; /* the last one that had been written */
	int64_t end_tape_ns, end_mono_ns;
	uint64_t events_left;  /* 0: the times count */
	int64_t hold_until_ns; /* monotonic; 0: not begun to wait */
	size_t uncut;          /* watches that FAULT_CUT will end with their next frame; until then no wait */
	struct client_set awaited, served;
	bool is_some_back; /* of the awaited */
};

/* Whether the tape's clock stands still. */
bool fault_is_paused(const struct faults *f);

struct resource_state {
	const struct tape_resource *resource; /* NULL: not seen yet */
	uint64_t last_rv, applied;
};

/* Below rv a resume of that resource expires, for those in the rule's scope. */
struct floor {
	size_t rule;
	uint32_t resource;
	uint64_t rv;
};

/* A version of an object that a program wrote, and when. */
struct fault_version {
	uint64_t seq;
	uint64_t position, applied; /* the tape's last event by then, and how many had been applied */
	int64_t tape_ns, mono_ns;
	bool is_tapes; /* of the event itself, whose object a program had written */
};
#define FAULT_VERSIONS_MAX 65536 /* kept; older ones count as the tape's */

struct faults {
	struct fault_file file;
	size_t rule_count;           /* of the file's own rules, which come first */
	size_t next_recorded;        /* the first gap of the recording that has not begun */
	struct rule_state *states;   /* one for each rule */
	struct fault_tally *tallies; /* one for each rule of the file */
	struct episode *episodes;
	size_t episode_count;
	uint64_t episode_id;
	struct fault_firing *firings; /* waiting to be taken */
	size_t firing_first, firing_count, firing_cap;
	struct resource_state *resources; /* by id */
	size_t resource_count;
	uint64_t applied, seq; /* events so far, and the last one as of the last tick */
	struct floor *floors;
	size_t floor_count;
	struct fault_stream *armed;
	struct fault_version *versions; /* ascending */
	size_t version_count, version_cap;
};

/* ---- fault_match.c ---- */

/* The names as in "pods", "deployments.apps", "crontabs.v1.stable.example.com". */
bool fault_matches_resource(const struct fault_where *w, const struct tape_resource *resource);
bool fault_matches_names(const struct fault_texts *names, const struct fault_resource *meant,
	size_t meant_count, const struct tape_resource *resource);
/* Compares client and namespace, not resource and kind. */
bool fault_matches_writer(const struct fault_where *w, const struct fault_request *r);
bool fault_matches_request(const struct fault_where *w, const struct fault_request *r);
/* The parts of `where` that the request fits. */
enum fault_part {
	PART_RESOURCE = 1,
	PART_NAMESPACE = 2,
	PART_CLIENT = 4,
	PART_CREDENTIAL = 8,
	PART_KIND = 16,
	PART_ALL = 31,
};
unsigned fault_parts(const struct fault_where *w, const struct fault_request *r);
/* An event of that resource, by its resource and namespace. */
bool fault_matches_event(
	const struct fault_where *w, const struct tape_resource *resource, const struct event *e);
uint64_t fault_client(struct slice user_agent, struct slice credential);

/* Chance: the same for the same seed, a and b. [0, 1). */
double fault_chance(uint64_t seed, uint64_t a, uint64_t b);
uint64_t fault_mix(uint64_t a, uint64_t b);

struct client_count *client_set_find(struct client_set *s, uint64_t client, uint32_t resource);
/* Finds or adds; NULL if it is full. */
struct client_count *client_set_add(struct client_set *s, uint64_t client, uint32_t resource);
void client_set_remove(struct client_set *s, struct client_count *item);

/* ---- fault.c ---- */

/* What triggers a rule; all zero for a rule that happens only once, and to all. */
struct fault_occasion {
	uint64_t a, b;   /* identify it, for chance: the seq of an event, or a client and its n-th watch */
	uint64_t client; /* 0: any */
	const struct fault_stream *stream; /* NULL: not at the opening of a watch */
};

/* The rule happens, if it may and chance will have it. */
void fault_fire(
	struct faults *f, size_t rule, const struct fault_now *now, const struct fault_occasion *occasion);
/* Whether its time is over; not of those that count events. */
bool fault_is_over(const struct faults *f, const struct episode *e, const struct fault_now *now);
/* A sum that stays at FAULT_FOREVER. */
int64_t fault_later(int64_t from_ns, int64_t by_ns);
/* Whether this match, the n-th, is one that counts. */
bool fault_is_due(const struct fault_when *w, uint64_t n);
/* Remembers an event whose frames are touched. */
void fault_note_seq(struct rule_state *s, uint64_t seq);
bool fault_has_seq(const struct rule_state *s, uint64_t seq);
struct resource_state *fault_state_of(struct faults *f, const struct tape_resource *resource);
/* Each matching event is a frame to touch, without a duration. */
bool fault_length_is_per_event(const struct fault_rule *r);

/* ---- fault_stream.c ---- */

void fault_arm_tick(struct faults *f, const struct fault_now *now);
int64_t fault_arm_next(const struct faults *f, int clock);

/* ---- fault_writes.c ---- */

/* NULL: the tape's, or too old to be known. */
const struct fault_version *fault_version_find(const struct faults *f, uint64_t seq);
/* The last one that a state as of what->as_of has: written while the tape stood at that event or before, and before
 * what->before_write if that is said; 0: none. */
uint64_t fault_version_as_of(const struct faults *f, const struct fault_what *what);
/* Whether the clock waits for a write; and until when it does, INT64_MAX: for none. */
void fault_await_begin(struct faults *f, const struct fault_now *now);
bool fault_awaits_write(const struct faults *f, const struct fault_now *now);
int64_t fault_await_next(const struct faults *f);

#endif
