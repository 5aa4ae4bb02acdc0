/*
 * offload.h: work that takes longer than a turn of the loop may. One thread does it, a job after the other,
 * while the loop serves other clients. If a job needs something of the loop's (the world, a socket), that
 * part runs on the loop while the job waits.
 *
 *     loop                                      thread
 *     offload_start ---------- job ---------->  work(context)
 *     what(its)    <------ offload_ask -------      |   any number of times
 *     done(context) <--------- over ----------  returns
 *
 * So a job owns the data that it works on. Its knowledge of the world may be old when it returns: it has to
 * check again.
 */
#ifndef REPLAYER_SERVE_OFFLOAD_H
#define REPLAYER_SERVE_OFFLOAD_H

#include "schema/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

struct offload;

struct offload_job {
	void (*work)(void *context); /* on the thread */
	void (*done)(void *context); /* then, on the loop; also of a job that was not begun when it closed */
	void *context;
	size_t bytes; /* that it keeps until then */
};

struct offload *offload_open(uv_loop_t *loop);

/* Waits for the job that runs, whose questions are answered with ERR_STOPPED from now on; `done` has been called
 * for all when it returns. Freed when libuv has released its handle. Accepts NULL. */
void offload_close(struct offload *o);

/* Done after those that wait already. False, and nothing is called, if they are too many, or keep too much. */
bool offload_start(struct offload *o, const struct offload_job *job) MUST_CHECK;

/* For a job: runs `what` on the loop and returns what that returns; ERR_STOPPED if the loop is at its end. */
int offload_ask(struct offload *o, int (*what)(void *context), void *context) MUST_CHECK;

#endif
