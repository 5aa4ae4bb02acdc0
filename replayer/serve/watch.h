/*
 * watch.h: the running watches, and the changes that each still has to get.
 *
 *              +-- no version: the state comes first --> INITIAL --all sent--+
 *     request -+                                                             v
 *              +-- version N: what happened since N ------------------> HISTORY <--too slow-- LIVE
 *              |                                                             \--caught up--> LIVE
 *              +-- N cannot be served: ERROR --> ENDED
 *
 * A fault may keep the next frame of a watch back, or freeze its connection: LIVE or HISTORY --> WAITING, and
 * from there to HISTORY when it lets go.
 *
 * LIVE watches get each change when the clock reaches it. All others fetch theirs, in bounded steps, as fast
 * as their client reads. Data waiting for a client are limited by WATCH_WAITING_MAX, and nobody waits for the
 * client (except the clock at speed max, which has the pace of the slowest). A watch ends at its time-out, or
 * when the history that it still needs has left the window; both are a clean end. If a client reads nothing
 * at all, its connection cuts it.
 */
#ifndef REPLAYER_WATCH_H
#define REPLAYER_WATCH_H

#include "replayer/request/list_options.h"
#include "replayer/serve/call.h"
#include "replayer/table/view.h"

#include <uv.h>

#define WATCH_WAITING_MAX (256u << 10) /* bytes queued for one client before it counts as slow */

struct fault_act;
struct watches;

struct watches_listener {
	void (*opened)(void *context, size_t running); /* a watch was accepted */
	void (*caught_up)(void *context);              /* no watch lags any more */
};

/* Borrows everything until it is closed. */
struct watches *watches_new(uv_loop_t *loop, struct world *world, const struct marks *marks, struct run *run,
	const struct watches_listener *listener, void *context);

/* Watches that begin from now on are subject to faults. Borrowed. */
void watches_use_faults(struct watches *ws, struct fault_act *faults);

/* No watch may be running. Freed when libuv has released its handles. */
void watches_close(struct watches *ws);

/* Answers a watch request. Takes over the options' selectors; the caller still releases the options. */
void watch_serve(
	struct api_call *call, struct collection *c, struct list_options *o, const struct view *view);

/* Hands a change that was just applied to the live watches of its collection. Returns how many it went to. */
uint64_t watches_deliver(struct watches *ws, struct collection *in, struct change *c, uint64_t number);

/* Around a move of the world. Before: every watch remembers the version up to which it was sent everything.
 * After: it resumes there, with all changes in between. If the world went back, or the history does not reach
 * that far, it ends with ERROR 410, which makes clients list again. */
void watches_before_move(struct watches *ws);
void watches_after_move(struct watches *ws, bool went_back);

/* Everybody is live. */
bool watches_all_live(const struct watches *ws);

/* All watches are live, except those that wait for the tape because of a fault: these continue only with its
 * clock. */
bool watches_are_at_rest(const struct watches *ws);

/* No watch lags for which the clock, at speed max, has to wait. */
bool watches_keep_up(const struct watches *ws);

/* Ends every running watch cleanly. */
void watches_end_all(struct watches *ws);

/* Breaks every running watch of a resource (empty: of all): it ends cleanly, its connection is reset, or it
 * gets 410 and has to list again. Returns how many. */
enum watches_break { WATCHES_END, WATCHES_RESET, WATCHES_EXPIRE };
size_t watches_break(struct watches *ws, enum watches_break how, struct slice resource);

/* A watch served elsewhere began (1) or is over (-1): it counts as a running one. */
void watches_count_other(struct watches *ws, int change);

size_t watches_running(const struct watches *ws);

#endif
