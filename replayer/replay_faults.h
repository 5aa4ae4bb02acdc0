/*
 * replay_faults.h: the faults of a replay from the command line to the verdict: loaded from what its options
 * say, again whenever the replay goes back, and at the end held to have struck somebody.
 */
#ifndef REPLAYER_REPLAY_FAULTS_H
#define REPLAYER_REPLAY_FAULTS_H

#include "replayer/deck.h"
#include "replayer/replayer.h"
#include "replayer/serve/fault_act.h"

struct replay_faults {
	const struct replay_options *options;
	struct tape *tape;
	const struct world *world; /* which tells where the replay stands */
	struct buf text;           /* of the fault file, which may be a pipe: it is read once */
	struct faults *loaded;     /* until they begin; NULL: nothing goes wrong */
	struct fault_act *act;     /* from then on */
};

/* Before anything else is begun: ERR_USAGE for what is not understood, or not on the tape. Borrows all
 * three, of which the world has its position; to be closed also on failure. */
int replay_faults_load(const struct replay_options *o, struct tape *tape, const struct world *world,
	struct replay_faults *ret, struct err *err) MUST_CHECK;

/* Once the deck is open, which tells of moves; borrows both. */
void replay_faults_begin(struct replay_faults *f, struct deck *deck, struct run *run);

void replay_faults_close(struct replay_faults *f);

#endif
