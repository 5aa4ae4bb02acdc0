/*
 * seen.h: a replay as one client saw it: it gets again what that client read in a live run (kubetape tee):
 * the same frames on the same watches, in the same order and at the same moments, the same ends, the same
 * answers to the same reads. All other requests and clients get the ordinary replay.
 *
 *     a read of the client --seen_serve-->  the n-th live one of the same path and query, if there was one
 *     player --seen_director-->  moments: one frame after the other, of all its watches together
 *
 * The moments have one order. If the live client had made a request by then and this one has not, the clock
 * waits, so that no watch gets later events; but not for ever. If the client is ahead of the live one, an
 * answer waits until its moment has come.
 */
#ifndef REPLAYER_SEEN_H
#define REPLAYER_SEEN_H

#include "replayer/serve/call.h"

struct seen;
struct settle;

struct seen_options {
	const char *run;    /* a live run of the tape */
	const char *client; /* a part of its User-Agent; "": every client */
	struct tape *tape;
};

/* Reads what the client saw. ERR_USAGE as run_seen_open. Borrows the tape. */
int seen_open(const struct seen_options *options, struct seen **ret, struct err *err) MUST_CHECK;

/* Once there are a player and watches, which are borrowed: directs the player from now on; another director
 * is still asked. */
struct seen_place {
	struct player *player;
	const struct world *world; /* which the player moves */
	struct watches *watches;
	struct run *run;
	const struct player_director *other; /* NULL: none */
	void *other_context;
};
void seen_begin(struct seen *s, const struct seen_place *place);

/* An event went to a watch: so that clients may be waited for in lock-step. NULL: nobody wants to know. */
void seen_tell(struct seen *s, void (*sent)(void *context), void *context);

/* No request may wait and no watch be open. Accepts NULL. */
void seen_close(struct seen *s);

/* True if it has taken the request. */
bool seen_serve(struct seen *s, struct api_call *call);

/* Ends every watch that runs. */
void seen_end_all(struct seen *s);

/* Something is still to be sent to a client that has come. False for NULL. */
bool seen_is_busy(const struct seen *s);

/* At the end: the number of live watches that the client did not open. 0 for NULL. */
size_t seen_sum_up(const struct seen *s);

#endif
