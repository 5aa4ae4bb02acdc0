/* seen_internal.h: shared by seen.c (the order of moments), seen_serve.c (requests) and seen_watch.c
 * (watches). */
#ifndef REPLAYER_SEEN_INTERNAL_H
#define REPLAYER_SEEN_INTERNAL_H

#include "replayer/run/run.h"
#include "replayer/seen/seen.h"
#include "replayer/world/player.h"
#include "schema/run/run_seen.h"

struct seen_watch;

/* A read of the live client, and its state here. */
struct told {
	const struct seen_request *live;
	uint64_t key, path; /* hashes: of all that is asked for; of the path alone */
	bool is_given;      /* it was asked for; or it must not be given */
	bool is_free;       /* the clock does not wait for it */
	/* Of a watch. */
	struct seen_watch *running; /* NULL: not yet, or no more */
	int64_t told_ns;            /* when it was opened or sent a frame last, monotonic */
	size_t frames;              /* that are given */
	size_t due, sent;           /* of them */
	bool is_over;               /* its end is due, too */
};

/* A frame of a watch, or its end, has its turn. */
struct seen_moment {
	int64_t time_ns;
	uint32_t of; /* tolds */
};

/* A request that came earlier than the live one. Owns itself. */
struct parked {
	struct parked *next, **link;
	struct told *told;
	struct exchange *x;
};

struct seen {
	struct run_seen *run_seen;
	char *client;
	struct tape *tape;
	struct seen_place place;
	struct told *tolds;
	size_t count;
	struct seen_moment *moments;
	size_t moment_count, at;
	struct parked *parked;
	bool is_at_event;          /* an event is about to be applied ... */
	int64_t event_ns;          /* ... of that time of the tape */
	size_t asked;              /* tolds before it are asked for, or not waited for */
	const struct told *missed; /* which the moment at hand waits for; NULL: none ... */
	int64_t held_ns;           /* ... since then, monotonic */
	bool is_stuck;             /* the moment at hand has to wait */
	bool has_begun;            /* a watch was opened */
	size_t left;               /* watches that were waited for in vain */
	void (*sent)(void *context);
	void *sent_context;
};

/* Until which time of the tape moments have come. */
int64_t seen_now(const struct seen *s);

/* Nobody waits any more for the watches of that path. */
void seen_let_go(struct seen *s, uint64_t path);

/* ---- seen_serve.c ---- */

/* The request of a live read, as hashes. */
void seen_key(const char *target, const char *accept, uint64_t *ret_key, uint64_t *ret_path);

/* Answers those whose time has come. */
void seen_serve_parked(struct seen *s);
/* The earliest of their times; INT64_MAX: none waits. */
int64_t seen_next_parked(const struct seen *s);

/* How an answer is broken off that ended so. */
enum exchange_abort seen_abort_of(enum seen_end end);

/* ---- seen_watch.c ---- */

void seen_watch_open(struct seen *s, struct told *t, struct api_call *call);

/* Sends due frames, as far as the client takes them. False: it is slow, and there is more. */
bool seen_watch_send(struct seen_watch *w);
void seen_watch_end(struct seen_watch *w);

#endif
