/* answer_keeper.h: the body of an answer on its way into the run: in pieces, each of them packed. */
#ifndef TOOLS_TEE_ANSWER_KEEPER_H
#define TOOLS_TEE_ANSWER_KEEPER_H

#include "schema/run/run_file.h"

struct answer_keeper {
	struct run_file *file;
	uint64_t request, pieces;
	struct buf raw; /* of the piece at hand */
};

void answer_keeper_init(struct answer_keeper *k, struct run_file *file, uint64_t request);
void answer_keeper_release(struct answer_keeper *k);

void answer_keeper_put(struct answer_keeper *k, struct slice bytes);

/* No more comes. */
void answer_keeper_end(struct answer_keeper *k);

#endif
