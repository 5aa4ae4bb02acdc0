/*
 * deck.h: the controls of a running replay, as on a tape deck, for control requests, keys on the terminal and
 * the command line.
 */
#ifndef REPLAYER_DECK_H
#define REPLAYER_DECK_H

#include "replayer/serve/watch.h"
#include "replayer/world/player.h"
#include "schema/tape/position.h"

struct deck {
	const char *path; /* of the tape */
	struct tape *tape;
	const struct marks *marks;
	struct world *world;
	struct timeline *timeline; /* owned */
	struct player *player;
	struct watches *watches;
	uint64_t first_seq, until_seq; /* where it begins and ends */
	int64_t first_ns;
	bool is_fixed;                      /* it cannot be moved: its events have one order */
	int64_t longest_silence_ns;         /* 0: silences stay */
	char notice[POSITION_REMARK_BYTES]; /* of the position asked for last: that it is a guess; "" none */
	/* Told when the replay was moved; NULL: nobody is. A failure is the move's. */
	int (*moved)(void *context, bool back, struct err *err);
	void *context;
	/* Opens the page beside the replay, if it is not open yet; *ret_url is borrowed as long as the deck lives. */
	int (*show)(void *show_context, const char **ret_url, struct err *err);
	void *show_context;
	const char *view_url; /* of the page; NULL: it is not open */
};

/* Opens the timeline from the world's position on and hands it to the player. Called once. */
int deck_open(struct deck *d, struct err *err) MUST_CHECK;
void deck_close(struct deck *d); /* before the player */

/* Moves to a position, backwards or forwards. Watches continue after what they were sent; one that cannot
 * gets 410 and has to list again. A position outside first_seq to until_seq is replaced by the nearest of
 * them, and the notice says so. On failure the replay is over.
 */
int deck_seek(struct deck *d, const char *position, struct err *err) MUST_CHECK;

/* To the beginning. */
int deck_rewind(struct deck *d, struct err *err) MUST_CHECK;

/* Runs (if it does not already) and pauses at a position, or after the first event for which an SQL
 * expression is true. */
int deck_run_until(struct deck *d, const char *position, struct err *err) MUST_CHECK;
int deck_run_until_event(struct deck *d, struct slice expression, struct err *err) MUST_CHECK;

/* Opens the page of the replay (view/viewer.h), if it is not open yet. */
int deck_show(struct deck *d, struct err *err) MUST_CHECK;

/* Appends the last event that happened, as "DELETED pods shop/web-0 rv 5321"; nothing if there is none. */
int deck_event_text(const struct deck *d, struct buf *to, struct err *err) MUST_CHECK;

/* Appends the status as JSON. */
int deck_status(const struct deck *d, struct buf *to, struct err *err) MUST_CHECK;

#endif
