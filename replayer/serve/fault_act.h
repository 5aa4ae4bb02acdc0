/*
 * fault_act.h: carries out what replayer/fault decides, on the watches, the requests and the listener of a
 * running replay. Without faults there is none of it, and nothing is asked.
 *
 *     player   --before, after, tick-->  fault_act_director  --faults_take-->  watches, connections, listener
 *     requests --fault_act_request-->    fault_answer.c      an answer of another kind, or an older state
 *     watches  --fault_act_frame-->      what becomes of the frame
 */
#ifndef REPLAYER_FAULT_ACT_H
#define REPLAYER_FAULT_ACT_H

#include "replayer/fault/fault_writes.h"
#include "replayer/serve/call.h"
#include "replayer/world/player.h"

struct fault_act;
struct server;
struct watch;

/* Takes the faults over, borrows the rest. */
struct fault_act *fault_act_new(struct faults *faults, struct world *world, struct player *player,
	struct watches *watches, struct run *run);
void fault_act_free(struct fault_act *a);

/* At the end: logs, and notes in the run, which rules of the fault file struck nobody, and why. Returns how
 * many of them should have; until_seq is where the replay was to end. */
size_t fault_act_sum_up(struct fault_act *a, uint64_t until_seq);

/* Borrowed, for the report; NULL: there are none. */
const struct faults *fault_act_faults(const struct fault_act *a);

/* The world has jumped ahead: recorded gaps that began and were over on the way do not happen. */
void fault_act_jump(struct fault_act *a, const struct tape *t);

/* The tape waits for a program, which therefore is to see all that has happened. */
void fault_act_yield(struct fault_act *a);

/* Whether programs' own writes are kept from them now, until the tape has gone on. */
bool fault_act_is_late(const struct fault_act *a);

/* To be called while clients are at work: pauses that wait for them last longer. */
void fault_act_prolong(struct fault_act *a);

/* To be called when the restarted program is quiet: the clock stops waiting for watches that the program has not opened. */
void fault_act_stop_awaiting(struct fault_act *a);

/* Whose listener refuses; before it accepts. */
void fault_act_serve(struct fault_act *a, struct server *server);

/* For player_direct; the context is a struct fault_act. */
extern const struct player_director fault_act_director;

/* The world was moved: what had happened by then is to happen again. Takes the faults over. */
void fault_act_restart(struct fault_act *a, struct faults *faults);

/* The program that a replay runs, which `restart` kills and starts again. */
struct fault_act_command {
	bool (*kill)(void *context); /* false: it no longer exists */
	void (*start)(void *context);
	void *context;
};
void fault_act_command(struct fault_act *a, const struct fault_act_command *command);

/* It runs again. */
void fault_act_started(struct fault_act *a);

/* ---- requests ---- */

/* How faults see the request, into call->fault. */
void fault_act_describe(struct api_call *call);

/* True if a fault answered it, or will. Otherwise call->floor and call->older may be set. */
bool fault_act_request(struct api_call *call);

/* ---- writes ---- */

/* Around a write: what becomes of it; what it has written, before watches are handed it; and what happens
 * after it. */
void fault_act_write_begins(
	struct api_call *call, const struct fault_write *write, struct fault_write_answer *ret);
void fault_act_version(
	struct fault_act *a, const struct collection *in, const struct change *c, bool is_tapes);
void fault_act_write_ends(struct api_call *call, const struct fault_write_answer *answer);

/* The error that a write gets: fills st; the rule stays the owner of its texts. */
void fault_act_write_error(const struct fault_write_answer *answer, struct status *st);

/* ---- watches ---- */

/* A watch begins, and is over. Between them its `fault` is valid. */
void fault_act_opened(struct fault_act *a, struct watch *w, const struct api_call *call);
void fault_act_closed(struct fault_act *a, struct watch *w);

/* Before a frame of that change is sent, and after. */
void fault_act_frame(struct fault_act *a, struct watch *w, const struct change *c, struct fault_frame *ret);
void fault_act_sent(struct fault_act *a, struct watch *w);

/* It was cut inside a frame. */
void fault_act_cut(struct fault_act *a, struct watch *w);

#endif
