/* fault_act_internal.h: shared by fault_act.c and fault_answer.c. */
#ifndef REPLAYER_FAULT_ACT_INTERNAL_H
#define REPLAYER_FAULT_ACT_INTERNAL_H

#include "replayer/serve/fault_act.h"

/* A request that is never answered; reset when the fault is over. */
struct swallowed {
	struct exchange *x;
	uint64_t episode;
	struct swallowed *next, **link;
};

struct fault_act {
	struct faults *faults;
	struct world *world;
	struct player *player;
	struct watches *watches;
	struct run *run;
	struct server *server;
	bool at_event; /* the tape's time is that of the event at hand */
	int64_t event_ns;
	bool draining, cannot_listen;
	struct fault_act_command command; /* kill is NULL: there is none */
	bool command_is_dead;             /* it was killed, and does not run again so far */
	bool command_starts;              /* it was asked to */
	struct ahead *ahead;              /* where slow lists and other requests wait; NULL: there was none */
	uint64_t applied;                 /* events so far */
	uint64_t retried;                 /* of them, when frames that wait were tried last */
	struct swallowed *swallowed;
};

void fault_act_now(const struct fault_act *a, struct fault_now *ret);

/* Records what a rule did, as a row of the table `faults` of the run. */
struct fault_note {
	size_t rule;
	uint64_t episode; /* 0: of a request or a frame */
	const char *step; /* "begins", "ends", "watch", "frame", "request", "nobody" */
	const char *what;
	const struct tape_resource *resource; /* NULL: of no single one */
	const struct run_request *request;    /* NULL: it happened to none */
};

void fault_act_note(struct fault_act *a, const struct fault_note *note);

/* Who freezes a connection; episodes that are 64 apart share a bit. */
static inline uint64_t fault_act_bit(uint64_t episode)
{
	return UINT64_C(1) << episode % 64;
}

/* A write was struck by that rule. */
void fault_act_note_write(struct api_call *call, size_t rule, const char *what);

/* The episode is over: what it has swallowed fails, what it has frozen moves, and what has waited for its end is answered. */
void fault_act_let_go(struct fault_act *a, uint64_t episode);

/* A Status of that code in the words of the rule, or of the API server. Does not release the rule's data. */
void fault_status_of(const struct fault_what *what, struct status *ret);

#endif
