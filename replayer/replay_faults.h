/*
 * replay_faults.h: the faults of a replay from the command line to the verdict: loads them from the options,
 * again whenever the replay goes back, and checks at the end that each has struck.
 */
#ifndef REPLAYER_REPLAY_FAULTS_H
#define REPLAYER_REPLAY_FAULTS_H

#include "replayer/deck.h"
#include "replayer/replayer.h"
#include "replayer/serve/fault_act.h"

struct replay_faults {
	const struct replay_options *options;
	struct tape *tape;
	const struct world *world; /* which knows the replay's position */
	struct buf text;           /* of the fault file, which may be a pipe: it is read once */
	struct faults *loaded;     /* until they begin; NULL: nothing goes wrong */
	struct fault_act *act;     /* from then on */
};

/* Call before anything else: ERR_USAGE for unknown words, and for what is not on the tape. Borrows all three;
 * the world must have its position. Close even after a failure. */
int replay_faults_load(const struct replay_options *o, struct tape *tape, const struct world *world,
	struct replay_faults *ret, struct err *err) MUST_CHECK;

/* Call once the deck is open, which reports moves; borrows both. */
void replay_faults_begin(struct replay_faults *f, struct deck *deck, struct run *run);

void replay_faults_close(struct replay_faults *f);

#endif
