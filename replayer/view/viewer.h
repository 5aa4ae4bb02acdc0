/*
 * viewer.h: the page of a tape, on an address of its own, plain HTTP on loopback:
 *
 *     GET  /_kubetape/                  the page; app.js and style.css beside it
 *     GET  /_kubetape/data/ANSWER       see VIEW.md
 *     POST /_kubetape/data/sql          a statement as the body
 *     GET, POST /_kubetape/data/desk... steering the replay that it stands beside, if there is one
 *
 * Data takes the token of the address, as "Authorization: Bearer" or ?token=. Every request must name this
 * machine as its Host and none may come from another site. Answers are made on two threads, one for pictures
 * and state and one for SQL, so that a replay on the same loop is not disturbed.
 */
#ifndef REPLAYER_VIEW_VIEWER_H
#define REPLAYER_VIEW_VIEWER_H

#include "schema/base/buf.h"

#include <uv.h>

struct query;
struct viewer;

/* An earlier run, shown beside the run of the options. */
struct viewer_golden {
	const char *run;
	/* Appends how the writes of both compare, as JSON; called on the thread for SQL. */
	int (*compare)(void *context, const char *now, struct buf *to, struct err *err);
	void *context;
};

struct viewer_options {
	const char *tape;
	const char *run;                    /* a run file to show with it; NULL: none */
	const struct viewer_golden *golden; /* goes with a run; copied; NULL: none */
	/* The report of a sweep (`sweep --json`) to show with it, checked to be one; copied. Empty: none. */
	struct slice sweep;
	const char *host; /* numeric loopback address; NULL: 127.0.0.1 */
	int port;         /* 0: a free one */
	/* Answers "desk" and paths that begin with it on the loop; NULL: no replay. Returns an HTTP status,
	 * with JSON in `to` or, from 400 on, a sentence in `err`. */
	int (*desk)(void *context, struct slice method, struct slice what, const struct query *q,
		struct slice body, struct buf *to, struct err *err);
	void *desk_context;
};

int viewer_open(uv_loop_t *loop, const struct viewer_options *options, struct viewer **ret,
	struct err *err) MUST_CHECK;

/* The loop must run on until its handles are gone; accepts NULL. */
void viewer_close(struct viewer *v);

/* Serves until SIGINT, SIGTERM or SIGHUP. `serving` is called once, with the address. */
int viewer_run(const struct viewer_options *options,
	int (*serving)(void *context, const char *url, struct err *err), void *context,
	struct err *err) MUST_CHECK;

/* With the token; borrowed. */
const char *viewer_url(const struct viewer *v);

#endif
