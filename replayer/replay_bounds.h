/*
 * replay_bounds.h: where a replay begins and ends, by --from and --until. A position that is not on the tape
 * is replaced by the nearest that is, and a warning says so. Another warning says if the recorder did not
 * watch everything where the replay is to begin.
 */
#ifndef REPLAYER_REPLAY_BOUNDS_H
#define REPLAYER_REPLAY_BOUNDS_H

#include "replayer/world/marks.h"

struct replay_bounds {
	uint64_t from_seq, until_seq;
	int64_t from_ns; /* tape time at the beginning */
	bool is_guess;   /* a position had to be guessed */
};

/* from, until: NULL for the whole tape. The first lists are complete at the beginning, or clients would see
 * half a cluster. ERR_USAGE if there is nothing between the two. */
int replay_bounds_find(struct tape *t, const struct marks *marks, const char *from, const char *until,
	struct replay_bounds *ret, struct err *err) MUST_CHECK;

#endif
