/*
 * player.h: moves the position. Takes due items from the timeline, applies them to the world and calls the
 * listeners.
 *
 *     WAITING --player_start--> RUNNING --last item applied--> ENDED
 *                                 ^  |
 *                     player_resume  player_pause
 *                                 |  v
 *                                PAUSED
 *
 *
 * Any state becomes FAILED if the tape cannot be read, and when the player is closed.
 *
 * After the end the clock continues, unless it is paused or was; a move from there runs or pauses
 * accordingly. There is one timerfd on the monotonic clock, always set to the absolute time of the next item.
 * With speed max the player waits only for the listeners: it continues when `ready` says so, in small
 * batches, so that sockets have their turn in between.
 */
#ifndef REPLAYER_PLAYER_H
#define REPLAYER_PLAYER_H

#include "replayer/world/replay_clock.h"
#include "replayer/world/timeline.h"
#include "replayer/world/world.h"
#include "schema/sql/predicate.h"

#include <uv.h>

enum player_state { PLAYER_WAITING, PLAYER_RUNNING, PLAYER_PAUSED, PLAYER_ENDED, PLAYER_FAILED };
const char *player_state_name(enum player_state state); /* "waiting" */

struct player_listener {
	/* A change was applied. `number` is its place in the collection's history, due_ns the monotonic time
	 * at which it was due. */
	void (*changed)(
		void *context, struct collection *in, struct change *c, uint64_t number, int64_t due_ns);
	/* A batch is done: queued data may be written. */
	void (*pause_in_batch)(void *context);
	/* With speed max: whether all clients have read enough to continue. */
	bool (*ready)(void *context);
	/* The last item was applied, or reading the tape failed (the sentence is in err, NULL otherwise). */
	void (*ended)(void *context, const struct err *err);
};

/* Who has a say in what happens when, beside the tape: faults. Times of the tape are as recorded, silences
 * not cut. */
struct player_director {
	/* A change is about to be applied; was applied, and listeners called. A failure ends the replay. */
	int (*before)(void *context, const struct collection *in, const struct change *c, int64_t tape_ns,
		struct err *err);
	void (*after)(void *context, const struct collection *in, const struct change *c, int64_t tape_ns);
	/* A time that `next` returned has come, or the player was nudged, or the tape has ended. */
	void (*tick)(void *context);
	void (*next)(void *context, int64_t *ret_tape_ns, int64_t *ret_mono_ns);
	/* Ends faults that are over by now; called before the question whether the clock stands still. */
	void (*settle)(void *context);
	/* Whether the clock has to stand still for now. */
	bool (*is_holding)(const void *context);
};

struct player;

struct player_options {
	struct world *world; /* borrowed until the player is closed, as the listener is */
	double speed;        /* tape seconds for each second, or SPEED_MAX */
	int64_t start_tape_ns;
	const struct player_listener *listener;
	void *context; /* of the listener */
};

/* A player that waits, without a timeline: player_move gives it one. Fails when the system has no timer. */
int player_open(uv_loop_t *loop, const struct player_options *options, struct player **ret,
	struct err *err) MUST_CHECK;

/* Before it is started; borrowed. */
void player_direct(struct player *p, const struct player_director *director, void *context);

/* Has the director look at the time now: after a move, also when nothing runs. */
void player_tick(struct player *p);

/* Beside the director, a gate may make the clock stand still: while is_shut says so. Call before the start. */
void player_set_gate(struct player *p, bool (*is_shut)(void *context), void *context);

/* False without a gate. */
bool player_gate_is_shut(const struct player *p);

/* The director's answers have changed, or that of the gate. */
void player_nudge(struct player *p);

/* From the director's `after` only: a change that a hidden event has become goes to the listener in its place. */
void player_hand_on(struct player *p, struct collection *in, struct change *c, uint64_t number);

/* Changes that the listener has queued so far must be written before anything else. */
void player_flush(struct player *p);

/* Stops and closes the timer; freed when libuv has released it. The timeline must be closed before. */
void player_close(struct player *p);

void player_start(struct player *p);                   /* from WAITING */
void player_pause(struct player *p);                   /* from WAITING, too */
void player_resume(struct player *p);                  /* from PAUSED; in ENDED lets the clock continue */
void player_set_speed(struct player *p, double speed); /* from now on; as in player_options */

/* Applies the next changes at once, however far away they are, and stands still after them. */
void player_step(struct player *p, uint64_t changes);

/* The position at which to pause; the latest stop replaces the one before. */
enum player_stop_state {
	STOP_NONE,    /* no stop is set */
	STOP_AHEAD,   /* not reached so far; also when the tape has ended without it */
	STOP_REACHED, /* it paused there */
	STOP_FAILED,  /* it paused where the expression could not be computed */
};
const char *player_stop_state_name(enum player_stop_state state); /* "none" */
struct player_stop {
	uint64_t number; /* counted from 1 */
	enum player_stop_state state;
};
struct player_stop player_stop(const struct player *p);

/* Pauses after that event. */
void player_stop_at(struct player *p, uint64_t seq);

/* Pauses after the first event for which the expression is true, or which it cannot be computed for; takes
 * the predicate over. */
void player_stop_when(struct player *p, struct predicate *predicate);

/* The timeline calls it, from its thread, when there are items again. */
void player_read(void *player);

/* Goes on with another timeline, or with the first one, whose items begin at that tape time: after the world
 * was moved. A player that ran runs. */
void player_move(struct player *p, struct timeline *timeline, int64_t tape_ns);

/* With speed max: a lagging client has caught up. */
void player_poke(struct player *p);

enum player_state player_state(const struct player *p);

/* Whether the director waits for a client, even at the end, where there is no clock to stop. */
bool player_is_held(const struct player *p);
double player_speed(const struct player *p);

/* Tape time now; it continues after the end, except with speed max. */
int64_t player_tape_ns(const struct player *p);

/* The clock's anchor: at the monotonic time it returns, the tape's time was *ret_tape_ns. */
int64_t player_anchor(const struct player *p, int64_t *ret_tape_ns);

#endif
