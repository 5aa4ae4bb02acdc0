/*
 * held_names.h: objects of the tape that nobody sees yet, because a finalizer of a program holds the one that
 * had their name before. Whoever made the object in the cluster would try until the name is free, so it is shown then.
 *
 *     follow_tape hides an event --held_names_follow--> kept --held_names_wrote: the name is free--> held_names_work shows it
 */
#ifndef REPLAYER_HELD_NAMES_H
#define REPLAYER_HELD_NAMES_H

#include "replayer/serve/call.h"

struct held_names;

/* Borrows the api, which need not be filled yet. */
struct held_names *held_names_new(struct api *api);
void held_names_free(struct held_names *h); /* accepts NULL */

/* An event of the tape for an object that a program has written. is_held: it is hidden for now. */
void held_names_follow(
	struct held_names *h, const struct collection *in, const struct change *c, bool is_held);

/* A write was stored as this change. */
void held_names_wrote(struct held_names *h, const struct collection *in, const struct change *c);

/* Does the pending work. */
void held_names_work(struct held_names *h);

/* Whether there is pending work. */
bool held_names_is_busy(const struct held_names *h);

/* Whether a name is held that the tape is to wait for: what comes next on it may follow from the hidden object. */
bool held_names_is_owed(const struct held_names *h);
/* Nobody waits for those any longer. */
void held_names_give_up(struct held_names *h);

#endif
