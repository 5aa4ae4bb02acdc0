/*
 * player.h: moves the position. Takes from the timeline what is due, applies it to the world and tells
 * those who listen.
 *
 *     WAITING --player_start--> RUNNING --last item applied--> ENDED
 *                                 ^  |
 *                     player_resume  player_pause
 *                                 |  v
 *                                PAUSED
 *
 *
 * Any state becomes FAILED when the tape cannot be read, and when the player is closed.
 *
 * After the end the clock goes on, unless it is paused or was; a move from there runs or pauses accordingly.
 * One timerfd on the monotonic clock, always set to the absolute time of the next item. With speed max there
 * is nothing to wait for but the listeners: the player goes on when `ready` says so, in small batches, so
 * that sockets have their turn in between.
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
	/* A batch is done: what was queued may be written. */
	void (*pause_in_batch)(void *context);
	/* With speed max: whether everybody has taken enough to go on. */
	bool (*ready)(void *context);
	/* The last item was applied, or reading the tape failed (the sentence is in err, NULL otherwise). */
	void (*ended)(void *context, const struct err *err);
};

/* Who has a say in what happens when, beside the tape: faults. Times of the tape are as recorded, silences
 * not cut. */
struct player_director {
	/* A change is about to be applied; was applied, and listeners told. A failure ends the replay. */
	int (*before)(void *context, const struct collection *in, const struct change *c, int64_t tape_ns,
		struct err *err);
	void (*after)(void *context, const struct collection *in, const struct change *c, int64_t tape_ns);
	/* A time has come that `next` told, or the player was nudged, or the tape has ended. */
	void (*tick)(void *context);
	void (*next)(void *context, int64_t *ret_tape_ns, int64_t *ret_mono_ns);
	/* Ends what is over by now; before the clock is asked to stand still or to go on. */
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

/* Beside the director, a gate may make the clock stand still: as long as is_shut says so. Before it is started. */
void player_set_gate(struct player *p, bool (*is_shut)(void *context), void *context);

/* False without a gate. */
bool player_gate_is_shut(const struct player *p);

/* What the director would say has changed, or what the gate does. */
void player_nudge(struct player *p);

/* From the director's `after` only: a change that a hidden event has become goes to the listener in its place. */
void player_hand_on(struct player *p, struct collection *in, struct change *c, uint64_t number);

/* What the listener has queued of changes so far is to be written before anything else. */
void player_flush(struct player *p);

/* Stops and closes the timer; freed when libuv has let go of it. The timeline must be closed before. */
void player_close(struct player *p);

void player_start(struct player *p);                   /* from WAITING */
void player_pause(struct player *p);                   /* from WAITING, too */
void player_resume(struct player *p);                  /* from PAUSED; in ENDED lets the clock go on */
void player_set_speed(struct player *p, double speed); /* from now on; as in player_options */

/* Applies the next changes at once, however far away they are, and stands still after them. */
void player_step(struct player *p, uint64_t changes);

/* Where it was told to pause; the latest stop takes the place of the one before. */
enum player_stop_state {
	STOP_NONE,    /* nobody told it to */
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

/* What the timeline calls, from its thread, when there is something again. */
void player_read(void *player);

/* Goes on with another timeline, or with the first one, whose items begin at that tape time: after the world
 * was moved. A player that ran runs. */
void player_move(struct player *p, struct timeline *timeline, int64_t tape_ns);

/* With speed max: somebody who was behind has caught up. */
void player_poke(struct player *p);

enum player_state player_state(const struct player *p);

/* Whether the director waits for somebody: also at the end, where there is no clock to stand still. */
bool player_is_held(const struct player *p);
double player_speed(const struct player *p);

/* Tape time now; after the end it goes on, but with speed max. */
int64_t player_tape_ns(const struct player *p);

/* The clock's anchor: at the monotonic time it returns, the tape's time was *ret_tape_ns. */
int64_t player_anchor(const struct player *p, int64_t *ret_tape_ns);

#endif
