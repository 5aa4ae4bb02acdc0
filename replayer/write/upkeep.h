/*
 * upkeep.h: a cluster's own work on objects that programs write: the grace of pods runs out, custom resources
 * are deleted with their CRD and objects with their namespace, dependents are collected.
 *
 *     a write is stored --upkeep_wrote--> what is to be done, and when
 *     the player        --upkeep_director--> done: before an event that is due later, or when its time has come
 *
 * All of it follows the clock of the replay, in an order that follows from the writes: a clock that stands
 * still ends no pod. At speed max no time passes after the end of the tape: work that waits for a time is
 * then done at once.
 */
#ifndef REPLAYER_UPKEEP_H
#define REPLAYER_UPKEEP_H

#include "replayer/serve/call.h"
#include "replayer/world/player.h"

struct upkeep;

/* Directs the player from now on; another director is still asked (NULL: none). Borrows everything; the api
 * need not be filled yet. gc: collect dependents. */
struct upkeep *upkeep_new(struct api *api, struct player *player, bool gc,
	const struct player_director *other, void *other_context);
void upkeep_free(struct upkeep *u); /* accepts NULL */

/* The context is a struct upkeep. */
extern const struct player_director upkeep_director;

/* A write was stored as this change, and watches have it. */
void upkeep_wrote(struct upkeep *u, const struct collection *in, const struct change *c);

/* The result of a hidden event of the tape (follow_tape.h) was stored as this change, and is delivered as the
 * event would have been. Its pods end, and its dependents are deleted, when the tape says so. */
void upkeep_followed(struct upkeep *u, struct collection *in, struct change *c, uint64_t number);

/* Whether an object of the tape is hidden until a program lets its name go (held_names.h), and the tape is to wait for
 * that. */
bool upkeep_is_owed(const struct upkeep *u);
/* The program does not: the tape goes on. */
void upkeep_give_up(struct upkeep *u);

#endif
