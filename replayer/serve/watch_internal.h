/*
 * watch_internal.h: shared by the files of a watch: watch.c (states, catching up, the set), watch_begin.c
 * (from a request to a running watch), watch_send.c (the bytes on the wire) and fault_act.c (faults).
 */
#ifndef REPLAYER_WATCH_INTERNAL_H
#define REPLAYER_WATCH_INTERNAL_H

#include "replayer/fault/fault.h"
#include "replayer/serve/watch.h"
#include "replayer/serve/watch_index.h"
#include "replayer/wire/websocket_watch.h"
#include "schema/base/clock.h"

#define WATCH_BOOKMARK_NS   (60 * NS_PER_S) /* between bookmarks */
#define WATCH_BEFORE_END_NS (2 * NS_PER_S)  /* the last bookmarks come this long before the end */

enum watch_state {
	WATCH_INITIAL, /* the objects that existed when it began are being sent */
	WATCH_HISTORY, /* changes that lie after the position are being sent */
	WATCH_LIVE,    /* has everything up to the position */
	WATCH_WAITING, /* a fault keeps its next frame back */
	WATCH_ENDED,   /* finished; queued data are still sent */
};

struct watch {
	struct watches *set;
	struct run_client *client;
	struct run_request *stored;                  /* NULL: without a run file; gone when the exchange is */
	struct watch *next, *previous;               /* in its list of the collection's index */
	struct watch *next_behind, *previous_behind; /* in the set's list of lagging watches, or waiting */
	struct exchange *x;
	struct collection *collection;
	enum watch_state state;
	struct view view;
	struct slice namespace, name; /* empty: any; in own_path */
	char *own_path;
	struct label_selector *labels;
	struct field_selector *fields;
	bool reads_object;
	bool bookmarks, initial_end; /* initial_end: an annotated bookmark ends the initial part */
	uint64_t number;             /* in the history: the next change to send */
	uint64_t initial_rv;
	uint64_t ahead_rv; /* a watch that waits: nothing up to this version is sent */
	uint64_t sent_rv;  /* during a move: everything up to this version was sent */
	uint64_t *initial; /* seqs of the objects to begin with */
	size_t initial_count, initial_at;
	int64_t deadline_ns, bookmark_ns;  /* monotonic */
	struct websocket_watch *websocket; /* NULL: an ordinary stream */
	bool faulty;                       /* faults know of it, in what follows */
	struct fault_stream fault;
	char *agent, *credential;           /* that `fault` points to */
	int64_t wait_tape_ns, wait_mono_ns; /* of WAITING: whichever comes first; INT64_MAX: an event */
	bool wait_goes_on;                  /* of WAITING: the tape's clock does not wait for it */
};

struct watches {
	struct world *world;
	const struct marks *marks;
	const struct watches_listener *listener;
	void *context;
	struct run *run;
	size_t running;
	struct watch *behind; /* INITIAL and HISTORY */
	struct watch *waiting;
	struct fault_act *faults; /* NULL: none */
	uv_timer_t ticker;
	uv_idle_t stepper; /* runs while some lagging watch can be sent more */
	int open_handles;
	uint64_t random;
};

/* Every change of state goes through here. */
void watch_enter(struct watch *w, enum watch_state state);

/* Ends the stream cleanly; queued data are still sent. */
void watch_end(struct watch *w);

/* Breaks it off after the queued data. */
void watch_break(struct watch *w, enum exchange_abort how, uint32_t code);

/* Its connection stands still until watch_release. */
void watch_freeze(struct watch *w, uint64_t by);

/* Goes on with one that waits. */
void watch_release(struct watch *w);

/* Calls `what` for every watch that has not ended. */
void watches_each(struct watches *ws, void (*what)(void *context, struct watch *w), void *context);

/* Sends what can be sent now to a lagging watch, at most a bounded step. True if there was something to
 * examine. */
bool watch_step(struct watch *w);

/* Continues with lagging watches when the loop is idle. */
void watches_wake(struct watches *ws);

/* ---- watch_send.c ---- */

/* An object that existed when the watch began. */
void watch_send_initial(struct watch *w, struct change *c);

/* The meaning of a change for this watcher. WATCH_LATER: a fault keeps it back, it has to be sent again. */
enum watch_sent { WATCH_NOTHING, WATCH_SENT, WATCH_LATER };
enum watch_sent watch_send_change(struct watch *w, struct change *c);

void watch_send_bookmark(struct watch *w, uint64_t rv, bool initial_end);

/* The last thing a stream says: an ERROR, then the end. Releases the status. */
void watch_end_with_error(struct watch *w, struct status *st);

/* The same with a Status that is JSON already. */
void watch_end_with_error_json(struct watch *w, struct slice status);

/* The same for a tape that cannot be read. */
void watch_end_with_failure(struct watch *w, const struct err *err);

#endif
